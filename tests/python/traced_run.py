"""Writes data sets of traced runs whose times are known. Times are milliseconds."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from tests.some_info import some_info

from sesame.datasets import DataSetWriter, record_type

NS = 1_000_000
CREATE = os.O_CREAT | os.O_WRONLY | os.O_TRUNC


class TracedRun:
    def __init__(self, ranks: int = 1, ends: Sequence[float] = (), **process: Any) -> None:
        self._io: list[dict[str, Any]] = []
        self._mpi: list[dict[str, Any]] = []
        self._preempted: list[dict[str, Any]] = []
        self._files: list[dict[str, Any]] = []
        self._processes = [
            self._process(rank, ends[rank] if ends else 100.0, process) for rank in range(ranks)
        ]
        self._communicators: list[dict[str, Any]] = []
        self.communicator(0, f"0-{ranks - 1}" if ranks > 1 else "0", ranks)

    def file(self, path: str, size_before: int = -1, kind: str = "regular") -> int:
        index = len(self._files)
        row = {"index": index, "path": path, "kind": kind, "size_before": size_before}
        self._files.append(row | {"block_size": 4096, "filesystem": "ext4"})
        return index

    def communicator(self, index: int, members: str, size: int) -> None:
        row = {
            "index": index,
            "parent": -1,
            "remote_parent": -1,
            "size": size,
            "members": members,
            "remote": "",
        }
        self._communicators.append(row | {"name": ""})

    def io(self, rank: int, begin: float, duration: float, call: str, **fields: Any) -> None:
        row = {"rank": rank, "thread": 0, "call": call, "file": -1, "other_file": -1}
        row |= {"handle": -1, "offset": -1, "size": 0, "bytes": 0, "comm": -1, "completion": 0}
        row |= {"error": 0, "flags": 0} | fields
        self._io.append(row | {"begin_ns": round(begin * NS), "duration_ns": round(duration * NS)})

    def mpi(self, rank: int, begin: float, duration: float, call: str, **fields: Any) -> None:
        row = {"rank": rank, "thread": 0, "call": call, "comm": 0, "peer": -1, "tag": -1}
        row |= {"bytes": 0, "completion": 0, "made": -1, "flags": 0, "calls": 1} | fields
        self._mpi.append(row | {"begin_ns": round(begin * NS), "duration_ns": round(duration * NS)})

    def preempted(self, rank: int, begin: float, duration: float, lost: float) -> None:
        times = {"begin_ns": begin, "duration_ns": duration, "lost_ns": lost}
        row = {"rank": rank, "thread": 0} | {name: round(t * NS) for name, t in times.items()}
        self._preempted.append(row)

    def write(self, path: Path, result: dict[str, Any] | None = None) -> Path:
        def key(row: dict[str, Any]) -> tuple[int, int, int]:
            return row["rank"], row["thread"], row["begin_ns"]

        tables = {
            "io": sorted(self._io, key=key),
            "mpi": sorted(self._mpi, key=key),
            **({"preempted": self._preempted} if self._preempted else {}),
            "file": self._files,
            "process": self._processes,
            "communicator": self._communicators,
        }
        with DataSetWriter(path) as writer:
            for name, rows in tables.items():
                fields = record_type(name).arrow_schema().names
                writer.write_records(name, {f: [row[f] for row in rows] for f in fields})
            info = {"title": "a traced run", "ranks": len(self._processes)}
            writer.finish(some_info(**info, result=result or {}))
        return path

    @staticmethod
    def _process(rank: int, end: float, more: dict[str, Any]) -> dict[str, Any]:
        row = {"rank": rank, "mpi_rank": rank, "parent": -1, "host": "here", "pid": 100 + rank}
        row |= {"command": "app", "interface": "MPICH", "begin_ns": 0, "threads": 1}
        row |= {"processor_ns": 0}
        row |= {"end_ns": round(end * NS), "records": 0, "discarded": 0, "outcome": "exited"}
        return row | more
