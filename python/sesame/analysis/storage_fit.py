"""Fits the table [node.storage] of a machine file to measured times, by the equations of
docs/models/storage.md and docs/models/devices.md."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

from sesame.analysis.quantities import format_seconds, format_size
from sesame.analysis.storage_line import Line, fit_device, fit_line
from sesame.trust import Doubt, Reason
from sesame.workloads.storage_limit import Limit
from sesame.workloads.storage_times import BLOCK, READ_STEP, Curve, StorageTimes

MOST_READ_AHEAD = 1024  # blocks
MEASURE_AGAIN = "repeat it while nothing else uses the storage, or name another directory"
METADATA = ("open", "create", "close", "stat", "remove")


@dataclass(frozen=True)
class StorageFit:
    """The constants of one file system, in seconds and bytes."""

    times: StorageTimes
    overhead: float  # of a call whose data are all in the cache
    to_cache: Line
    from_cache: Line
    device_write: Line
    device_read: Line
    sync: float  # time of a commit of the journal, beyond its writes
    journal: int  # bytes that a commit writes
    read_ahead: int  # blocks
    metadata: dict[str, float]

    def synced_time(self, size: float) -> float:
        """The time of an fsync of `size` new bytes."""
        writes = [size, *_commit_writes(self.journal)]
        return self.overhead + self.sync + sum(map(self.device_write.at, writes))

    def lines(self) -> dict[str, Line]:
        """The fitted lines by what was measured."""
        return {
            "writing to the page cache": self.to_cache,
            "reading from the page cache": self.from_cache,
            "writing to the device": self.device_write,
            "reading from the device": self.device_read,
        }

    def doubts(self) -> list[Doubt]:
        where = self.times.directory
        return [
            Doubt(Reason.SCATTER, f"{where}: {what}: {text}", MEASURE_AGAIN)
            for what, line in self.lines().items()
            if (text := line.doubt()) is not None
        ]


def fit_storage(times: StorageTimes) -> StorageFit:
    """Fits all constants to the measured times."""
    to_cache, from_cache = fit_line(times.cached_write), fit_line(times.cached_read)
    overhead = min(to_cache.latency, from_cache.latency)
    device_read = fit_device(times.device_read)
    if times.waits_for_device:
        device_write, sync, journal = fit_device(times.cached_write), 0.0, 0
        to_cache = from_cache
    else:
        journal = times.journal
        device_write, sync = _fit_writes(times)
    opened = times.metadata["open"]
    metadata = {name: max(took - overhead, 0.0) for name, took in times.metadata.items()}
    metadata["create"] = max(times.metadata["create"] - opened, 0.0)
    return StorageFit(
        times,
        overhead,
        to_cache,
        from_cache,
        device_write,
        device_read,
        sync,
        journal,
        _read_ahead(times.sequential, device_read),
        metadata,
    )


def _fit_writes(times: StorageTimes) -> tuple[Line, float]:
    """The line of writes to the device, and the sync time. A synced write takes latency + bytes /
    bandwidth, the same for each write of the commit, and sync. Single writes to the device tell
    how much of the constant part is the latency."""
    synced = fit_device(times.synced_write)
    commit = _commit_writes(times.journal)
    latency = fit_device(times.device_write).latency
    latency = min(latency, synced.latency / (1 + len(commit)))
    line = replace(synced, latency=latency)
    return line, max(synced.latency - latency - sum(map(line.at, commit)), 0.0)


def _commit_writes(journal: int) -> list[int]:
    """The sizes of a commit's writes, which follow one another: blocks, and then its record."""
    return [size for size in (journal - BLOCK, min(journal, BLOCK)) if size > 0]


def _read_ahead(per_byte: float, device: Line) -> int:
    """The number of blocks read ahead that gives the measured sequential time per byte. In the
    model a sequential reader waits for the device twice, for the data it asks for and for the data
    read ahead: it gets READ_STEP + read_ahead bytes in 2 latency + bytes / bandwidth."""
    beyond = per_byte - device.slope
    if beyond <= 0:
        return MOST_READ_AHEAD
    blocks = (2 * device.latency / beyond - READ_STEP) / BLOCK
    return int(min(max(round(blocks), 0), MOST_READ_AHEAD))


