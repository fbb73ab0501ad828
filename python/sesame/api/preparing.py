"""The scenario of a simulation that a user asked for: of a program, or of a traced run."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

from sesame import native
from sesame.api.arguments import check_one, words_of
from sesame.api.machine import Machine
from sesame.api.trace_driven import place, played, storage_of, write_inputs
from sesame.datasets import DataSet, is_data_set
from sesame.datasets.describe import count_of
from sesame.errors import InputError, OutputError
from sesame.settings import setting
from sesame.simulation import Compute, Scenario, find_host, parse_compute
from sesame.simulation.host import check_ranks_as, inspect_program, note_of_processes
from sesame.simulation.settings import (
    PROTOCOLS,
    check_rank_counts,
    check_repeat,
    check_storage,
    check_workers,
    parse_placement,
    with_strategy,
)
from sesame.simulation.sources import NAMES, other_ranks, parse_sources, write_expected

# The limits of core/sim/scenario.cc, in bytes. Calls of the simulator need the least.
LEAST_STACK, MOST_STACK = 64 << 10, 1 << 40
OWN_FILES_HINT = "without it each run has files of its own, which are deleted when it ends"


@dataclass(frozen=True)
class RunSettings:
    """What `simulate` and `series` have in common; each is an argument of both."""

    program: str | Path
    arguments: Sequence[str]
    machine: Machine
    compute: str | None
    repeat: int
    scale_compute: float | None
    placement: str
    environment: Mapping[str, str] | None
    cwd: str | Path | None
    mappings: Mapping[str, str] | None
    discard_data: bool
    collective: str | None
    seed: int
    shuffle: int | None
    ranks_as: str | None
    label: bool
    stack_size: str
    private_libraries: Sequence[str]
    workers: int
    protocol: str
    hosts: Sequence[str]
    launcher: str
    sources: str | Path | DataSet
    files: str | Path | None = None
    sensitivity: bool = False


@dataclass(frozen=True)
class Prepared:
    """A scenario and the simulator for it, checked: the simulation can start."""

    scenario: Scenario
    executable: Path
    repeat: int


@contextmanager
def prepared(
    settings: RunSettings, ranks: int | None, *, is_series: bool, program_stdout: str
) -> Iterator[Prepared]:
    """The scenario with `ranks`, of a series the first number. Its temporary inputs are deleted at
    the end of the block.

    Raises InputError for a wrong setting, OutputError if `files` cannot be written.
    """
    own = 'its arguments are an argument of their own, as arguments=["400000"]'
    check_one("program", settings.program, (str, os.PathLike), "a name or a path", own)
    words_of("arguments", settings.arguments, '["400000"]')
    words_of("private_libraries", settings.private_libraries, '["libstate*"]', numbers=False)
    if ranks is not None:
        check_rank_counts([ranks])
    words_of("hosts", settings.hosts, '["node2"]', numbers=False)
    check_workers(settings.workers, settings.protocol)
    if settings.hosts:
        from sesame.simulation.hosts import check_hosts

        check_hosts(settings.hosts, settings.launcher, settings.workers)
    with tempfile.TemporaryDirectory(prefix="sesame-") as directory:
        if is_trace(settings.program):
            scenario, executable = _of_trace(settings, ranks, Path(directory))
        else:
            scenario, executable = _of_program(settings, ranks)
        _check_files(settings, scenario.compute, is_series=is_series)
        scenario = _with_files(scenario, settings)
        scenario = _with_sources(scenario, settings, Path(directory))
        native.read_machine(str(scenario.machine), list(scenario.overrides))  # all keys together
        yield Prepared(
            replace(scenario, program_stdout=program_stdout), executable, settings.repeat
        )


def is_trace(program: str | Path) -> bool:
    """Whether this names a data set: then its calls are played."""
    name = os.fspath(program)
    return name.endswith(".sesame") or is_data_set(Path(name))


def parse_stack_size(text: str) -> int:
    """Bytes, of a size as `8MiB`. Raises InputError."""
    try:
        size: int = native.parse_size_bytes(text)
    except InputError as error:
        raise InputError(
            f"{setting('stack_size', text)}: {error.message}", hint=error.hint
        ) from error
    if not LEAST_STACK <= size <= MOST_STACK:
        raise InputError(
            f"{setting('stack_size', text)}: expected a size from 64 KiB to 1 TiB",
            hint="the default is 8 MiB; memory is taken only for what is used",
        )
    return size


def _of_program(settings: RunSettings, ranks: int | None) -> tuple[Scenario, Path]:
    if settings.scale_compute is not None:
        raise InputError(
            f"{setting('scale_compute')} is for traced runs",
            hint=f"{setting('settings', {'node.compute_ratio': 'X'})} multiplies that of a program",
        )
    if settings.mappings:
        raise InputError(
            f"{setting('mappings')} is for traced runs: a program names its files itself"
        )
    check_ranks_as(settings.ranks_as)
    compute = parse_compute(settings.compute or "measured")
    check_repeat(settings.repeat, compute)
    scenario = replace(
        _scenario(settings, ranks or 1, compute),
        program=os.fspath(settings.program),
        arguments=tuple(map(str, settings.arguments)),
        environment=tuple((settings.environment or {}).items()),
        working_directory=None if settings.cwd is None else Path(settings.cwd).resolve(),
    )
    inspected = inspect_program(scenario.program, settings.ranks_as)
    if inspected.ranks_as == "processes":
        if settings.sensitivity:
            raise InputError(
                f"{setting('sensitivity', settings.sensitivity)} is not for ranks that are "
                f"processes, and this program's are ({inspected.why})"
            )
        if settings.hosts:
            raise InputError(
                "a program whose ranks are processes is not simulated by several hosts yet, and "
                f"this program's are ({inspected.why})",
                hint=f"leave out {setting('hosts')}",
            )
        scenario = replace(
            scenario,
            notes=(
                *scenario.notes,
                note_of_processes(inspected.why),
            ),
        )
        return scenario, inspected.simulator
    # Not with what ranks that are processes have not.
    may = settings.ranks_as is None and not settings.hosts and not settings.sensitivity
    scenario = replace(scenario, may_be_processes=may)
    return scenario, find_host(inspected.interface, sensitivity=settings.sensitivity)


def _of_trace(settings: RunSettings, ranks: int | None, directory: Path) -> tuple[Scenario, Path]:
    from sesame.datasets import DataSet
    from sesame.simulation.trace import plan_run

    _check_trace_settings(settings)
    check_repeat(settings.repeat, Compute("recorded", text=settings.compute or "recorded"))
    data_set = DataSet(os.fspath(settings.program))
    machine, overrides = settings.machine.path, settings.machine.overrides
    mapped = [f"{old}={new}" for old, new in (settings.mappings or {}).items()]
    traced = plan_run(data_set, place(data_set, machine, overrides, mapped))
    if ranks not in (None, traced.ranks):
        raise _other_ranks([ranks], traced.name, traced.ranks)
    compute = write_inputs(traced, settings.compute, settings.scale_compute, directory)
    scenario = _scenario(settings, traced.ranks, compute)
    scenario = played(scenario, traced, directory, storage_of(machine, overrides))
    return scenario, find_host("mpich", sensitivity=settings.sensitivity)


def check_ranks_of_points(settings: RunSettings, scenario: Scenario, counts: Sequence[int]) -> None:
    """A traced run has the number of ranks with which it was traced, and the runs of a series that
    of the earlier run whose order they expect. Raises InputError."""
    other = next((count for count in counts if count != scenario.ranks), None)
    if other is None:
        return
    if scenario.trace is not None:
        raise _other_ranks(counts, scenario.name, scenario.ranks)
    if scenario.expected_sources is not None:
        raise other_ranks(settings.sources, scenario.ranks, other)


def _other_ranks(asked: Sequence[int | None], name: str, ranks: int) -> InputError:
    return InputError(
        f"{setting('ranks', list(asked))}: {name} was traced with {count_of(ranks, 'rank')}",
        hint=f"leave {setting('ranks')} out, or trace the program with another number of ranks",
    )


def _check_trace_settings(settings: RunSettings) -> None:
    if settings.arguments:
        raise InputError(
            f"{' '.join(map(str, settings.arguments))}: a traced run takes no arguments",
            hint="the program was traced with its own",
        )
    given = {
        "label": settings.label,
        "private_libraries": settings.private_libraries,
        "environment": settings.environment,
        "cwd": settings.cwd,
        "files": settings.files,
        "ranks_as": settings.ranks_as,
        "hosts": settings.hosts,  # the plan is a file of this host
    }
    for name, value in given.items():
        if value:
            program = os.fspath(settings.program)
            raise InputError(f"{setting(name)} is for programs, and {program} is a traced run")


def _scenario(settings: RunSettings, ranks: int, compute: Compute) -> Scenario:
    """What programs and traced runs have in common."""
    return Scenario(
        program="",
        arguments=(),
        ranks=ranks,
        machine=settings.machine.path,
        overrides=settings.machine.overrides,
        placement=parse_placement(settings.placement),
        compute=compute,
        label_output=settings.label,
        stack_size_bytes=parse_stack_size(settings.stack_size),
        private_libraries=tuple(settings.private_libraries),
        seed=settings.seed,
        shuffle=settings.shuffle,
        workers=settings.workers,
        protocol=settings.protocol,
        hosts=tuple(settings.hosts),
        launcher=settings.launcher,
        sensitivity=settings.sensitivity,
        notes=_notes(settings),
    )


def _with_sources(scenario: Scenario, settings: RunSettings, directory: Path) -> Scenario:
    """With what workers assume about the sources of receives; one worker does not need it."""
    kind, earlier = parse_sources(settings.sources)
    if settings.workers == 1:
        return scenario
    if earlier is None:
        return replace(scenario, sources=kind)
    path = directory / "expected_sources"
    write_expected(earlier, scenario.ranks, path)
    return replace(scenario, sources=kind, expected_sources=path)


def _notes(settings: RunSettings) -> tuple[str, ...]:
    if settings.workers > 1:
        return ()
    kind, earlier = parse_sources(settings.sources)
    given = {"protocol": settings.protocol, "sources": os.fspath(earlier or kind)}
    default = {"protocol": PROTOCOLS[0], "sources": NAMES[0]}
    return tuple(
        f"{setting(name, value)} has no effect with one worker"
        for name, value in given.items()
        if value != default[name]
    )


def _check_files(settings: RunSettings, compute: Compute, *, is_series: bool) -> None:
    if settings.hosts and compute.copies > 1:
        raise InputError(
            f"{setting('compute', str(compute))} runs copies on this host only: leave out "
            f"{setting('hosts')}"
        )
    if settings.files is None:
        return
    if settings.hosts:
        raise InputError(
            f"{setting('files')} keeps the files of one host, and {setting('hosts')} uses several"
        )
    if settings.repeat > 1:
        raise InputError(
            f"{setting('files')} keeps the files of one run, and "
            f"{setting('repeat', settings.repeat)} runs it again: each run would find the files of "
            "the one before",
            hint=OWN_FILES_HINT,
        )
    if is_series or compute.copies > 1:
        several = f"{setting('compute', str(compute))} runs copies of it"
        several = "this is a series" if is_series else several
        raise InputError(
            f"{setting('files')} keeps the files of one run, and {several}", hint=OWN_FILES_HINT
        )


def _with_files(scenario: Scenario, settings: RunSettings) -> Scenario:
    """With the settings of simulated files, checked against the machine."""
    files = None if settings.files is None else Path(settings.files)
    check_storage(
        scenario,
        keeps_files=files is not None,
        discards=settings.discard_data,
        strategy=settings.collective,
    )
    if files is not None:
        _make_directory(files)
        scenario = replace(scenario, files_directory=files.resolve())
    scenario = replace(scenario, discard_data=scenario.discard_data or settings.discard_data)
    return with_strategy(scenario, settings.collective)


def _make_directory(path: Path) -> None:
    try:
        path.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=path):
            pass
    except OSError as error:
        raise OutputError(f"{path}: cannot keep files there: {error.strerror}") from error
