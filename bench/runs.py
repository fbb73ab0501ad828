"""Real, traced and replayed runs of an MPI program for other benchmarks, and their errors."""

from __future__ import annotations

import json
import os
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

from targets import TARGETS

from sesame.tracing import TraceOptions, environment

SESAME = [sys.executable, "-m", "sesame"]
# Each rank writes its start time in ns to a pipe and keeps the pipe open until it ends. `exec`
# keeps the process that the launcher started, so that a trace shows the program itself.
STAMPED = 'exec 9> "$STAMPS"; date +%s%N >&9; exec "$@"'


def sesame(
    arguments: list[str], *, cwd: Path | None = None, timeout_s: float | None = None
) -> dict[str, Any]:
    """The JSON output of a command. It runs in a session of its own, as the ranks of mpiexec do:
    the kernel divides processors among sessions first."""
    done = subprocess.run(
        [*SESAME, arguments[0], "--json", *arguments[1:]],
        check=True,
        capture_output=True,
        text=True,
        start_new_session=True,
        cwd=cwd,
        timeout=timeout_s,
    )
    answer: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return answer


def launched(ranks: int, command: list[str]) -> list[str]:
    return ["mpiexec.mpich", "-n", str(ranks), *command]


def real_seconds(ranks: int, command: list[str]) -> float:
    """Time from the first rank's begin to the last rank's end, as in a trace."""
    times: list[int] = []
    with tempfile.TemporaryDirectory() as directory:
        stamps = Path(directory) / "stamps"
        os.mkfifo(stamps)
        watch = threading.Thread(target=_watch, args=(stamps, times), daemon=True)
        watch.start()
        stamped = launched(ranks, ["sh", "-c", STAMPED, "sh", *command])
        variables = os.environ | {"STAMPS": str(stamps)}
        subprocess.run(stamped, check=True, env=variables, stdout=subprocess.DEVNULL)
        watch.join()
    return 1e-9 * (times[-1] - min(times))


def _watch(stamps: Path, times: list[int]) -> None:
    with stamps.open() as lines:
        times += [int(line) for line in lines]
    times.append(time.time_ns())


def trace(ranks: int, command: list[str], output: Path) -> None:
    arguments = ["trace", "-o", str(output), "--force", "--", *launched(ranks, command)]
    subprocess.run(
        [*SESAME, *arguments], check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )


def traced_seconds(ranks: int, command: list[str], raw: Path) -> float:
    """The same for a traced run, whose raw streams stay in `raw`."""
    settings = environment(raw, TraceOptions())
    return real_seconds(ranks, ["env", *(f"{k}={v}" for k, v in settings.items()), *command])


def data_set(raw: Path, output: Path, prune: str) -> dict[str, Any]:
    """Makes a data set of raw streams, pruned by a rule; the streams can be used again."""
    return sesame(["trace", "--from-raw", str(raw), "-o", str(output), "--force", "--prune", prune])


def replay(run: Path, a: Path, b: Path) -> dict[str, float]:
    """Replays a run whose files were below `a` in a new directory below `b`."""
    with tempfile.TemporaryDirectory(dir=b) as directory:
        return sesame(["replay", str(run), "--map", f"{a}={directory}", "--dir", directory])


def error(predicted: list[float], real: list[float]) -> float:
    return statistics.median(predicted) / statistics.median(real) - 1


def noise(real: list[float]) -> float:
    middle = statistics.median(real)
    return statistics.median(abs(one - middle) / middle for one in real)


@contextmanager
def mounted(names: set[str]) -> Iterator[dict[str, Path]]:
    with ExitStack() as stack:
        yield {name: stack.enter_context(TARGETS[name]()) for name in sorted(names)}
