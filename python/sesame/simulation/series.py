"""A series of simulated runs as a data set: a row for each point, with the values that were varied.

It has the figures of each run, not the calls and messages.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sesame.datasets.describe import count_of
from sesame.datasets.info import HostMachine, Info, Instrument, Kind
from sesame.simulation.compute import Compute
from sesame.simulation.run import RunResult
from sesame.simulation.scenario import Scenario
from sesame.simulation.sweep import MACHINE, Point
from sesame.trust import Doubt, Estimate, Reason

if TYPE_CHECKING:
    from sesame.datasets import DataSet, DataSetWriter

POINT = "point"  # the record type
RANKS = "ranks"
Runs = Sequence[tuple[Point, RunResult]]
# Figures of a run: type, unit and meaning. `predicted_time_s` and its interval come first.
FIGURES = {
    "messages": ("int64", "", "messages between ranks"),
    "bytes": ("int64", "B", "their data"),
    "spawned_ranks": ("int64", "", "ranks that the program spawned"),
    "io_time_s": ("float64", "s", "simulated time in file systems, mean of the ranks"),
    "file_bytes_read": ("int64", "B", "data read from simulated files"),
    "file_bytes_written": ("int64", "B", "data written to simulated files"),
    "device_reads": ("int64", "", "reads of devices"),
    "device_writes": ("int64", "", "writes of devices"),
    "wall_time_s": ("float64", "s", "time that simulating took"),
    "exit_status": ("int64", "", "exit status of the run"),
    "outcome": ("text", "", "completed, aborted, deadlock, …"),
    "outcome_text": ("text", "", "why it did not complete"),
}


def write_series(
    writer: DataSetWriter,
    scenarios: Mapping[str, Scenario],
    runs: Runs,
    begin: datetime,
    *,
    notes: Sequence[str] = (),
    doubts: Sequence[Doubt] = (),
) -> None:
    """Writes the points and finishes the data set. `scenarios`: that of any point on each machine,
    by the name that the points have for it; only the common settings are used."""
    from sesame.datasets import Field, RecordType

    keys = [key for key, _ in runs[0][0].settings]
    fields = [
        Field(RANKS, "int64", "rank", "number of ranks"),
        *(Field(key, "text", "", _meaning(key)) for key in keys),
        Field("predicted_time_s", "float64", "s", "predicted time; of repeats the median"),
        Field("low_s", "float64", "s", "its interval of 95 %; without repeats the time itself"),
        Field("high_s", "float64", "s", "the interval's end"),
        Field("repeats", "int64", "", "runs of this point"),
        *(Field(name, *described) for name, described in FIGURES.items()),
    ]
    rows = [_row(point, run) for point, run in runs]
    columns = {field.name: [row[field.name] for row in rows] for field in fields}
    writer.write_described(RecordType(POINT, "One run of the series", tuple(fields)), columns)
    writer.finish(_info(scenarios, runs, keys, begin, notes, doubts))


def _meaning(key: str) -> str:
    return "target system" if key == MACHINE else "value of this key of the machine"


def _row(point: Point, run: RunResult) -> dict[str, Any]:
    estimate = run.estimate or Estimate(run.predicted_s, run.predicted_s, run.predicted_s, 1)
    figures = {
        name: run.result.get(name, "" if kind == "text" else 0)
        for name, (kind, *_) in FIGURES.items()
    }
    return {
        RANKS: point.ranks,
        **dict(point.settings),
        "predicted_time_s": run.predicted_s,
        "low_s": estimate.low,
        "high_s": estimate.high,
        "repeats": estimate.samples,
        **figures,
    }


def _info(
    scenarios: Mapping[str, Scenario],
    runs: Runs,
    keys: Sequence[str],
    begin: datetime,
    notes: Sequence[str],
    doubts: Sequence[Doubt],
) -> Info:
    scenario = next(iter(scenarios.values()))
    machine = machines_of(runs)
    counts = {point.ranks for point, _ in runs}
    varied = [*([RANKS] if len(counts) > 1 else []), *keys]
    return Info(
        kind=Kind.SERIES,
        title=f"{scenario.name} on {machine}: a series of {count_of(len(runs), 'run')}",
        description="Simulated runs: times are those of the target system, not of the host.",
        instrument=Instrument.ours("sesame simulate"),
        target_system=_target_system(scenarios, machine),
        host=HostMachine.here(),
        begin_time=begin.isoformat(timespec="seconds"),
        command=scenario.command,
        compute=str(scenario.compute),
        seed=scenario.seed,
        scenario=scenario.to_json(),
        result={"varied": varied, "points": len(runs)},
        notes=notes,
        doubts=[doubt.as_json() for doubt in doubts],
    )


def machines_of(runs: Runs) -> str:
    """The names of the machines, with commas between."""
    return ", ".join(dict.fromkeys(point.machine or run.result["machine"] for point, run in runs))


def _target_system(scenarios: Mapping[str, Scenario], name: str) -> dict[str, Any]:
    """The machine file of the series; of several machines that of each, with its changed keys."""
    texts = {label: one.machine.read_text(encoding="utf-8") for label, one in scenarios.items()}
    if len(texts) == 1:
        return {"name": name, "machine_file": next(iter(texts.values()))}
    machines = {
        label: {"machine_file": text, "overrides": list(scenarios[label].overrides)}
        for label, text in texts.items()
    }
    return {"name": name, "machines": machines}


def read_series(data_set: DataSet) -> list[tuple[Point, RunResult]]:
    """The points in their order, each with the figures of its run."""
    names = set(data_set.schema(POINT).names)
    known = {RANKS, "predicted_time_s", "low_s", "high_s", "repeats", *FIGURES}
    keys = [name for name in data_set.schema(POINT).names if name not in known]
    machine = (data_set.info.target_system or {}).get("name", "")
    runs = []
    for row in data_set.table(POINT).to_pylist():
        figures = {name: row[name] for name in ("predicted_time_s", *FIGURES) if name in names}
        estimate = None
        if row["repeats"] > 1:
            ends = (row["low_s"], row["high_s"])
            estimate = Estimate(row["predicted_time_s"], *ends, row["repeats"])
        result = {**figures, RANKS: row[RANKS], "machine": row.get(MACHINE, machine)}
        point = Point(row[RANKS], tuple((key, row[key]) for key in keys))
        runs.append((point, RunResult(result, estimate=estimate)))
    return runs


def scenario_of(data_set: DataSet) -> Scenario:
    """The settings common to all points, as far as the data set records them."""
    info = data_set.info
    recorded = info.scenario or {}
    program, *arguments = [*info.command, *([] if info.command else [""])]
    is_trace = recorded.get("program") != program
    return Scenario(
        program=str(recorded.get("program", program)),
        arguments=tuple(arguments),
        ranks=int(recorded.get(RANKS, 1)),
        machine=Path(recorded.get("machine", "")),
        compute=Compute(text=info.compute or ""),
        seed=info.seed or 0,
        trace=program if is_trace else None,
    )


def doubts_of(data_set: DataSet) -> list[Doubt]:
    """The doubts stored in a data set."""
    return [
        Doubt(Reason(one["reason"]), one["text"], one.get("hint")) for one in data_set.info.doubts
    ]
