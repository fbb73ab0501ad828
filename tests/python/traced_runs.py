"""Made-up traced runs: calls put one after the other on the clock of each rank, written as a data
set; and the patterns of programs that are known for their I/O."""

from __future__ import annotations

from collections import defaultdict
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from tests.some_info import some_info

from sesame.datasets import DataSet, DataSetWriter, record_type

US = 1_000
MS = 1_000_000
NESTED, MERGED, COLLECTIVE, IMPLIED, SCATTERED = 1, 2, 8, 16, 128
MPI_NESTED, NONBLOCKING = 128, 8

IO_DEFAULTS = {
    "thread": 0,
    "file": -1,
    "other_file": -1,
    "handle": -1,
    "offset": -1,
    "size": 0,
    "bytes": 0,
    "comm": -1,
    "completion": 0,
    "error": 0,
    "flags": 0,
}
MPI_DEFAULTS = {
    "thread": 0,
    "comm": 0,
    "peer": -1,
    "tag": -1,
    "bytes": 0,
    "completion": 0,
    "made": -1,
    "flags": 0,
    "calls": 1,
}


class MadeRun:
    """`io` and `mpi` append calls to the time of a rank; `compute` lets time pass."""

    def __init__(self, ranks: int, block_size: int = 4096) -> None:
        self.ranks = ranks
        self.block_size = block_size
        self.clock = np.zeros(ranks, np.int64)
        self.files: list[tuple[str, str]] = []
        self.discarded = np.zeros(ranks, np.int64)
        self.outcome = ["exited"] * ranks
        self.mpi_rank = list(range(ranks))
        self._rows: dict[str, dict[str, list[Any]]] = {
            "io": defaultdict(list),
            "mpi": defaultdict(list),
        }

    def file(self, path: str, kind: str = "regular") -> int:
        self.files.append((path, kind))
        return len(self.files) - 1

    def compute(self, rank: int | None, ns: int) -> None:
        self.clock[slice(None) if rank is None else rank] += ns

    def io(self, rank: int, call: str, *, duration: int = 10 * US, **fields: Any) -> None:
        """One call, or as many as the longest of `fields` has entries."""
        if "bytes" in fields:
            fields.setdefault("size", fields["bytes"])
        self._append("io", rank, call, duration, fields, IO_DEFAULTS)

    def mpi(self, rank: int, call: str, *, duration: int = 5 * US, **fields: Any) -> None:
        self._append("mpi", rank, call, duration, fields, MPI_DEFAULTS)

    def within(self, rank: int, call: str, *, lead: int = US, duration: int, **fields: Any) -> None:
        """A call inside the next one: it begins `lead` later, and the clock stays."""
        before = self.clock[rank]
        self.clock[rank] += lead
        flags = fields.pop("flags", 0) | NESTED
        self.io(rank, call, duration=duration, flags=flags, **fields)
        self.clock[rank] = before

    def _append(
        self, kind: str, rank: int, call: str, duration: int, fields: Any, defaults: Any
    ) -> None:
        count = max([np.size(value) for value in fields.values()], default=1)
        rows = self._rows[kind]
        rows["rank"].append(np.full(count, rank))
        rows["begin_ns"].append(self.clock[rank] + duration * np.arange(count))
        rows["duration_ns"].append(np.full(count, duration))
        rows["call"].append(np.full(count, call, dtype=object))
        for name, default in defaults.items():
            rows[name].append(np.broadcast_to(fields.get(name, default), count))
        self.clock[rank] += duration * count

    def write(self, path: Path, *, without: tuple[str, ...] = ()) -> DataSet:
        with DataSetWriter(path) as writer:
            for name in ("io", "mpi"):
                if name not in without:
                    writer.write_table(name, self._table(name))
            for name, columns in (("file", self._files()), ("process", self._processes())):
                if name not in without:
                    writer.write_records(name, columns)
            writer.finish(
                some_info(
                    title=f"made-up run of {self.ranks} ranks",
                    instrument={"name": "sesame trace", "version": "test"},
                    ranks=self.ranks,
                    command=["mpiexec", "-n", str(self.ranks), "./app"],
                )
            )
        return DataSet(path)

    def _table(self, name: str) -> pa.Table:
        described = record_type(name)
        schema = described.arrow_schema()
        rows = self._rows[name]
        if not rows:
            return schema.empty_table()
        columns = {field: np.concatenate(parts) for field, parts in rows.items()}
        keys = (-columns["duration_ns"], columns["begin_ns"], columns["thread"], columns["rank"])
        order = np.lexsort(keys)
        arrays = []
        for field in schema:
            values = columns[field.name][order]
            if field.name == "call":
                names, place = np.unique(values.astype(str), return_inverse=True)
                arrays.append(
                    pa.DictionaryArray.from_arrays(place.astype(np.int32), pa.array(list(names)))
                )
            else:
                arrays.append(pa.array(values.astype(field.type.to_pandas_dtype())))
        return pa.Table.from_arrays(arrays, schema=schema)

    def _files(self) -> dict[str, Any]:
        count = len(self.files)
        return {
            "index": list(range(count)),
            "path": [path for path, _ in self.files],
            "kind": [kind for _, kind in self.files],
            "size_before": [-1] * count,
            "block_size": [self.block_size] * count,
            "filesystem": ["ext4"] * count,
        }

    def _processes(self) -> dict[str, Any]:
        count = self.ranks
        return {
            "rank": list(range(count)),
            "mpi_rank": self.mpi_rank,
            "parent": [-1] * count,
            "host": [f"node{rank // 32}" for rank in range(count)],
            "pid": list(range(1000, 1000 + count)),
            "command": ["./app"] * count,
            "interface": ["MPICH"] * count,
            "begin_ns": [0] * count,
            "end_ns": self.clock.tolist(),
            "threads": [1] * count,
            "processor_ns": [0] * count,
            "records": [0] * count,
            "discarded": self.discarded.tolist(),
            "outcome": self.outcome,
        }


