"""How long simulating NAS codes takes, over the computation that they have really.

The computation is what `sesame trace` measures under mpiexec, summed over all ranks: the time
between their MPI calls, without that for which other processes had the processor. The simulator
runs all ranks on one processor, so a ratio of 1 is a simulator that takes no time itself. The time
of a simulation is that of the whole command. Each code is traced once, and simulated --repeat
times, of which the fastest counts. Traced ranks share
the machine's processors and their caches: the ratio may be below 1. On an idle machine only.

    python bench/nas_ratio.py [--only lu,bt,sp] [--ranks 16,64] [--class W] [--repeat 3]
"""

from __future__ import annotations

import argparse
import os
import subprocess
import tempfile
import time
from pathlib import Path

from runs import SESAME, launched

import sesame
from sesame.host_load import LoadWatch
from sesame.simulation.trace.run import plan_run
from sesame.workloads import build_workload, find_compiler, find_workload

TARGET = 1.3
YIELDING = Path(__file__).parents[1] / "tests/programs/yielding/yielding_ranks.c"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--only", default="lu,bt,sp")
    parser.add_argument("--ranks", default="16,64")
    parser.add_argument("--class", default="W", dest="size")
    parser.add_argument("--repeat", type=int, default=3)
    options = parser.parse_args()
    compiler = find_compiler("mpicxx.mpich")
    for name in options.only.split(","):
        program = build_workload(find_workload(name), compiler).program
        for ranks in map(int, options.ranks.split(",")):
            watch = LoadWatch()
            command = [str(program), "--class", options.size]
            with tempfile.TemporaryDirectory(prefix="sesame-") as directory:
                computed = traced_computation(ranks, command, Path(directory))
                simulated = min(simulation(ranks, command) for _ in range(options.repeat))
            doubts = "; ".join(map(str, watch.stop().doubts()))
            print(
                f"{name} class {options.size}, {ranks:3} ranks: computation {computed:7.2f} s, "
                f"simulated in {simulated:7.2f} s, ratio {simulated / computed:.2f} "
                f"(at most {TARGET}) {doubts}",
                flush=True,
            )


def traced_computation(ranks: int, command: list[str], directory: Path) -> float:
    """Seconds, of all ranks."""
    output = directory / "traced.sesame"
    command = [*SESAME, "trace", "-o", str(output), "--", *launched(ranks, command)]
    run(command, os.environ | {"LD_PRELOAD": str(yielding_ranks(directory))})
    times = plan_run(sesame.open(output)).plan.times
    return 1e-9 * sum(int(of_rank[1:-1].sum()) for of_rank in times)


def yielding_ranks(directory: Path) -> Path:
    """A library with which ranks yield their processor while they wait: without it, 16 ranks that
    poll on two processors take a minute and a half for what they compute in two seconds."""
    library = directory / "yielding.so"
    run(["cc", "-O2", "-shared", "-fPIC", "-o", str(library), str(YIELDING)])
    return library


def simulation(ranks: int, command: list[str]) -> float:
    """Seconds that the whole command takes."""
    begin = time.monotonic()
    run([*SESAME, "simulate", "-n", str(ranks), "--machine", "infiniband", "--", *command])
    return time.monotonic() - begin


def run(command: list[str], environment: dict[str, str] | None = None) -> None:
    quiet = subprocess.DEVNULL
    subprocess.run(command, check=True, stdout=quiet, stderr=quiet, env=environment)


if __name__ == "__main__":
    main()
