"""`sesame simulate`: calls `sesame.simulate`, or `sesame.series`, and prints what they return.

What prints tables, reports, plots and data sets is imported where it is asked for, so that a run
starts quickly.
"""

from __future__ import annotations

import json
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
from click.core import ParameterSource

import sesame
from sesame.analysis.scaling import scalings_of
from sesame.api.preparing import OWN_FILES_HINT
from sesame.cli.grouped import grouped
from sesame.cli.notes import doubts_as_json, print_doubts, print_notes
from sesame.cli.outputs import check_file
from sesame.cli.program_options import (
    environment_option,
    private_library_option,
    read_assignments,
    read_variables,
    set_option,
)
from sesame.cli.progress import TerminalDisplay
from sesame.cli.simulate_options import SimulateOptions
from sesame.cli.traced import ProgramOrTrace
from sesame.cli.way import print_way
from sesame.datasets import check_destination
from sesame.errors import InputError
from sesame.simulation import Point, RunResult, Sweep, points_of
from sesame.simulation.host import RANKS_AS
from sesame.simulation.settings import LAUNCHER, MOST_RANKS, PROTOCOLS
from sesame.trust import Doubt, merged

if TYPE_CHECKING:
    from sesame.analysis.explain import Explanation
    from sesame.api.runs import SimulatedRun
    from sesame.api.series import Series

PROGRAM_STATUS = {"allow_interspersed_args": False}


