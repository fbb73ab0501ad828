"""The figures of the runs of a series that curves and tables can show."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from sesame.analysis.quantities import format_count, format_seconds
from sesame.simulation import Point, RunResult

Runs = Sequence[tuple[Point, RunResult]]


@dataclass(frozen=True)
class Ordinate:
    """A figure of each run that a curve can show."""

    key: str  # in the result
    title: str
    short: str  # where space is short
    is_time: bool

    def of(self, run: RunResult) -> float:
        if self.key == "predicted_time_s":
            return run.predicted_s
        return float(run.result.get(self.key, 0))

    def show(self, run: RunResult) -> str:
        return format_seconds(self.of(run)) if self.is_time else format_count(self.of(run))


PREDICTED = Ordinate("predicted_time_s", "predicted time", "predicted", True)
MESSAGES = Ordinate("messages", "messages", "messages", False)
STORAGE = (
    Ordinate("io_time_s", "time in file systems, mean of the ranks", "in files", True),
    Ordinate("device_reads", "reads of devices", "device reads", False),
    Ordinate("device_writes", "writes of devices", "device writes", False),
)


def ordinates_of(runs: Runs) -> list[Ordinate]:
    """The predicted time, and those figures of storage that are not 0 in all runs."""
    return [PREDICTED, *(o for o in STORAGE if any(o.of(run) for _, run in runs))]


def repeats_of(runs: Runs) -> int:
    """How often each point was repeated; 1 without repeats."""
    return max(run.estimate.samples if run.estimate else 1 for _, run in runs)
