"""`sesame.simulate` and `sesame.series`: predicted runs. The verb `simulate` calls them, too."""

from __future__ import annotations

import operator
import tempfile
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import SupportsIndex

from sesame import native
from sesame.api.arguments import check_one, counts_of_ranks, mapping_of
from sesame.api.data_set import DataSet, Kept, kept_or_temporary
from sesame.api.display import CapturedOutput, Display, show_point
from sesame.api.machine import Machine, Value, machine_of, machines_by_label, value_text
from sesame.api.preparing import Prepared, RunSettings, check_ranks_of_points, prepared
from sesame.api.series import Series
from sesame.datasets import DataSetWriter, check_destination
from sesame.errors import InputError
from sesame.simulation import Host, Keep, Point, RunResult, Scenario, Sweep, points_of
from sesame.simulation.points import PointRunner
from sesame.simulation.run import notes_of_runs, simulate_into, write_result
from sesame.simulation.series import write_series
from sesame.simulation.settings import LAUNCHER, PROTOCOLS, check_rank_counts
from sesame.trust import merged


class SimulatedRun(DataSet):
    """The data set of a run that was just simulated. `outcome` has the simulator's own figures."""

    outcome: RunResult

    @property
    def exit_status(self) -> int:
        """The exit status of the program; if it was repeated, that of a repeat that failed."""
        return self.outcome.exit_status


def simulate(
    program: str | Path,
    arguments: Sequence[str] = (),
    *,
    machine: str | Path | Machine | None = None,
    ranks: int | None = None,
    settings: Mapping[str, Value] | None = None,
    compute: str | DataSet | None = None,
    repeat: int = 1,
    scale_compute: float | None = None,
    placement: str = "block",
    environment: Mapping[str, str] | None = None,
    cwd: str | Path | None = None,
    files: str | Path | None = None,
    mappings: Mapping[str, str] | None = None,
    discard_data: bool = False,
    collective: str | None = None,
    seed: int = 1,
    shuffle: int | None = None,
    workers: int = 1,
    protocol: str = PROTOCOLS[0],
    hosts: Sequence[str] = (),
    launcher: str = LAUNCHER,
    sources: str | Path | DataSet = "any",
    ranks_as: str | None = None,
    stack_size: str = "8MiB",
    private_libraries: Sequence[str] = (),
    sensitivity: bool = False,
    label: bool = False,
    records: bool = True,
    keep_raw: bool = False,
    show_output: bool = False,
    output: str | Path | None = None,
    force: bool = False,
    display: Display | None = None,
) -> SimulatedRun:
    """Predicts one run on a machine; returns its data set, of kind `simulated`.

    `program` is an MPI program, or a traced run (NAME.sesame), whose calls are played. `machine` is
    a `Machine`, the name of a model or a machine file; `settings` changes keys of it
    ({"network.latency": "2us"}). `private_libraries` are patterns of libraries of which each rank
    gets a copy. `stack_size` is a rank's; `ranks_as` "fibers" or "processes". `compute` gives
    computation times: "measured" (default), "measured:2" (two copies at once), "none", "fixed:1us",
    those of an earlier run (a data set, or "recorded:NAME.sesame"); of a traced run, times
    `scale_compute`. `repeat` N times: the median counts. `files` is a directory that keeps
    simulated files; `discard_data` only their sizes. `mappings` moves a traced run's files
    ({"/scratch/run": "."}). `collective`: strategy of accesses. `sensitivity`: for `what_if`.
    `workers` processes simulate together under `protocol`, also on `hosts` (by `launcher`); they
    assume `sources`: "any", "members", "tags", an earlier run. `output`: the data set's path (else
    temporary); `force` replaces it. No `records`: sums; `keep_raw`: raw streams. `show_output`:
    with ranks if `label`. Times: s (ps in tables). Raises InputError, OutputError, SimulationError.
    """
    wanted = RunSettings(
        program, arguments, machine_of(machine).set(settings or {}), _source_of(compute), repeat,
        scale_compute, placement, environment, cwd, mappings, discard_data, collective, seed,
        shuffle, ranks_as, label, stack_size, private_libraries, workers, protocol, hosts, launcher,
        sources, files, sensitivity,
    )  # fmt: skip
    shown = display or CapturedOutput(quiet=not show_output)
    return _simulate(wanted, ranks, Keep(records, keep_raw), shown, _Output(output, force))


