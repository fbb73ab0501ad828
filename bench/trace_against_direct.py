"""Predictions from a trace against predictions of the program itself, for all examples and
workloads: the same calls and the same computation must give the same time.

Each program is traced three times under mpiexec on 2 ranks (or 1), then predicted on each machine
from the traces, and directly with its computation measured anew three times. Prints both medians
and their ratio, and why any of them is doubtful. On an idle machine with 2 free processors the
ratio of programs that compute for 10 ms or more is 0.9 to 1.1. Files that lie on no file system of
the machine and one-sided calls take from a trace the time that they took: see
docs/models/trace-driven.md.

    python bench/trace_against_direct.py [--only NAME,…] [--machine NAME,…] [--repeat 3]
"""

from __future__ import annotations

import argparse
import shutil
import statistics
import subprocess
import tempfile
import time
from pathlib import Path
from typing import Any

from accuracy import build
from runs import launched, sesame

from sesame.workloads import build_workload, find_compiler, find_workload

PATIENCE_S = 120
# Small enough that all take a few minutes, and long enough to compute something.
EXAMPLES: dict[str, tuple[int, list[str]]] = {
    "heat.c": (2, ["512", "512", "200"]),
    "cg.f90": (2, ["256", "200"]),
    "nbody.cc": (2, ["1024", "6"]),
    "samplesort.c": (2, ["300000"]),
    "transpose.f90": (2, ["256"]),
}
NPB = ["--class", "S"]
WORKLOADS: dict[str, tuple[int, list[str]]] = {
    "ep": (2, NPB),
    "is": (2, ["--class", "W"]),
    "cg": (2, NPB),
    "mg": (2, NPB),
    "ft": (2, NPB),
    "lu": (2, NPB),
    "bt": (1, NPB),
    "sp": (1, NPB),
    "sesame-sort": (2, ["--count", "100000"]),
    "iow": (2, ["--size", "64KiB"]),
    "nht1": (1, NPB),
    "oocmm": (2, ["--order", "128"]),
    "requests": (2, ["--requests", "200"]),
    "messages": (2, ["--most", "64KiB", "--repeat", "20"]),
    "wavelet": (2, ["--size", "256"]),
    "ppm": (2, ["--width", "64", "--height", "64", "--steps", "20"]),
    "nbody": (2, ["--bodies", "1000", "--steps", "3"]),
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--only", help="names of programs, with commas between")
    parser.add_argument("--machine", default="infiniband,paragon")
    parser.add_argument("--repeat", type=int, default=3)
    arguments = parser.parse_args()
    if shutil.which("mpicc.mpich") is None:
        raise SystemExit("bench/trace_against_direct.py needs Debian's libmpich-dev")
    names = arguments.only.split(",") if arguments.only else [*EXAMPLES, *WORKLOADS]
    begin = time.monotonic()
    print(f"{'program':14}{'machine':12}{'direct':>12}{'interval':>22}{'trace':>12}{'ratio':>8}")
    ratios = []
    for name in names:
        with tempfile.TemporaryDirectory(prefix="sesame-") as directory:
            ratios += compare(name, arguments.machine.split(","), arguments.repeat, Path(directory))
    if ratios:
        print(
            f"median ratio {statistics.median(ratios):.3f}, from {min(ratios):.3f} to "
            f"{max(ratios):.3f}, in {time.monotonic() - begin:.0f} s"
        )


def compare(name: str, machines: list[str], repeats: int, directory: Path) -> list[float]:
    ranks, command = program(name, directory)
    launch = launched(ranks, command)
    traces = [f"run{number}.sesame" for number in range(repeats)]
    if any(answer(["trace", "-o", trace, "--", *launch], directory) is None for trace in traces):
        print(f"{name:14}cannot be traced")
        return []
    ratios = []
    for machine in machines:
        direct = answer(
            ["simulate", "-n", str(ranks), "--machine", machine]
            + (["--repeat", str(repeats)] if repeats > 1 else [])
            + ["--", *command],
            directory,
        )
        played = [answer(["simulate", one, "--machine", machine], directory) for one in traces]
        if direct is None or None in played:
            print(f"{name:14}{machine:12}cannot be simulated")
            continue
        ratios.append(show(name, machine, direct, [one for one in played if one is not None]))
    return ratios


def answer(arguments: list[str], directory: Path) -> dict[str, Any] | None:
    """None where the command ends with an error, or does not end."""
    try:
        return sesame(arguments, cwd=directory, timeout_s=PATIENCE_S)
    except (subprocess.CalledProcessError, subprocess.TimeoutExpired) as error:
        said = error.stderr if isinstance(error, subprocess.CalledProcessError) else ""
        print(f"  {' '.join(arguments[:4])}: {said.strip().splitlines()[-1:] or error}")
        return None


def program(name: str, directory: Path) -> tuple[int, list[str]]:
    if name in EXAMPLES:
        ranks, options = EXAMPLES[name]
        return ranks, [str(build(f"examples/{name}", directory)), *options]
    ranks, options = WORKLOADS[name]
    built = build_workload(find_workload(name), find_compiler("mpicxx.mpich"))
    return ranks, [str(built.program), *options]


def show(name: str, machine: str, direct: dict[str, Any], played: list[dict[str, Any]]) -> float:
    predicted = direct["predicted_time_s"]
    from_trace = statistics.median(one["predicted_time_s"] for one in played)
    interval = direct.get("predicted_time", {"low": predicted, "high": predicted})
    width = f"{1e3 * interval['low']:.4g} to {1e3 * interval['high']:.4g}"
    reasons = {d["reason"] for answer in (direct, *played) for d in answer["doubts"]}
    ratio: float = from_trace / predicted
    print(
        f"{name:14}{machine:12}{1e3 * predicted:9.4g} ms{width:>22}{1e3 * from_trace:9.4g} ms"
        f"{ratio:8.3f}  {', '.join(sorted(reasons - {'few samples'}))}",
        flush=True,
    )
    return ratio


if __name__ == "__main__":
    main()
