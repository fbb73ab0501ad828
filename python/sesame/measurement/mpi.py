"""Probes for MPI calls, which the programs themselves count.

The tracer's library is preloaded into a program and counts in counter files
(docs/formats/counter-files.md), which are read here. This needs no privileges and works for
programs of any user.
"""

from __future__ import annotations

import json
import math
import os
import select
import tempfile
import threading
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from functools import cache
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from sesame.errors import SesameError
from sesame.installed import find_installed
from sesame.measurement.counter_files import (
    GROUPS,
    MOST_POINTS,
    CounterDirectory,
)
from sesame.measurement.counter_reader import CounterFileReader
from sesame.measurement.detail import Detail
from sesame.measurement.probes import (
    ACCOUNT,
    CELL,
    CELL_READING,
    DEFAULT_LIMITS,
    NO_LIMIT,
    QUOTA_REACHED,
    SUMMED,
    ChangeCheck,
    Messages,
    Point,
    Source,
    Subsystem,
)
from sesame.measurement.token_bucket import TokenBucket

NAME = "mpi"
VARIABLE = "SESAME_COUNTERS_DIRECTORY"
# Cost of a call in ns by detail, without the hook itself (docs/models/measuring.md).
GUESSED = (0.0, 12.0, 17.0, 64.0)
READ_BYTES = 1 << 16  # as many as a pipe has
NOTIFICATIONS_PER_S, MOST_NOTIFICATIONS = 1, 10


@cache
def _table() -> tuple[Subsystem, NDArray[np.intp]]:
    """The subsystem, and the point of each call."""
    described = json.loads(find_installed("mpi_points.json").read_text())
    points = tuple(
        Point(one["name"], one["meaning"], Detail.DURATION, is_sum=False)
        for one in described["points"]
    )
    subsystem = Subsystem(
        NAME,
        "calls of MPI programs",
        points,
        tuple(one["name"] for one in described["calls"]),
        GROUPS,
        where="",
        what="",
        guessed_ns=GUESSED,
        untraced="`sesame trace COMMAND` records each MPI call",
    )
    return subsystem, np.array([one["point"] for one in described["calls"]], np.intp)


def subsystem() -> Subsystem:
    return _table()[0]


def default_counter_directory() -> Path:
    """The default counter directory of this user's daemon, which creates it. It is in memory."""
    if os.geteuid() == 0:
        return Path("/run/sesame/counters")
    of_user = os.environ.get("XDG_RUNTIME_DIR")
    return Path(of_user) / "sesame/counters" if of_user else Path(f"/dev/shm/sesame-{os.geteuid()}")


def environment(counters: Path) -> dict[str, str]:
    """The environment variables that make a program count its calls in this directory."""
    from sesame.tracing import preloaded  # imports pyarrow, which a daemon does not need

    return preloaded({VARIABLE: str(counters)})


def _cpu_count() -> int:
    """The number of possible CPUs, as the probes in the kernel count them."""
    last = Path("/sys/devices/system/cpu/possible").read_text().strip()
    return int(last.replace(",", "-").split("-")[-1]) + 1


class _QuotaPipe:
    """The pipe through which programs report that they reached their quota.

    Any user may write to it, so after a notification there is none until `renew`, and in the long
    run `NOTIFICATIONS_PER_S`. Further ones wait for the next reading.
    """

    def __init__(self, pipe: int, on_notification: Callable[[], None]) -> None:
        self._pipe, self._on_notification = pipe, on_notification
        self._bucket = TokenBucket(1e-9 * NOTIFICATIONS_PER_S, MOST_NOTIFICATIONS)
        self._poll = select.epoll()
        self._poll.register(pipe, select.EPOLLIN | select.EPOLLONESHOT)

    def fileno(self) -> int:
        return self._poll.fileno()

    def take(self, buffer: NDArray[np.void]) -> tuple[Messages, NDArray[np.void]]:
        if not self._poll.poll(0):
            return set(), buffer[:0]
        self._bucket.charge(1)
        self._on_notification()
        return {(QUOTA_REACHED, NAME)}, buffer[:0]

    def renew(self) -> None:
        """Quotas were renewed: reports of the old ones are discarded."""
        if not self._bucket.is_left():
            return
        with suppress(BlockingIOError):
            os.read(self._pipe, READ_BYTES)
        self._poll.modify(self._pipe, select.EPOLLIN | select.EPOLLONESHOT)

    def close(self) -> None:
        self._poll.close()