@click.command(
    cls=grouped(
        ProgramOrTrace,
        Run=(
            "ranks",
            "compute",
            "repeat",
            "sweeps",
            "scale_compute",
            "sensitivity",
            "seed",
            "shuffle",
            "workers",
            "protocol",
            "hosts",
            "launcher",
            "sources",
        ),
        Machine=("machine", "overrides", "placement"),
        Program=("environment", "cwd", "label", "stack_size", "private_libraries", "ranks_as"),
        Files=("files", "mappings", "discard_data", "collective"),
        Output=(
            "output",
            "report",
            "plot",
            "as_json",
            "explain",
            "no_records",
            "keep_raw",
            "force",
        ),
    ),
    context_settings=PROGRAM_STATUS,
)
@click.option(
    "-n",
    "--ranks",
    metavar="N[,N…]",
    help="Number of ranks, by default 1; a list runs a series. A traced run keeps its own number.",
)
@click.option(
    "--machine",
    multiple=True,
    help="A model of `sesame machine list`, or a machine file; given several times: a series. "
    "Required, except by --explain.",
)
@click.option(
    "-o",
    "--output",
    type=click.Path(path_type=Path),
    metavar="NAME.sesame",
    help="Write a data set: every call and message; for a series the figures of each run.",
)
@click.option(
    "--report",
    type=click.Path(path_type=Path),
    metavar="FILE.html",
    help="Write a page with time lines, matrix and tables.",
)
@click.option(
    "--plot",
    type=click.Path(path_type=Path),
    metavar="FILE.png|svg",
    help="Draw the curve of a series.",
)
@click.option(
    "--json",
    "as_json",
    is_flag=True,
    help="One JSON object on stdout; the program's output goes to stderr.",
)
@click.option(
    "--explain",
    is_flag=True,
    help="Show where the time goes, waiting divided into late ranks, latency and transfer, the "
    "constants used and what the model leaves out. Without a machine, say whether ranks of PROGRAM "
    "will be fibers or processes, and why, and run nothing.",
)
@click.option(
    "--compute",
    metavar="MODE",
    help="Time of computation: measured, measured:2 (while two copies of the run compute at once), "
    "none, fixed:1us (before each call) or recorded:DATASET; for a traced run recorded or none.",
)
@click.option(
    "--repeat",
    type=click.IntRange(min=1),
    default=1,
    metavar="N",
    help="Measure the computation N times; the result is the median with its 95 % interval (of "
    "fewer than 6 their range).",
)
@click.option(
    "--scale-compute",
    type=click.FloatRange(min=0, max=1e6),
    metavar="X",
    help="Multiply the computation of a traced run by X.",
)
@set_option
@click.option(
    "--sweep",
    "sweeps",
    multiple=True,
    metavar="KEY=V,V,…",
    help="Run a series over values of a key of the machine.",
)
@click.option(
    "--placement",
    default="block",
    metavar="block|cyclic|FILE",
    help="Which rank runs on which node.",
)
@click.option("--label", is_flag=True, help="Print the rank before each line of output.")
@click.option("--stack-size", default="8MiB", metavar="SIZE", help="Stack of each rank.")
@private_library_option
@click.option(
    "--ranks-as",
    type=click.Choice(RANKS_AS),
    help="Run ranks as copies of the program in one process, or each as a process of its own; by "
    "default processes where a program cannot be copied (scripts, Python, no-PIE executables) or "
    "asks for MPI_THREAD_MULTIPLE.",
)
@environment_option
@click.option(
    "--cwd",
    type=click.Path(path_type=Path, exists=True, file_okay=False),
    help="The program's working directory.",
)
@click.option(
    "--files",
    type=click.Path(path_type=Path, file_okay=False),
    metavar="DIR",
    help="Keep the simulated files in DIR, and use those of an earlier run; otherwise they are "
    "deleted when the run ends.",
)
@click.option(
    "--map",
    "mappings",
    multiple=True,
    metavar="OLD=NEW",
    help="Files of a traced run that were below OLD are below NEW on the machine; NEW may be "
    "relative to the working directory.",
)
@click.option(
    "--discard-data",
    is_flag=True,
    help="Keep only the sizes of simulated files, not their data; the program reads zeros.",
)
@click.option(
    "--collective",
    metavar="STRATEGY",
    help="How collective accesses to files are made: barrier, grouping, two-phase or "
    "disk-directed. Sets storage.collective.strategy, and applies it to all collective accesses.",
)
@click.option(
    "--seed",
    default=1,
    type=click.IntRange(min=0, max=2**64 - 1),
    help="Seed of the random streams.",
)
@click.option(
    "--shuffle",
    type=click.IntRange(min=0, max=2**64 - 1),
    metavar="SEED",
    help="Run ready ranks in a random order, and stop workers at random. Results must not change: "
    "a check of the simulator.",
)
@click.option(
    "--workers",
    type=click.IntRange(min=1),
    default=1,
    metavar="N",
    help="Simulate with N processes, each with the ranks of some nodes, as fibers or processes of "
    "their own. Results are the same.",
)
@click.option(
    "--protocol",
    type=click.Choice(PROTOCOLS),
    default=PROTOCOLS[0],
    help="How workers learn until when they may simulate.",
)
@click.option(
    "--hosts",
    default="",
    metavar="HOST[,HOST…]",
    help="Divide the workers among this host and these, which have the same Sesame and PROGRAM.",
)
@click.option(
    "--launcher",
    default=LAUNCHER,
    metavar="COMMAND",
    help=f"What starts a command on a host; by default {LAUNCHER}.",
)
@click.option(
    "--sources",
    default="any",
    metavar="any|members|tags|NAME.sesame",
    help="What workers assume, so that receives from any source wait less: ranks communicate by "
    "MPI alone; each tag has one source at a rank; messages come in the order of an earlier run, "
    "which excludes --hosts. The last two are checked. Needs network.sharing = none.",
)
@click.option(
    "--sensitivity",
    is_flag=True,
    help="Also calculate how the time depends on each key of the machine, for `sesame whatif`, and "
    "the critical path. Takes longer.",
)
@click.option(
    "--no-records",
    is_flag=True,
    help="Write only sums to the data set, not every call and message.",
)
@click.option(
    "--keep-raw",
    is_flag=True,
    help="Also keep the raw event streams (Common Trace Format) in the data set.",
)
@click.option("--force", is_flag=True, help="Write over an existing data set.")
@click.argument("program")
@click.argument("arguments", nargs=-1, type=click.UNPROCESSED)
def simulate(**options: Any) -> int:
    """Predict how an MPI program runs on a machine.

    PROGRAM is an unmodified binary, linked to MPICH, to Open MPI or, in C, to the MPI 5 standard
    interface. Its ranks run on this machine; communication takes the time that the machine model
    calculates, and collectives use the algorithms of the program's MPI. PROGRAM may also be a
    traced run, whose calls are repeated.

    \b
    sesame simulate -n 64 --machine paragon --report run.html -- ./app input.dat
    sesame simulate run.sesame --machine paragon
    sesame simulate --explain ./app
    """
    return _simulate(SimulateOptions(**options))


