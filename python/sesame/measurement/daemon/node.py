"""The state of a daemon's node: its probes, their levels, and the readings of their counters."""

from __future__ import annotations

import threading
import time
import uuid
from collections import deque
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

from sesame.errors import InputError
from sesame.measurement.bounds import MOST_PHASES, PHASE, UnfitError
from sesame.measurement.clocks import Offset, own_offset
from sesame.measurement.cost import Cost, kept_costs
from sesame.measurement.daemon.idle import IdlePeriod
from sesame.measurement.daemon.stream import EventStream
from sesame.measurement.defaults import DEFAULT_BUDGET
from sesame.measurement.detail import Detail
from sesame.measurement.governor import OWN, CostTable, Governed, Governor, IntervalCost, Moment
from sesame.measurement.idle_reader import IntervalSample
from sesame.measurement.probes import Probes
from sesame.measurement.processors import ProcessorReader
from sesame.measurement.readings import Phase, Reading, SubsystemCost
from sesame.measurement.summary import Cells, Layout
from sesame.measurement.trace import names_here

LEVELS = ("off", "summary", "trace")
# Keys of sums in replies, and the corresponding fields of cells.
SUMS = (("count", "count"), ("bytes", "bytes"), ("timed", "timed"), ("duration_ns", "total_ns"))
MOST_READINGS = 360  # kept in memory
MOST_PHASES_KEPT = 100_000  # with these readings: more phases, fewer readings
LATEST_PHASE_NS = 86_400_000_000_000  # its end, after now


@dataclass(frozen=True)
class PointId:
    """One instrumentation point."""

    subsystem: str
    number: int
    name: str


