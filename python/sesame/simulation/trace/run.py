"""Plans a traced run once, for any number of simulations."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from sesame.datasets import DataSet
from sesame.errors import InputError
from sesame.settings import setting
from sesame.simulation.compute import write_recorded
from sesame.simulation.trace.calls import Role, is_one_sided, plain
from sesame.simulation.trace.communicators import WORLD, Communicator, read_communicators
from sesame.simulation.trace.disturbed import doubts_of_trace
from sesame.simulation.trace.events import Array, Events, Span, read_events
from sesame.simulation.trace.excluded import keep_computation, read_preempted
from sesame.simulation.trace.files import FilePlacement, choose_files
from sesame.simulation.trace.plan import Plan, Planner
from sesame.traced.members import NOT_TRACED
from sesame.trust import Doubt

NO_FILES = FilePlacement((), {})


@dataclass(frozen=True)
class TracedRun:
    """A traced run with its plan for the player."""

    data_set: DataSet
    plan: Plan
    notes: tuple[str, ...]  # differences from the traced run
    placed: FilePlacement = NO_FILES
    doubts: tuple[Doubt, ...] = ()

    @property
    def ranks(self) -> int:
        return self.plan.ranks

    @property
    def io_s(self) -> Array:
        """Time of each rank in file operations that are not modelled, s."""
        return self.plan.io_s

    @property
    def has_open_mpi(self) -> bool:
        """Whether the traced program used Open MPI, whose collectives have other algorithms."""
        column = self.data_set.table("process", ["interface"]).column(0)
        return "Open MPI" in column.to_pylist()

    @property
    def name(self) -> str:
        return self.data_set.path.name

    def write_plan(self, path: Path) -> None:
        self.plan.write(path)

    def write_times(self, path: Path, scale: float) -> None:
        """Writes the computation for the compute mode `recorded`, multiplied by `scale`."""
        times = [np.round(part * (1000 * scale)).astype(np.int64) for part in self.plan.times]
        write_recorded(times, path)


def plan_run(data_set: DataSet, placed: FilePlacement = NO_FILES) -> TracedRun:
    """Plans the calls and computation of each rank. `placed`: files on simulated file systems.

    Raises InputError, which names the record, if the trace cannot be played.
    """
    try:
        return _plan_run(data_set, placed)
    except InputError as error:
        if error.path is not None:
            raise
        raise InputError(error.message, path=str(data_set.path), hint=error.hint) from error


def _plan_run(data_set: DataSet, placed: FilePlacement) -> TracedRun:
    notes: list[str] = []
    _check_pruning(data_set)
    span, cut_off = _read_processes(data_set, notes)
    communicators = read_communicators(data_set, span.ranks)
    _check_ranks(span.ranks, communicators)
    events, left_out = read_events(
        data_set, span, len(communicators), notes, lambda read: choose_files(read, placed)
    )
    preempted = read_preempted(data_set, events)
    after = keep_computation(events, left_out, preempted, span, _time_after(events, span))
    try:
        plan = Planner(events, communicators, span.ranks, after, placed.paths).plan(notes)
    except InputError as error:
        if not cut_off:
            raise
        ranks = ", ".join(map(str, cut_off))
        raise InputError(error.message, hint=f"the trace of rank {ranks} is cut off") from error
    _note_times(events, notes)
    doubts = doubts_of_trace(data_set, preempted, span)
    return TracedRun(data_set, plan, tuple(notes), placed, tuple(doubts))


def _check_pruning(data_set: DataSet) -> None:
    pruning = data_set.info.get("result", {}).get("pruning", "none")
    if pruning != "none":
        raise InputError(
            f"this traced run was pruned ({pruning}): the messages that were left out are missing",
            hint=f"trace it without {setting('prune')}",
        )


def _read_processes(data_set: DataSet, notes: list[str]) -> tuple[Span, list[int]]:
    """The begin and end of the processes of MPI_COMM_WORLD, and the ranks with a trace that is cut
    off."""
    if not data_set.has("process"):
        raise InputError(
            "this is no traced run: it has no records of processes",
            hint="record one with `sesame trace -o FILE.sesame -- mpiexec …`",
        )
    columns = ["rank", "mpi_rank", "begin_ns", "end_ns", "discarded", "outcome"]
    rows = data_set.table("process", columns).to_pylist()
    processes = sorted((row for row in rows if row["mpi_rank"] >= 0), key=lambda r: r["rank"])
    has_mpi = _holds(data_set, "mpi")
    if not processes:
        processes = _without_mpi(data_set, rows, notes)
    elif not has_mpi:
        notes.append(
            "the trace has no calls of MPI: its ranks do not wait for each other, and their "
            "waiting when traced counts as computation"
        )
    ranks = [row["rank"] for row in processes]
    missing = sorted(set(range(max(ranks) + 1)) - set(ranks))
    if missing:
        raise InputError(f"rank {', '.join(map(str, missing))} is not in the trace")
    if len(rows) > len(processes):
        notes.append(f"{len(rows) - len(processes)} processes that are no ranks are left out")
    discarded = sum(row["discarded"] for row in processes)
    if discarded:
        notes.append(f"{discarded:,} records of the traced run are lost")
    begin, end = (np.array([row[k] for row in processes], np.int64) for k in ("begin_ns", "end_ns"))
    if not has_mpi:  # MPI_Init would synchronize ranks; without it each begins at its own time
        begin = np.zeros_like(begin)
    return Span(begin, end), [r["rank"] for r in processes if r["outcome"] == "cut off"]


def _holds(data_set: DataSet, name: str) -> bool:
    return data_set.has(name) and data_set.table(name, ["rank"]).num_rows > 0


def _without_mpi(
    data_set: DataSet, rows: list[dict[str, Any]], notes: list[str]
) -> list[dict[str, Any]]:
    """All processes as ranks, so that their accesses to files are played."""
    if not _holds(data_set, "io"):
        raise InputError(
            "no process of this run called MPI or accessed a file: there is nothing to simulate"
        )
    count = "its process is" if len(rows) == 1 else f"its {len(rows)} processes are"
    notes.append(
        f"no process of this run called MPI: {count} played side by side, and waiting of one for "
        "another counts as computation"
    )
    return sorted(rows, key=lambda row: row["rank"])


def _check_ranks(ranks: int, communicators: list[Communicator]) -> None:
    world = communicators[WORLD].size
    if world != ranks:
        members = enumerate(communicators[WORLD].members)
        missing = [place for place, member in members if not 0 <= member < ranks]
        raise InputError(
            f"the run had {world} ranks, and the trace has {ranks}: "
            f"rank {', '.join(map(str, missing))} is missing"
        )
    for index, communicator in enumerate(communicators):
        if NOT_TRACED in communicator.everyone:
            raise InputError(f"communicator {index}: one of its processes was not traced")


def _time_after(events: Events, span: Span) -> Array:
    end = span.begin.copy()
    np.maximum.at(end, events.rank, events.end)
    left: Array = np.maximum(span.end - end, 0)
    return left


def _note_times(events: Events, notes: list[str]) -> None:
    timed = events.role == Role.TIMED
    names = {plain(events.names[call]) for call in np.unique(events.call[timed]).tolist()}
    for what, chosen in (
        ("one-sided communication", {name for name in names if is_one_sided(name)}),
        ("collectives among neighbours", {name for name in names if "eighbor_" in name}),
    ):
        if chosen:
            notes.append(f"{what} takes the time it took when traced (MPI_{min(chosen)}, …)")
