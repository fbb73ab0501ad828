"""Runs the points of a series, and repeats of a point. Runs without measuring run two at a time."""

from __future__ import annotations

import itertools
import os
import shutil
import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import IO, TextIO

from sesame.simulation.compute import Compute
from sesame.simulation.host import Host
from sesame.simulation.repeats import combined, median_run, same_computation
from sesame.simulation.run import RunResult, simulate
from sesame.simulation.scenario import Scenario
from sesame.simulation.sweep import Point, run_sweep

AT_ONCE = 2


@dataclass(frozen=True)
class _Job:
    """One run of a series. The output of its program is kept in files until it is printed."""

    point: Point
    scenario: Scenario
    output: Path


Show = Callable[[Scenario, IO[bytes]], RunResult]


class PointRunner:
    """Runs the points of a series; prints the output of their programs one after the other.

    Computation is measured once, or `repeats` times, for all points that compute the same; its
    times are written to `directory`. `show` runs a point without another beside it, with the given
    input, and shows its output. `announce` is called with each point before its output. With
    `quiet` only the output of failing runs is printed.
    """

    def __init__(
        self,
        executable: Path,
        directory: Path,
        *,
        repeats: int = 1,
        show: Show | None = None,
        announce: Callable[[Point], None] = lambda _: None,
        quiet: bool = False,
    ) -> None:
        self._executable = executable
        self._directory = directory
        self._repeats = repeats
        self._show = show
        self._tell = announce
        self._quiet = quiet
        self._lock = threading.Lock()
        self._running: set[Host] = set()
        self._numbers = itertools.count()
        self._is_series = False
        self.reused = 0  # points that used computation measured for another one
        self.median: Compute | None = None  # of the repeats of the last group of points

    @property
    def notes(self) -> list[str]:
        if not self.reused:
            return []
        times = "once" if self._repeats == 1 else f"{self._repeats} times"
        return [
            f"computation was measured {times} for each number of ranks, and {self.reused} of the "
            "points use what was measured for another one: nothing that they vary changes it"
        ]

    def run(
        self, points: Sequence[Point], scenario_of: Callable[[Point], Scenario]
    ) -> Iterator[tuple[Point, RunResult]]:
        self._is_series = len(points) > 1
        if scenario_of(points[0]).compute.repeatable:
            yield from self._run_all([self._job(point, scenario_of(point)) for point in points])
            return
        results: dict[Point, RunResult] = {}
        waiting = list(points)
        for group in same_computation(points, scenario_of):
            for point, run in self._run_group(group, scenario_of):
                results[point] = run
                while waiting and waiting[0] in results:  # groups need not be consecutive
                    yield waiting[0], results[waiting.pop(0)]

    def _run_group(
        self, group: Sequence[Point], scenario_of: Callable[[Point], Scenario]
    ) -> Iterator[tuple[Point, RunResult]]:
        """Measures with the first point, one run at a time: others would disturb it."""
        first, rest = group[0], group[1:]
        measured = [self._measure(first, scenario_of(first), i) for i in range(self._repeats)]
        runs = [run for run, _ in measured]
        self.median = measured[median_run(runs)][1]
        yield first, combined(runs)
        self.reused += len(rest)
        jobs = [
            self._job(point, replace(scenario_of(point), compute=compute))
            for point in rest
            for _, compute in measured
        ]
        done: list[RunResult] = []
        for point, run in self._run_all(jobs):
            done.append(run)
            if len(done) == self._repeats:
                yield point, combined(done)
                done = []

    def _measure(self, point: Point, scenario: Scenario, repeat: int) -> tuple[RunResult, Compute]:
        """Makes one run; returns it and its computation, for use by other points. Only the first
        repeat shows its output."""
        times = self._directory / f"times-{next(self._numbers)}"
        scenario = replace(scenario, compute=replace(scenario.compute, save=times))
        if repeat == 0:
            run = self._run_shown(scenario, point)
        else:
            job = self._job(point, scenario)
            run = self._run_kept(job)
            if run.exit_status:
                _replay(job)
        together = run.result["computed_together"]
        compute = Compute("recorded", times=times, measuring=run.measuring, together=together)
        return run, compute

    def _job(self, point: Point, scenario: Scenario) -> _Job:
        return _Job(point, scenario, self._directory / f"output-{next(self._numbers)}")

    def _run_all(self, jobs: Sequence[_Job]) -> Iterator[tuple[Point, RunResult]]:
        """Runs jobs two at a time, since they measure nothing."""
        at_once = min(AT_ONCE, os.cpu_count() or 1)
        runs = run_sweep(jobs, self._run_kept, at_once=at_once, stop=self._stop)
        announced = None
        try:
            for job, run in runs:
                if job.point != announced:
                    self._announce(job.point)
                    if run.exit_status or not self._quiet:
                        _replay(job)
                elif run.exit_status:
                    _replay(job)
                announced = job.point
                yield job.point, run
        except BaseException:
            for job in jobs:  # print the output of the failing run
                _replay(job)
            raise

    def _announce(self, point: Point) -> None:
        if self._is_series:
            self._tell(point)

    def _run_shown(self, scenario: Scenario, point: Point) -> RunResult:
        self._announce(point)
        if self._show is None:
            job = self._job(point, scenario)
            run = self._run_kept(job)
            if run.exit_status or not self._quiet:
                _replay(job)
            return run
        with _same_input() as stdin:
            return self._show(scenario, stdin)

    def _run_kept(self, job: _Job) -> RunResult:
        with (
            _same_input() as stdin,
            job.output.with_suffix(".out").open("wb") as out,
            job.output.with_suffix(".err").open("wb") as err,
        ):
            host = Host(self._executable, stdin=stdin, stdout=out, stderr=err)
            with self._lock:
                self._running.add(host)
            try:
                return simulate(job.scenario, host)
            finally:
                with self._lock:
                    self._running.discard(host)

    def _stop(self) -> None:
        with self._lock:
            running = list(self._running)
        for host in running:
            host.stop()


def _same_input() -> IO[bytes]:
    """The input of a run: every run reads an input file from its start, and nothing from a pipe."""
    try:
        path = Path(f"/proc/self/fd/{sys.stdin.fileno()}").resolve(strict=True)
    except (OSError, ValueError):  # a pipe has no path; a closed input no descriptor
        path = Path(os.devnull)
    return (path if path.is_file() else Path(os.devnull)).open("rb")


def _pass_on(source: IO[bytes], sink: TextIO) -> None:
    """Copies bytes to a text stream, also to a notebook's, which has no buffer for bytes."""
    if hasattr(sink, "buffer"):
        shutil.copyfileobj(source, sink.buffer)
    else:
        sink.write(source.read().decode(errors="replace"))


def _replay(job: _Job) -> None:
    """Prints the kept output of a run's program, and removes it."""
    sys.stdout.flush()
    to_stderr = job.scenario.program_stdout == "stderr"
    for suffix, sink in ((".out", sys.stderr if to_stderr else sys.stdout), (".err", sys.stderr)):
        file = job.output.with_suffix(suffix)
        if file.exists():
            with file.open("rb") as source:
                _pass_on(source, sink)
            sink.flush()
            file.unlink()
