"""Records per second per core from raw streams to Parquet, and bytes per record in the data set.

Writes raw traces of regular programs (rows of small writes, of writes at offsets, of messages),
collates them, and compares in the same run with two floors: pyarrow writing the same columns from
memory, and a copy of the raw bytes. Processor time is counted, of all threads together.

    python bench/postprocess.py [--records 4000000] [--repeat 3]
"""

import argparse
import shutil
import struct
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "tests/python"))

from raw_trace import MAGIC, PACKET, RECORD_TYPES, RawTrace  # noqa: E402

from sesame import native  # noqa: E402
from sesame.datasets import DataSetWriter  # noqa: E402
from sesame.tracing import collate  # noqa: E402
from sesame.tracing.tables import FastTable  # noqa: E402

PACKET_RECORDS = 6000
TYPES = {"u8": "u1", "u16": "<u2", "u32": "<u4", "s16": "<i2", "s32": "<i4", "call": "<u2"}


def shape_dtype(shape: str) -> np.dtype:
    """A narrow record as it lies in the stream; 40 bits are 32 and 8."""
    fields = [("id", "u1"), ("time", "<u4")]
    for name, narrow, _ in RECORD_TYPES[shape][1]:
        if narrow == "s40":
            fields += [(name, "<u4"), (f"{name}_high", "u1")]
        else:
            fields.append((name, TYPES[narrow]))
    return np.dtype(fields)


def bulk(shape: str, count: int, times: np.ndarray, **values) -> np.ndarray:
    records = np.zeros(count, shape_dtype(shape))
    records["id"] = RECORD_TYPES[shape][0]
    records["time"] = times & 0xFFFFFFFF
    for name, value in values.items():
        records[name] = value
    return records


def append_packets(path: Path, pid: int, records: np.ndarray, times: np.ndarray) -> None:
    with path.open("r+b") as file:
        magic, *_ = struct.unpack("<I", file.read(4))
        assert magic == MAGIC
        file.seek(0, 2)
        for number, at in enumerate(range(0, len(records), PACKET_RECORDS), start=1):
            part = records[at : at + PACKET_RECORDS]
            bits = 8 * (PACKET.size + part.nbytes)
            first, last = int(times[at]), int(times[at + len(part) - 1])
            file.write(PACKET.pack(MAGIC, 1, pid, 0, first, last, bits, bits, number, 0))
            file.write(part.tobytes())


def clock(count: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Ends and durations of calls that take 200 to 900 ns, one in a hundred far longer."""
    random = np.random.default_rng(seed)
    durations = random.integers(200, 900, count) + (random.random(count) < 0.01) * random.integers(
        0, 100_000, count
    )
    return 10_000 + np.cumsum(durations + random.integers(50, 300, count)), durations


def make_trace(directory: Path, kind: str, count: int) -> None:
    trace = RawTrace()
    ranks = 2 if kind == "messages" else 1
    calls = {name: trace.call(name) for name in ("write", "pwrite", "MPI_Send", "MPI_Recv")}
    processes = [trace.process(rank, ranks) for rank in range(ranks)]
    for process in processes:
        process.put(
            "open", "open", file=3, directory=-100, flags=0o102, mode=0o100644, size=0, path="out"
        )
    trace.write(directory)
    for rank, process in enumerate(processes):
        each = count // ranks
        times, durations = clock(each, rank)
        common = {"duration": durations}
        if kind == "writes":
            records = bulk("data", each, times, **common, call=calls["write"], file=3, bytes=50)
        elif kind == "offsets":
            offsets = 4096 * np.arange(each, dtype=np.int64)
            low, high = offsets & 0xFFFFFFFF, offsets >> 32
            at = {"offset": low, "offset_high": high}
            records = bulk(
                "data_at", each, times, **common, call=calls["pwrite"], file=3, bytes=4096, **at
            )
        elif rank == 0:
            records = bulk(
                "send", each, times, **common, call=calls["MPI_Send"], peer=1, tag=7, bytes=8
            )
        else:
            records = bulk("receive", each, times, **common, call=calls["MPI_Recv"], tag=7, bytes=8)
        append_packets(directory / f"{process.name}.0.stream", process.pid, records, times)


def measure_collate(raw: Path, out: Path) -> tuple[float, int, float]:
    """Processor seconds, records, bytes per record."""
    with DataSetWriter(out, force=True) as writer:
        begin = time.process_time()
        info = collate(raw, writer, keep_raw=True)
        seconds = time.process_time() - begin
        shutil.rmtree(writer.raw, ignore_errors=True)
        writer.finish(info)
    records = info["result"]["records"]
    size = sum(file.stat().st_size for file in out.glob("*.parquet"))
    return seconds, records, size / records


def measure_reading(raw: Path) -> float:
    begin = time.process_time()
    run = native.Collation.open(str(raw), batch_rows=1 << 18)
    while run.next() is not None:
        pass
    return time.process_time() - begin


def measure_writing(out: Path, name: str) -> float:
    """The same columns from memory to Parquet, as collate writes them."""
    table = pq.read_table(out / f"{name}.parquet")
    names = table["call"].chunk(0).dictionary.to_pylist()
    batches = []
    for batch in table.to_batches(1 << 18):
        columns = {c: batch[c].to_numpy() for c in table.column_names if c != "call"}
        columns["call"] = batch["call"].indices.to_numpy()
        batches.append({c: np.ascontiguousarray(v) for c, v in columns.items()})
    with tempfile.TemporaryDirectory(dir=out.parent) as directory:
        begin = time.process_time()
        writer = FastTable(name, Path(directory), names)
        for columns in batches:
            writer.add(columns)
        writer.close()
        return time.process_time() - begin


def measure_copy(raw: Path) -> float:
    data = b"".join(path.read_bytes() for path in raw.glob("*.stream"))
    target = bytearray(len(data))
    begin = time.process_time()
    target[:] = data
    return time.process_time() - begin


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--records", type=int, default=4_000_000)
    parser.add_argument("--repeat", type=int, default=3)
    parser.add_argument("--dir", type=Path, default=None, help="where the traces are written")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory(dir=arguments.dir) as name:
        for kind, table in (("writes", "io"), ("offsets", "io"), ("messages", "mpi")):
            raw, out = Path(name) / kind, Path(name) / f"{kind}.sesame"
            make_trace(raw, kind, arguments.records)
            raw_bytes = sum(path.stat().st_size for path in raw.glob("*.stream"))
            runs = [measure_collate(raw, out) for _ in range(arguments.repeat)]
            seconds, records, size = min(runs)
            reading = min(measure_reading(raw) for _ in range(arguments.repeat))
            writing = min(measure_writing(out, table) for _ in range(arguments.repeat))
            copy = min(measure_copy(raw) for _ in range(arguments.repeat))
            print(
                f"{kind:8} {records / seconds / 1e6:5.2f} million records/s per core: "
                f"{seconds / records * 1e9:5.1f} ns per record, of these reading "
                f"{reading / records * 1e9:5.1f}; pyarrow alone {writing / records * 1e9:5.1f}, "
                f"copy of the raw bytes {copy / records * 1e9:4.1f}; "
                f"ratio to pyarrow alone {seconds / writing:4.2f}; "
                f"{raw_bytes / records:4.1f} B raw, {size:4.2f} B in the data set",
                flush=True,
            )


if __name__ == "__main__":
    main()
