"""Measures single file system operations on this machine. `sesame machine calibrate --dir` fits its
storage model to the times. The calls are made from Python, which adds about half a microsecond to
each."""

from __future__ import annotations

import mmap
import os
import statistics
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

from sesame.errors import InputError
from sesame.settings import setting
from sesame.workloads.storage_limit import Limit, Pace, find_limit

T = TypeVar("T")
BLOCK = 4096
LARGEST = 4 << 20
SIZES = [BLOCK << k for k in range(11)]  # to LARGEST
FILE_BYTES = 4 * LARGEST  # size of the file for accesses at spread offsets
FEWEST, MOST = 3, 15  # samples of a size
LONG_ENOUGH = 0.2  # s of samples of a size, after which no more are taken
FILES = 40  # for the times of metadata calls
READ_STEP = 64 << 10  # bytes of a sequential read
SECTOR = 512  # bytes; the system counts in this unit on every device


@dataclass(frozen=True)
class Curve:
    """The time of a call by its size."""

    sizes: list[int]  # bytes
    times: list[float]  # s


@dataclass(frozen=True)
class StorageTimes:
    """The measured times of a file system."""

    directory: str
    cache_bytes: int  # memory available for cached files
    metadata: dict[str, float]  # s of open, create (includes open), close, stat, remove
    cached_write: Curve  # of new data
    cached_read: Curve
    device_write: Curve
    device_read: Curve
    synced_write: Curve  # the fsync after a write of new data
    sequential: float  # s per byte of a file that is not in memory
    is_direct: bool  # the device was measured without the page cache
    journal: int = 0  # bytes that the device writes for a sync in addition to the data
    write_limit: Limit | None = None
    read_limit: Limit | None = None

    @property
    def waits_for_device(self) -> bool:
        """Whether writes are synchronous, for example by a mount option: an fsync then has nothing
        to do."""
        return self.cached_write.times[0] > self.synced_write.times[0]


def measure_storage(directory: Path) -> StorageTimes:
    """Measures the file system of a directory, which needs 16 MiB of space for some seconds.

    Raises InputError if the directory cannot be written to.
    """
    try:
        with tempfile.TemporaryDirectory(prefix="sesame-", dir=directory) as scratch:
            return _measure(directory.resolve(), Path(scratch))
    except OSError as error:
        raise InputError(
            f"{setting('directory', directory)}: cannot measure storage there: {error.strerror}",
            hint=f"expected a directory for files of {FILE_BYTES >> 20} MiB",
        ) from error


def _measure(directory: Path, scratch: Path) -> StorageTimes:
    metadata = _metadata(scratch)
    buffer = mmap.mmap(-1, LARGEST)  # begins at a page boundary, as O_DIRECT requires
    buffer.write(os.urandom(LARGEST))
    data = memoryview(buffer)
    cached_write, cached_read = _cached(scratch / "cached", data)
    with _written(scratch / "device", data) as path, Accesses(path, data) as accesses:
        write_limit, read_limit = find_limit(accesses.write), find_limit(accesses.read)
        writes, reads = Pace(write_limit), Pace(read_limit)
        device_write = _curve(accesses.write, writes)
        device_read = _curve(accesses.read, reads)
    synced_write, journal = _synced(scratch / "synced", data, writes)
    return StorageTimes(
        directory=str(directory),
        cache_bytes=_available_memory(),
        metadata=metadata,
        cached_write=cached_write,
        cached_read=cached_read,
        device_write=device_write,
        device_read=device_read,
        synced_write=synced_write,
        sequential=_sequential(scratch / "sequential", data, reads),
        is_direct=accesses.is_direct,
        journal=journal,
        write_limit=write_limit,
        read_limit=read_limit,
    )


def _metadata(scratch: Path) -> dict[str, float]:
    found: dict[str, list[float]] = {
        name: [] for name in ("create", "open", "close", "stat", "remove")
    }
    paths = [scratch / f"m{number}" for number in range(FILES)]
    for path in paths:
        created, handle = _timed(os.open, path, os.O_CREAT | os.O_WRONLY, 0o644)
        os.close(handle)
        opened, handle = _timed(os.open, path, os.O_RDWR)
        found["create"].append(created)
        found["open"].append(opened)
        found["close"].append(_timed(os.close, handle)[0])
        found["stat"].append(_timed(path.stat)[0])
    for path in paths:
        found["remove"].append(_timed(path.unlink)[0])
    return {name: statistics.median(times) for name, times in found.items()}


def _timed(call: Callable[..., T], *arguments: Any) -> tuple[float, T]:
    begin = time.perf_counter()
    result = call(*arguments)
    return time.perf_counter() - begin, result


def _usual(sample: Callable[[int], float], size: int, pace: Pace) -> float:
    """The median of at least FEWEST samples, and of more if they are short."""
    times: list[float] = []
    while len(times) < FEWEST or (len(times) < MOST and sum(times) < LONG_ENOUGH):
        pace.before(size)
        times.append(sample(size))
    return statistics.median(times)


