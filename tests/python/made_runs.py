"""Simulated runs that are made up: calls and messages of ranks on a machine, without simulating."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from tests.some_info import some_info

from sesame.datasets import DataSet, DataSetWriter
from sesame.datasets.schema import record_type

CALLS = ("MPI_Send", "MPI_Wait", "MPI_Allreduce")


def machine_file(topology: str, *, cores: int = 1, more: str = "") -> str:
    """The text of a machine file with this `[topology]`."""
    return (
        f'name = "made up"\n{more}\n[node]\ncores = {cores}\n[network]\nlatency = "1 us"\n'
        f'bandwidth = "1 GB/s"\n[node.network]\nlatency = "1 us"\nbandwidth = "1 GB/s"\n'
        f"[topology]\n{topology}\n"
    )


def write_run(
    path: Path,
    ranks: int,
    topology: str,
    *,
    steps: int = 10,
    step_s: float = 0.1,
    title: str = "made up",
    result: dict[str, Any] | None = None,
    **machine: Any,
) -> DataSet:
    """In each step of `step_s` rank r computes for half of it, sends 1,000 bytes to rank r + 1 for
    an eighth, and waits for the rest. Only rank 0's messages are of even steps, too."""
    rank, step = (
        one.ravel() for one in np.meshgrid(np.arange(ranks), np.arange(steps), indexing="ij")
    )
    tick = int(step_s * 1e12)
    path.parent.mkdir(parents=True, exist_ok=True)
    begin = step * tick
    with DataSetWriter(path) as writer:
        _write_calls(writer, rank, begin, tick)
        odd = (step % 2 == 1) | (rank == 0)
        source, sent = rank[odd], (begin + tick // 2)[odd]
        _write_messages(writer, source, (source + 1) % ranks, sent, tick)
        _write_ranks(writer, ranks, steps * step_s)
        writer.finish(
            some_info(
                "simulated",
                title=title,
                ranks=ranks,
                command=["made-up"],
                target_system={
                    "name": "made up",
                    "machine_file": machine_file(topology, **machine),
                },
                scenario={"ranks": ranks, "placement": "block", "overrides": []},
                result={"predicted_time_s": steps * step_s, **(result or {})},
            )
        )
    return DataSet(path)


def _write_calls(writer: DataSetWriter, rank: Any, begin: Any, tick: int) -> None:
    count = len(rank)
    send, wait = begin + tick // 2, begin + tick // 2 + tick // 8
    columns = {
        "rank": np.concatenate([rank, rank]),
        "begin_ps": np.concatenate([send, wait]),
        "end_ps": np.concatenate([wait, begin + tick]),
        "call": np.repeat(["MPI_Send", "MPI_Wait"], count),
        "bytes": np.repeat([1000, 0], count),
        "peer": np.concatenate([rank + 1, np.full(count, -1)]),
    }
    _write(writer, "call", columns)


def _write_messages(writer: DataSetWriter, source: Any, to: Any, sent: Any, tick: int) -> None:
    columns = {
        "send_ps": sent,
        "arrival_ps": sent + tick // 8,
        "receive_complete_ps": sent + tick // 4,
        "bytes": np.full(len(source), 1000),
        "source": source,
        "destination": to,
        "protocol": np.full(len(source), "eager"),
    }
    _write(writer, "message", columns)


def _write_ranks(writer: DataSetWriter, ranks: int, seconds: float) -> None:
    columns = {
        "rank": np.arange(ranks),
        "end_s": np.full(ranks, seconds),
        "compute_s": np.full(ranks, seconds / 2),
        "wait_s": np.full(ranks, seconds / 2),
    }
    _write(writer, "rank", columns)


def _write(writer: DataSetWriter, name: str, columns: dict[str, Any]) -> None:
    """Fields that are not given are 0, or the first of their names."""
    schema = record_type(name).arrow_schema()
    count = len(next(iter(columns.values())))
    arrays = []
    for field in schema:
        values = columns.get(field.name)
        if pa.types.is_dictionary(field.type):
            arrays.append(
                pa.array(
                    [
                        "" if values is None else str(v)
                        for v in (values if values is not None else [""] * count)
                    ]
                )
                .dictionary_encode()
                .cast(field.type)
            )
        else:
            arrays.append(
                pa.array(np.zeros(count) if values is None else values).cast(field.type, safe=False)
            )
    writer.write_table(name, pa.Table.from_arrays(arrays, schema=schema))
