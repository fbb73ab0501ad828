"""Time of the report of a traced run of 1,024 ranks and 280,000 calls on files, beside a floor:
reading its records and adding up one column by file. Prints figures; never passes or fails."""

from __future__ import annotations

import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import pyarrow.parquet as pq

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "tests/python"))

from traced_runs import many_ranks  # noqa: E402

from sesame.analysis.report import write_report  # noqa: E402
from sesame.analysis.report.traced_json import traced_json  # noqa: E402
from sesame.analysis.study import study_run  # noqa: E402
from sesame.datasets import DataSet  # noqa: E402

TIMES = 5


def cpu_s() -> float:
    """Of this process and of children that have ended."""
    return sum(os.times()[:4])


def medians_s(action: Callable[[], object]) -> tuple[float, float]:
    """Elapsed time, and processor time, which other programs on the machine change less."""
    times = []
    for _ in range(TIMES):
        begin, busy = time.perf_counter(), cpu_s()
        action()
        times.append((time.perf_counter() - begin, cpu_s() - busy))
    elapsed, used = zip(*times, strict=True)
    return statistics.median(elapsed), statistics.median(used)


def floor(path: Path) -> None:
    table = pq.read_table(path / "io.parquet")
    table.group_by(["file", "rank"]).aggregate([("bytes", "sum")])


def main() -> None:
    with tempfile.TemporaryDirectory() as directory:
        path = Path(directory) / "run.sesame"
        page = Path(directory) / "report.html"
        records = len(many_ranks().write(path).table("io", ["rank"]))
        least = medians_s(lambda: floor(path))
        study = medians_s(lambda: study_run(DataSet(path)).findings)
        whole = medians_s(lambda: write_report(DataSet(path), page))
        numbers = medians_s(lambda: traced_json(study_run(DataSet(path))))
        command = [sys.executable, "-m", "sesame", "report", str(path), str(page)]
        verb = medians_s(lambda: subprocess.run(command, check=True))
        print(f"{records:,} calls of 1,024 ranks; medians of {TIMES}")
        for name, (elapsed, used) in (
            ("floor, reading and one sum", least),
            ("findings", study),
            ("page", whole),
            ("numbers for programs", numbers),
            ("`sesame report`", verb),
        ):
            ratio = elapsed / least[0]
            print(f"{name:27} {elapsed:5.2f} s, {used:5.2f} s busy, {ratio:5.1f} times the floor")
        print(f"the page has {page.stat().st_size / 1e6:.1f} MB")


if __name__ == "__main__":
    main()
