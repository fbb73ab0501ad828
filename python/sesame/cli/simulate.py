"""`sesame simulate`

Reports, plots and data sets are imported where they are asked for, so that a run starts quickly.
"""

from __future__ import annotations

import json
import tempfile
from contextlib import ExitStack
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from subprocess import DEVNULL
from typing import IO, TYPE_CHECKING, Any

import click
from rich.console import Console

from sesame import native
from sesame.accuracy import past_of
from sesame.analysis.scaling import scalings_of
from sesame.api.played import place, played, surroundings, write_inputs
from sesame.cli.explain_summary import print_explanation
from sesame.cli.grouped import grouped
from sesame.cli.outputs import check_file
from sesame.cli.program_options import (
    environment_option,
    private_library_option,
    read_variables,
    set_option,
)
from sesame.cli.progress import ProgressLine
from sesame.cli.simulate_options import SimulateOptions
from sesame.cli.summary import (
    doubts_as_json,
    print_curve,
    print_doubts,
    print_notes,
    print_summary,
)
from sesame.cli.traced import ProgramOrTrace, check_options, check_ranks, is_trace
from sesame.datasets import DataSetWriter, check_destination
from sesame.errors import InputError, OutputError
from sesame.machines import find_machine
from sesame.simulation import (
    Compute,
    Keep,
    Point,
    RunResult,
    Scenario,
    Sweep,
    find_host,
    parse_compute,
    points_of,
    simulate_into,
)
from sesame.simulation import simulate as run_simulation
from sesame.simulation.host import inspect_program
from sesame.simulation.points import PointRunner
from sesame.simulation.series import write_series
from sesame.simulation.settings import (
    MOST_RANKS,
    check_repeat,
    check_storage,
    parse_placement,
    with_strategy,
)
from sesame.trust import Doubt, merged

if TYPE_CHECKING:
    from sesame.analysis.explain import Explanation

# As core/sim/scenario.cc has them; the least is what calls of the simulator need.
LEAST_STACK, MOST_STACK = 64 << 10, 1 << 40
PROGRAM_STATUS = {"allow_interspersed_args": False}


