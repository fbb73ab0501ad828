"""Converts the raw streams of a traced run to the tables of a data set."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from sesame import native
from sesame.datasets import DataSetWriter, HostMachine, Info, Instrument, Kind, record_type
from sesame.datasets.traced import outcome_of
from sesame.tracing.completeness import doubts, unseen
from sesame.tracing.filesystems import FileSystems
from sesame.tracing.tables import FastTable

PRUNING = ("none", "thesis", "causal")
BATCH_ROWS = 1 << 18
WORD_SEPARATOR = "\x1f"
MOST_NAMED = 100  # unmatched channels that are listed


def collate(
    raw: Path,
    writer: DataSetWriter,
    *,
    prune: str = "none",
    progress: Callable[[float], None] | None = None,
    threads: int | None = None,
    command: Sequence[str] = (),
) -> Info:
    """Converts raw streams to tables; returns the info of the run.

    `command`: the traced command; if empty, that of rank 0. `prune`: which messages to drop (none,
    thesis or causal). `progress` is called with the share done, from 0 to 1.
    """
    started = time.monotonic()
    first_seen = (raw / "metadata").stat().st_mtime if (raw / "metadata").exists() else 0.0
    run = native.Collation.open(
        str(raw),
        prune=prune,
        threads=threads or len(os.sched_getaffinity(0)),
        batch_rows=BATCH_ROWS,
        spill_directory=str(writer.directory),
    )
    rows = _write_rows(run, writer, progress)
    processes = run.processes
    _write_processes(writer, processes)
    _write_files(writer, run.files)
    _write_communicators(writer, run.communicators)
    if len(run.preempted["rank"]) > 0:
        writer.write_records("preempted", run.preempted)
    if len(run.views["rank"]) > 0:
        writer.write_records("file_view", run.views)
    discarded = sum(process["discarded"] for process in processes)
    damage = run.damage
    command = list(command) or _command(processes)
    return Info(
        kind=Kind.TRACED,
        title=f"{_program(command)}, traced",
        instrument=Instrument.ours("sesame trace"),
        host=HostMachine.here(with_processors=True),
        command=command,
        ranks=run.ranks or len(processes),
        begin_time=_begin_time(run.begin_ns, first_seen),
        more={"begin_realtime_ns": run.begin_ns},
        raw={"format": "CTF 1.8", "directory": None, "discarded": discarded, "damage": damage},
        result={
            **_trust(processes, damage, discarded),
            "duration_s": run.duration_ns / 1e9,
            "processes": len(processes),
            "mpi_programs": run.mpi_programs,
            "records": sum(process["records"] for process in processes),
            "rows": rows,
            "discarded": discarded,
            **_pruning(run, prune),
            "unmatched": _unmatched(run.unmatched),
            "damage": damage,
            "postprocess_s": time.monotonic() - started,
        },
    )


def _begin_time(begin_ns: int, first_seen: float) -> str:
    """The begin of the run. If it is not recorded, the time of the metadata, which the first
    process writes: a process that is killed early may leave nothing else."""
    return datetime.fromtimestamp(begin_ns / 1e9 or first_seen, UTC).isoformat()


def _program(command: Sequence[str]) -> str:
    """The program's name: `app` for `mpiexec -n 4 ./app input`; else the first word's."""
    programs = [word for word in command if "/" in word and os.access(word, os.X_OK)]
    launched = [word for word in programs if word != command[0]]
    return Path((launched or [*command, "a run"])[0]).name


def _write_rows(
    run: Any, writer: DataSetWriter, progress: Callable[[float], None] | None
) -> dict[str, int]:
    tables = {name: FastTable(name, writer.directory, run.call_names) for name in ("io", "mpi")}
    expected = sum(process["records"] for process in run.processes)
    written = 0
    try:
        while (batch := run.next()) is not None:
            name, columns = batch
            written += len(columns["rank"])
            tables[name].add(columns)
            if progress is not None:
                progress(min(written / max(expected, 1), 1.0))
    finally:
        for table in tables.values():
            table.close()
    rows = {name: table.rows for name, table in tables.items()}
    writer.rows.update(rows)
    return rows


def _columns(name: str, records: list[dict[str, Any]]) -> dict[str, list[Any]]:
    fields = record_type(name).fields
    return {field.name: [record[field.name] for record in records] for field in fields}


def _write_processes(writer: DataSetWriter, processes: list[dict[str, Any]]) -> None:
    records = [
        {**process, "command": process["command"].replace(WORD_SEPARATOR, " ")}
        for process in processes
    ]
    writer.write_records("process", _columns("process", records))


def _write_files(writer: DataSetWriter, files: list[dict[str, Any]]) -> None:
    systems = FileSystems()
    records = [
        {"index": index, "filesystem": systems.type_of(file["path"]), **file}
        for index, file in enumerate(files)
    ]
    writer.write_records("file", _columns("file", records))


def _write_communicators(writer: DataSetWriter, communicators: list[dict[str, Any]]) -> None:
    records = [{"index": index, **comm} for index, comm in enumerate(communicators)]
    if records and not records[0]["name"]:
        records[0]["name"] = "MPI_COMM_WORLD"
    writer.write_records("communicator", _columns("communicator", records))


def _command(processes: list[dict[str, Any]]) -> list[str]:
    """The command of rank 0, or of the first process."""
    for process in processes:
        words: list[str] = process["command"].split(WORD_SEPARATOR)
        return words
    return []


def _trust(processes: list[dict[str, Any]], damage: list[str], discarded: int) -> dict[str, Any]:
    found = doubts(processes)
    outcomes = [process["outcome"] for process in processes]
    return {
        "outcome": outcome_of(outcomes, damage, discarded, incomplete=bool(found)),
        "doubts": [doubt.as_json() for doubt in found],
        "unseen": unseen(processes),
    }


def _pruning(run: Any, prune: str) -> dict[str, Any]:
    if prune == "none":
        return {}
    return {"pruning": prune, "kept": run.kept, "dropped": run.dropped}


def _unmatched(channels: list[dict[str, Any]]) -> dict[str, Any]:
    """The number of messages recorded by only one side, and the channels with most of them."""
    most = sorted(channels, key=lambda channel: -channel["messages"])[:MOST_NAMED]
    return {"messages": sum(channel["messages"] for channel in channels), "channels": most}
