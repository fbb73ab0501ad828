"""Writes the data set of a workload's run."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from sesame.datasets import (
    DataSetWriter,
    Field,
    HostMachine,
    Info,
    Instrument,
    Kind,
    RecordType,
)
from sesame.datasets.describe import count_of
from sesame.workloads.run import BenchRun


def write_run(writer: DataSetWriter, run: BenchRun, begin: datetime) -> None:
    """Writes figures, checks and tables of a run; finishes the data set.

    `begin`: when the run started. Raises OutputError.
    """
    report = run.report
    writer.write_records("figure", _columns(report["figures"], "name", "value", "unit"))
    checks = _columns(
        report["checks"], "name", "value", "expected", "relative_error", "tolerance", "right"
    )
    checks["right"] = [int(right) for right in checks["right"]]
    writer.write_records("check", checks)
    for name, table in report["tables"].items():
        _write_table(writer, report["workload"], name, table)
    writer.finish(_info(run, begin))


def _columns(rows: list[dict[str, Any]], *names: str) -> dict[str, list[Any]]:
    return {name: [row[name] for row in rows] for name in names}


def _write_table(
    writer: DataSetWriter, workload: str, name: str, table: dict[str, dict[str, Any]]
) -> None:
    fields = tuple(
        Field(column, _type_of(part["values"]), part["unit"], "") for column, part in table.items()
    )
    described = RecordType(name, f"Table of the workload {workload}", fields)
    writer.write_described(described, {key: part["values"] for key, part in table.items()})


def _type_of(values: list[Any]) -> str:
    """The type of a column; float64 if it is empty."""
    return "text" if values and isinstance(values[0], str) else "float64"


def _info(run: BenchRun, begin: datetime) -> Info:
    report = run.report
    target: dict[str, Any] = {"name": run.machine}
    if run.machine_file is not None:
        target["machine_file"] = run.machine_file.read_text(encoding="utf-8")
    keys = ("workload", "verified", "why_not_verified", "time_s", "parameters", "findings")
    return Info(
        kind=Kind.BENCH,
        title=f"{report['workload']} on {count_of(report['ranks'], 'rank')} of {run.machine}",
        description="A workload that checks its own answer.",
        instrument=Instrument.ours("sesame bench"),
        target_system=target,
        host=HostMachine.here(),
        ranks=report["ranks"],
        begin_time=begin.isoformat(timespec="seconds"),
        command=run.command,
        doubts=[doubt.as_json() for doubt in run.doubts],
        result={
            **{key: report[key] for key in keys if key in report},
            "options": list(run.options),
            **run.simulated,
        },
    )