def storage_text(fit: StorageFit) -> str:
    """The table [node.storage] as text of a machine file."""
    times = fit.times
    hit, miss = ("through", "allocate") if times.waits_for_device else ("back", "allocate")
    return "\n".join(
        [
            *_evidence(fit),
            "[node.storage]",
            f'mount = ["{times.directory}"]',
            f'block = "{BLOCK} B"',
            f"client_overhead = {_duration(fit.overhead)}",
            "",
            "[node.storage.metadata]",
            *(f"{name} = {_duration(fit.metadata[name])}" for name in METADATA),
            f"sync = {_duration(fit.sync)}",
            f'journal = "{fit.journal} B"',
            "",
            "[node.storage.cache]",
            f'size = "{times.cache_bytes} B"  # what memory was available',
            f'write_hit = "{hit}"',
            f'write_miss = "{miss}"',
            f"copy_bandwidth = {_bandwidth(fit.from_cache)}",
            f"write_copy_bandwidth = {_bandwidth(fit.to_cache)}",
            f"read_ahead = {fit.read_ahead}",
            "",
            "[node.storage.device]",
            'kind = "fixed"',
            f"read_latency = {_duration(fit.device_read.latency)}",
            f"read_bandwidth = {_bandwidth(fit.device_read)}",
            f"write_latency = {_duration(fit.device_write.latency)}",
            f"write_bandwidth = {_bandwidth(fit.device_write)}",
            *_limit_lines(times),
            "",
        ]
    )


def _limit_lines(times: StorageTimes) -> list[str]:
    found = [("read", times.read_limit), ("write", times.write_limit)]
    lines, periods = [], []
    for direction, limit in found:
        if limit is None:
            continue
        lines.append(f'{direction}_limit = "{limit.rate:.0f} B/s"')
        if limit.refill:
            periods.append(limit.refill)
        else:
            lines.append(f'{direction}_burst = "{limit.burst:.0f} B"')
    # The shortest period is the best: other load only makes a period longer.
    return [*lines, f"limit_refill = {_duration(min(periods))}"] if periods else lines


def _evidence(fit: StorageFit) -> list[str]:
    """Comments with the measured times, and beside them those that the constants give."""
    times = fit.times
    overhead, read = fit.overhead, fit.device_read
    past = "past the page cache" if times.is_direct else "with the page cache emptied"
    columns: list[tuple[str, Curve, Callable[[float], float]]] = [
        ("write", times.cached_write, lambda size: overhead + fit.to_cache.slope * size),
        ("read", times.cached_read, lambda size: overhead + fit.from_cache.slope * size),
        ("fsync", times.synced_write, lambda size: fit.synced_time(size)),
        ("device read", times.device_read, lambda size: read.at(size)),
    ]
    lines = [
        f"# Storage in {times.directory}; device {past}. Measured, and by these constants:",
        "#   bytes      " + "".join(f"{name:22}" for name, _, _ in columns).rstrip(),
    ]
    for i, size in enumerate(times.cached_write.sizes):
        both = [
            f"{format_seconds(curve.times[i])}, {format_seconds(model(size))}"
            if i < len(curve.times)
            else "-"
            for _, curve, model in columns
        ]
        lines.append(f"#   {format_size(size):11}" + "".join(f"{b:22}" for b in both).rstrip())
    rate = format_size(round(1 / times.sequential))
    lines.append(f"# Sequential reading of what is not in memory: {rate}/s.")
    for what, limit in (("Reads", times.read_limit), ("Writes", times.write_limit)):
        if limit is not None:
            lines.append(f"# {what}: {_limit_words(limit)}.")
    return lines


def _limit_words(limit: Limit) -> str:
    words = f"held to {format_size(round(limit.rate))}/s"
    if limit.refill:
        return f"{words}, in periods of {format_seconds(limit.refill)}"
    return f"{words} after the first {format_size(round(limit.burst))}"


def storage_sentences(fit: StorageFit) -> list[str]:
    """The fitted constants in sentences."""
    write, read = fit.device_write, fit.device_read
    limit = fit.times.write_limit
    return [
        f"storage in {fit.times.directory}: device writes {format_seconds(write.latency)} + bytes "
        f"at {format_size(round(write.bandwidth))}/s, reads {format_seconds(read.latency)} + "
        f"{format_size(round(read.bandwidth))}/s",
        *([f"writes are {_limit_words(limit)}"] if limit else []),
        f"a commit writes {format_size(fit.journal)} and takes {format_seconds(fit.sync)} beyond "
        f"that; cached reads {format_size(round(fit.from_cache.bandwidth))}/s, writes "
        f"{format_size(round(fit.to_cache.bandwidth))}/s",
    ]


def _duration(seconds: float) -> str:
    return f'"{seconds * 1e9:.0f} ns"'


def _bandwidth(line: Line) -> str:
    """The value with its interval as a comment, which `sesame machine check` reads."""
    value = f'"{float(f"{line.bandwidth:.4g}"):.0f} B/s"'
    return f"{value}  # ± {100 * line.slope_share:.1f} % (residual {100 * line.residual:.1f} %)"