def rank_zero_writer(ranks: int = 4, requests: int = 2000, size: int = 52) -> MadeRun:
    """All others compute and wait in a barrier while rank 0 writes in small requests."""
    run = MadeRun(ranks)
    file = run.file("/data/out.dat")
    for rank in range(ranks):
        run.mpi(rank, "MPI_Init", duration=MS)
    run.compute(None, 10 * MS)
    begin = int(run.clock[0])
    run.io(0, "open", file=file)
    run.io(0, "write", file=file, offset=size * np.arange(requests), bytes=size)
    run.io(0, "close", file=file)
    last = int(run.clock[0])
    for rank in range(1, ranks):
        run.mpi(rank, "MPI_Barrier", duration=last - begin + 5 * US)
    run.mpi(0, "MPI_Barrier", duration=5 * US)
    for rank in range(ranks):
        run.mpi(rank, "MPI_Finalize", duration=MS)
    return run


def strided_shared(
    ranks: int = 4, requests: int = 500, size: int = 40, call: str = "pwrite", **fields: Any
) -> MadeRun:
    """One file, in which the requests of all ranks take turns, as BTIO's simple form writes it."""
    run = MadeRun(ranks)
    file = run.file("/data/btio.out")
    for rank in range(ranks):
        run.compute(rank, 5 * MS)
        run.io(rank, "MPI_File_open" if call.startswith("MPI") else "open", file=file)
        offset = size * (rank + ranks * np.arange(requests, dtype=np.int64))
        run.io(rank, call, file=file, offset=offset, bytes=size, **fields)
        run.compute(rank, 5 * MS)
    return run


def random_reader(ranks: int = 2, requests: int = 3000, size: int = 4096) -> MadeRun:
    run = MadeRun(ranks)
    file = run.file("/data/table.bin")
    random = np.random.default_rng(5)
    for rank in range(ranks):
        run.io(rank, "open", file=file)
        offset = size * random.integers(0, 1 << 20, requests)
        run.io(rank, "pread", file=file, offset=offset, bytes=size)
    return run


def collective_writer(ranks: int = 4, steps: int = 10) -> MadeRun:
    """MPI_File_write_at_all, and below it, on rank 0 only, what MPI-IO made of it."""
    run = MadeRun(ranks)
    file = run.file("/data/field.out")
    block = 1 << 20
    for rank in range(ranks):
        run.io(rank, "MPI_File_open", file=file, comm=0, flags=COLLECTIVE, duration=MS)
        for step in range(steps):
            offset = block * (step * ranks + rank)
            if rank == 0:
                whole = block * step * ranks
                run.within(0, "pwrite", duration=MS, file=file, offset=whole, bytes=block * ranks)
            run.io(
                rank,
                "MPI_File_write_at_all",
                file=file,
                offset=offset,
                bytes=block,
                duration=2 * MS,
                comm=0,
                flags=COLLECTIVE,
            )
    return run


def many_ranks(ranks: int = 1024, records: int = 280_000) -> MadeRun:
    """As a Darshan log of a large job: each rank reads its input, computes, exchanges messages and
    writes its part of one file."""
    run = MadeRun(ranks)
    inputs, output = run.file("/data/in.h5"), run.file("/data/out.h5")
    each = records // ranks
    reads, writes = each // 4, each - each // 4 - 2
    random = np.random.default_rng(3)
    for rank in range(ranks):
        run.compute(rank, int(random.integers(0, 20 * MS)))
        run.io(rank, "open", file=inputs)
        offset = 65536 * random.permutation(reads)
        run.io(rank, "pread", file=inputs, offset=offset, bytes=65536, duration=300 * US)
        run.compute(rank, 200 * MS)
        run.io(rank, "open", file=output)
        offset = 47008 * (rank + ranks * np.arange(writes, dtype=np.int64))
        run.io(rank, "pwrite", file=output, offset=offset, bytes=47008, duration=400 * US)
    return run
