"""Simulated runs and series, from Python: what `sesame simulate` does."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import IO

from sesame import native
from sesame.api.data_set import DataSet, kept_or_temporary
from sesame.api.machine import Machine, Value, machine_of, setting
from sesame.api.played import place, played, surroundings, write_inputs
from sesame.api.series import Series
from sesame.datasets import DataSetWriter, check_destination, is_data_set
from sesame.errors import AlreadyReported, InputError, SesameError
from sesame.simulation import (
    Host,
    Keep,
    Point,
    RunResult,
    Scenario,
    Sweep,
    find_host,
    parse_compute,
    plan_run,
    points_of,
    simulate_into,
)
from sesame.simulation import simulate as run_scenario
from sesame.simulation.host import inspect_program
from sesame.simulation.points import PointRunner
from sesame.simulation.series import write_series
from sesame.simulation.settings import (
    check_rank_counts,
    check_repeat,
    check_storage,
    parse_placement,
    with_strategy,
)
from sesame.trust import merged


@dataclass(frozen=True)
class _Prepared:
    scenario: Scenario
    executable: Path
    repeat: int
    quiet: bool


def simulate(
    program: str | Path,
    arguments: Sequence[str] = (),
    *,
    machine: str | Path | Machine,
    ranks: int | None = None,
    settings: Mapping[str, Value] | None = None,
    compute: str | None = None,
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
    records: bool = True,
    show_output: bool = False,
    output: str | Path | None = None,
    force: bool = False,
) -> DataSet:
    """Predicts one run on a machine; gives its data set, of kind `simulated`.

    `program` is an MPI program as it is, linked to MPICH or the MPI 5 interface, or a traced run
    (NAME.sesame) that is played in its place. `machine` is a `Machine`, the name of a model or a
    machine file; `settings` are keys of it for this run only ({"network.latency": "2us"}).
    `compute` is where the time of computation comes from: "measured" (default), "measured:2",
    "none", "fixed:1us", "recorded:NAME.sesame"; of a traced run "recorded" or "none", which
    `scale_compute` multiplies. `repeat` measures it so often: the median and its interval.
    `files` keeps simulated files in a directory; `mappings` says where files of a traced run are
    on the machine ({"/scratch/run": "."}). Without `records` the data set has sums only.
    `output` keeps the data set there; without it, it goes with the last reference to it.

    Raises InputError for a wrong argument, program or machine, with a hint; SimulationError when
    the simulator ends without a result. Whether the run completed says `info.result["outcome"]`.
    """
    target = machine_of(machine).set(settings or {})
    with _prepared(
        target, program, arguments, ranks, compute, repeat, scale_compute, mappings, show_output
    ) as found:
        scenario = _with_settings(found.scenario, placement, environment, cwd, seed)
        scenario = replace(
            scenario, files_directory=None if files is None else Path(files).resolve()
        )
        scenario = _with_files(scenario, discard_data, collective)
        return _kept(replace(found, scenario=scenario), Keep(records=records), output, force)


def _with_settings(
    scenario: Scenario,
    placement: str,
    environment: Mapping[str, str] | None,
    cwd: str | Path | None,
    seed: int,
) -> Scenario:
    return replace(
        scenario,
        placement=parse_placement(placement),
        environment=tuple((environment or {}).items()),
        working_directory=None if cwd is None else Path(cwd).resolve(),
        seed=seed,
    )


def _with_files(scenario: Scenario, discard_data: bool, collective: str | None) -> Scenario:
    """With what concerns simulated files, checked against the machine."""
    files = scenario.files_directory
    check_storage(
        scenario, keeps_files=files is not None, discards=discard_data, strategy=collective
    )
    if files is not None:
        files.mkdir(parents=True, exist_ok=True)
    scenario = replace(scenario, discard_data=scenario.discard_data or discard_data)
    return with_strategy(scenario, collective)


def _kept(found: _Prepared, keep: Keep, output: str | Path | None, force: bool) -> DataSet:
    def write(path: Path) -> None:
        with DataSetWriter(path, force=force) as writer:
            _simulate_one(found, writer, keep)

    return kept_or_temporary(write, output)


def series(
    program: str | Path,
    arguments: Sequence[str] = (),
    *,
    machine: str | Path | Machine,
    ranks: int | Sequence[int] | None = None,
    sweep: Mapping[str, Sequence[Value]] | None = None,
    settings: Mapping[str, Value] | None = None,
    compute: str | None = None,
    repeat: int = 1,
    scale_compute: float | None = None,
    placement: str = "block",
    environment: Mapping[str, str] | None = None,
    cwd: str | Path | None = None,
    mappings: Mapping[str, str] | None = None,
    discard_data: bool = False,
    collective: str | None = None,
    seed: int = 1,
    show_output: bool = False,
    output: str | Path | None = None,
    force: bool = False,
) -> Series:
    """Predicts a program over numbers of ranks and values of machine keys; gives the series.

    `sweep` has the values of each key that varies ({"network.latency": ["1us", "2us"]}); all
    combinations with all numbers of `ranks` run. Computation is measured once for all points that
    compute the same. The other arguments are those of `simulate`.

    Raises InputError and SimulationError as `simulate` does.
    """
    if output is not None:
        check_destination(Path(output), force=force)
    target = machine_of(machine).set(settings or {})
    sweeps = _sweeps(sweep or {})
    counts = [ranks] if isinstance(ranks, int) else list(ranks) if ranks else None
    check_rank_counts(counts or ())
    first = counts[0] if counts else None
    begin = datetime.now(UTC)
    with _prepared(
        target, program, arguments, first, compute, repeat, scale_compute, mappings, show_output
    ) as found:
        scenario = _with_settings(found.scenario, placement, environment, cwd, seed)
        found = replace(found, scenario=_with_files(scenario, discard_data, collective))
        points = points_of(counts or [found.scenario.ranks], sweeps)
        _check_traced_ranks(found.scenario, points)
        for point in points:  # every wrong value is found before the first run
            native.read_machine(str(target.path), [*target.overrides, *point.overrides])
        runs, notes = _run_points(found, points)
        doubts = merged([run.doubts for _, run in runs], "points")

        def write(path: Path) -> None:
            with DataSetWriter(path, force=force) as writer:
                every = [*found.scenario.notes, *notes]
                write_series(writer, found.scenario, runs, begin, notes=every, doubts=doubts)

        return Series.of(kept_or_temporary(write, output))


def _check_traced_ranks(scenario: Scenario, points: Sequence[Point]) -> None:
    counts = sorted({point.ranks for point in points})
    if scenario.trace is not None and counts != [scenario.ranks]:
        raise InputError(
            f"ranks={counts}: {scenario.trace} was traced with {scenario.ranks} ranks",
            hint="leave ranks out",
        )


def _sweeps(values_of: Mapping[str, Sequence[Value]]) -> list[Sweep]:
    for key, values in values_of.items():
        if isinstance(values, str) or not isinstance(values, Sequence) or not values:
            raise InputError(
                f"sweep: {key}: expected a list of values, got {values!r}",
                hint='for instance {"network.latency": ["1us", "2us"]}',
            )
    return [Sweep(key, tuple(map(setting, values))) for key, values in values_of.items()]


@contextmanager
def _prepared(
    machine: Machine,
    program: str | Path,
    arguments: Sequence[str],
    ranks: int | None,
    compute: str | None,
    repeat: int,
    scale_compute: float | None,
    mappings: Mapping[str, str] | None,
    show_output: bool,
) -> Iterator[_Prepared]:
    """The scenario of a program or a traced run, and the simulator for it."""
    if ranks is not None:
        check_rank_counts([ranks])
    name = os.fspath(program)
    if name.endswith(".sesame") or is_data_set(Path(name)):
        if arguments:
            raise InputError("a traced run takes no arguments: it was traced with its own")
        with tempfile.TemporaryDirectory(prefix="sesame-") as directory:
            scenario = _traced_scenario(
                machine, Path(name), ranks, compute, scale_compute, mappings, Path(directory)
            )
            yield _Prepared(scenario, find_host("mpich"), repeat, quiet=True)
        return
    if scale_compute is not None or mappings:
        raise InputError(
            "scale_compute and mappings are for traced runs",
            hint="node.compute_ratio scales the computation of a program",
        )
    how = parse_compute(compute or "measured")
    check_repeat(repeat, how)
    scenario = Scenario(
        program=name,
        arguments=tuple(map(str, arguments)),
        ranks=ranks or 1,
        machine=machine.path,
        overrides=machine.overrides,
        compute=how,
    )
    yield _Prepared(scenario, find_host(inspect_program(name)), repeat, quiet=not show_output)


def _traced_scenario(
    machine: Machine,
    path: Path,
    ranks: int | None,
    compute: str | None,
    scale_compute: float | None,
    mappings: Mapping[str, str] | None,
    directory: Path,
) -> Scenario:
    mapped = [f"{old}={new}" for old, new in (mappings or {}).items()]
    data_set = DataSet(path)
    traced = plan_run(data_set, place(data_set, machine.path, machine.overrides, mapped))
    if ranks not in (None, traced.ranks):
        raise InputError(
            f"ranks={ranks}: {traced.name} was traced with {traced.ranks} ranks",
            hint="leave ranks out, or trace the program with another number of ranks",
        )
    scenario = Scenario(
        program="",
        arguments=(),
        ranks=traced.ranks,
        machine=machine.path,
        overrides=machine.overrides,
        compute=write_inputs(traced, compute, scale_compute, directory),
    )
    return played(scenario, traced, directory, surroundings(machine.path, machine.overrides))


def _simulate_one(found: _Prepared, writer: DataSetWriter, keep: Keep) -> None:
    if found.repeat == 1:
        with _host(found) as host:
            simulate_into(writer, found.scenario, host, keep)
        return
    with tempfile.TemporaryDirectory(prefix="sesame-") as directory:
        runner = _runner(found, Path(directory))
        [(_, repeated)] = runner.run([Point(found.scenario.ranks)], lambda _: found.scenario)
        assert runner.median is not None
        compute = replace(runner.median, text=str(found.scenario.compute))
        scenario = replace(found.scenario, compute=compute)
        with _host(replace(found, quiet=True)) as host:
            simulate_into(writer, scenario, host, keep, repeated=repeated)


def _run_points(
    found: _Prepared, points: Sequence[Point]
) -> tuple[list[tuple[Point, RunResult]], list[str]]:
    def scenario_of(point: Point) -> Scenario:
        overrides = (*found.scenario.overrides, *point.overrides)
        return replace(found.scenario, ranks=point.ranks, overrides=overrides)

    with tempfile.TemporaryDirectory(prefix="sesame-") as directory:
        runner = _runner(found, Path(directory))
        runs = list(runner.run(points, scenario_of))
    notes = list(dict.fromkeys(note for _, run in runs for note in run.notes))
    return runs, [*runner.notes, *notes]


def _runner(found: _Prepared, directory: Path) -> PointRunner:
    def show(scenario: Scenario, _: IO[bytes]) -> RunResult:
        with _host(found) as host:
            return run_scenario(scenario, host)

    return PointRunner(
        found.executable, directory, repeats=found.repeat, show=show, quiet=found.quiet
    )


@contextmanager
def _host(found: _Prepared) -> Iterator[Host]:
    """What the simulator says on stderr becomes the error; otherwise it is passed on."""
    with tempfile.TemporaryFile() as said:
        stdout = subprocess.DEVNULL if found.quiet else None
        try:
            yield Host(found.executable, stdin=subprocess.DEVNULL, stdout=stdout, stderr=said)
        except AlreadyReported as error:
            raise _spoken(said, error) from error
        except SesameError:  # the simulator was killed: what it printed explains why
            sys.stderr.write(_text_of(said))
            raise
        text = _text_of(said)
        if text:
            sys.stderr.write(text)


def _spoken(said: IO[bytes], error: AlreadyReported) -> SesameError:
    message, _, hint = _text_of(said).strip().removeprefix("error: ").partition("\nhint: ")
    if error.exit_status != InputError.exit_status:
        return SesameError(message or f"the simulator ended with status {error.exit_status}")
    return InputError(message or "the simulator refused this run", hint=hint or None)


def _text_of(said: IO[bytes]) -> str:
    said.seek(0)
    return said.read().decode(errors="replace")
