"""What ranks that are processes cost, each figure beside the floor of this machine.

- Ping-pong: time of a message, and its ratio to a futex handed over and back, on all processors and
  on one.
- Start-up: wall time for each further rank, of a C program and of Python with NumPy and mpi4py,
  and its ratio to the same program (Python: `import numpy`) started without Sesame.
- Processors: wall time of a workload that computes, on one processor and on all, and the ratio to
  what as many independent runs reach at once.
- Memory of --python-ranks ranks of Python, pages that ranks share counted once.

Figures are medians of --repeat runs; needs mpicc, and mpi4py for Python.

    python bench/rank_processes.py [--repeat 3] [--python-ranks 64] [--workload ep] [--class S]
"""

from __future__ import annotations

import argparse
import importlib.util
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path

from message_rate import PROGRAMS, build, find_mpicc

from sesame.workloads import build_workload, find_compiler, find_workload

SPINS = 1500  # core/sim/process_ranks.cc
ON_ONE = ["taskset", "-c", "0"]
PYTHON_RANKS = [sys.executable, str(PROGRAMS / "python_ranks.py")]


def simulate(ranks: int, program: Sequence[str], *options: str, prefix: Sequence[str] = ()) -> str:
    command = [sys.executable, "-m", "sesame", "simulate", "-n", str(ranks)]
    command += ["--machine", "infiniband", "--ranks-as", "processes", *options, "--", *program]
    done = subprocess.run([*prefix, *command], check=True, capture_output=True, text=True)
    return done.stdout


def wall_s(what: Callable[[], object], repeat: int) -> float:
    """The median of `repeat` times."""
    times = []
    for _ in range(repeat):
        begin = time.monotonic()
        what()
        times.append(time.monotonic() - begin)
    return statistics.median(times)


def further_s(run: Callable[[int], object], few: int, many: int, repeat: int) -> float:
    """Wall time for one more, from a run of few and one of many."""
    longer = wall_s(lambda: run(many), repeat) - wall_s(lambda: run(few), repeat)
    return longer / (many - few)


def show_ping_pong(directory: Path, compiler: str, repeat: int) -> None:
    floor = directory / "floor"
    source = PROGRAMS / "futex_floor.c"
    subprocess.run(["cc", "-O2", "-w", str(source), "-o", str(floor)], check=True)
    program = build(compiler, "ping_pong", directory)
    for name, prefix, spins in (("all processors", [], SPINS), ("one processor", ON_ONE, 0)):

        def handover_ns(prefix: list[str] = prefix, spins: int = spins) -> float:
            command = [*prefix, str(floor), str(spins), "100000"]
            return float(subprocess.run(command, check=True, capture_output=True, text=True).stdout)

        def run(rounds: int, prefix: list[str] = prefix) -> None:
            out = simulate(2, [str(program), str(rounds)], "--compute", "none", prefix=prefix)
            assert "correct" in out

        least = statistics.median(handover_ns() for _ in range(repeat))
        message_ns = 1e9 * further_s(run, 1000, 51000, repeat) / 2
        print(
            f"ping-pong, {name}: {message_ns:,.0f} ns a message, {message_ns / least:.1f} times "
            f"a futex there and back ({least:,.0f} ns)"
        )


def show_start_up(directory: Path, compiler: str, repeat: int, python_ranks: int) -> None:
    program = [str(build(compiler, "startup", directory))]
    rows = [("C", program, ["/bin/true"], 64)]
    if importlib.util.find_spec("mpi4py") is not None:
        bare = [sys.executable, "-c", "import numpy"]
        rows.append(("Python", PYTHON_RANKS, bare, min(16, python_ranks)))
    for name, command, alone, ranks in rows:
        rank_s = further_s(
            lambda n, c=command: simulate(n, c, "--compute", "none"), 2, ranks, repeat
        )
        alone_s = wall_s(lambda a=alone: subprocess.run(a, check=True), 3 * repeat)
        print(
            f"start-up, {name}: {1e3 * rank_s:.2f} ms a rank, {rank_s / alone_s:.2f} times "
            f"`{' '.join([Path(alone[0]).name, *alone[1:]])}` ({1e3 * alone_s:.2f} ms)"
        )


def show_processors(workload: str, size: str, repeat: int) -> None:
    program = build_workload(find_workload(workload), find_compiler(None)).program
    command = [str(program), "--class", size]
    processors = len(os.sched_getaffinity(0))

    def together() -> None:
        with tempfile.TemporaryDirectory() as directory:
            runs = [
                subprocess.Popen(
                    ["taskset", "-c", str(processor), *simulation(command)],
                    cwd=directory,
                    stdout=subprocess.DEVNULL,
                    stderr=subprocess.DEVNULL,
                )
                for processor in sorted(os.sched_getaffinity(0))
            ]
            assert all(run.wait() == 0 for run in runs)

    one_s = wall_s(lambda: simulate(16, command, prefix=ON_ONE), repeat)
    all_s = wall_s(lambda: simulate(16, command), repeat)
    ceiling = processors * one_s / wall_s(together, repeat)
    print(
        f"{workload}.{size}, 16 ranks: {one_s:.2f} s on one processor, {all_s:.2f} s on "
        f"{processors}: {one_s / all_s:.2f} times as fast, ceiling {ceiling:.2f}, "
        f"ratio {one_s / all_s / ceiling:.2f}"
    )


def simulation(command: list[str]) -> list[str]:
    options = ["-n", "16", "--machine", "infiniband", "--ranks-as", "processes"]
    return [sys.executable, "-m", "sesame", "simulate", *options, "--", *command]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--repeat", type=int, default=3)
    parser.add_argument("--python-ranks", type=int, default=64)
    parser.add_argument("--workload", default="ep")
    parser.add_argument("--class", dest="size", default="S")
    arguments = parser.parse_args()
    compiler = find_mpicc()
    with tempfile.TemporaryDirectory() as name:
        show_ping_pong(Path(name), compiler, arguments.repeat)
        show_start_up(Path(name), compiler, arguments.repeat, arguments.python_ranks)
    show_processors(arguments.workload, arguments.size, arguments.repeat)
    if importlib.util.find_spec("mpi4py") is not None:
        begin = time.monotonic()
        out = simulate(arguments.python_ranks, [*PYTHON_RANKS, "memory"], "--compute", "none")
        took_s = time.monotonic() - begin
        print(f"Python, {arguments.python_ranks} ranks: {out.strip()}, {took_s:.1f} s in all")


if __name__ == "__main__":
    main()
