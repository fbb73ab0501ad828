"""Messages per second of `sesame simulate` from a trace, and the ratio to the program itself.

A trace of the 2-D halo exchange (bench/programs/halo.c) is made for some numbers of ranks, as long
as a run of the program, and played; then the program runs in the simulator. Both take turns and
count no computation. Prints one line for each number of ranks; figures are medians of --repeat
runs. Needs MPICH's mpicc.

    python bench/trace_rate.py [--ranks 64,1024] [--calls 1000000] [--repeat 3]
"""

import argparse
import json
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
import pyarrow as pa
from message_rate import build, find_mpicc, sesame_run

from sesame.datasets import (
    DataSet,
    DataSetWriter,
    HostMachine,
    Info,
    Instrument,
    Kind,
    record_type,
)
from sesame.simulation import plan_run

CALLS_PER_ROUND = 9  # 4 receives, 4 sends, 1 wait
CALL_NS = 100
MODE = ["--compute", "none"]
NAMES = ["MPI_Irecv", "MPI_Isend", "MPI_Waitall"]


def neighbours(ranks: int) -> np.ndarray:
    """As MPI_Dims_create and MPI_Cart_shift give them: below and above in both dimensions."""
    columns = next(n for n in range(int(ranks**0.5), 0, -1) if ranks % n == 0)
    rows = ranks // columns
    row, column = np.divmod(np.arange(ranks), columns)
    return np.stack(
        [
            (row - 1) % rows * columns + column,
            (row + 1) % rows * columns + column,
            row * columns + (column - 1) % columns,
            row * columns + (column + 1) % columns,
        ],
        axis=1,
    )


def write_trace(path: Path, ranks: int, rounds: int) -> int:
    """A data set of a traced run. Gives the number of calls."""
    peers = neighbours(ranks)
    length = CALLS_PER_ROUND * rounds
    in_round = np.tile(np.arange(CALLS_PER_ROUND), ranks * rounds)
    rank = np.repeat(np.arange(ranks), length)
    waits = in_round == 8
    way = np.where(in_round < 4, in_round ^ 1, in_round - 4)  # a message's tag is its direction
    columns = {
        "rank": rank,
        "begin_ns": np.tile(np.arange(length) * 2 * CALL_NS, ranks),
        "duration_ns": np.full(len(rank), CALL_NS),
        "comm": np.where(waits, -1, 0),
        "peer": np.where(waits, -1, peers[rank, in_round % 4]),
        "tag": np.where(waits, -1, way),
        "bytes": np.where(waits, 0, 8),
        "completion": 8 - in_round,
    }
    columns["call"] = pa.DictionaryArray.from_arrays(
        pa.array(np.where(waits, 2, in_round // 4), pa.int32()), NAMES
    )
    schema = record_type("mpi").arrow_schema()
    nothing = np.zeros(len(rank), np.int64)
    table = {field: columns.get(field, nothing) for field in schema.names}
    with DataSetWriter(path) as writer:
        arrays = [pa.array(table[f.name]).cast(f.type) for f in schema]
        writer.write_table("mpi", pa.Table.from_arrays(arrays, schema=schema))
        writer.write_records("process", processes(ranks, length * 2 * CALL_NS))
        writer.finish(
            Info(
                kind=Kind.TRACED,
                title="halo",
                instrument=Instrument.ours("sesame trace"),
                host=HostMachine.here(),
                begin_time="2026-01-01T00:00:00+00:00",
                ranks=ranks,
                result={"outcome": "completed"},
                raw={},
            )
        )
    return len(rank)


def processes(ranks: int, end_ns: int) -> dict:
    number = list(range(ranks))
    columns = {"rank": number, "mpi_rank": number, "end_ns": [end_ns] * ranks}
    for field in record_type("process").fields:
        usual = "" if field.type in ("text", "name") else 0
        columns.setdefault(field.name, [usual] * ranks)
    return columns


def play(path: Path) -> dict:
    command = [sys.executable, "-m", "sesame", "simulate", str(path), "--machine", "infiniband"]
    done = subprocess.run([*command, "--json", *MODE], check=True, capture_output=True, text=True)
    return json.loads(done.stdout)


def compare(ranks: int, calls: int, repeat: int, program: Path, directory: Path) -> str:
    rounds = max(calls // (CALLS_PER_ROUND * ranks), 1)
    trace = directory / f"halo-{ranks}.sesame"
    made = write_trace(trace, ranks, rounds)
    begin = time.monotonic()
    plan_run(DataSet(trace))
    planned = time.monotonic() - begin
    played, ran = [], []
    for _ in range(repeat):
        played.append(play(trace)["messages_per_second"])
        ran.append(sesame_run(program, ranks, rounds)["messages_per_second"])
    ours, theirs = statistics.median(played), statistics.median(ran)
    return (
        f"{ranks:5} ranks, {made:,} calls: planned in {planned:.2f} s ({made / planned / 1e6:.2f} "
        f"million calls/s), played at {ours / 1e6:.2f} million messages/s, the program at "
        f"{theirs / 1e6:.2f}: ratio {ours / theirs:.2f}"
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--ranks", default="64,1024")
    parser.add_argument("--calls", type=int, default=1_000_000)
    parser.add_argument("--repeat", type=int, default=3)
    arguments = parser.parse_args()
    compiler = find_mpicc()
    with tempfile.TemporaryDirectory() as name:
        program = build(compiler, "halo", Path(name))
        for ranks in (int(n) for n in arguments.ranks.split(",")):
            line = compare(ranks, arguments.calls, arguments.repeat, program, Path(name))
            print(line, flush=True)


if __name__ == "__main__":
    main()
