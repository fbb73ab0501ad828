"""`sesame evaluate init|run|stress|status|note|report`

Large modules are imported where they are used, so that the command starts quickly.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import click

from sesame.cli.console import console
from sesame.cli.console import note as say_note
from sesame.cli.evaluate_monitoring import install, metrics
from sesame.errors import AlreadyReported, InputError, OutputError

if TYPE_CHECKING:
    from sesame.evaluation.probing import Result
    from sesame.evaluation.site import Site
    from sesame.evaluation.store import Store

FILE = click.Path(path_type=Path)
SITE = click.argument("site", metavar="SITE.toml", type=FILE)
FAILED, NOT_OBSERVED = 1, 3


@click.group()
def evaluate() -> None:
    """Judge a machine over months: probes at intervals, availability, incidents, changes of speed.

    \b
    sesame evaluate init mysite.toml
    sesame evaluate run mysite.toml
    sesame evaluate report mysite.toml
    """


@evaluate.command("init")
@SITE
def init(site: Path) -> None:
    """Look at this machine, and write a site file that works as it is.

    \b
    sesame evaluate init mysite.toml
    """
    from sesame.evaluation.initial import site_text
    from sesame.evaluation.site import read_site

    try:
        with site.open("x", encoding="utf-8") as file:
            file.write(site_text(site))
    except FileExistsError:
        hint = "remove it, or give another name"
        raise InputError("there is a file of this name", path=str(site), hint=hint) from None
    except OSError as error:
        raise OutputError(f"{site}: cannot write: {error.strerror}") from error
    read = read_site(site)
    click.echo(f"{site}: probes {', '.join(read.probes)}. Next: sesame evaluate run {site}")
    if "messages" in read.probes:
        click.echo("The first run builds the workloads and runs all of them: 25 minutes or so.")


@evaluate.command("run")
@SITE
@click.option("--watch", "stays", is_flag=True, help="Stay, and run probes when they are due.")
@click.option("--once", metavar="PROBE", help="Run this probe now, due or not.")
def run(site: Path, stays: bool, once: str | None) -> None:
    """Run the probes that are due.

    It ends when no probe runs. What becomes due on other targets until then runs too, so that a
    job in a long queue delays no other probe.

    The exit status is 0 if all passed or none was due, 1 if one failed, and 3 if none failed but
    one was not observed or another run had the lock.

    \b
    sesame evaluate run mysite.toml
    sesame evaluate run mysite.toml --once hello
    """
    from sesame.evaluation.probing import Outcome
    from sesame.evaluation.runner import locked, run_due, watch
    from sesame.evaluation.site import read_site
    from sesame.evaluation.waiting import Waiting

    if stays and once is not None:
        raise InputError("--watch and --once exclude each other")
    read = read_site(site)
    with locked(read):
        if stays:
            watch(read, _print_result, say_note)
        results = run_due(read, _print_result, once)
    waiting = Waiting(read.path)
    if waiting.has_any():
        say_note(f"the database is unavailable: results wait in {waiting.path} and come in later")
    outcomes = {result.outcome for result in results}
    if not results:
        click.echo("nothing is due")
    if Outcome.FAIL in outcomes:
        raise AlreadyReported(FAILED)
    if Outcome.NOT_OBSERVED in outcomes:
        raise AlreadyReported(NOT_OBSERVED)


@evaluate.command("stress", short_help="Run copies of the NAS codes again and again.")
@SITE
@click.option("--target", metavar="NAME", help="Where. Default: the first target of the file.")
@click.option("--copies", default=2, type=click.IntRange(1, 64), help="Of the suite, at once.")
@click.option("--for", "duration", default="1h", metavar="TIME", help="How long: 30min, 8h, 2d.")
@click.option("--class", "class_", default="S", metavar="CLASS", help="Of the codes: S, W, A, B.")
@click.option("--timeout", default="30min", metavar="TIME", help="Of one program.")
def stress(
    site: Path, target: str | None, copies: int, duration: str, class_: str, timeout: str
) -> None:
    """Run two copies of the NAS codes again and again, as a load that finds faults.

    Prints programs that fail, then incidents for each hour of use and the processes that programs
    left behind. All results are in reports. Ctrl-C ends it early. The exit status is 1 if a program
    failed.

    \b
    sesame evaluate stress mysite.toml --for 8h
    """
    from sesame.evaluation.probing import Outcome
    from sesame.evaluation.site import read_site
    from sesame.evaluation.site_tables import duration_s
    from sesame.evaluation.stress import Stress
    from sesame.evaluation.stress import stress as run_stress

    read = read_site(site)
    name = next(iter(read.targets)) if target is None else target
    _check_target(read, name)
    length, limit = duration_s(duration, "--for"), duration_s(timeout, "--timeout")
    if class_ not in ("S", "W", "A", "B"):
        raise InputError(f"--class: expected S, W, A or B, got {class_}")
    found = Stress()

    def show(result: Result) -> None:
        if result.outcome is not Outcome.PASS:
            _print_result(result)

    options = ("--class", class_)
    try:
        run_stress(read, read.targets[name], copies, length, limit, options, show, found)
    finally:
        click.echo(found.sentence())
    if found.failed:
        raise AlreadyReported(FAILED)


def _check_target(site: Site, name: str) -> None:
    if name not in site.targets:
        hint = f"there are: {', '.join(site.targets)}"
        raise InputError(f"there is no target {name}", path=str(site.path), hint=hint)


def _print_result(result: Result) -> None:
    where = f"step {result.step}: " if result.step else ""
    why = f": {where}{result.reason}" if result.reason else ""
    click.echo(f"{result.probe} on {result.target}: {result.outcome}, {result.took:.1f} s{why}")


@contextmanager
def _opened(path: Path, *, retries: bool = False) -> Iterator[tuple[Site, Store]]:
    """The site and its database, with the results that waited."""
    from sesame.evaluation.site import read_site
    from sesame.evaluation.waiting import opened

    site = read_site(path)
    with opened(site, say_note, retries=retries) as store:
        yield site, store


@evaluate.command("status", short_help="Show last results, what is due, and open incidents.")
@SITE
def status(site: Path) -> None:
    """Show the last result of each probe, what is due, and open incidents.

    Results that the database refused are tried again.

    \b
    sesame evaluate status mysite.toml
    """
    import math

    from rich.table import Table

    from sesame.evaluation.periods import shown
    from sesame.evaluation.runner import Last, Latest
    from sesame.evaluation.summary import state_of

    now = time.time()
    table = Table("probe", "target", "last run (UTC)", "result", "next", box=None, pad_edge=False)
    table.header_style = "bold"
    with _opened(site, retries=True) as (read, store):
        for probe in read.probes.values():
            last = store.last(probe.name, probe.target.name)
            known = {} if last is None else {probe.name: Last(last.began, last.outcome)}
            is_due = Latest(known).is_due(probe, now)
            due = "due" if is_due else shown(probe.next_turn(now))
            cells = ("never", "–") if last is None else (shown(last.began), str(last.outcome))
            table.add_row(probe.name, probe.target.name, *cells, due)
        targets, unseen_of_all = state_of(read, store, now)
    console(highlight=False).print(table)
    for off in unseen_of_all:
        if off.end == now:
            click.echo(f"not observed since {shown(off.begin)} UTC: {off.reason}")
    for one in targets:
        for unseen in one.unseen:
            if unseen.end == now and not unseen.is_of_all:
                click.echo(
                    f"not observed since {shown(unseen.begin)} UTC: {one.target}: {unseen.reason}"
                )
        for incident in one.incidents:
            if math.isinf(incident.ended):
                click.echo(
                    f"open since {shown(incident.began)} UTC: {one.target}: {incident.cause}"
                )


@evaluate.command("note")
@SITE
@click.argument("text")
@click.option("--from", "begin", required=True, metavar="TIME", help="UTC unless it has an offset.")
@click.option("--to", "end", required=True, metavar="TIME", help="Its end.")
@click.option("--planned", is_flag=True, help="Planned maintenance, no incident.")
@click.option("--target", metavar="NAME", help="The target that it concerns. Default: all.")
def note(site: Path, text: str, begin: str, end: str, planned: bool, target: str | None) -> None:
    """Enter an incident or planned maintenance, of one target or of all.

    \b
    sesame evaluate note mysite.toml "new firmware" --planned --from 2026-05-03 --to 2026-05-04
    sesame evaluate note mysite.toml flood --target here --from 2026-05-03 --to 2026-05-04
    """
    from sesame.evaluation.periods import moment
    from sesame.evaluation.store import Note

    times = moment(begin, "--from"), moment(end, "--to", is_end=True)
    if times[1] <= times[0]:
        raise InputError(f"--to {end} is not after --from {begin}")
    with _opened(site) as (read, store):
        if target is not None:
            _check_target(read, target)
        store.add_note(Note(text, *times, planned, target or ""))


@evaluate.command("report", short_help="Report a period in words, tables and a page.")
@SITE
@click.option(
    "--from", "begin", metavar="TIME", help="Month, week, day or time. Default: first run."
)
@click.option(
    "--to", "end", metavar="TIME", help="Its last month, week or day, or time. Default: now."
)
@click.option("--mid-p", is_flag=True, help="Shorter limits of the mean time to incident.")
@click.option("--report", "page", type=FILE, metavar="FILE.html", help="Write a page.")
@click.option("--pages", type=FILE, metavar="DIR", help="Write a page, and one for each probe.")
@click.option("--csv", "table", type=FILE, metavar="FILE.csv", help="Write the tables.")
@click.option("--json", "as_json", is_flag=True, help="One JSON object on stdout.")
def report(
    site: Path,
    begin: str | None,
    end: str | None,
    mid_p: bool,
    page: Path | None,
    pages: Path | None,
    table: Path | None,
    as_json: bool,
) -> None:
    """Report a period: findings in words, tables by month and week, figures by release.

    \b
    sesame evaluate report mysite.toml --from 2026-05 --to 2026-11 --report report.html
    """
    from sesame.evaluation.periods import moment
    from sesame.evaluation.summary import summarize

    with _opened(site) as (read, store):
        now = time.time()
        last = min(moment(end, "--to", is_end=True), now) if end else now
        first = moment(begin, "--from") if begin else store.first()
        if first is None:
            hint = f"sesame evaluate run {site}"
            raise InputError("no probe has run yet", path=str(site), hint=hint)
        if first >= last:
            raise InputError("the period is empty: --from is not before --to and now")
        found = summarize(read, store, first, last, mid_p=mid_p)
        if pages is not None:
            from sesame.evaluation.page import write_pages

            write_pages(found, store, pages)
    if page is not None:
        from sesame.evaluation.page import write_summary

        write_summary(found, page)
    if table is not None:
        from sesame.evaluation.tables import csv_of
        from sesame.web.page import write_whole

        write_whole(table, csv_of(found))
    if as_json:
        import json

        click.echo(json.dumps(found.as_json()))
    else:
        for line in found.findings or ["no findings"]:
            click.echo(line)


evaluate.add_command(install)
evaluate.add_command(metrics)
