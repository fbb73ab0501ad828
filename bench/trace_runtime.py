"""What tracing adds to the run time of whole programs, in pairs of runs.

Each pair runs a program once plain and once traced, in random order; printed is the median of the
pairs' ratios with an interval of 95 % (bootstrap), and beside it the same for pairs of two plain
runs: what differs there is noise.

    python bench/trace_runtime.py [--pairs 15] [--only lu]
"""

import argparse
import os
import random
import shutil
import statistics
import subprocess
import tempfile
import time
from pathlib import Path

from sesame.tracing import TraceOptions, environment
from sesame.workloads import build_workload, find_compiler, find_workload

HERE = Path(__file__).parent
RANKS = {"bt": 1}  # squares only; the others take both cores
OPTIONS = {
    "sesame-sort": ["--count", "3000000"],
    "bt": ["--class", "W", "--io", "full", "--io-file", "bt.out"],
    "lu": ["--class", "W"],
    "chatter": ["300000", "chatter.log"],
}


def programs(directory: Path) -> dict[str, Path]:
    compiler = find_compiler("mpicxx.mpich")
    chatter = directory / "chatter"
    source = HERE / "programs/chatter.c"
    subprocess.run(["mpicc.mpich", "-O2", str(source), "-o", str(chatter)], check=True)
    ours = ("sesame-sort", "bt", "lu")
    built = {name: build_workload(find_workload(name), compiler).program for name in ours}
    return {**built, "chatter": chatter}


class Runner:
    def __init__(self, command: list[str], directory: Path) -> None:
        self.command = command
        self.directory = directory

    def seconds(self, traced: bool) -> float:
        raw = self.directory / "raw"
        shutil.rmtree(raw, ignore_errors=True)
        raw.mkdir()
        variables = environment(raw, TraceOptions()) if traced else {}
        begin = time.perf_counter()
        subprocess.run(
            self.command,
            check=True,
            env=os.environ | variables,
            cwd=self.directory,
            stdout=subprocess.DEVNULL,
        )
        return time.perf_counter() - begin

    def ratios(self, pairs: int, second_traced: bool) -> list[float]:
        """Time of the second run over that of the first, less 1."""
        found = []
        for _ in range(pairs):
            order = [False, second_traced]
            first = random.random() < 0.5
            times = [self.seconds(order[first]), self.seconds(order[not first])]
            plain, other = times if not first else times[::-1]
            found.append(other / plain - 1)
        return found


def described(ratios: list[float]) -> str:
    samples = sorted(statistics.median(random.choices(ratios, k=len(ratios))) for _ in range(2000))
    low, high = samples[50], samples[-51]
    return f"{100 * statistics.median(ratios):+.2f} % ({100 * low:+.2f} to {100 * high:+.2f})"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--pairs", type=int, default=15)
    parser.add_argument("--only", choices=sorted(OPTIONS))
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory(dir="/dev/shm") as name:
        directory = Path(name)
        for program, path in programs(directory).items():
            if arguments.only not in (None, program):
                continue
            ranks = str(RANKS.get(program, 2))
            runner = Runner(["mpiexec.mpich", "-n", ranks, str(path), *OPTIONS[program]], directory)
            seconds = runner.seconds(False)
            traced = described(runner.ratios(arguments.pairs, True))
            noise = described(runner.ratios(arguments.pairs, False))
            print(f"{program:12} {seconds:.2f} s, tracing {traced}, plain {noise}", flush=True)


if __name__ == "__main__":
    main()
