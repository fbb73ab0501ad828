"""Seconds that `sesame import` takes for a Darshan log, and the ratio to Darshan's own reader.

The log is written first with Darshan's library: 1,024 processes that write one file through MPI-IO
in turns, each call traced in both layers (DXT), 280,576 segments. Darshan's reader is pydarshan's
DarshanReport of the same log in the same run. Both are whole processes. Figures are medians of
--repeat runs.

    python bench/import_darshan.py [--ranks 1024] [--calls 137] [--repeat 3]
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

sys.path.insert(0, str(Path(__file__).parents[1] / "tests" / "python"))
from darshan_writer import LogContents, Record, Trace, write_log

SIZE = 1 << 16
PEER = "import sys, darshan; darshan.DarshanReport(sys.argv[1], read_all=True)"


def segments(rank: int, ranks: int, calls: int, begin_us: int, duration_us: int) -> np.ndarray:
    """Writes in turns: call i of a rank is at block i x ranks + rank."""
    number = np.arange(calls)
    begin = (number * ranks + rank) * 40e-6 + begin_us * 1e-6
    offset = (number * ranks + rank) * SIZE
    return np.stack([offset, np.full(calls, SIZE), begin, begin + duration_us * 1e-6], axis=1)


def contents(ranks: int, calls: int) -> LogContents:
    none = np.zeros((0, 4))
    traces = [
        Trace(module, 1, rank, segments(rank, ranks, calls, begin_us, duration_us), none)
        for module, begin_us, duration_us in (("DXT_MPIIO", 0, 30), ("DXT_POSIX", 5, 20))
        for rank in range(ranks)
    ]
    total = ranks * calls
    moved = {"BYTES_WRITTEN": total * SIZE, "F_WRITE_TIME": total * 30e-6}
    records = [
        Record("POSIX", 1, -1, {"OPENS": ranks, "WRITES": total, **moved}),
        Record("MPI-IO", 1, -1, {"COLL_OPENS": ranks, "COLL_WRITES": total, **moved}),
    ]
    end = total * 40e-6 + 1
    return LogContents(ranks, {1: "/scratch/shared.bin"}, records, traces, run_time_s=end)


def seconds(command: list[str], repeat: int) -> float:
    times = []
    for _ in range(repeat):
        begin = time.perf_counter()
        subprocess.run(command, check=True, capture_output=True)
        times.append(time.perf_counter() - begin)
    return statistics.median(times)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--ranks", type=int, default=1024)
    parser.add_argument("--calls", type=int, default=137)
    parser.add_argument("--repeat", type=int, default=3)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as directory:
        log, data = Path(directory) / "run.darshan", Path(directory) / "run.sesame"
        write_log(log, contents(options.ranks, options.calls))
        command = [sys.executable, "-m", "sesame", "import", str(log), "-o", str(data), "--force"]
        ours = seconds(command, options.repeat)
        theirs = seconds([sys.executable, "-c", PEER, str(log)], options.repeat)
        records = json.loads((data / "info.json").read_text())["result"]["rows"]["io"]
    print(
        f"import of a Darshan log of {options.ranks} processes, {records:,} segments: "
        f"{ours:.2f} s, pydarshan {theirs:.2f} s, ratio {ours / theirs:.2f}"
    )


if __name__ == "__main__":
    main()
