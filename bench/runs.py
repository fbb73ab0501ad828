"""Runs of an MPI program, for measurements: real, traced and replayed, and how far they differ."""

from __future__ import annotations

import json
import os
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

from targets import TARGETS

SESAME = [sys.executable, "-m", "sesame"]
# Marks begin and end of each rank's process, in ns: what a trace holds, too.
STAMPED = 'a=$(date +%s%N); "$@"; s=$?; echo $a $(date +%s%N) > "$STAMPS/$$"; exit $s'


def launched(ranks: int, command: list[str]) -> list[str]:
    return ["mpiexec.mpich", "-n", str(ranks), *command]


def real_seconds(ranks: int, command: list[str]) -> float:
    """From the first rank's begin to the last one's end."""
    with tempfile.TemporaryDirectory() as stamps:
        stamped = launched(ranks, ["sh", "-c", STAMPED, "sh", *command])
        environment = os.environ | {"STAMPS": stamps}
        subprocess.run(stamped, check=True, env=environment, stdout=subprocess.DEVNULL)
        times = [path.read_text().split() for path in Path(stamps).iterdir()]
    return 1e-9 * (max(int(end) for _, end in times) - min(int(begin) for begin, _ in times))


def trace(ranks: int, command: list[str], output: Path) -> None:
    arguments = ["trace", "-o", str(output), "--force", "--", *launched(ranks, command)]
    subprocess.run(
        [*SESAME, *arguments], check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )


def replay(run: Path, a: Path, b: Path) -> dict[str, float]:
    """The files of the run were below A; they are below a directory of B now."""
    with tempfile.TemporaryDirectory(dir=b) as directory:
        arguments = ["replay", str(run), "--map", f"{a}={directory}", "--dir", directory, "--json"]
        done = subprocess.run([*SESAME, *arguments], check=True, capture_output=True, text=True)
    answer: dict[str, float] = json.loads(done.stdout)
    return answer


def error(predicted: list[float], real: list[float]) -> float:
    return statistics.median(predicted) / statistics.median(real) - 1


def noise(real: list[float]) -> float:
    middle = statistics.median(real)
    return statistics.median(abs(one - middle) / middle for one in real)


@contextmanager
def mounted(names: set[str]) -> Iterator[dict[str, Path]]:
    with ExitStack() as stack:
        yield {name: stack.enter_context(TARGETS[name]()) for name in sorted(names)}
