"""A series of runs, two at a time where that cannot disturb what is measured."""

from __future__ import annotations

import os
import shutil
import sys
import tempfile
import threading
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import IO

from rich.console import Console

from sesame.cli.progress import ProgressLine
from sesame.simulation import Host, Point, RunResult, Scenario, run_sweep, simulate

AT_ONCE = 2


class Series:
    """Runs the points of a sweep; the program's output comes whole and in order."""

    def __init__(self, executable: Path, console: Console) -> None:
        self._executable = executable
        self._console = console
        self._lock = threading.Lock()
        self._running: set[Host] = set()

    def run(
        self, points: Sequence[Point], scenario_of: Callable[[Point], Scenario]
    ) -> Iterator[tuple[Point, RunResult]]:
        scenarios = {point: scenario_of(point) for point in points}
        if not scenarios[points[0]].compute.repeatable:
            # Runs side by side would disturb each other's measured computation.
            yield from run_sweep(points, lambda point: self._run_shown(scenarios[point], point))
            return
        at_once = min(AT_ONCE, os.cpu_count() or 1)
        with tempfile.TemporaryDirectory(prefix="sesame-") as folder:
            outputs = {point: Path(folder) / str(i) for i, point in enumerate(points)}
            runs = run_sweep(
                points,
                lambda point: self._run_kept(scenarios[point], outputs[point]),
                at_once=at_once,
                stop=self._stop,
            )
            try:
                for point, run in runs:
                    self._announce(point)
                    _replay(outputs[point], scenarios[point])
                    yield point, run
            except BaseException:
                for output in outputs.values():  # what the failing run said
                    _replay(output, scenarios[points[0]])
                raise

    def _announce(self, point: Point) -> None:
        self._console.print(f"[bold]{point}[/]", markup=True)

    def _run_shown(self, scenario: Scenario, point: Point) -> RunResult:
        self._announce(point)
        with ProgressLine(scenario.ranks) as line, _same_input() as stdin:
            host = line.host(self._executable, stdin=stdin)
            return simulate(scenario, host, **line.run_options())

    def _run_kept(self, scenario: Scenario, output: Path) -> RunResult:
        with (
            _same_input() as stdin,
            output.with_suffix(".out").open("wb") as out,
            output.with_suffix(".err").open("wb") as err,
        ):
            host = Host(self._executable, stdin=stdin, stdout=out, stderr=err)
            with self._lock:
                self._running.add(host)
            try:
                return simulate(scenario, host)
            finally:
                with self._lock:
                    self._running.discard(host)

    def _stop(self) -> None:
        with self._lock:
            running = list(self._running)
        for host in running:
            host.stop()


def _same_input() -> IO[bytes]:
    """Every run of a series reads the same input: a file from its start; of a pipe nothing."""
    try:
        path = Path(f"/proc/self/fd/{sys.stdin.fileno()}").resolve(strict=True)
    except (OSError, ValueError):  # a pipe has no path; a closed input no descriptor
        path = Path(os.devnull)
    return (path if path.is_file() else Path(os.devnull)).open("rb")


def _replay(output: Path, scenario: Scenario) -> None:
    sys.stdout.flush()
    to_stderr = scenario.program_stdout == "stderr"
    for suffix, sink in ((".out", sys.stderr if to_stderr else sys.stdout), (".err", sys.stderr)):
        file = output.with_suffix(suffix)
        if file.exists():
            with file.open("rb") as source:
                shutil.copyfileobj(source, sink.buffer)
            sink.flush()
            file.unlink()
