"""Reads a simulated run for a comparison."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from sesame.analysis.explain.explanation import PS, shares_of_slowest, why_not
from sesame.analysis.timeline import own_file_calls
from sesame.analysis.traced.intervals import Array
from sesame.comparison.run import (
    STARTING,
    Calls,
    Run,
    call_name,
    doubts_of_run,
)
from sesame.datasets import DataSet, is_data_set
from sesame.errors import InputError
from sesame.machines.values import machine_key, machine_values
from sesame.settings import setting
from sesame.simulation.compute import mode_of
from sesame.traced.launched import program_of
from sesame.trust import Doubt, Reason

EXACT_COMPUTE = ("none", "fixed")


def read_simulated(data_set: DataSet, *, without_start: bool) -> Run:
    """See `read_run`."""
    info = data_set.info
    if without_start and not data_set.has("call"):
        raise InputError(
            "it has no records of calls, which a comparison with a real run needs",
            path=str(data_set.path),
            hint=f"simulate it again without {setting('records', False)}",
        )
    ranks = data_set.table("rank").to_pydict()
    begin, end = _spans(data_set, ranks, without_start=without_start)
    calls = _calls(data_set, len(end), without_start=without_start)
    times, result = end - begin, info["result"]
    in_calls = np.array(ranks["communication_s"]) + np.array(ranks["wait_s"])
    computation = np.array(ranks["compute_s"])
    if without_start or calls.seconds is not None:
        in_calls = np.zeros(len(end)) if calls.seconds is None else calls.seconds.sum(axis=0)
        computation = np.maximum(np.rint((times - in_calls) / PS) * PS, 0)
    program, arguments = program_of(info.get("command", []))
    scenario, estimate = info.get("scenario", {}), result.get("predicted_time", {})
    machine_file = info.get("target_system", {}).get("machine_file", "")
    overrides = scenario.get("overrides", [])
    time_s = float(times.max()) if without_start else float(result["predicted_time_s"])
    mode = mode_of(info)
    return Run(
        path=data_set.path,
        kind=data_set.kind,
        title=str(info.get("title", "")),
        program=program,
        arguments=arguments,
        ranks=len(end),
        time_s=time_s,
        samples_s=(time_s,) if without_start else tuple(estimate.get("values") or (time_s,)),
        without_start=without_start,
        exact=mode in EXACT_COMPUTE,
        recording="" if estimate else _recording(data_set, mode),
        rank_s=times,
        computation_s=computation,
        calls=calls,
        machine=str(result.get("machine", "")),
        machine_key=machine_key(machine_file, overrides),
        machine_values=machine_values(machine_file, overrides),
        settings=_settings(info, scenario),
        read_shares=None if without_start or why_not(data_set) else partial(_shares, data_set),
        doubts=(*doubts_of_run(info), *_left_out(estimate, without_start)),
    )


def _shares(data_set: DataSet) -> dict[str, float]:
    return {share.name: share.time_ps * PS for share in shares_of_slowest(data_set)}


def _recording(data_set: DataSet, mode: str) -> str:
    """Identifies the computation of a run, which others may repeat; "" for none. It is that of the
    traced run that is simulated, of the data set that `--compute recorded:` names, or of this data
    set if it was measured."""
    info = data_set.info
    program = (info.get("command") or [""])[0]
    if mode == "measured":
        return f"{data_set.path.resolve()} of {info.begin_time} {program}"
    if mode != "recorded":
        return ""
    source = _recorded_in(data_set)
    return f"{info.get('compute') if source is None else source} {program}"


def _recorded_in(data_set: DataSet) -> str | None:
    """The data set whose computation a run repeats, with its begin. None if it is not where the run
    found it, or was recorded again since."""
    path = Path(str(data_set.info.get("compute")).partition(":")[2])
    for place in (data_set.path.parent / path, path):
        if path.name and is_data_set(place):
            begin = DataSet(place).info.begin_time
            known = begin is not None and begin <= (data_set.info.begin_time or "")
            return f"{place.resolve()} of {begin}" if known else None
    return None


def _settings(info: Mapping[str, Any], scenario: dict[str, Any]) -> dict[str, str]:
    environment = scenario.get("environment") or {}
    named = {
        "compute": info.get("compute"),
        "placement": scenario.get("placement"),
        "seed": info.get("seed"),
        "discard data": scenario.get("discard_data"),
        "environment": " ".join(f"{k}={v}" for k, v in sorted(environment.items())),
    }
    return {name: str(value) for name, value in named.items() if value not in (None, "")}


def _left_out(estimate: dict[str, Any], without_start: bool) -> list[Doubt]:
    if without_start and estimate:
        text = "of its repeats only the one with the median time is compared with a real run"
        return [Doubt(Reason.FEW_SAMPLES, text)]
    return []


def _spans(
    data_set: DataSet, ranks: dict[str, list[float]], *, without_start: bool
) -> tuple[Array, Array]:
    begin = np.array(ranks.get("begin_s") or [0.0] * len(ranks["end_s"]))
    end = np.array(ranks["end_s"])
    if without_start:
        for rank, call, at, to in _starting_calls(data_set):
            if call == "MPI_Finalize":
                end[rank] = at
            else:
                begin[rank] = to
    return begin, end


def _starting_calls(data_set: DataSet) -> list[tuple[int, str, float, float]]:
    found = []
    for batch in data_set.batches("call", ["rank", "call", "begin_ps", "end_ps"]):
        column = batch.column("call")
        numbers = [i for i, name in enumerate(column.dictionary.to_pylist()) if name in STARTING]
        chosen = np.flatnonzero(np.isin(column.indices.to_numpy(), numbers))
        rows = batch.take(chosen).to_pylist()
        found += [
            (row["rank"], row["call"], row["begin_ps"] * 1e-12, row["end_ps"] * 1e-12)
            for row in rows
        ]
    return found


@dataclass
class Sums:
    """Adds calls up, by name and rank."""

    ranks: int

    def __post_init__(self) -> None:
        self.names: dict[str, int] = {}
        self.seconds, self.count, self.bytes = (np.zeros((0, self.ranks)) for _ in range(3))

    def add(self, names: list[str], call: Array, rank: Array, seconds: Array, size: Array) -> None:
        """Adds calls, given as columns; `call` has indices in `names`."""
        used = [self.names.setdefault(call_name(name), len(self.names)) for name in names]
        row = np.array(used or [0], np.int64)[call]
        cells = len(self.names) * self.ranks
        at = row * self.ranks + rank.astype(np.int64)
        grown = [
            np.vstack([table, np.zeros((len(self.names) - len(table), self.ranks))])
            for table in (self.seconds, self.count, self.bytes)
        ]
        shape = (len(self.names), self.ranks)
        added = [
            np.bincount(at, weights, cells).reshape(shape) for weights in (seconds, None, size)
        ]
        self.seconds, self.count, self.bytes = (
            old + new for old, new in zip(grown, added, strict=True)
        )

    def calls(self, *, without: tuple[str, ...] = ()) -> Calls:
        """The sums of all calls that were made, except those named in `without`."""
        kept = [i for n, i in self.names.items() if n not in without and self.count[i].any()]
        names = list(self.names)
        return Calls(
            tuple(names[i] for i in kept),
            self.count[kept].sum(axis=1),
            self.bytes[kept].sum(axis=1),
            self.seconds[kept].sum(axis=1),
            self.seconds[kept],
        )


def _calls(data_set: DataSet, ranks: int, *, without_start: bool) -> Calls:
    if not data_set.has("call"):
        table = data_set.table("call_total").to_pydict()
        count, size, seconds = (
            np.array(table[name], float) for name in ("count", "bytes", "time_s")
        )
        return Calls(tuple(table["name"]), count, size, seconds, None)
    sums = Sums(ranks)
    for batch in data_set.batches("call", ["rank", "call", "begin_ps", "end_ps", "bytes"]):
        begin, end = batch.column("begin_ps").to_numpy(), batch.column("end_ps").to_numpy()
        sums.add(
            batch.column("call").dictionary.to_pylist(),
            batch.column("call").indices.to_numpy(),
            batch.column("rank").to_numpy(),
            (end - begin) * 1e-12,
            batch.column("bytes").to_numpy(),
        )
    files = own_file_calls(data_set)
    if files is not None and len(files["rank"]):
        names, call = np.unique(files["call"].astype(str), return_inverse=True)
        seconds = (files["end_ps"] - files["begin_ps"]) * 1e-12
        sums.add(names.tolist(), call, files["rank"], seconds, files["bytes"])
    return sums.calls(without=STARTING if without_start else ())