def _simulate(options: SimulateOptions) -> int:
    if not options.machine:
        if options.explain and _asks_only_the_way():
            return print_way(options.program, options.ranks_as, as_json=options.as_json)
        raise click.UsageError("Missing option '--machine'.")
    ranks = None if options.ranks is None else _parse_ranks(options.ranks)
    sweeps = [Sweep.parse(text) for text in options.sweeps]
    points = points_of(ranks or [1], sweeps, options.machine if len(options.machine) > 1 else ())
    _check_outputs(options, is_series=len(points) > 1)
    common = _shared_settings(options)
    if len(points) > 1:
        return _run_series(options, ranks, common)
    common["settings"] |= dict(points[0].settings)
    return _run_one(options, ranks, common | {"machine": options.machine[0]})


def _asks_only_the_way() -> bool:
    """Whether no option was given that means something for a run only."""
    context = click.get_current_context()
    given = {
        name
        for name in context.params
        if context.get_parameter_source(name) is ParameterSource.COMMANDLINE
    }
    return given <= {"explain", "as_json", "ranks_as", "program", "arguments"}


def _shared_settings(options: SimulateOptions) -> dict[str, Any]:
    """The arguments that `sesame.simulate` and `sesame.series` share."""
    return {
        "program": options.program,
        "arguments": options.arguments,
        "machine": options.machine,
        "settings": read_assignments("settings", options.overrides),
        "compute": options.compute,
        "repeat": options.repeat,
        "scale_compute": options.scale_compute,
        "placement": options.placement,
        "environment": dict(read_variables(options.environment)),
        "cwd": options.cwd,
        "mappings": read_assignments("mappings", options.mappings, "OLD=NEW"),
        "discard_data": options.discard_data,
        "collective": options.collective,
        "seed": options.seed,
        "shuffle": options.shuffle,
        "workers": options.workers,
        "protocol": options.protocol,
        "hosts": options.hosts.split(",") if options.hosts else [],
        "launcher": options.launcher,
        "sources": options.sources,
        "label": options.label,
        "stack_size": options.stack_size,
        "private_libraries": options.private_libraries,
        "ranks_as": options.ranks_as,
        "force": options.force,
        "display": TerminalDisplay(program_stdout="stderr" if options.as_json else "stdout"),
    }


def _parse_ranks(text: str) -> list[int]:
    try:
        ranks = [int(part) for part in text.split(",")]
    except ValueError:
        ranks = [0]
    if min(ranks) < 1 or max(ranks) > MOST_RANKS:
        raise InputError(
            f"-n {text}: expected a number of ranks from 1 to {MOST_RANKS}, or several with "
            "commas between",
            hint="for instance -n 64, or -n 4,16,64",
        )
    return ranks


def _check_outputs(options: SimulateOptions, *, is_series: bool) -> None:
    """Checks, before a run that may be long, that its output can be written."""
    if options.output is not None:
        check_destination(options.output, force=options.force)
    if options.explain and is_series:
        raise InputError(
            "--explain explains one run, and this is a series",
            hint="simulate one of its points with --explain",
        )
    if options.explain and options.no_records:
        raise InputError("--explain needs the records that --no-records leaves out")
    if options.sensitivity and is_series:
        raise InputError(
            "--sensitivity is for one run, and this is a series",
            hint="simulate one of its points with --sensitivity",
        )
    if options.files is not None and is_series:
        raise InputError(
            "--files keeps the files of one run, and this is a series", hint=OWN_FILES_HINT
        )
    if options.plot is not None:
        if not is_series:
            raise InputError(
                "--plot draws a series: give --sweep, several numbers with -n or several --machine"
            )
        from sesame.analysis.curve import check_plot

        check_plot(options.plot)
    for path in (options.report, options.plot):
        if path is not None:
            check_file(path)


def _run_one(options: SimulateOptions, ranks: list[int] | None, common: dict[str, Any]) -> int:
    shown = options.output is not None or options.report is not None or options.explain
    with tempfile.TemporaryDirectory(prefix="sesame-") as directory:
        run = sesame.simulate(
            **common,
            ranks=None if ranks is None else ranks[0],
            files=options.files,
            sensitivity=options.sensitivity,
            records=shown and not options.no_records,
            keep_raw=options.keep_raw,
            output=options.output or Path(directory) / "run.sesame",
        )
        written: dict[str, str] = {}
        if options.output is not None:
            written["data_set"] = str(options.output)
        if options.report is not None:
            written["report"] = str(run.report(options.report))
        explained, notes = None, list(run.outcome.notes)
        if options.explain:
            explained = _explained(run, notes)
    if run.info["scenario"]["discard_data"] and run.outcome.result.get("file_bytes_read"):
        notes.append("simulated files have no contents (--discard-data): the program read zeros")
    _print_run(options, run, explained, notes, written)
    return run.exit_status


