"""What programs in the kernel take by its own account, for events that no load's time shows.

A request to a device ends in an interrupt, on whoever's time that is. While the kernel keeps
account (sysctl kernel.bpf_stats_enabled), /proc/PID/fdinfo has each program's runs and their time
(Linux: Documentation/bpf/, kernel/bpf/syscall.c), with about 40 ns for looking at the clock and
without the way into the program: for calls on files some 20 % less than pairs show.
"""

from __future__ import annotations

import mmap
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryFile

from sesame.measurement.cost import Cost, median_and_interval
from sesame.measurement.probes import Detail, LoadedProbes, loaded

SWITCH = Path("/proc/sys/kernel/bpf_stats_enabled")
SCRATCH = Path("/var/tmp")
BLOCK, BLOCKS = 4096, 256
SERIES = 21  # of as many reads as there are to be pairs
POINTS = ("insert", "issue", "complete")


@contextmanager
def kept() -> Iterator[None]:
    before = SWITCH.read_text()
    SWITCH.write_text("1")
    try:
        yield
    finally:
        SWITCH.write_text(before)


def _accounts() -> tuple[int, int]:
    """Runs, and ns, of all programs that this process holds."""
    runs = ns = 0
    for descriptor in Path("/proc/self/fdinfo").iterdir():
        try:
            lines = descriptor.read_text().splitlines()
        except OSError:  # it was that of the listing
            continue
        fields = dict(line.split(":\t", 1) for line in lines if ":\t" in line)
        runs += int(fields.get("run_cnt", 0))
        ns += int(fields.get("run_time_ns", 0))
    return runs, ns


@contextmanager
def _reader() -> Iterator[Callable[[int], None]]:
    """Reads from a device, past the page cache, so many times."""
    with TemporaryFile(dir=SCRATCH) as file, mmap.mmap(-1, BLOCK) as room:
        file.write(bytes(BLOCK * BLOCKS))
        file.flush()
        os.fsync(file.fileno())
        direct = os.open(f"/proc/self/fd/{file.fileno()}", os.O_RDONLY | os.O_DIRECT)

        def read(times: int) -> None:
            for number in range(times):
                os.preadv(direct, [room], BLOCK * (number % BLOCKS))

        try:
            yield read
        finally:
            os.close(direct)


def _measure(
    probes: LoadedProbes, detail: Detail, read: Callable[[int], None], reads: int
) -> Cost | None:
    """None where reading does not reach a device."""
    for number, point in enumerate(probes.subsystem.points):
        if probes.missing(number) is None:
            probes.set(number, min(detail, point.finest))
    each: list[float] = []
    for _ in range(SERIES):
        runs, ns = _accounts()
        read(reads)
        runs, ns = (now - before for now, before in zip(_accounts(), (runs, ns), strict=True))
        if runs < reads:
            return None
        each.append(ns / runs)
    name = probes.subsystem.name
    return Cost(name, ",".join(POINTS), detail.name.lower(), *median_and_interval(each), 0.0)


def measure_requests(pairs: int) -> list[Cost]:
    """Of requests to the device of /var/tmp; none where it has none that can be read directly."""
    costs: list[Cost | None] = []
    try:
        with kept(), _reader() as read, loaded(["block"]) as probes:
            one = probes["block"]
            for detail in Detail:
                if Detail.OFF < detail <= max(point.finest for point in one.subsystem.points):
                    costs.append(_measure(one, detail, read, pairs))
    except OSError:
        return []
    return [cost for cost in costs if cost is not None]
