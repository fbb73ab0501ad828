"""What `sesame trace` adds to an MPI call, in nanoseconds.

Two ways. The hooks alone, in front of a library of MPI that does nothing (programs/idle_mpi.c).
And an 8-byte ping-pong of two ranks on this node, with each MPI that has a compiler here: MPICH
and Open MPI. Runs with and without the tracer take turns, each of many short batches; the figures
are the differences of the smallest and of the median batch. Needs the tracer's library, built.

    python bench/trace_mpi_overhead.py [--tracer libsesame-trace.so] [--runs 8]
"""

import argparse
import os
import shutil
import statistics
import subprocess
import tempfile
from collections.abc import Callable
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
PROGRAMS = ROOT / "bench" / "programs"
KINDS = ("send", "receive", "nonblocking", "allreduce")
BATCHES = 200
ROUNDS = {"alone": 1000, "pingpong": 200}
MPIS = {
    "MPICH": ("mpicc.mpich", ["mpiexec.mpich"]),
    "Open MPI": (
        "mpicc.openmpi",
        ["mpiexec.openmpi", "--oversubscribe", "--mca", "btl", "self,vader"],
    ),
}
BUDGET_NS = 80


def find_tracer(wanted: str | None) -> Path:
    places = [Path(wanted)] if wanted else sorted(ROOT.glob("build/**/libsesame-trace.so"))
    if not places or not places[0].exists():
        raise SystemExit("there is no libsesame-trace.so; build it, or name it with --tracer")
    return places[0].resolve()


def batches(command: list[str], tracer: Path | None, directory: Path) -> list[float]:
    """The times of all batches of one run."""
    environment = dict(os.environ, OMPI_ALLOW_RUN_AS_ROOT="1", OMPI_ALLOW_RUN_AS_ROOT_CONFIRM="1")
    trace = directory / "trace"
    if tracer is not None:
        trace.mkdir()
        environment |= {"LD_PRELOAD": str(tracer), "SESAME_TRACE_DIRECTORY": str(trace)}
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
    if tracer is not None:
        shutil.rmtree(trace)
    return [float(line) for line in done.stdout.split()]


def compare(name: str, command: list[str], tracer: Path, runs: int, directory: Path) -> float:
    """Prints a line; gives the difference of the medians."""
    times: dict[bool, list[float]] = {False: [], True: []}
    for _ in range(runs):
        for traced in (False, True):
            times[traced] += batches(command, tracer if traced else None, directory)
    added: dict[Callable[[list[float]], float], float] = {}
    for figure in (min, statistics.median):
        added[figure] = figure(times[True]) - figure(times[False])
    print(
        f"{name:24} plain {statistics.median(times[False]):8.1f} ns"
        f"   added: smallest {added[min]:6.1f}, median {added[statistics.median]:6.1f} ns per call"
    )
    return added[statistics.median]


def alone(directory: Path, tracer: Path, runs: int) -> list[float]:
    """The hooks in front of the idle library; the compiler's MPICH header names the constants."""
    if shutil.which("mpicc.mpich") is None:
        print("hooks alone: skipped, there is no mpicc.mpich (Debian: libmpich-dev)")
        return []
    library, program = directory / "libmpi.so.12", directory / "alone"
    show = subprocess.run(
        ["mpicc.mpich", "-show", "-c"], capture_output=True, text=True, check=True
    )
    includes = [word for word in show.stdout.split() if word.startswith("-I")]
    cc = ["cc", "-O2", "-w"]
    subprocess.run(
        [*cc, "-shared", "-fPIC", "-Wl,-soname,libmpi.so.12", str(PROGRAMS / "idle_mpi.c"), "-o",
         str(library)], check=True
    )  # fmt: skip
    subprocess.run(
        [*cc, "-DIDLE_MPI", *includes, str(PROGRAMS / "call_cost.c"), "-o", str(program),
         str(library), f"-Wl,-rpath,{directory}"], check=True
    )  # fmt: skip
    size = [str(BATCHES), str(ROUNDS["alone"])]
    return [
        compare(f"hook alone, {kind}", [str(program), kind, *size], tracer, runs, directory)
        for kind in KINDS
    ]


def pingpong(name: str, directory: Path, tracer: Path, runs: int) -> list[float]:
    compiler, starter = MPIS[name]
    if shutil.which(compiler) is None:
        print(f"ping-pong, {name}: skipped, there is no {compiler}")
        return []
    program = directory / f"pingpong.{compiler}"
    source = str(PROGRAMS / "call_cost.c")
    subprocess.run([compiler, "-O2", "-w", source, "-o", str(program)], check=True)
    command = [*starter, "-n", "2", str(program), "pingpong"]
    command += [str(BATCHES), str(ROUNDS["pingpong"])]
    return [compare(f"ping-pong, {name}", command, tracer, runs, directory)]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--tracer", help="the library (default: the one in build/)")
    parser.add_argument("--runs", type=int, default=8, help="of each kind, with and without")
    options = parser.parse_args()
    tracer = find_tracer(options.tracer)
    with tempfile.TemporaryDirectory(dir="/dev/shm") as name:
        directory = Path(name)
        added = alone(directory, tracer, options.runs)
        for mpi in MPIS:
            added += pingpong(mpi, directory, tracer, options.runs)
    if added:
        share = max(added) / BUDGET_NS
        print(f"largest {max(added):.1f} ns per call, of {BUDGET_NS} ns allowed: {share:.2f}")


if __name__ == "__main__":
    main()