def _print_run(
    options: SimulateOptions,
    run: SimulatedRun,
    explained: Explanation | None,
    notes: list[str],
    written: dict[str, str],
) -> None:
    outcome, past = run.outcome, run.info.past_error
    if options.as_json:
        described = {**outcome.scalars, **doubts_as_json(outcome.doubts)}
        if past is not None:
            described["past_error"] = past
        if explained is not None:
            described["explanation"] = explained.as_json()
        known = [*run.info.notes[: len(run.info.notes) - len(outcome.notes)], *notes]
        click.echo(json.dumps({**described, **({"notes": known} if known else {}), **written}))
    else:
        _print_tables(outcome, past, explained)
        if outcome.result.get("file_bytes_written") and options.files is None:
            click.echo("files that the program wrote are deleted; --files DIR keeps them", err=True)
    print_notes(notes)
    print_doubts(outcome.doubts)
    for name, file in written.items():
        click.echo(f"{name.replace('_', ' ')}: {file}", err=True)


def _print_tables(
    outcome: RunResult, past: Mapping[str, Any] | None, explained: Explanation | None
) -> None:
    from rich.console import Console

    from sesame.cli.explain_summary import print_explanation
    from sesame.cli.summary import print_summary

    console = Console(stderr=True, highlight=False)
    print_summary(console, outcome)
    if past is not None:
        from sesame.accuracy import Past

        console.print(Past.from_json(past).in_words(), soft_wrap=True)
    if explained is not None:
        print_explanation(console, explained)


def _explained(run: SimulatedRun, notes: list[str]) -> Explanation | None:
    """The explanation. If there is none, adds a note that says why."""
    from sesame.analysis.explain import explain, why_not

    if (reason := why_not(run)) is None:
        return explain(run)
    notes.append(f"the prediction is not explained: {reason}")
    return None


def _run_series(options: SimulateOptions, ranks: list[int] | None, common: dict[str, Any]) -> int:
    sweeps = [Sweep.parse(text) for text in options.sweeps]
    with tempfile.TemporaryDirectory(prefix="sesame-") as directory:
        series = sesame.series(
            **common,
            ranks=ranks,
            sweep={sweep.key: sweep.values for sweep in sweeps},
            output=options.output or Path(directory) / "series.sesame",
        )
        doubts = tuple(merged([run.doubts for _, run in series.runs], "points"))
        if options.as_json:
            click.echo(json.dumps(_series_as_json(series, doubts)))
        _print_curve(series)
        print_notes(series.run_notes)
        print_doubts(doubts)
        written = {"data set": options.output}
        if options.plot is not None:
            series.plot(options.plot)
            written["plot"] = options.plot
        if options.report is not None:
            written["report"] = series.report(options.report)
    for name, file in written.items():
        if file is not None:
            click.echo(f"{name}: {file}", err=True)
    return next((run.exit_status for _, run in series.runs if run.exit_status != 0), 0)


def _print_curve(series: Series) -> None:
    from rich.console import Console

    from sesame.cli.summary import print_curve

    print_curve(Console(stderr=True, highlight=False), series.runs)


def _series_as_json(series: Series, doubts: tuple[Doubt, ...]) -> dict[str, Any]:
    described = [
        _point_as_json(point, run) | ({} if scaling is None else scaling.as_json())
        for (point, run), scaling in zip(series.runs, scalings_of(series.runs), strict=True)
    ]
    assert series.info.target_system is not None
    whole = {
        "program": series.info.command[0],
        "machine": series.info.target_system["name"],
        **doubts_as_json(doubts),
    }
    if series.info.notes:
        whole["notes"] = list(series.info.notes)
    return {**whole, "runs": described}


def _point_as_json(point: Point, run: RunResult) -> dict[str, Any]:
    return {
        **run.scalars,
        **doubts_as_json(run.doubts),
        "parameters": {"ranks": point.ranks, **dict(point.settings)},
    }