def series(
    program: str | Path,
    arguments: Sequence[str] = (),
    *,
    machine: str | Path | Machine | Sequence[str | Path | Machine] | None = None,
    ranks: int | Sequence[int] | None = None,
    sweep: Mapping[str, Sequence[Value]] | None = None,
    settings: Mapping[str, Value] | None = None,
    compute: str | DataSet | None = None,
    repeat: int = 1,
    scale_compute: float | None = None,
    placement: str = "block",
    environment: Mapping[str, str] | None = None,
    cwd: str | Path | None = None,
    mappings: Mapping[str, str] | None = None,
    discard_data: bool = False,
    collective: str | None = None,
    seed: int = 1,
    shuffle: int | None = None,
    workers: int = 1,
    protocol: str = PROTOCOLS[0],
    hosts: Sequence[str] = (),
    launcher: str = LAUNCHER,
    sources: str | Path | DataSet = "any",
    ranks_as: str | None = None,
    stack_size: str = "8MiB",
    private_libraries: Sequence[str] = (),
    label: bool = False,
    show_output: bool = False,
    output: str | Path | None = None,
    force: bool = False,
    display: Display | None = None,
) -> Series:
    """Predicts a program over machines, numbers of ranks and values of machine keys; returns the
    series.

    `machine` is one, or a list of them; `settings` changes keys of each. `sweep` has the values of
    each key that varies ({"network.latency": ["1us", "2us"]}). All combinations with all numbers of
    `ranks` are run. Computation is measured once for all points that compute the same; on machines
    that place ranks on other nodes it is measured again, since a program can ask for its node. The
    other arguments are those of `simulate`.

    Raises InputError, OutputError and SimulationError as `simulate` does.
    """
    machines = {label: one.set(settings or {}) for label, one in machines_by_label(machine).items()}
    wanted = RunSettings(
        program, arguments, next(iter(machines.values())), _source_of(compute), repeat,
        scale_compute, placement, environment, cwd, mappings, discard_data, collective, seed,
        shuffle, ranks_as, label, stack_size, private_libraries, workers, protocol, hosts, launcher,
        sources,
    )  # fmt: skip
    counts = counts_of_ranks(ranks)
    shown = display or CapturedOutput(quiet=not show_output)
    return _simulate_series(
        wanted, machines, counts, _sweeps(sweep or {}), shown, _Output(output, force)
    )


def _source_of(compute: str | DataSet | None) -> str | None:
    """The source of computation times as text; that of a data set repeats its times."""
    check_one("compute", compute, (str, DataSet), "text or a data set", "name one of them")
    return f"recorded:{compute.path}" if isinstance(compute, DataSet) else compute


@dataclass(frozen=True)
class _Output:
    """Where the data set goes; without a path into a temporary directory."""

    path: str | Path | None
    force: bool

    def check(self) -> None:
        if self.path is not None:
            check_destination(Path(self.path), force=self.force)

    def write(self, write: Callable[[DataSetWriter], object], kind: type[Kept]) -> Kept:
        def write_at(path: Path) -> None:
            with DataSetWriter(path, force=self.force) as writer:
                write(writer)

        return kept_or_temporary(write_at, self.path, kind)


def _simulate(
    wanted: RunSettings, ranks: int | None, keep: Keep, display: Display, output: _Output
) -> SimulatedRun:
    check_one("ranks", ranks, (SupportsIndex,), "a number", "sesame.series takes several")
    count = None if ranks is None else operator.index(ranks)
    output.check()
    with prepared(wanted, count, is_series=False, program_stdout=display.program_stdout) as found:
        display.show_notes(found.scenario.notes)
        outcomes: list[RunResult] = []

        def write(writer: DataSetWriter) -> None:
            outcomes.append(_simulate_one(found, writer, keep, display))

        run = output.write(write, SimulatedRun)
        run.outcome = outcomes[0]
        return run


