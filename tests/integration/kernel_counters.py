"""Counters of the kernel's own (those of `perf stat`), read around a measurement.

They count the same moments as the probes do, by other means: what the probes count lies between
what was counted while they were all on for certain, and what was counted since before they were
switched on.
"""

from __future__ import annotations

import ctypes
import fcntl
import os
import struct
import subprocess
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

TRACING = Path("/sys/kernel/tracing")
# include/uapi/linux/perf_event.h
SOFTWARE, TRACEPOINT = 1, 2
MINOR_FAULTS, MAJOR_FAULTS = 5, 6
SET_FILTER = 0x40082406
INHERIT, INHERIT_THREAD = 1 << 1, 1 << 35
PERF_EVENT_OPEN = {"x86_64": 298, "aarch64": 241}[os.uname().machine]


def tracepoint(name: str) -> Path:
    """Where the kernel describes it. Mounts it as systemd does, if it is not mounted."""
    if not (TRACING / "events").exists():
        subprocess.run(["mount", "-t", "tracefs", "tracefs", str(TRACING)], check=True)
    return TRACING / "events" / name


def faults_in_progress() -> int:
    """How many page faults have started and not ended, at most: those of threads that wait in one,
    and one on each processor.

    The kernel counts a fault at its end; points that only count do so at its begin.
    """
    found = os.cpu_count() or 1
    for stack in Path("/proc").glob("[0-9]*/task/[0-9]*/stack"):
        with suppress(OSError):  # the thread has ended
            found += "page_fault" in stack.read_text()
    return found


def missed_runs() -> int:
    """How often the kernel did not run a program of this process because an interrupt came while it
    ran (Linux 5.12)."""
    found = 0
    for file in Path("/proc/self/fdinfo").iterdir():
        with suppress(OSError):  # the directory itself, closed by now
            lines = file.read_text().splitlines()
            found += sum(int(one.split()[1]) for one in lines if one.startswith("recursion_misses"))
    return found


@dataclass(frozen=True)
class Event:
    """A tracepoint (sched/sched_switch) or the number of a software event."""

    name: str | int
    condition: str = ""  # on the tracepoint's fields
    is_own: bool = False  # of this process only, with threads that it begins later

    @property
    def is_there(self) -> bool:
        return isinstance(self.name, int) or tracepoint(self.name).exists()


STARTED = {"started": [Event("exceptions/page_fault_user"), Event("exceptions/page_fault_kernel")]}
# While a process reads or changes a map by bpf(2), Linux calls no program of a perf event on that
# processor, and counts none as missed (bpf_disable_instrumentation in kernel/bpf).
MAP_CALLS = {"bpf": [Event("syscalls/sys_enter_bpf")]}
FAULTS = {"all": [Event(MINOR_FAULTS), Event(MAJOR_FAULTS)], "major": [Event(MAJOR_FAULTS)]}


class Counter:
    """Of one event, from now on."""

    def __init__(self, event: Event) -> None:
        is_software = isinstance(event.name, int)
        number = (
            event.name if is_software else int((tracepoint(str(event.name)) / "id").read_text())
        )
        kind = SOFTWARE if is_software else TRACEPOINT
        flags = INHERIT | INHERIT_THREAD if event.is_own else 0
        # type, size, config, three that are not used, flags; it counts at once and is not sampled
        attributes = struct.pack("IIQQQQQ", kind, 112, number, 0, 0, 0, flags).ljust(112, b"\0")
        libc = ctypes.CDLL(None, use_errno=True)
        self._files = []
        places = [(0, -1)] if event.is_own else [(-1, cpu) for cpu in range(os.cpu_count() or 1)]
        for process, cpu in places:
            file = libc.syscall(PERF_EVENT_OPEN, attributes, process, cpu, -1, 0)
            if file < 0:
                raise OSError(ctypes.get_errno(), f"perf_event_open: {event.name}")
            self._files.append(file)
            if event.condition:
                fcntl.ioctl(file, SET_FILTER, event.condition.encode() + b"\0")

    def read(self) -> int:
        return sum(struct.unpack("Q", os.read(file, 8))[0] for file in self._files)

    def close(self) -> None:
        for file in self._files:
            os.close(file)


@dataclass
class Bounds:
    """What was counted while all was on for certain, and since before it was switched on."""

    least: int = 0
    most: int = 0

    def wider(self, by: int, below: int = 0) -> Bounds:
        return Bounds(self.least - by - below, self.most + by)

    def __contains__(self, count: int) -> bool:
        return self.least <= count <= self.most


class Watch:
    """Sums of events by a name of one's own, read at the four moments of a measurement.

    These are: before it is switched on, when it is on, before it is off, when it is off. What is
    `is_own` is taken off.
    """

    def __init__(self, events: dict[str, list[Event]]) -> None:
        there = {name: [one for one in some if one.is_there] for name, some in events.items()}
        self._counters = [
            (name, -1 if one.is_own else 1, Counter(one))
            for name, some in there.items()
            for one in sorted(some, key=lambda one: one.is_own)
        ]
        self._names = list(there)
        self._readings: list[dict[str, int]] = []
        self.faults_in_progress = 0  # when it is on

    def read(self) -> None:
        if len(self._readings) == 1:
            self.faults_in_progress = faults_in_progress()
        sums = dict.fromkeys(self._names, 0)
        # So that what happens while they are read widens the bounds.
        is_odd = len(self._readings) % 2 == 1
        for name, sign, counter in reversed(self._counters) if is_odd else self._counters:
            sums[name] += sign * counter.read()
        self._readings.append(sums)

    @property
    def bounds(self) -> dict[str, Bounds]:
        before_on, on, before_off, off = self._readings
        return {
            name: Bounds(before_off[name] - on[name], off[name] - before_on[name])
            for name in self._names
        }

    def __enter__(self) -> Watch:
        return self

    def __exit__(self, *_: object) -> None:
        for _, _, counter in self._counters:
            counter.close()