@click.command(
    cls=grouped(
        ProgramOrTrace,
        Run=("ranks", "compute", "repeat", "sweeps", "scale_compute", "seed", "shuffle"),
        Machine=("machine", "overrides", "placement"),
        Program=("environment", "cwd", "label", "stack_size", "private_libraries"),
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
    help="Number of ranks, 1; a list runs a series. Of a traced run it is known.",
)
@click.option(
    "--machine", required=True, help="A model of `sesame machine list`, or a machine file."
)
@click.option(
    "-o",
    "--output",
    type=click.Path(path_type=Path),
    metavar="NAME.sesame",
    help="Write a data set: every call and message; of a series the figures of each run.",
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
    help="Say where the time goes, which constants it uses and what the model leaves out.",
)
@click.option(
    "--compute",
    metavar="MODE",
    help="Time of computation: measured, measured:2 (while two copies of the run compute at once), "
    "none, fixed:1us (before each call) or recorded:DATASET; of a traced run recorded or none.",
)
@click.option(
    "--repeat",
    type=click.IntRange(min=1),
    default=1,
    metavar="N",
    help="Measure the computation N times: the median and an interval that holds it with 95 %.",
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
@click.option("--label", is_flag=True, help="Put the rank in front of each line that it prints.")
@click.option("--stack-size", default="8MiB", metavar="SIZE", help="Stack of each rank.")
@private_library_option
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
    help="Keep the simulated files there, and find those of an earlier run; otherwise they go "
    "when the run ends.",
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
    help="Keep sizes of simulated files only; what is read from them is zeros.",
)
@click.option(
    "--collective",
    metavar="STRATEGY",
    help="How collective accesses to files are made: barrier, grouping, two-phase or "
    "disk-directed; as --set storage.collective.strategy=STRATEGY, and always so.",
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
    help="Run ready ranks in a random order. Results must not change: a check of the simulator.",
)
@click.option(
    "--no-records", is_flag=True, help="Only sums in the data set, not every call and message."
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

    PROGRAM is the unmodified binary, linked to MPICH or to the MPI 5 standard interface. Its
    ranks run here; their communication takes the time that the machine model says. Or it is a
    traced run, whose calls are played.

    \b
    sesame simulate -n 64 --machine paragon --report run.html -- ./app input.dat
    sesame simulate run.sesame --machine paragon
    """
    return _simulate(SimulateOptions(**options))


def _simulate(options: SimulateOptions) -> int:
    if is_trace(options.program):
        return _simulate_traced(options)
    if options.scale_compute is not None:
        raise InputError(
            "--scale-compute is for traced runs",
            hint="--set node.compute_ratio=X multiplies that of a program",
        )
    if options.mappings:
        raise InputError("--map is for traced runs: a program names its files itself")
    ranks = _parse_ranks(options.ranks or "1")
    points = points_of(ranks, [Sweep.parse(text) for text in options.sweeps])
    compute = parse_compute(options.compute or "measured")
    check_repeat(options.repeat, compute)
    _check_outputs(options, compute, series=len(points) > 1)
    scenario = _scenario(options, ranks[0], compute)
    return _run(options, scenario, find_host(inspect_program(scenario.program)), points)


def _simulate_traced(options: SimulateOptions) -> int:
    from sesame.datasets import DataSet
    from sesame.simulation.trace import plan_run

    check_options(options)
    compute = Compute("recorded", text=options.compute or "recorded")
    check_repeat(options.repeat, compute)
    ranks = None if options.ranks is None else _parse_ranks(options.ranks)
    data_set = DataSet(Path(options.program))
    machine = find_machine(options.machine).resolve()
    placed = place(data_set, machine, options.overrides, options.mappings)
    traced = plan_run(data_set, placed)
    points = points_of(check_ranks(ranks, traced), [Sweep.parse(text) for text in options.sweeps])
    _check_outputs(options, compute, series=len(points) > 1)
    with tempfile.TemporaryDirectory(prefix="sesame-") as directory:
        compute = write_inputs(traced, options.compute, options.scale_compute, Path(directory))
        scenario = _scenario(options, traced.ranks, compute)
        scenario = played(
            scenario, traced, Path(directory), surroundings(machine, options.overrides)
        )
        return _run(options, scenario, find_host("mpich"), points)


def _run(
    options: SimulateOptions, scenario: Scenario, executable: Path, points: list[Point]
) -> int:
    check_storage(
        scenario,
        keeps_files=options.files is not None,
        discards=options.discard_data,
        strategy=options.collective,
    )
    scenario = with_strategy(scenario, options.collective)
    for point in points:  # every wrong value is found before the first run
        native.read_machine(str(scenario.machine), [*scenario.overrides, *point.overrides])
    if options.files is not None:
        _make_directory(options.files)
    # What is known beforehand comes first: the prediction is read with it in mind.
    print_notes(Console(stderr=True, highlight=False), scenario.notes)
    if len(points) > 1:
        return _run_series(options, scenario, executable, points)
    return _run_one(options, replace(scenario, **_of_point(scenario, points[0])), executable)


def _of_point(scenario: Scenario, point: Point) -> dict[str, Any]:
    return {"ranks": point.ranks, "overrides": (*scenario.overrides, *point.overrides)}


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


def parse_stack_size(text: str) -> int:
    try:
        size: int = native.parse_size_bytes(text)
    except InputError as error:
        raise InputError(f"--stack-size {text}: {error.message}", hint=error.hint) from error
    if not LEAST_STACK <= size <= MOST_STACK:
        raise InputError(
            f"--stack-size {text}: expected a size from 64 KiB to 1 TiB",
            hint="the default is 8 MiB; memory is taken only for what is used",
        )
    return size


def _scenario(options: SimulateOptions, ranks: int, compute: Compute) -> Scenario:
    directory = options.cwd
    return Scenario(
        program=options.program,
        arguments=options.arguments,
        ranks=ranks,
        machine=find_machine(options.machine).resolve(),
        overrides=tuple(_assignment("--set", text) for text in options.overrides),
        placement=parse_placement(options.placement),
        compute=compute,
        label_output=options.label,
        program_stdout="stderr" if options.as_json else "stdout",
        stack_size_bytes=parse_stack_size(options.stack_size),
        private_libraries=options.private_libraries,
        environment=read_variables(options.environment),
        working_directory=None if directory is None else directory.resolve(),
        seed=options.seed,
        shuffle=options.shuffle,
        files_directory=None if options.files is None else options.files.resolve(),
        discard_data=options.discard_data,
    )


def _assignment(option: str, text: str) -> str:
    key, equals, value = text.partition("=")
    if not (key and equals and value):
        raise InputError(f"{option} {text}: expected KEY=VALUE")
    return text


def _check_outputs(options: SimulateOptions, compute: Compute, *, series: bool) -> None:
    """Before a run that may be long: can its output be written?"""
    if options.output is not None:
        check_destination(options.output, force=options.force)
    if options.explain and series:
        raise InputError(
            "--explain explains one run, and this is a series",
            hint="simulate one of its points with --explain",
        )
    if options.explain and options.no_records:
        raise InputError("--explain needs the records that --no-records leaves out")
    if options.files is not None and options.repeat > 1:
        raise InputError(
            "--repeat runs the program anew each time, and --files would show it the files of the "
            "run before",
            hint="without --files each run has files of its own, which go when it ends",
        )
    if options.files is not None and (series or compute.copies > 1):
        several = "this is a series" if series else f"--compute {compute} runs copies of it"
        raise InputError(
            f"--files keeps the files of one run, and {several}",
            hint="without it each run has files of its own, which go when it ends",
        )
    if options.plot is not None:
        if not series:
            raise InputError("--plot draws a series: give --sweep, or several numbers with -n")
        from sesame.analysis.curve import check_plot

        check_plot(options.plot)
    for path in (options.report, options.plot):
        if path is not None:
            check_file(path)


def _make_directory(path: Path) -> None:
    try:
        path.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=path):
            pass
    except OSError as error:
        raise OutputError(f"{path}: cannot keep files there: {error.strerror}") from error


def _run_one(options: SimulateOptions, scenario: Scenario, executable: Path) -> int:
    console = Console(stderr=True, highlight=False)
    keep = Keep(records=not options.no_records, raw=options.keep_raw)
    with ExitStack() as stack:
        directory = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="sesame-")))
        path, repeated = options.output, None
        if path is None and (options.report is not None or options.explain):
            path = directory / "run.sesame"
        if options.repeat > 1:
            scenario, repeated = _repeat(options.repeat, scenario, executable, directory)
        if repeated is not None and path is None:
            outcome = repeated
        else:
            outcome = _run_with_progress(scenario, executable, path, keep, options.force, repeated)
        written: dict[str, str] = {}
        if options.output is not None:
            written["data_set"] = str(options.output)
        if path is not None and options.report is not None:
            from sesame.analysis.views import write_page
            from sesame.datasets import DataSet

            write_page(DataSet(path), options.report)
            written["report"] = str(options.report)
        explained, notes = None, list(outcome.notes)
        if path is not None and options.explain:
            explained = _explained(path, notes)
    if scenario.discard_data and outcome.result.get("file_bytes_read"):
        notes.append("simulated files have no contents (--discard-data): the program read zeros")
    past = past_of(scenario.machine.read_text(encoding="utf-8"), scenario.overrides, scenario.name)
    if options.as_json:
        described = {**outcome.scalars, **doubts_as_json(outcome.doubts)}
        if past is not None:
            described["past_error"] = past.as_json()
        if explained is not None:
            described["explanation"] = explained.as_json()
        known = [*scenario.notes, *notes]
        click.echo(json.dumps({**described, **({"notes": known} if known else {}), **written}))
    else:
        print_summary(console, outcome)
        if past is not None:
            console.print(past.in_words(), soft_wrap=True)
        if explained is not None:
            print_explanation(console, explained)
        if outcome.result.get("file_bytes_written") and scenario.files_directory is None:
            console.print("what was written to simulated files is gone; --files DIR keeps it")
    print_notes(console, notes)
    print_doubts(console, outcome.doubts)
    for name, file in written.items():
        console.print(f"{name.replace('_', ' ')}: {file}", soft_wrap=True, markup=False)
    # The run that stands for the repeats may succeed where one of them failed.
    return outcome.exit_status or (0 if repeated is None else repeated.exit_status)


def _explained(path: Path, notes: list[str]) -> Explanation | None:
    """Where it cannot be explained, a note says why."""
    from sesame.analysis.explain import explain, why_not
    from sesame.datasets import DataSet

    data_set = DataSet(path)
    if (reason := why_not(data_set)) is None:
        return explain(data_set)
    notes.append(f"the prediction is not explained: {reason}")
    return None


def _repeat(
    repeats: int, scenario: Scenario, executable: Path, directory: Path
) -> tuple[Scenario, RunResult]:
    """What the repeats gave, and the scenario that repeats the one with the median time."""
    series = _point_runner(executable, Console(stderr=True), directory, repeats)
    [(_, repeated)] = series.run([Point(scenario.ranks)], lambda _: scenario)
    assert series.median is not None
    compute = replace(series.median, text=str(scenario.compute))
    return replace(scenario, compute=compute), repeated


def _point_runner(executable: Path, console: Console, directory: Path, repeats: int) -> PointRunner:
    """With a line for each point, and a progress line under a run that is alone."""

    def show(scenario: Scenario, stdin: IO[bytes]) -> RunResult:
        with ProgressLine(scenario.ranks) as line:
            host = line.host(executable, stdin=stdin)
            return run_simulation(scenario, host, **line.run_options())

    def announce(point: Point) -> None:
        console.print(f"[bold]{point}[/]", markup=True)

    return PointRunner(executable, directory, repeats=repeats, show=show, announce=announce)


def _run_with_progress(
    scenario: Scenario,
    executable: Path,
    path: Path | None,
    keep: Keep,
    force: bool,
    repeated: RunResult | None,
) -> RunResult:
    """`repeated`: what repeats of it gave, whose program has printed already."""
    with ProgressLine(scenario.ranks) as line:
        streams = {} if repeated is None else dict.fromkeys(("stdout", "stderr"), DEVNULL)
        host, more = line.host(executable, **streams), line.run_options()
        if path is None:
            return run_simulation(scenario, host, **more)
        with DataSetWriter(path, force=force) as writer:
            return simulate_into(writer, scenario, host, keep, repeated=repeated, **more)


def _run_series(
    options: SimulateOptions, scenario: Scenario, executable: Path, points: list[Point]
) -> int:
    console = Console(stderr=True, highlight=False)
    begin = datetime.now(UTC)
    with tempfile.TemporaryDirectory(prefix="sesame-") as directory:
        series = _point_runner(executable, console, Path(directory), options.repeat)
        runs = list(series.run(points, lambda p: replace(scenario, **_of_point(scenario, p))))
    notes = [*scenario.notes, *series.notes]
    notes += dict.fromkeys(note for _, run in runs for note in run.notes)
    doubts = tuple(merged([run.doubts for _, run in runs], "points"))
    if options.as_json:
        click.echo(json.dumps(_series_as_json(scenario, runs, notes, doubts)))
    print_curve(console, runs)
    print_notes(console, notes[len(scenario.notes) :])
    print_doubts(console, doubts)
    if options.output is not None:
        with DataSetWriter(options.output, force=options.force) as writer:
            write_series(writer, scenario, runs, begin, notes=notes, doubts=doubts)
        console.print(f"data set: {options.output}", soft_wrap=True, markup=False)
    if options.plot is not None:
        from sesame.analysis.curve import write_plot

        write_plot(runs, options.plot)
        console.print(f"plot: {options.plot}", soft_wrap=True, markup=False)
    if options.report is not None:
        from sesame.analysis.report import write_sweep_report

        write_sweep_report(scenario, runs, options.report, notes=notes, doubts=doubts)
        console.print(f"report: {options.report}", soft_wrap=True, markup=False)
    return next((run.exit_status for _, run in runs if run.exit_status != 0), 0)


def _series_as_json(
    scenario: Scenario,
    runs: list[tuple[Point, RunResult]],
    notes: list[str],
    doubts: tuple[Doubt, ...],
) -> dict[str, Any]:
    described = [
        {
            **run.scalars,
            **doubts_as_json(run.doubts),
            **({} if scaling is None else scaling.as_json()),
            "parameters": {"ranks": point.ranks, **dict(point.settings)},
        }
        for (point, run), scaling in zip(runs, scalings_of(runs), strict=True)
    ]
    whole = {
        "program": scenario.trace or scenario.program,
        "machine": runs[0][1].result["machine"],
        **doubts_as_json(doubts),
    }
    if notes:
        whole["notes"] = notes
    return {**whole, "runs": described}
