"""Reads traced, imported and replayed runs, and runs of workloads, for a comparison."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from sesame.analysis.traced.activity import activity_of, outermost
from sesame.analysis.traced.counted import totals_of
from sesame.analysis.traced.intervals import Array
from sesame.analysis.traced.load import TracedRun, load_run
from sesame.analysis.traced.totals import Totals
from sesame.comparison.run import (
    STARTING,
    Calls,
    Run,
    doubts_of_run,
)
from sesame.comparison.simulated import Sums
from sesame.datasets import DataSet
from sesame.machines.values import machine_key, machine_values
from sesame.settings import setting
from sesame.traced.launched import program_of
from sesame.trust import Doubt, Reason

COUNTED = {"reads": "read_s", "writes": "write_s", "opens": "meta_s"}


def read_traced(data_set: DataSet, *, without_start: bool) -> Run:
    """A traced, imported or replayed run; see `read_run`."""
    info, run = data_set.info, load_run(data_set)
    totals = totals_of(run)
    activity = activity_of(run, totals)
    ranks = activity.ranks
    begin, end = _window(run, without_start=without_start)
    times, calls = (end - begin)[ranks] * 1e-9, _calls(run, begin, end)
    if calls is None:
        calls, computation = _counted(totals), activity.rest[ranks]
    elif calls.seconds is None:
        computation = times
    else:
        computation = np.maximum(times - calls.seconds.sum(axis=0), 0)
    program, arguments = program_of(info.get("command", []))
    replayed = info.get("result", {}).get("replayed_time_s")
    whole = float(run.seconds if replayed is None else replayed)
    return Run(
        path=data_set.path,
        kind=data_set.kind,
        title=str(info.get("title", "")),
        program=program,
        arguments=arguments,
        ranks=len(ranks),
        time_s=float(times.max(initial=0.0)) if without_start else whole,
        samples_s=(float(times.max(initial=0.0)) if without_start else whole,),
        without_start=without_start,
        exact=False,
        recording="",
        rank_s=times,
        computation_s=computation,
        calls=calls,
        machine=str(info.get("host", {}).get("name", "")),
        doubts=(*doubts_of_run(info), *_lost(run, info)),
    )


def read_bench(data_set: DataSet) -> Run:
    """A run of a workload: its time and figures."""
    info, result = data_set.info, data_set.info["result"]
    figures: dict[str, tuple[float, str]] = {}
    if data_set.has("figure"):
        rows = data_set.table("figure").to_pylist()
        figures = {row["name"]: (float(row["value"]), str(row["unit"])) for row in rows}
    program, arguments = program_of(info.get("command", []))
    target = info.get("target_system", {})
    doubts = doubts_of_run(info)
    if result.get("verified") is False:
        doubts.append(Doubt(Reason.INCOMPLETE_INPUT, "the answer of this run was wrong"))
    time_s = float(result["time_s"])
    file = target.get("machine_file")
    return Run(
        path=data_set.path,
        kind=data_set.kind,
        title=str(info.get("title", "")),
        program=Path(program).name,
        arguments=tuple(result.get("options", arguments)),
        ranks=int(info["ranks"]),
        time_s=time_s,
        samples_s=(time_s,),
        without_start=False,
        exact=False,
        recording="",
        rank_s=np.zeros(0),
        computation_s=None,
        figures=figures,
        machine=str(target.get("name", "")),
        machine_key=None if file is None else machine_key(file),
        machine_values=None if file is None else machine_values(file),
        doubts=tuple(doubts),
    )


def _window(run: TracedRun, *, without_start: bool) -> tuple[Array, Array]:
    """When the time of each process that counts begins and ends, by its number, in ns."""
    begin, end = np.zeros(run.ranks, np.int64), np.zeros(run.ranks, np.int64)
    begin[run.processes.rank], end[run.processes.rank] = run.processes.begin, run.processes.end
    if without_start:
        for number, name in enumerate(run.mpi.names):
            if name.removeprefix("P") in STARTING:
                chosen = run.mpi.call == number
                at = run.mpi.rank[chosen]
                if name.endswith("Finalize"):
                    end[at] = run.mpi.begin[chosen]
                else:
                    begin[at] = run.mpi.end[chosen]
    return begin, np.maximum(begin, end)


def _calls(run: TracedRun, begin: Array, end: Array) -> Calls | None:
    """Calls of the program itself in the window of each rank; None if there are only counters."""
    index = np.full(run.ranks, -1)
    index[run.processes.ranks] = np.arange(len(run.processes.ranks))
    sums = Sums(len(run.processes.ranks))
    for records in (run.mpi.where(run.mpi.own), outermost(run)):
        inside = (
            (index[records.rank] >= 0)
            & (records.begin >= begin[records.rank])
            & (records.end <= end[records.rank])
        )
        kept = records.where(inside)
        if len(kept):
            seconds = (kept.end - kept.begin) * 1e-9
            sums.add(kept.names, kept.call, index[kept.rank], seconds, kept.bytes)
    return sums.calls() if sums.names or not run.data_set.has("file_total") else None


def _counted(totals: Totals) -> Calls:
    """The counters of another tool by kind of call. Not by rank, since files that all ranks used
    may be counted for all ranks together."""
    own = totals.own
    moved = [own.sum("bytes_read"), own.sum("bytes_written"), 0.0]
    return Calls(
        ("file reads", "file writes", "file metadata"),
        np.array([own.sum(name) for name in COUNTED]),
        np.array(moved),
        np.array([own.sum(name) for name in COUNTED.values()]),
        None,
    )


def _lost(run: TracedRun, info: Mapping[str, Any]) -> list[Doubt]:
    found = []
    cut = [
        int(r)
        for r, how in zip(run.processes.rank, run.processes.outcome, strict=True)
        if how == "cut off"
    ]
    if cut:
        named = ", ".join(map(str, cut[:5])) + (", …" if len(cut) > 5 else "")
        text = f"{len(cut)} processes were cut off (rank {named})"
        found.append(Doubt(Reason.INCOMPLETE_INPUT, text))
    if dropped := (info.get("result") or {}).get("dropped"):
        text = f"pruning left out {dropped:,} MPI calls"
        found.append(Doubt(Reason.INCOMPLETE_INPUT, text, f"trace it without {setting('prune')}"))
    return found
