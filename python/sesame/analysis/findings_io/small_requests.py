"""Data moved in small requests."""

from __future__ import annotations

from sesame.analysis.findings_io.found import ENOUGH_REQUESTS, Evidence, Finding, percent
from sesame.analysis.quantities import format_bytes
from sesame.analysis.traced.patterns import SMALL_CLASSES
from sesame.analysis.traced.totals import Totals, sizes
from sesame.traced.io_calls import STDIO

SMALL_SHARE = 0.1  # of the requests smaller than 1 MiB; Drishti
TINY = 1024  # bytes of a mean stdio request; ours: a quarter of the usual stdio buffer's 4 KiB
WORDS = (("read", "bytes_read"), ("write", "bytes_written"))


def small_requests(e: Evidence) -> list[Finding]:
    """Requests that reach the file system, not those that a library gathers first."""
    return [f for word, moved in WORDS for f in _small(e, e.requests_below, word, moved)]


def _small(e: Evidence, rows: Totals, word: str, moved: str) -> list[Finding]:
    classes = sizes(word)[:SMALL_CLASSES]
    small, requests = rows.sum(*classes), rows.sum(f"{word}s")
    if small < ENOUGH_REQUESTS or small <= SMALL_SHARE * requests:
        return []
    mean = rows.sum(moved) / requests
    below = rows.where(~rows["own"]).sum(*classes) > small / 2
    made_by = " that MPI-IO makes" if below else ""
    return [
        Finding(
            "small requests",
            f"{percent(small / requests)} of the {requests:,.0f} {word}s{made_by} are of 1 MiB "
            f"or less, {format_bytes(mean)} on average, "
            f"{e.mainly(rows.by_file(*classes))}.",
            "Gather data in a buffer of some MiB and move it at once; with several ranks on one "
            "file collective MPI-IO does that (MPI_File_write_all), HDF5 with chunks and "
            "collective transfers."
            if not below
            else "Collective calls, or the hints romio_cb_write, romio_cb_read and "
            "cb_buffer_size, make MPI-IO gather more.",
            rows.sum(f"{word}_s") * small / requests,
            {"small": small, f"{word}s": requests, "mean size": mean},
        )
    ]


def tiny_stdio(e: Evidence) -> list[Finding]:
    """Calls like fprintf with few bytes each: the buffer saves the disk, not the calls."""
    found = []
    rows = e.totals.where(e.totals["own"] & (e.totals["layer"] == STDIO))
    for word, moved in WORDS:
        requests = rows.sum(f"{word}s")
        if requests < ENOUGH_REQUESTS or rows.sum(moved) >= TINY * requests:
            continue
        found.append(
            Finding(
                "tiny stdio calls",
                f"{requests:,.0f} {word}s go through stdio with "
                f"{rows.sum(moved) / requests:,.0f} B on average, "
                f"{e.mainly(rows.by_file(word + 's'))}.",
                "Format into memory and write large blocks, give stdio a larger buffer "
                "(setvbuf), or keep numbers in binary form.",
                rows.sum(f"{word}_s"),
                {f"{word}s": requests, "bytes": rows.sum(moved)},
            )
        )
    return found