def _cached(path: Path, data: memoryview) -> tuple[Curve, Curve]:
    """Times of writes into the page cache, and of reads from it, without waiting for the device."""
    writes, reads = [], []
    for size in SIZES:
        part = data[:size]
        handle = os.open(path, os.O_CREAT | os.O_TRUNC | os.O_RDWR, 0o644)
        try:
            count = min(MOST, FILE_BYTES // size)
            offsets = [n * size for n in range(count)]
            writes.append(statistics.median(_timed_writes(handle, part, offsets)))
            target = memoryview(bytearray(size))
            reads.append(statistics.median(_timed_reads(handle, target, offsets)))
        finally:
            os.close(handle)
    path.unlink()
    return Curve(SIZES, writes), Curve(SIZES, reads)


def _timed_writes(handle: int, part: memoryview, offsets: list[int]) -> list[float]:
    return [_timed(os.pwrite, handle, part, at)[0] for at in offsets]


def _timed_reads(handle: int, target: memoryview, offsets: list[int]) -> list[float]:
    return [_timed(os.preadv, handle, [target], at)[0] for at in offsets]


@contextmanager
def _written(path: Path, data: memoryview) -> Iterator[Path]:
    """A file of FILE_BYTES that is on the device and not in the page cache."""
    handle = os.open(path, os.O_CREAT | os.O_RDWR, 0o644)
    try:
        for at in range(0, FILE_BYTES, LARGEST):
            os.pwrite(handle, data, at)
        os.fsync(handle)
        os.posix_fadvise(handle, 0, 0, os.POSIX_FADV_DONTNEED)
    finally:
        os.close(handle)
    yield path
    path.unlink()


class Accesses:
    """Single accesses to existing data on the device, never consecutive; `write` and `read` return
    their time in s.

    They use O_DIRECT. Where the file system does not support it, writes are followed by fdatasync,
    and the file is dropped from the page cache before each read.
    """

    def __init__(self, path: Path, data: memoryview) -> None:
        self._data = data
        try:
            self._handle = os.open(path, os.O_RDWR | os.O_DIRECT)
            self.is_direct = True
        except OSError:
            self._handle = os.open(path, os.O_RDWR)
            self.is_direct = False
        self._places = _places()

    def __enter__(self) -> Accesses:
        return self

    def __exit__(self, *_: object) -> None:
        os.close(self._handle)

    def _next(self, size: int) -> int:
        return next(self._places) // size * size % FILE_BYTES

    def write(self, size: int) -> float:
        begin = time.perf_counter()
        os.pwrite(self._handle, self._data[:size], self._next(size))
        if not self.is_direct:
            os.fdatasync(self._handle)
        return time.perf_counter() - begin

    def read(self, size: int) -> float:
        if not self.is_direct:
            os.posix_fadvise(self._handle, 0, 0, os.POSIX_FADV_DONTNEED)
            os.posix_fadvise(self._handle, 0, 0, os.POSIX_FADV_RANDOM)
        return _timed(os.preadv, self._handle, [self._data[:size]], self._next(size))[0]


def _places() -> Iterator[int]:
    """Offsets spread over the file, never consecutive."""
    place = 0
    while True:
        place = (place + 5 * (FILE_BYTES // 13)) % FILE_BYTES
        yield place


def _curve(sample: Callable[[int], float], pace: Pace) -> Curve:
    """Measures all sizes. The first accesses, of the largest size, fill a buffer that the device
    may have, and are not counted."""
    sizes = [size for size in SIZES if size <= pace.most]
    for _ in range(FEWEST):
        pace.before(sizes[-1])
        sample(sizes[-1])
    times = [_usual(sample, size, pace) for size in reversed(sizes)]
    return Curve(sizes, times[::-1])


def _synced(path: Path, data: memoryview, pace: Pace) -> tuple[Curve, int]:
    """Times of the fsync after writing new data at the end of a file; and the bytes that the device
    writes for an fsync of one block in addition to the block."""
    handle = os.open(path, os.O_CREAT | os.O_RDWR, 0o644)
    device = os.fstat(handle).st_dev
    end = 0
    beside: list[int] = []

    def sample(size: int) -> float:
        nonlocal end
        if end + size > FILE_BYTES:
            os.ftruncate(handle, 0)
            os.fsync(handle)
            end = 0
        os.pwrite(handle, data[:size], end)
        end += size
        before = _bytes_written(device)
        took = _timed(os.fsync, handle)[0]
        if size == BLOCK:
            beside.append(_bytes_written(device) - before - size)
        return took

    try:
        curve = _curve(sample, pace)
    finally:
        os.close(handle)
    path.unlink()
    return curve, max(round(statistics.median(beside)), 0)


def _bytes_written(device: int) -> int:
    """Bytes that a block device has written; 0 if there is none, as for a network file system."""
    try:
        path = Path(f"/sys/dev/block/{os.major(device)}:{os.minor(device)}/stat")
        return int(path.read_text(encoding="ascii").split()[6]) * SECTOR
    except OSError:
        return 0


def _sequential(path: Path, data: memoryview, pace: Pace) -> float:
    target = memoryview(bytearray(READ_STEP))
    size = int(min(FILE_BYTES, pace.most)) // READ_STEP * READ_STEP
    with _written(path, data):
        handle = os.open(path, os.O_RDONLY)
        try:
            pace.before(size)
            times = _timed_reads(handle, target, list(range(0, size, READ_STEP)))
        finally:
            os.close(handle)
    return sum(times) / size


def _available_memory() -> int:
    """The memory that the page cache can use, in bytes, a multiple of BLOCK."""
    found = [_number("/proc/meminfo", "MemAvailable:") * 1024]
    found.append(_number("/sys/fs/cgroup/memory/memory.limit_in_bytes"))
    found.append(_number("/sys/fs/cgroup/memory.max"))
    return min(value for value in found if value > 0) // BLOCK * BLOCK


def _number(path: str, name: str = "") -> int:
    """The number after `name` at the begin of a line of a file; 0 if there is none."""
    try:
        text = Path(path).read_text(encoding="ascii")
    except OSError:
        return 0
    for line in text.splitlines():
        words = line.removeprefix(name).split()
        if line.startswith(name) and words and words[0].isdigit():
            return int(words[0])
    return 0
