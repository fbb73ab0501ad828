"""How the work on files is spread over the ranks."""

from __future__ import annotations

from sesame.analysis.findings_io.found import LEAST_BYTES, Evidence, Finding, most, percent
from sesame.analysis.quantities import format_bytes, format_seconds
from sesame.analysis.traced.intervals import Array

NEARLY_ALL = 0.9  # share of the bytes that one rank moves; ours
ENOUGH_REQUESTS = 100  # requests, or LEAST_BYTES, for a finding about one rank
UNEVEN = 0.3  # percent imbalance; Drishti's limit for data
MATTERS = 0.01  # of the run's time in the slowest rank's I/O
WORDS = (("read", "bytes_read"), ("write", "bytes_written"))


def one_rank(e: Evidence) -> list[Finding]:
    """One of several ranks moves nearly all the bytes."""
    found = []
    for word, moved in WORDS:
        rank = _lone(e, word, moved)
        if rank is None:
            continue
        mine = e.totals.where(e.totals["own"] & (e.totals["rank"] == rank))
        part = mine.sum(moved) / e.totals.own.sum(moved)
        requests, size = mine.sum(f"{word}s"), mine.sum(moved)
        waited = 0.0 if e.waits is None else float(e.waits.io[e.waits.culprit == rank].sum()) * 1e-9
        found.append(
            Finding(
                "one rank does the I/O",
                f"Rank {rank} of {e.ranks} {word}s {percent(part)} of the bytes in "
                f"{_size_of(size / requests)} requests: {format_bytes(size)} in {requests:,.0f} "
                f"{word}s and {format_seconds(mine.sum(word + '_s'))}."
                + (f" The others wait {format_seconds(waited)} for it." if waited > 0 else ""),
                "Let every rank move its own share of the file (MPI_File_write_at_all), or several "
                "ranks gather for the others.",
                mine.sum(f"{word}_s") + waited,
                {"rank": rank, "share of bytes": part, "bytes": size, "requests": requests},
            )
        )
    return found


def _size_of(size: float) -> str:
    return f"{size:.0f}-byte" if size < 1000 else format_bytes(size)


def _lone(e: Evidence, word: str, moved: str) -> int | None:
    own = e.totals.own
    by_rank, whole = own.by_rank(moved), own.sum(moved)
    if e.ranks < 2 or not e.processes.is_mpi or by_rank.sum() <= 0:
        return None
    enough = whole >= LEAST_BYTES or own.sum(f"{word}s") >= ENOUGH_REQUESTS
    return most(by_rank) if enough and by_rank.max() >= NEARLY_ALL * whole else None


def imbalance(e: Evidence) -> list[Finding]:
    """Ranks spend different times in I/O; silent where one rank does nearly all, and where times
    are known only of all ranks together."""
    if (
        e.ranks < 2
        or not e.processes.is_mpi
        or e.activity.even
        or any(_lone(e, word, moved) is not None for word, moved in WORDS)
    ):
        return []
    ranks = e.processes.ranks
    time = e.activity.io[ranks]
    longest, mean = float(time.max()), float(time.mean())
    if longest <= 0 or longest < MATTERS * float(e.activity.span.max()):
        return []
    uneven = _percent_imbalance(time)
    if uneven <= UNEVEN:
        return []
    rank = int(ranks[most(time)])
    data = e.totals.own.by_rank("bytes_read", "bytes_written")
    average = float(data[ranks].mean())
    ratio = data[rank] / average if average > 0 else 0.0
    return [
        Finding(
            "imbalance",
            f"Rank {rank} spends {format_seconds(longest)} in I/O, {longest / mean:.1f} times the "
            f"mean of {format_seconds(mean)}; it moves {ratio:.1f} times the mean of the bytes.",
            "Spread the data evenly over the ranks, or over the ranks that gather for others."
            if ratio > 1 + UNEVEN
            else "It is not for its bytes: look at its requests, its node, and the servers that "
            "hold its share of the file.",
            (longest - mean) * e.ranks,
            {"max over mean, time": longest / mean, "max over mean, bytes": _ratio(data[ranks])},
        )
    ]


def _percent_imbalance(values: Array) -> float:
    """0 when all are the same, 1 when one has all (DeRose, Homer and Johnson, 2007)."""
    count = len(values)
    return float((values.max() - values.mean()) / values.max() * count / (count - 1))


def _ratio(values: Array) -> float:
    return float(values.max() / values.mean()) if values.mean() > 0 else 0.0