class MpiProbes:
    """The probes of all MPI programs that count in one directory."""

    def __init__(self, counters: Path | None = None, owner: int | None = None) -> None:
        """`counters`: the counter directory; by default a temporary one, removed by `close`."""
        self.subsystem, self._point_of = _table()
        self._own = None
        if counters is None:
            memory = "/dev/shm" if os.access("/dev/shm", os.W_OK) else None
            self._own = tempfile.TemporaryDirectory(
                prefix="sesame-", dir=memory, ignore_cleanup_errors=True
            )
            counters = Path(self._own.name)
        calls = len(self.subsystem.classes)
        self._directory = CounterDirectory(counters, calls, owner)
        self._settings = self._directory.settings
        self._cpus = _cpu_count()
        # One thread takes notifications, another one reads.
        self._lock = threading.RLock()
        self._details = [Detail.OFF] * len(self.subsystem.points)
        self._paused = False
        self._costs = np.zeros(MOST_POINTS)
        self._run_cost = 0.0
        self._quota_ns = np.zeros(self._cpus, np.uint64)
        self._is_reached = False
        self._pipe = _QuotaPipe(self._directory.notifications, self._on_notification)
        self._quota_set = (0.0, 0)  # the quota last set, and the number of additions then
        self._show()
        self._renew_quota(0)
        self._reader = CounterFileReader(self._directory, calls, self._cpus)
        self._read_before = np.zeros_like(self._reader.sums)
        self._sums = np.zeros((self._cpus, 2 + len(self.subsystem.points)), np.uint64)
        self._summed = 0  # the number of additions in `_sums`
        self.limits: tuple[int, ...] = ()
        self.set_limits(DEFAULT_LIMITS)

    # ---- Switching ----

    def missing(self, point: int) -> str | None:
        return None

    def substituted(self, point: int) -> str | None:
        return None

    def set(self, point: int, detail: Detail, *, tracing: bool = False) -> None:
        if tracing and detail != Detail.OFF:
            name = f"{NAME}.{self.subsystem.points[point].name}"
            raise SesameError(f"{name} writes no trace: {self.subsystem.untraced}")
        self._details[point] = min(detail, self.subsystem.points[point].finest)
        self._show()

    def pause(self, *, paused: bool) -> None:
        self._paused = paused
        self._show()

    def _show(self) -> None:
        for point, detail in enumerate(self._details):
            self._settings["detail"][0, point] = Detail.OFF if self._paused else detail
            self._settings["cost_ns"][0, point] = round(self._run_cost + self._costs[point])

    def wait(self) -> None:
        """Waits 10 ms for hooks that run now. They take some ns, unless they are preempted."""
        time.sleep(0.01)

    def detail(self, point: int) -> Detail:
        return self._details[point]

    def is_tracing(self, point: int) -> bool:
        return False

    def set_limits(self, limits: tuple[int, ...]) -> None:
        self.limits = limits[: GROUPS - 1]
        for group in range(GROUPS):
            limit = self.limits[group] if group < len(self.limits) else NO_LIMIT
            self._settings["limits"][0, group] = limit

    # ---- Costs and quotas ----

    def set_cost(self, point: int, ns: float) -> None:
        self._costs[point] = ns
        self._show()

    def set_run_cost(self, ns: float) -> None:
        self._run_cost = ns
        self._show()

    def set_quota(self, ns: float) -> None:
        """Sets the quota of each processor: each thread gets `ns`, divided by the largest number of
        threads on a processor."""
        with self._lock:
            self._reader.update(None)
            # While no program has been charged, a new one finds the quota set last.
            wanted = (ns, self._reader.additions)
            if self._reader.change_check() and wanted == self._quota_set and not self._is_reached:
                return
            self._quota_set = wanted
            threads = max(self._reader.most_threads, 1)
            self._quota_ns = self._reader.charged_ns + np.uint64(round(ns))
            self._is_reached = False
            self._pipe.renew()
            self._renew_quota(max(math.ceil(ns / threads), 1))

    def _renew_quota(self, ns: int) -> None:
        self._settings["quota_ns"] = ns
        self._settings["renewals"] += 1

    def _on_notification(self) -> None:
        self._is_reached = True

    @property
    def accounts(self) -> NDArray[np.void]:
        """[CPU]; when a thread has reported that it reached its quota, the quotas of all CPUs count
        as reached."""
        with self._lock:
            self._reader.update(None)
            accounts = np.zeros(self._cpus, ACCOUNT)
            accounts["charged_ns"] = self._reader.charged_ns
            accounts["runs"] = self._reader.events.sum(axis=1)
            accounts["quota_ns"] = self._quota_ns
            if self._is_reached:
                accounts["quota_ns"] = np.minimum(self._quota_ns, self._reader.charged_ns)
            return accounts

    def sums(self, out: NDArray[np.uint64]) -> None:
        """As Probes.sums; a thread counts for the CPU on which it was seen last."""
        with self._lock:
            self._reader.update(None)
            if self._summed != self._reader.additions:
                self._summed = self._reader.additions
                self._sums[:, 0] = self._reader.charged_ns
                self._sums[:, 2:] = self._reader.events[:, : len(self.subsystem.points)]
                self._sums[:, 1] = self._sums[:, 2:].sum(axis=1)
            out[:] = self._sums

    def change_check(self) -> ChangeCheck | None:
        """None while a program counts."""
        return self._reader.change_check()

    # ---- Reading ----

    @property
    def classes(self) -> tuple[str, ...]:
        return self.subsystem.classes

    def free_classes(self) -> None:
        """Does nothing: each call has a class of its own."""

    def totals(self) -> dict[str, NDArray[np.uint64]]:
        """[point, class] by field of cells, since the start."""
        cells = self.cells
        return {name: cells[name].sum(axis=(0, 3)) for name in SUMMED}

    @property
    def cells(self) -> NDArray[np.void]:
        """[1, point, class, group], since the start, summed over CPUs."""
        one = self.subsystem
        cells = np.zeros((1, len(one.points), len(one.classes), GROUPS), CELL)
        with self._lock:
            self._reader.update(int(self._settings["epoch"][0]))
            calls = np.arange(len(one.classes))
            for number, name in enumerate(SUMMED):
                sums = self._reader.sums[:, number].reshape(-1, GROUPS)
                cells[name][0, self._point_of, calls] = sums
        return cells

    def read(self) -> bytes:
        with self._lock:
            self._reader.update(None)
            if self._reader.change_check() and not self._reader.has_more:
                return b""
            ended = int(self._settings["epoch"][0])
            self._settings["epoch"] = (ended + 1) % 2**32
            self._reader.update(ended)
            if not self._reader.has_more:
                return b""
            self._reader.has_more = False
            new = self._reader.sums - self._read_before
            self._read_before = self._reader.sums.copy()
            most_ns = self._reader.most_ns[ended % 2]
            indexes = np.flatnonzero(new[:, 0])
            readings = np.zeros(len(indexes), CELL_READING)
            # The reader's cells are numbered without points, since each call has one.
            points = self._point_of[indexes // GROUPS]
            readings["index"] = points * len(self._reader.sums) + indexes
            for number, name in enumerate(SUMMED):
                readings[name] = new[indexes, number]
            readings["max_ns"] = most_ns[indexes]
            most_ns[:] = 0
        return np.sort(readings, order="index").tobytes()

    @property
    def presented_and_lost(self) -> tuple[int, int]:
        return 0, 0

    @property
    def source(self) -> Source:
        return self._pipe

    @property
    def environment(self) -> Mapping[str, str]:
        return environment(self._directory.path)

    def close(self) -> None:
        """Running programs stop counting."""
        self.pause(paused=True)
        self._pipe.close()
        del self._settings
        self._directory.close()
        if self._own is not None:
            self._own.cleanup()
