"""Runs further copies of a simulation at the same time, so that computation is measured as on a
node whose other cores are busy with the same program.

The ranks of a simulation compute one after the other: each has the caches and the memory bandwidth
for itself. The cost of sharing them depends on the program; copies show it, as in SPEC CPU's rate
runs (https://www.spec.org/cpu2017/Docs/overview.html). Each copy runs the whole program. Its output
is discarded, but it does write to files that are not simulated.
"""

from __future__ import annotations

import os
import subprocess
import tempfile
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from sesame.errors import InputError
from sesame.settings import setting
from sesame.simulation.host import Host
from sesame.trust import Doubt, Reason


def check_copies(copies: int, text: str) -> None:
    """Raises InputError if there are more copies than processors. `text`: the option's value."""
    processors = len(os.sched_getaffinity(0))
    if copies > processors:
        raise InputError(
            f"{setting('compute', text)}: expected at most {processors} copies, one for each "
            "processor here",
            hint=f"use {setting('compute', f'measured:{processors}')}; set node.slowdown for "
            "further cores",
        )


@contextmanager
def computing_beside(
    executable: Path, scenario: dict[str, Any], further: int, doubts: list[Doubt]
) -> Iterator[None]:
    """Runs `further` copies of the scenario while the block runs, and ends them with it.

    A copy that ends earlier is restarted. A copy that fails is not; then a doubt is added to
    `doubts`.
    """
    copies = [_Copy(executable, scenario) for _ in range(further)]
    try:
        for copy in copies:
            copy.start()
        yield
    finally:
        for copy in copies:
            copy.end()
    failed = sum(copy.failed for copy in copies)
    if failed:
        doubts.append(
            Doubt(
                Reason.SCATTER,
                f"{failed} of {further} further copies failed: the time of computation lacks the "
                "cost of sharing the node, or a part of it",
                "check that the program can run twice at the same time",
            )
        )


class _Copy(threading.Thread):
    def __init__(self, executable: Path, scenario: dict[str, Any]) -> None:
        super().__init__(daemon=True)
        quiet = subprocess.DEVNULL
        self._host = Host(executable, stdin=quiet, stdout=quiet, stderr=quiet)
        self._scenario = scenario
        self._over = threading.Event()
        self.failed = False

    def run(self) -> None:
        while not self._over.is_set() and not self.failed:
            with tempfile.TemporaryDirectory(prefix="sesame-") as directory:
                text = {**self._scenario, "output_directory": directory, "record": False}
                text["compute"] = {**text["compute"], "save": None}
                done = self._host.run(text, Path(directory))
            self.failed = done.status != 0 and not self._over.is_set()

    def end(self) -> None:
        self._over.set()
        while self.is_alive():
            self._host.stop()
            self.join(timeout=0.1)  # then again, in case it has just started another run