class Node:
    """Switches the probes of this node and reads their counters.

    All functions must be called in one thread, except `name_classes`, `on_quota_reached` and
    `catch_up`. `read` ends an interval; the last readings are kept in `history`.
    """

    def __init__(
        self,
        name: str,
        probes: Mapping[str, Probes],
        unavailable: Mapping[str, str],
        *,
        budget: float | None = DEFAULT_BUDGET,
        interval_s: float = 10.0,
        costs: list[Cost] | None = None,
    ) -> None:
        """`unavailable`: by subsystem, why its probes were not loaded. `costs`: calibrated costs;
        by default those that `sesame measure cost` stored for this user."""
        self.name = name
        self.start = uuid.uuid4().hex[:12]
        self.unavailable = dict(unavailable)
        self.offset: Offset = own_offset()
        self._history: deque[Reading] = deque(maxlen=MOST_READINGS)
        self.dropped = self._dropped_on_way = 0
        self._probes = dict(probes)
        self.stream = EventStream(
            name,
            self.start,
            self.offset,
            lambda: self.presented_and_lost()[1],
            lambda: names_here(self._probes),
        )
        self._processors = ProcessorReader()
        self._wanted: dict[str, dict[int, Detail]] = {key: {} for key in probes}
        self._tracing: dict[str, set[int]] = {key: set() for key in probes}
        self._details: dict[tuple[str, Detail], list[int]] = {}  # until levels change
        self.governor = Governor(
            [Governed(key, one, {}) for key, one in probes.items()],
            CostTable(costs if costs is not None else kept_costs() or []),
            budget=budget,
            interval_s=interval_s,
        )
        self.governor.begin()
        self._phases: list[Phase] = []
        self._sequence = 0
        self._last = self.governor.ended
        self.idle = IdlePeriod(self.governor, self._probes.values(), self._processors.file)
        self._catching_up = threading.RLock()  # messages are handled in another thread
        self._undelivered: list[Reading] = []  # readings of idle periods that are not delivered yet

    # ---- Switching ----

    def places(self, subsystem: str | None = None, point: str | None = None) -> list[PointId]:
        """All points, those of a subsystem, or one; raises InputError when there is none."""
        if subsystem is not None and subsystem not in self._probes:
            if subsystem in self.unavailable:
                raise InputError(f"{subsystem} is unavailable: {self.unavailable[subsystem]}")
            known = ", ".join(self._probes)
            raise InputError(f"there is no subsystem {subsystem}", hint=f"there are {known}")
        found = [
            PointId(name, number, one.name)
            for name, probes in self._probes.items()
            for number, one in enumerate(probes.subsystem.points)
            if subsystem in (None, name) and point in (None, one.name)
        ]
        if not found and subsystem is not None:
            known = ", ".join(one.name for one in self._probes[subsystem].subsystem.points)
            raise InputError(f"{subsystem} has no point {point}", hint=f"it has {known}")
        return found

    def set_level(
        self,
        level: str,
        subsystem: str | None = None,
        point: str | None = None,
        detail: Detail = Detail.DURATION,
    ) -> dict[str, str]:
        """Sets points; returns those that could not be set, and why. The others are set.

        When all subsystems are set to trace, those that cannot write one are set to summary.
        """
        if level not in LEVELS:
            raise InputError(f"there is no level {level}", hint=f"there are {', '.join(LEVELS)}")
        self.catch_up()
        self._details = {}
        refused: dict[str, str] = {}
        places = self.places(subsystem, point)
        for place in places:
            wanted, tracing = self._wanted[place.subsystem], self._tracing[place.subsystem]
            wanted.pop(place.number, None)
            tracing.discard(place.number)
            if level == "off":
                continue
            untraced = self._probes[place.subsystem].subsystem.untraced
            reason = self.governor.refusal(place.subsystem, place.number)
            if level == "trace" and untraced and subsystem is not None:
                reason = f"it writes no trace: {untraced}"
            if reason is not None:
                refused[f"{place.subsystem}.{place.name}"] = reason
                continue
            wanted[place.number] = detail
            if level == "trace" and not untraced:
                tracing.add(place.number)
        for name in {place.subsystem for place in places}:
            self.governor.want(name, dict(self._wanted[name]), frozenset(self._tracing[name]))
        return refused

    def check_size_groups(self, subsystem: str, limits: tuple[int, ...]) -> None:
        """Raises InputError unless these limits can be set."""
        self.places(subsystem)
        most = self._probes[subsystem].subsystem.groups - 1
        growing = all(a < b for a, b in pairwise((0, *limits, 2**64)))
        if len(limits) > most or not growing:
            raise InputError(
                f"{subsystem}: size groups {', '.join(map(str, limits))}: expected growing sizes "
                f"in bytes below 2^64, at most {most} of them"
            )

    def set_size_groups(self, subsystem: str, limits: tuple[int, ...]) -> None:
        """Sets size groups from now on. Call `read` before: each reading has one set of them."""
        probes = self._probes[subsystem]
        probes.set_limits(limits)

    # ---- Reading ----

    def level(self, place: PointId) -> str:
        if place.number not in self._wanted[place.subsystem]:
            return "off"
        return "trace" if place.number in self._tracing[place.subsystem] else "summary"

    @property
    def history(self) -> list[Reading]:
        """The last readings that are kept."""
        self.catch_up()
        return list(self._history)

    def new_readings(self, dropped: int = 0) -> list[Reading]:
        """The readings of idle periods that were not returned before, and last a new reading.

        `dropped`: readings that the delivery has dropped.
        """
        last = self.read(dropped)
        undelivered, self._undelivered = self._undelivered, []
        return [*undelivered, last]

    def read(self, dropped: int = 0) -> Reading:
        """Reads the counters; ends the current interval."""
        self.catch_up()
        costs = self.governor.end()
        now = self.governor.ended
        for probes in self._probes.values():
            probes.free_classes()
        cells = {name: Cells(probes.read()) for name, probes in self._probes.items()}
        phases, self._phases = self._phases, []
        self._dropped_on_way = dropped
        return self._make(now, costs, cells, self._processors.read(), phases)

    def begin_idle(self, interval_ns: int, most: int) -> bool:
        """Starts an idle period (daemon/idle.py); False if the governor may have to act."""
        with self._catching_up:
            return not any(self._tracing.values()) and self.idle.begin(interval_ns, most)

    def catch_up(self) -> None:
        """Ends an idle period and makes its readings; called before anything else here."""
        with self._catching_up:
            self._undelivered += [self._reading_of(sample) for sample in self.idle.end()]

    def _reading_of(self, sample: IntervalSample) -> Reading:
        """The reading of an idle interval: all points at full detail, no phase ended."""
        passed_ns = sample.end.time_ns - self._last.time_ns
        each = zip(self._probes, sample.charged_ns, sample.events, strict=True)
        costs = [
            IntervalCost(name, Detail.DURATION, passed_ns, charged_ns, events)
            for name, charged_ns, events in each
        ]
        own_ns = sample.end.own_ns - self._last.own_ns
        costs.append(IntervalCost(OWN, Detail.OFF, passed_ns, own_ns, 0))
        cells = {name: Cells(one) for name, one in zip(self._probes, sample.cells, strict=True)}
        processors = self._processors.read(sample.processors)
        return self._make(sample.end, costs, cells, processors, [])

    def _make(
        self,
        end: Moment,
        costs: list[IntervalCost],
        cells: dict[str, Cells],
        processors: dict[str, list[int]],
        phases: list[Phase],
    ) -> Reading:
        of = {one.subsystem: one for one in costs}
        reading = Reading(
            node=self.name,
            start=self.start,
            sequence=self._sequence,
            begin_ns=self._last.time_ns,
            end_ns=end.time_ns,
            cpu_ns=end.own_ns - self._last.own_ns,
            dropped=self.dropped + self._dropped_on_way,
            offset=self.offset,
            cells=cells,
            details={name: self._details_of(name, of[name].detail) for name in self._probes},
            active_ns={name: one.active_ns for name, one in of.items()},
            costs={
                name: SubsystemCost(one.detail, one.events, one.estimated_ns)
                for name, one in of.items()
                if self._wanted.get(name, True)
            },
            layouts={
                name: Layout.of(self._probes[name]) for name, one in cells.items() if one.packed
            },
            processors=processors,
            phases=phases,
        )
        self._sequence += 1
        self._last = end
        self._history.append(reading)
        while sum(len(one.phases) for one in self._history) > MOST_PHASES_KEPT:
            self._history.popleft()
        return reading

    # ---- Messages of the kernel ----

    def name_classes(self, subsystem: str) -> None:
        """Resolves the names of classes now: a mount may be gone at the next reading."""
        with self._catching_up:
            self.catch_up()
            _ = self._probes[subsystem].classes

    def on_quota_reached(self, subsystem: str) -> None:
        with self._catching_up:
            self.catch_up()
            self.governor.on_quota_reached(subsystem)

    # ---- Reading ----

    def _details_of(self, subsystem: str, detail: Detail) -> list[int]:
        """The detail of each point while its subsystem is measured at `detail`."""
        found = self._details.get((subsystem, detail))
        if found is None:
            points = self._probes[subsystem].subsystem.points
            wanted = self._wanted[subsystem]
            found = self._details[subsystem, detail] = [
                int(min(wanted.get(number, Detail.OFF), detail, point.finest))
                for number, point in enumerate(points)
            ]
        return found

    def add_phase(self, phase: Phase) -> None:
        if len(self._phases) >= MOST_PHASES:
            raise InputError(f"{MOST_PHASES:,} phases wait for the next reading already")
        # A collector would refuse the reading.
        try:
            PHASE(vars(phase))
        except UnfitError as error:
            raise InputError(str(error)) from error
        if phase.end_ns > time.monotonic_ns() + LATEST_PHASE_NS:
            raise InputError("end_ns: expected a time of the node's monotonic clock")
        self.catch_up()  # so that the phase is in the reading that is due next
        self._phases.append(phase)

    def totals(self) -> Iterator[tuple[PointId, str, dict[str, int]]]:
        """Sums since the daemon started, for each point and class with events."""
        self.catch_up()
        totals = {name: probes.totals() for name, probes in self._probes.items()}
        for place in self.places():
            sums = {key: totals[place.subsystem][field][place.number] for key, field in SUMS}
            by_class: dict[str, list[int]] = {}  # several classes may have the same name
            for number, name in enumerate(self._probes[place.subsystem].classes):
                if sums["count"][number]:
                    by_class.setdefault(name, []).append(number)
            for name, numbers in by_class.items():
                yield place, name, {key: int(each[numbers].sum()) for key, each in sums.items()}

    def total(self, subsystem: str, point: str) -> dict[str, int]:
        """Sums of one point over all classes, since the daemon started."""
        place = self.places(subsystem, point)[0]
        cells = self._probes[subsystem].cells[:, place.number]
        return {key: int(cells[field].sum()) for key, field in SUMS}

    def presented_and_lost(self) -> tuple[int, int]:
        """The numbers of events to be traced, and of those lost, since the daemon started."""
        each = [probes.presented_and_lost for probes in self._probes.values()]
        return sum(a for a, _ in each), sum(b for _, b in each)

    def describe(self) -> dict[str, Any]:
        """State of every subsystem and point."""
        return {name: self._describe_one(name) for name in self._probes} | {
            name: {"meaning": "", "missing": reason, "points": {}, "size_groups": []}
            for name, reason in self.unavailable.items()
        }

    def _describe_one(self, name: str) -> dict[str, Any]:
        probes = self._probes[name]
        return {
            "meaning": probes.subsystem.meaning,
            "missing": None,
            "size_groups": list(probes.limits),
            "points": {
                place.name: {
                    "meaning": probes.subsystem.points[place.number].meaning,
                    "level": self.level(place),
                    "detail": probes.detail(place.number).name.lower(),
                    "missing": probes.missing(place.number),
                }
                for place in self.places(name)
            },
        }
