"""Speed of `sesame simulate --workers 2`, beside what two processors of this machine allow.

Two simulations at once, each on a processor of its own, take longer than one: they share caches
and memory. What they do together in the time of one is the ceiling of a simulation with two
workers. Prints for each program the elapsed time of the whole command with one process (t1), with
two workers (t2), the ceiling 2 t1 / t (t: of two at once), the speed-up t1 / t2, its share of the
ceiling, and what the workers exchanged. Times are the shortest of --repeat runs; all three kinds of
run take turns. Needs mpicc, mpicxx and two idle processors.

    python bench/parallel.py [--repeat 3] [--only halo] [--small]
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from message_rate import build, find_mpicc

from sesame.workloads import build_workload, find_compiler, find_workload

OPTIONS = ["--compute", "none", "--set", "network.sharing=none", "--set", "node.cores=8"]
PROCESSORS = sorted(os.sched_getaffinity(0))[:2]


@dataclass(frozen=True)
class Case:
    program: str  # of bench/programs (halo), or a workload
    ranks: int
    arguments: tuple[str, ...]
    small: tuple[str, ...]  # a problem of a second or so


CASES = [
    *(Case(name, 16, ("--class", "A"), ("--class", "S")) for name in ("bt", "lu", "sp", "ep")),
    Case("bt", 16, ("--class", "W", "--io", "full"), ("--class", "S", "--io", "full")),
    Case("cg", 64, ("--class", "A"), ("--class", "S")),
    Case("halo", 1024, ("3000",), ("100",)),
    Case("halo", 4096, ("700",), ("20",)),
]


def start(command: Sequence[str], processors: Sequence[int]) -> subprocess.Popen[str]:
    pinned = ["taskset", "-c", ",".join(map(str, processors)), *command]
    return subprocess.Popen(
        pinned, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, start_new_session=True
    )


def run(
    commands: Sequence[Sequence[str]], processors: Sequence[Sequence[int]]
) -> tuple[float, Any]:
    """The elapsed time of all together, s, and the result of the first."""
    begin = time.monotonic()
    processes = [start(*one) for one in zip(commands, processors, strict=True)]
    texts = [process.communicate()[0] for process in processes]
    elapsed = time.monotonic() - begin
    for process, command in zip(processes, commands, strict=True):
        if process.returncode != 0:
            raise SystemExit(f"failed: {' '.join(command)}")
    return elapsed, json.loads(texts[0])


def show(case: Case, program: Path, arguments: Sequence[str], repeat: int) -> None:
    common = [sys.executable, "-m", "sesame", "simulate", "--json", "--machine", "infiniband"]
    common += ["-n", str(case.ranks), *OPTIONS]
    alone = [*common, "--", str(program), *arguments]
    several = [*common, "--workers", "2", "--", str(program), *arguments]
    first, second = PROCESSORS
    one, both, two = [], [], []
    for _ in range(repeat):
        one.append(run([alone], [[first]])[0])
        both.append(run([alone, alone], [[first], [second]])[0])
        elapsed, result = run([several], [PROCESSORS])
        two.append(elapsed)
    t1, t, t2 = min(one), min(both), min(two)
    ceiling, speed_up = 2 * t1 / t, t1 / t2
    parallel = result["parallel"]
    name = " ".join([case.program, *arguments, f"at {case.ranks}"])
    print(
        f"{name:34} t1 {t1:7.2f} s, t2 {t2:7.2f} s; ceiling {ceiling:.2f}, speed-up "
        f"{speed_up:.2f}, {100 * speed_up / ceiling:3.0f} % of it; "
        f"{parallel['frames'] / result['messages']:.3f} of the messages between workers, "
        f"{parallel['rounds']} rounds",
        flush=True,
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--repeat", type=int, default=3)
    parser.add_argument(
        "--only", choices=sorted({case.program for case in CASES}), help="a program"
    )
    parser.add_argument("--small", action="store_true", help="small problems, for a first look")
    options = parser.parse_args()
    compiler = find_mpicc()
    if len(PROCESSORS) < 2:
        raise SystemExit("needs two processors")
    found = find_compiler(compiler.replace("mpicc", "mpicxx"))
    with tempfile.TemporaryDirectory() as name:
        halo = build(compiler, "halo", Path(name))
        for case in CASES:
            if options.only in (None, case.program):
                made = halo
                if case.program != "halo":
                    made = build_workload(find_workload(case.program), found).program
                show(case, made, case.small if options.small else case.arguments, options.repeat)


if __name__ == "__main__":
    main()
