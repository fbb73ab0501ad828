"""Measures the cost of probes at block requests by the kernel's statistics of eBPF programs.

A request completes in an interrupt, which may interrupt any process, so the processor time of a
load does not show its cost. With kernel.bpf_stats_enabled, /proc/PID/fdinfo has the number of runs
of each program and their time (Linux: Documentation/bpf/, kernel/bpf/syscall.c). This time includes
reading the clock, but not entering the program. So an empty program is attached to the same
tracepoints at the same time; the difference is the cost of Sesame's program. The cost of entering
is added: it is measured by empty programs at a system call, in pairs by processor time.

Reads are made in two ways: many in parallel, and one at a time, where the processor sleeps in
between and finds little in its caches. The governor uses the cost of the last. Reads come from two
processors in turn, since a request that another processor completes costs more.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from functools import partial
from pathlib import Path
from tempfile import TemporaryFile

from sesame.measurement.cost import ASK, Cost, measure_pairs, median_and_interval
from sesame.measurement.detail import Detail
from sesame.measurement.probes import LoadedProbes, library, loaded, subsystems

SWITCH = Path("/proc/sys/kernel/bpf_stats_enabled")
SCRATCH = Path("/var/tmp")
BLOCK, BLOCKS = 4096, 256
SERIES = 21  # each of `pairs` reads
# Reads in parallel. The governor uses the cost of the last (CostTable).
DEPTHS = (32, 1)
# Each request passes both tracepoints once. Whether it also passes that of the queue depends on the
# device, so it is left out.
POINTS = {"issue": "block_rq_issue", "complete": "block_rq_complete"}
EVERY_CALL = "sys_enter"
# One program is too cheap to be resolved in pairs of 5 ms; this many cost half of the call.
MANY = 8


@contextmanager
def _statistics_enabled() -> Iterator[None]:
    before = SWITCH.read_text()
    SWITCH.write_text("1")
    try:
        yield
    finally:
        SWITCH.write_text(before)


def _programs() -> set[int]:
    """The file descriptors of all eBPF programs that this process holds."""
    found: set[int] = set()
    for descriptor in Path("/proc/self/fdinfo").iterdir():
        with suppress(OSError):  # the descriptor of the listing itself is closed by now
            if "run_cnt:" in descriptor.read_text():
                found.add(int(descriptor.name))
    return found


def _account(programs: Iterable[int]) -> tuple[int, int]:
    """The number of runs of these programs, and their time in ns."""
    runs = ns = 0
    for program in programs:
        lines = Path(f"/proc/self/fdinfo/{program}").read_text().splitlines()
        fields = dict(line.split(":\t", 1) for line in lines)
        runs += int(fields["run_cnt"])
        ns += int(fields["run_time_ns"])
    return runs, ns


@contextmanager
def _nothing_at(tracepoints: Iterable[str]) -> Iterator[None]:
    """Attaches an empty program to each tracepoint."""
    with ExitStack() as stack:

        def held(descriptor: int) -> int:
            if descriptor < 0:
                raise OSError(-descriptor, os.strerror(-descriptor))
            stack.callback(os.close, descriptor)
            return descriptor

        for tracepoint in tracepoints:
            program = held(library().sesame_probes_load_nothing())
            held(library().sesame_probes_attach(program, tracepoint.encode()))
        yield


def _measure_way(pairs: int) -> tuple[float, float, float]:
    """The cost of entering and leaving a program at a tracepoint, in ns, with its interval."""
    with _nothing_at([EVERY_CALL]), ExitStack() as more:

        def switch(is_on: bool) -> None:
            more.close()
            if is_on:
                more.enter_context(_nothing_at([EVERY_CALL] * MANY))

        calls = measure_pairs(ASK, switch, lambda _: 0, pairs)
    return median_and_interval([one / MANY for one in calls.differences])


def _bytes_from_devices() -> int:
    """That this process has read (Linux: Documentation/filesystems/proc.rst)."""
    lines = Path("/proc/self/io").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith("read_bytes:"))


@contextmanager
def _reader() -> Iterator[Callable[[int, int], None]]:
    """Yields a function that reads from a device without the page cache. Its arguments: the number
    of reads in parallel, and in all."""
    with TemporaryFile(dir=SCRATCH) as file:
        file.write(bytes(BLOCK * BLOCKS))
        file.flush()
        os.fsync(file.fileno())
        direct = os.open(f"/proc/self/fd/{file.fileno()}", os.O_RDONLY | os.O_DIRECT)

        def read(at_once: int, count: int) -> None:
            if library().sesame_probes_read_device(direct, BLOCKS, at_once, count):
                raise OSError(f"{SCRATCH}: cannot be read directly")

        try:
            before = _bytes_from_devices()
            read(1, 1)
            # A file system in memory has no requests; those of other processes must not be taken
            # for its own.
            if _bytes_from_devices() == before:
                raise OSError(f"{SCRATCH}: reads reach no device")
            yield read
        finally:
            os.close(direct)


def _switch_on(probes: LoadedProbes, detail: Detail) -> None:
    for number, point in enumerate(probes.subsystem.points):
        if point.name in POINTS and probes.missing(number) is None:
            probes.set(number, min(detail, point.finest))


def _run_ns(programs: set[int], before: tuple[int, int]) -> float:
    """The mean time of a run since `before`, in ns."""
    runs, ns = (now - then for now, then in zip(_account(programs), before, strict=True))
    return ns / runs


def _from_two_processors(read: Callable[[int], None], reads: int) -> None:
    """Makes the reads on two processors: at least one is not the processor that completes them."""
    before = os.sched_getaffinity(0)
    try:
        for cpu in {min(before), max(before)}:
            os.sched_setaffinity(0, {cpu})
            read(reads)
    finally:
        os.sched_setaffinity(0, before)


def _measure_runs(detail: Detail, read: Callable[[int], None], reads: int) -> list[float]:
    """The time of a run of Sesame's programs less that of an empty one, in ns, by series."""
    with loaded(["block"]) as probes:
        ours = _programs()
        _switch_on(probes["block"], detail)
        # Attached after Sesame's, which so run first and pay for loading caches, as they would
        # without the empty ones.
        with _nothing_at(POINTS.values()):
            nothing = _programs() - ours
            each: list[float] = []
            for _ in range(SERIES):
                before = _account(ours), _account(nothing)
                _from_two_processors(read, reads)
                each.append(_run_ns(ours, before[0]) - _run_ns(nothing, before[1]))
            return each


def _cost(detail: Detail, depth: int, runs: list[float], way: tuple[float, float, float]) -> Cost:
    ns, least, most = (a + b for a, b in zip(median_and_interval(runs), way, strict=True))
    load = f" ({depth} at once)" if depth > 1 else ""
    return Cost("block", ",".join(POINTS) + load, detail.name.lower(), ns, least, most, 0.0)


def measure_requests(pairs: int) -> list[Cost]:
    """The costs at requests to the device of /var/tmp; none where it cannot be read directly."""
    finest = max(point.finest for point in subsystems()["block"].points)
    try:
        way = _measure_way(pairs)
        with _statistics_enabled(), _reader() as read:
            return [
                _cost(detail, depth, _measure_runs(detail, partial(read, depth), pairs), way)
                for detail in list(Detail)[Detail.COUNT : finest + 1]
                for depth in DEPTHS
            ]
    except (OSError, ZeroDivisionError):  # no run: a network reads for the file system
        return []
