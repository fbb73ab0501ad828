"""Probes without a kernel: tests count events in their cells by hand."""

from __future__ import annotations

import numpy as np

from sesame.errors import SesameError
from sesame.measurement.detail import Detail
from sesame.measurement.probes import (
    ACCOUNT,
    CELL,
    DEFAULT_LIMITS,
    SUMMED,
    ChangeCheck,
    Point,
    Subsystem,
)

CPUS = 2
FILES = Subsystem(
    "fs",
    "calls on files",
    (
        Point("read", "a call that reads", Detail.DURATION, is_sum=False),
        Point("open", "opens", Detail.DURATION, is_sum=False),
    ),
    ("ext", "tmpfs"),
    8,
    "the descriptor",
    "the call",
)
TASKS = Subsystem(
    "task",
    "processes",
    (Point("exec", "begins", Detail.COUNT, is_sum=False),),
    ("process",),
    1,
    "",
    "",
)


class FakeProbes:
    def __init__(self, subsystem: Subsystem, missing: dict[str, str] | None = None) -> None:
        self.subsystem, self.classes = subsystem, subsystem.classes
        shape = (CPUS, len(subsystem.points), len(subsystem.classes), subsystem.groups)
        self.cells = np.zeros(shape, CELL)
        self.accounts = np.zeros(CPUS, ACCOUNT)
        self.limits: tuple[int, ...] = DEFAULT_LIMITS[: subsystem.groups - 1]
        self.presented_and_lost = (0, 0)
        self.is_still: ChangeCheck | None = None
        self._details = [Detail.OFF] * len(subsystem.points)
        self._tracing = [False] * len(subsystem.points)
        self._missing = missing or {}
        self._before = np.zeros((int(np.prod(shape[1:])), 4), np.uint64)

    def count(
        self, point: int, class_: int, group: int, size: int, duration: int, cpu: int = 0
    ) -> None:
        cell = self.cells[cpu, point, class_, group]
        cell["count"] += 1
        cell["bytes"] += size
        cell["timed"] += 1
        cell["total_ns"] += duration
        cell["max_ns"][0] = max(cell["max_ns"][0], duration)

    def pause(self, *, paused: bool) -> None: ...
    def wait(self) -> None: ...
    def set_cost(self, point: int, ns: float) -> None: ...
    def free_classes(self) -> None: ...
    def change_check(self) -> ChangeCheck | None:
        """What is new of it in an idle period is not seen: None where a test counts."""
        return self.is_still

    def set_run_cost(self, ns: float) -> None: ...

    def set_quota(self, ns: float) -> None:
        self.accounts["quota_ns"] = self.accounts["charged_ns"] + np.uint64(ns)

    def set_limits(self, limits: tuple[int, ...]) -> None:
        self.limits = limits

    def missing(self, point: int) -> str | None:
        return self._missing.get(self.subsystem.points[point].name)

    def substituted(self, point: int) -> str | None:
        return None

    def set(self, point: int, detail: Detail, *, tracing: bool = False) -> None:
        reason = self.missing(point)
        if reason is not None and detail != Detail.OFF:
            raise SesameError(f"{self.subsystem.points[point].name} is unavailable: {reason}")
        self._details[point] = min(detail, self.subsystem.points[point].finest)
        self._tracing[point] = tracing and detail != Detail.OFF

    def detail(self, point: int) -> Detail:
        return self._details[point]

    def is_tracing(self, point: int) -> bool:
        return self._tracing[point]

    def read(self) -> bytes:
        cells = self.cells.reshape(CPUS, -1)
        now = np.stack([cells[name].sum(axis=0) for name in SUMMED], axis=1)
        new, self._before = now - self._before, now
        places = np.flatnonzero(new[:, 0])
        most = cells["max_ns"][:, :, 0].max(axis=0)
        cells["max_ns"] = 0
        counted_since = np.column_stack([places.astype(np.uint64), new[places], most[places]])
        return counted_since.astype("<u8").tobytes()

    def totals(self) -> dict[str, np.ndarray]:
        return {field: self.cells[field].sum(axis=(0, 3)) for field in SUMMED}

    def sums(self, out: np.ndarray) -> None:
        spending = self.accounts
        events = self.cells["count"].sum(axis=(2, 3))
        out[:] = np.column_stack([spending["charged_ns"], spending["runs"], events])


def all_probes(**missing: str) -> dict[str, FakeProbes]:
    return {"fs": FakeProbes(FILES, missing), "task": FakeProbes(TASKS)}