def _simulate_series(
    wanted: RunSettings,
    machines: Mapping[str, Machine],
    counts: list[int] | None,
    sweeps: Sequence[Sweep],
    display: Display,
    output: _Output,
) -> Series:
    output.check()
    check_rank_counts(counts or ())
    begin = datetime.now(UTC)
    with ExitStack() as stack:
        found = {
            label: stack.enter_context(_prepared_on(machine, wanted, counts, display))
            for label, machine in machines.items()
        }
        labels = list(found) if len(found) > 1 else []
        first = next(iter(found.values()))
        points = points_of(counts or [first.scenario.ranks], sweeps, labels)
        check_ranks_of_points(wanted, first.scenario, [point.ranks for point in points])
        for point in points:  # every wrong value is found before the first run
            machine = machines[point.machine] if point.machine else wanted.machine
            native.read_machine(str(machine.path), [*machine.overrides, *point.overrides])
        known = list(dict.fromkeys(n for one in found.values() for n in one.scenario.notes))
        display.show_notes(known)
        runs, notes = _run_points(found, points, display)
        doubts = merged([run.doubts for _, run in runs], "points")

        def write(writer: DataSetWriter) -> None:
            scenarios = {label: one.scenario for label, one in found.items()}
            write_series(writer, scenarios, runs, begin, notes=[*known, *notes], doubts=doubts)

        return Series.simulated(output.write(write, DataSet), runs, notes)


def _prepared_on(
    machine: Machine, wanted: RunSettings, counts: list[int] | None, display: Display
) -> AbstractContextManager[Prepared]:
    """What runs on one machine of a series: files of a traced run depend on the machine's."""
    on_machine = replace(wanted, machine=machine)
    ranks = counts[0] if counts else None
    return prepared(on_machine, ranks, is_series=True, program_stdout=display.program_stdout)


def _sweeps(values_of: Mapping[str, Sequence[Value]]) -> list[Sweep]:
    for key, values in mapping_of("sweep", values_of, '{"network.latency": ["1us"]}').items():
        if isinstance(values, str) or not isinstance(values, Sequence) or not values:
            raise InputError(
                f"sweep: {key}: expected a list of values, got {values!r}",
                hint='for instance {"network.latency": ["1us", "2us"]}',
            )
    return [Sweep(key, tuple(map(value_text, values))) for key, values in values_of.items()]


def _simulate_one(
    found: Prepared, writer: DataSetWriter, keep: Keep, display: Display
) -> RunResult:
    if found.repeat == 1:
        return _simulate_into(found, writer, keep, display, None)
    with tempfile.TemporaryDirectory(prefix="sesame-") as directory:
        runner = _runner(found, Path(directory), display)
        begin = datetime.now(UTC)
        [(_, repeated)] = runner.run([Point(found.scenario.ranks)], lambda _: found.scenario)
        assert runner.median is not None
        compute = replace(runner.median, text=str(found.scenario.compute))
        scenario = replace(found.scenario, compute=compute)
        if not keep.records:  # the sums are known: no run has to be recorded
            write_result(writer, scenario, repeated, begin, keep)
            return repeated
        outcome = _simulate_into(replace(found, scenario=scenario), writer, keep, display, repeated)
    # The recorded run may succeed although one of the repeats failed.
    status = outcome.exit_status or repeated.exit_status
    return replace(outcome, result={**outcome.result, "exit_status": status})


def _simulate_into(
    found: Prepared,
    writer: DataSetWriter,
    keep: Keep,
    display: Display,
    repeated: RunResult | None,
) -> RunResult:
    """Runs and records one simulation. `repeated` is the result of earlier repeats; their program
    has printed its output, so this run prints nothing."""

    def run(host: Host, **keywords: object) -> RunResult:
        return simulate_into(
            writer,
            found.scenario,
            host,
            keep,
            repeated=repeated,
            **keywords,  # type: ignore[arg-type]
        )

    silent = repeated is not None
    return display.host_run(found.executable, found.scenario.ranks, run, silent=silent)


def _run_points(
    found: Mapping[str, Prepared], points: Sequence[Point], display: Display
) -> tuple[list[tuple[Point, RunResult]], list[str]]:
    """The runs, and the notes that only they could give."""
    first = next(iter(found.values()))

    def scenario_of(point: Point) -> Scenario:
        scenario = (found[point.machine] if point.machine else first).scenario
        overrides = (*scenario.overrides, *point.overrides)
        return replace(scenario, ranks=point.ranks, overrides=overrides)

    with tempfile.TemporaryDirectory(prefix="sesame-") as directory:
        runner = _runner(first, Path(directory), display)
        runs = list(runner.run(points, scenario_of))
    return runs, [*runner.notes, *notes_of_runs(run for _, run in runs)]


def _runner(found: Prepared, directory: Path, display: Display) -> PointRunner:
    return PointRunner(
        found.executable,
        directory,
        repeats=found.repeat,
        show=show_point(display, found.executable),
        announce=display.announce,
        quiet=display.quiet,
    )
