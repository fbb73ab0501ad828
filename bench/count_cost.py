"""What counting an MPI call costs, in nanoseconds, by the level of detail of its point.

The calls are those of a library that does nothing (programs/idle_mpi.c), so that what is measured
is what stands in front of it. One program has the tracer's library, another has not; batches of
both, and of the first with its point off and on, take turns. Printed are medians of the differences
within a turn, and the interval that holds each with 95 % probability.

    python bench/count_cost.py [--turns 301] [--calls 5000]
"""

import argparse
import os
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack, closing, contextmanager
from pathlib import Path

from sesame.measurement.cost import median_and_interval, on_one_cpu
from sesame.measurement.mpi import MpiProbes
from sesame.measurement.probes import Detail

PROGRAMS = Path(__file__).resolve().parent / "programs"
KINDS = ("send", "allreduce")


def build(directory: Path) -> Path:
    """The idle library, and the program; the compiler's MPICH header names the constants."""
    library, program = directory / "libmpi.so.12", directory / "count_cost"
    show = subprocess.run(
        ["mpicc.mpich", "-show", "-c"], capture_output=True, text=True, check=True
    )
    includes = [word for word in show.stdout.split() if word.startswith("-I")]
    cc = ["cc", "-O2", "-w"]
    made = ["-shared", "-fPIC", "-Wl,-soname,libmpi.so.12", "-o", str(library)]
    subprocess.run([*cc, *made, str(PROGRAMS / "idle_mpi.c")], check=True)
    linked = [str(library), f"-Wl,-rpath,{directory}", "-o", str(program)]
    subprocess.run([*cc, *includes, str(PROGRAMS / "count_cost.c"), *linked], check=True)
    return program


class Program:
    """A running program that makes calls on request."""

    def __init__(self, command: list[str], environment: dict[str, str]) -> None:
        self._process = subprocess.Popen(
            command,
            env={**os.environ, **environment},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            bufsize=1,
        )

    def run(self, calls: int) -> float:
        """ns for a call."""
        print(calls, file=self._process.stdin, flush=True)
        return float(self._process.stdout.readline())

    def close(self) -> None:
        self._process.communicate()


@contextmanager
def running(command: list[str], probes: MpiProbes) -> Iterator[tuple[Program, Program]]:
    with ExitStack() as stack:
        yield (
            stack.enter_context(closing(Program(command, {}))),
            stack.enter_context(closing(Program(command, dict(probes.environment)))),
        )


def measure(kind: str, command: list[str], turns: int, calls: int) -> None:
    added: dict[str, list[float]] = {detail.name.lower(): [] for detail in Detail}
    plain_ns: list[float] = []
    with on_one_cpu(), closing(MpiProbes()) as probes, running(command, probes) as (plain, hooked):
        points = range(len(probes.subsystem.points))
        for turn in range(-3, turns):  # the first three are not counted
            without = plain.run(calls)
            times: dict[Detail, float] = {}
            for detail in sorted(Detail, reverse=bool(turn % 2)):
                for point in points:
                    probes.set(point, detail)
                times[detail] = hooked.run(calls)
            if turn < 0:
                continue
            plain_ns.append(without)
            added["off"].append(times[Detail.OFF] - without)
            for detail in Detail:
                if detail:
                    added[detail.name.lower()].append(times[detail] - times[Detail.OFF])
    print(f"{kind}: {median_and_interval(plain_ns)[0]:.1f} ns without the library")
    for name, differences in added.items():
        middle, least, most = median_and_interval(differences)
        beside = "no library" if name == "off" else "off"
        print(f"  {name:9} {middle:6.1f} ns more than {beside} ({least:.1f} to {most:.1f})")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--turns", type=int, default=301)
    parser.add_argument("--calls", type=int, default=5000, help="in a batch")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(dir="/dev/shm") as name:
        program = build(Path(name))
        for kind in KINDS:
            measure(kind, [str(program), kind], options.turns, options.calls)


if __name__ == "__main__":
    main()
