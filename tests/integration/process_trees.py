"""The processes that a command has started, for tests that end some of them."""

from __future__ import annotations

import contextlib
import os
import subprocess
import time
from collections.abc import Callable, Iterator
from pathlib import Path

from tests.command_line import SESAME

GONE = (FileNotFoundError, ProcessLookupError)
PARENT, START_TIME = 1, 19  # in /proc/PID/stat, counted from the state (proc_pid_stat(5))


def children(process: int, *, deep: bool = True) -> list[int]:
    """All descendants, or those that it has started itself: the first one started is the first,
    also where PIDs have been recycled between them."""
    of: dict[int, list[tuple[int, int]]] = {}
    for number in (int(one.name) for one in Path("/proc").iterdir() if one.name.isdigit()):
        with contextlib.suppress(*GONE):
            state = state_of(number)
            of.setdefault(int(state[PARENT]), []).append((int(state[START_TIME]), number))

    def below(parent: int) -> list[int]:
        own = [number for _, number in sorted(of.get(parent, []))]
        return own if not deep else [*own, *(lower for child in own for lower in below(child))]

    return below(process)


def state_of(process: int) -> list[str]:
    """The fields of /proc/PID/stat behind the name. Raises GONE."""
    return Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()


def exists(process: int) -> bool:
    """Whether it runs; not one that has ended and is still listed."""
    try:
        return state_of(process)[0] != "Z"
    except GONE:
        return False


def wait_until(condition: Callable[[], object], seconds: float = 60) -> None:
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.02)


def wait_for_children(process: int, count: int) -> list[int]:
    """Waits until it has so many descendants and keeps them for five looks: programs that it starts
    for an answer end sooner."""
    looks: list[list[int]] = []

    def are_settled() -> bool:
        looks.append(children(process))
        return len(looks[-1]) == count and looks[-5:] == 5 * [looks[-1]]

    wait_until(are_settled)
    return looks[-1]


@contextlib.contextmanager
def endless_runs(
    directory: Path, arguments: list[str], processes: int
) -> Iterator[Callable[[], tuple[subprocess.Popen, list[int]]]]:
    """A function that starts `sesame simulate ARGUMENTS`, a run that does not end, in a process
    group of its own, and waits until it has so many processes. Returns it and these."""
    started: list[subprocess.Popen] = []

    def start() -> tuple[subprocess.Popen, list[int]]:
        process = subprocess.Popen(
            [*SESAME, "simulate", *arguments],
            stderr=subprocess.PIPE,
            env={**os.environ, "TMPDIR": str(directory)},
            cwd=directory,
            text=True,
            process_group=0,
        )
        started.append(process)
        return process, wait_for_children(process.pid, processes)

    try:
        yield start
    finally:
        for process in started:
            if process.poll() is None:
                process.kill()
            process.communicate()
