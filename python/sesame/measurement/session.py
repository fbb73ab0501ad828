"""A measurement: subsystems switched on within a budget, read at intervals, and switched off."""

from __future__ import annotations

import platform
import time
from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from typing import Any

from sesame.datasets import record_type
from sesame.errors import SesameError
from sesame.measurement.cost import Cost, kept_costs
from sesame.measurement.defaults import DEFAULT_BUDGET
from sesame.measurement.detail import Detail
from sesame.measurement.governor import CostTable, Governed, Governor, IntervalCost
from sesame.measurement.probes import CLASS_ASSIGNED, QUOTA_REACHED, Probes
from sesame.measurement.processors import ProcessorReader, rows_of
from sesame.measurement.providers import sources_of
from sesame.measurement.pump import EventPump
from sesame.measurement.summary import Cells, Layout
from sesame.measurement.trace import TraceWriter


@dataclass(frozen=True)
class Wanted:
    """What to measure. A point is (subsystem, number)."""

    points: set[tuple[str, int]]
    tracing: set[tuple[str, int]] = field(default_factory=set)  # points that also write a trace
    detail: Detail = Detail.DURATION
    interval_s: float = 10.0
    budget: float | None = DEFAULT_BUDGET  # share of a processor's time; None: unlimited


class Session:
    """Measures in a block `with Session(...).running() as session:`.

    Call `read` at the end of each interval. `rows` has the records so far, by record type.
    """

    def __init__(
        self,
        probes: Mapping[str, Probes],
        wanted: Wanted,
        trace: TraceWriter | None = None,
        costs: list[Cost] | None = None,
    ) -> None:
        """`costs`: calibrated costs; by default those that `sesame measure cost` stored."""
        self._trace = trace
        self.node = platform.node()
        self._probes = probes
        self._processors = ProcessorReader()
        self.left_out: dict[str, str] = {}  # unavailable points, and why
        self.substituted: dict[str, str] = {}  # points that count otherwise, what, and why
        governed = [self._governed(name, one, wanted) for name, one in probes.items()]
        self._governor = Governor(
            governed,
            CostTable(costs if costs is not None else kept_costs() or []),
            budget=wanted.budget,
            interval_s=wanted.interval_s,
        )
        self.begin_ns = self._last_ns = time.monotonic_ns()
        self.rows: dict[str, list[dict[str, Any]]] = {
            "kernel_summary": [],
            "measurement_cost": [],
            "cpu_time": [],
        }

    def _governed(self, name: str, probes: Probes, wanted: Wanted) -> Governed:
        points: dict[int, Detail] = {}
        probes.pause(paused=True)  # until the governor attaches it
        for number, point in enumerate(probes.subsystem.points):
            if (name, number) not in wanted.points | wanted.tracing:
                continue
            try:
                probes.set(number, wanted.detail)
            except SesameError as error:
                self.left_out[f"{name}.{point.name}"] = str(error)
                continue
            probes.set(number, Detail.OFF)
            if otherwise := probes.substituted(number):
                self.substituted[f"{name}.{point.name}"] = otherwise
            points[number] = min(wanted.detail, point.finest)
        tracing = frozenset(i for i in points if (name, i) in wanted.tracing)
        return Governed(name, probes, points, tracing)

    @contextmanager
    def running(self) -> Iterator[Session]:
        """Measures until the end of the block; `read` closes an interval."""
        write = self._trace.write if self._trace is not None else None
        sources = sources_of(self._probes.values())
        messages = {
            QUOTA_REACHED: self._governor.on_quota_reached,
            CLASS_ASSIGNED: self._name_classes,
        }
        with closing(EventPump(sources, write, messages)):
            try:
                self.resume()
                self.begin_ns = self._last_ns
                yield self
            finally:
                self._governor.stop()  # before the last events are taken

    def _name_classes(self, subsystem: str) -> None:
        """Resolves the names of classes now: a mount may be gone at the next reading."""
        _ = self._probes[subsystem].classes

    def resume(self) -> None:
        """Starts measuring again after a last `read`, with the rates known until then."""
        for probes in self._probes.values():
            probes.read()
        self._governor.begin()
        self._processors.read()
        self._last_ns = self._governor.ended.time_ns

    def read(self, *, is_last: bool = False) -> None:
        """Closes the interval, and starts the next one unless it is the last."""
        processors = rows_of(self._processors.read())
        if is_last:
            self._governor.stop()
        costs = self._governor.end()
        now = self._governor.ended.time_ns
        times = {"begin_ns": self._last_ns - self.begin_ns, "end_ns": now - self.begin_ns}
        self._last_ns = now
        for cost in costs:
            state = {"detail": int(cost.detail), "active_ns": cost.active_ns}
            probes = self._probes.get(cost.subsystem)
            if probes is not None:
                cells = Cells(probes.read())
                for row in Layout.of(probes).rows(cells):
                    self.rows["kernel_summary"].append(times | row | state | {"node": self.node})
            self.rows["measurement_cost"].append(
                times | _cost_row(cost) | state | {"node": self.node}
            )
        self.rows["cpu_time"] += [times | row | {"node": self.node} for row in processors]
        if not is_last:
            self._governor.begin()


def _cost_row(cost: IntervalCost) -> dict[str, Any]:
    return {
        "subsystem": cost.subsystem,
        "events": cost.events,
        "estimated_ns": cost.estimated_ns,
    }


def columns(record: str, rows: list[dict[str, Any]]) -> dict[str, list[Any]]:
    """Rows of a record type by field."""
    return {field.name: [row[field.name] for row in rows] for field in record_type(record).fields}
