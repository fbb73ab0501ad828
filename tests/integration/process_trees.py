"""The processes that a command has started, for tests that end some of them."""

from __future__ import annotations

import subprocess
import time
from collections.abc import Callable
from pathlib import Path


def children(process: int, *, deep: bool = True) -> list[int]:
    """All descendants, or those that it has started itself: the first one started is the first,
    also where PIDs have been recycled between them."""
    command = ["ps", "--sort", "start_time,pid", "-o", "pid=", "--ppid", str(process)]
    listed = subprocess.run(command, capture_output=True, text=True, check=False)
    own = [int(word) for word in listed.stdout.split()]
    return own if not deep else [*own, *(below for child in own for below in children(child))]


def exists(process: int) -> bool:
    """Whether it runs; not one that has ended and is still listed."""
    try:
        state = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0]
    except (FileNotFoundError, ProcessLookupError):
        return False
    return state != "Z"


def wait_until(condition: Callable[[], object], seconds: float = 60) -> None:
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.02)
