"""A site with a probe of each kind, and results of it in a period."""

from __future__ import annotations

from sesame.evaluation.periods import moment
from sesame.evaluation.probing import Figure, Outcome, Result
from sesame.evaluation.site import Site
from sesame.evaluation.store import Note, Store
from sesame.evaluation.summary import Summary, summarize
from sesame.evaluation.tables import csv_of

HOUR = 3600.0
BEGIN, END = moment("2026-04", ""), moment("2026-07", "")
PROBE = """\
[probe.{name}]
target = "t"
interval = "1h"
{more}
[[probe.{name}.step]]
command = ["true"]
timeout = "1min"
"""
SITE = "[target.t]\n" + "".join(
    PROBE.format(name=name, more=more)
    for name, more in (
        ("p", "availability = true"),
        ("q", "availability = true"),
        ("use", 'aspect = "utilisation"'),
        ("speed", 'aspect = "performance"'),
    )
)


def result(
    probe: str, at: float, is_up: bool = True, key: str = "", figures: tuple[Figure, ...] = ()
) -> Result:
    outcome = Outcome.PASS if is_up else Outcome.FAIL
    name = f"{probe} {at} {key}"
    return Result(name, probe, "t", at, 1.0, outcome, "" if is_up else "run", "", "", figures)


def summary_of(site: Site, results: list[Result], notes: tuple[Note, ...] = ()) -> Summary:
    with Store(site.database) as store:
        store.add(results)
        for note in notes:
            store.add_note(note)
        return summarize(site, store, BEGIN, END)


def hourly(begin: float, end: float) -> list[float]:
    return [begin + HOUR * hour for hour in range(int((end - begin) / HOUR))]


def line_of(found: Summary, title: str) -> int:
    """The line of a table's columns."""
    lines = csv_of(found).splitlines()
    return next(number for number, line in enumerate(lines) if line.startswith(title)) - 1
