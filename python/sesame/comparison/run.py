"""A run in the form that is compared: its time by rank and by call, for any kind of data set."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from sesame.analysis.traced.intervals import Array
from sesame.datasets import RUNS_WITH_CALLS, DataSet, Kind
from sesame.errors import InputError
from sesame.trust import Doubt, Reason

COMPUTATION = "computation"
# Calls in which launcher and library start and end, whose time no model predicts.
STARTING = ("MPI_Init", "MPI_Init_thread", "MPI_Finalize")


@dataclass(frozen=True)
class Calls:
    """Totals by call. `sum_s` is the time over all ranks. `seconds` has a row for each name and a
    column for each rank, or is None if times by rank are not known."""

    names: tuple[str, ...]
    count: Array
    bytes: Array
    sum_s: Array
    seconds: Array | None

    def of(self, name: str) -> int | None:
        """The row of a name."""
        return self.names.index(name) if name in self.names else None


NO_CALLS = Calls((), np.zeros(0), np.zeros(0), np.zeros(0), None)


@dataclass(frozen=True)
class Run:
    """One data set. Times in seconds, of the whole run or of what `read_run` was asked for."""

    path: Path
    kind: Kind
    title: str
    program: str
    arguments: tuple[str, ...]
    ranks: int
    time_s: float
    samples_s: tuple[float, ...]  # times of repeats; without repeats the time itself
    without_start: bool  # see read_run
    exact: bool  # the same command gives the same time again
    recording: str  # which computation it has or repeats; "" where that is not known
    rank_s: Array  # time of each rank
    computation_s: Array | None  # of each rank; None where it is not known
    calls: Calls = NO_CALLS
    figures: dict[str, tuple[float, str]] = field(default_factory=dict)  # name: value, unit
    machine: str = ""
    machine_key: str | None = None  # of a simulated machine's values (see machines.values)
    machine_values: dict[str, str] | None = None
    settings: dict[str, str] = field(default_factory=dict)
    # Of a predicted run with records: reads what the time of its slowest rank consists of, in
    # seconds by share. Takes as long as reading the messages.
    read_shares: Callable[[], dict[str, float]] | None = None
    doubts: tuple[Doubt, ...] = ()


def read_run(data_set: DataSet, *, without_start: bool = False) -> Run:
    """Reads a run for a comparison. With `without_start` only the time of each rank from the end of
    MPI_Init to the beginning of MPI_Finalize counts: the start of real processes is not predicted.

    Raises InputError for a data set that is no run.
    """
    from sesame.comparison.measured import read_bench, read_traced
    from sesame.comparison.simulated import read_simulated

    match data_set.kind:
        case Kind.BENCH:
            return read_bench(data_set)
        case Kind.SIMULATED:
            return read_simulated(data_set, without_start=without_start)
        case kind if kind in RUNS_WITH_CALLS:
            return read_traced(data_set, without_start=without_start)
    raise InputError(
        f"a {data_set.kind} data set: expected a simulated, traced, imported or replayed run, or a "
        "run of a workload",
        path=str(data_set.path),
    )


def call_name(name: str) -> str:
    """The one name of a call's forms: `MPI_Send` for PMPI_Send and MPI_Send_c."""
    plain = name.removeprefix("P") if name.startswith("PMPI_") else name
    return plain.removesuffix("_c") if plain.startswith("MPI_") else plain


def doubts_of_run(info: Mapping[str, Any]) -> list[Doubt]:
    """The doubts that a data set states, and those for lost records and for a run that failed."""
    result, raw = info.get("result") or {}, info.get("raw") or {}
    described = [*(info.get("doubts") or []), *(result.get("doubts") or [])]
    found = [
        Doubt(Reason(doubt["reason"]), doubt["text"], doubt.get("hint"))
        for doubt in described
        if doubt.get("reason") in set(Reason)
    ]
    if raw.get("discarded") or raw.get("damage"):
        lost = [f"{raw['discarded']:,} records were lost"] if raw.get("discarded") else []
        text = "; ".join([*lost, *map(str, raw.get("damage") or [])])
        found.append(Doubt(Reason.INCOMPLETE_INPUT, text))
    outcome, status = result.get("outcome", "completed"), result.get("exit_status", 0)
    if outcome not in ("completed", "complete", "incomplete", "", None) or status:
        text = f"the run ended with exit status {status} ({outcome})"
        found.append(Doubt(Reason.INCOMPLETE_INPUT, text, "compare runs that end by themselves"))
    return found
