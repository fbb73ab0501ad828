"""Calls about files rather than their data."""

from __future__ import annotations

from sesame.analysis.findings_io.found import ENOUGH_REQUESTS, Evidence, Finding, percent, plural
from sesame.analysis.quantities import format_seconds
from sesame.traced.io_calls import MPI_IO

SLOW_SHARE = 0.5  # of the time in I/O: metadata take more time than data; ours
OF_ALL = 0.05  # of the run's time: what could be gained by Amdahl's law, as for little I/O
META_SHARE = 0.1  # of the time in I/O; as Drishti's share of operations
OFTEN = 10  # opens of one file by one rank; ours
FEW_REQUESTS = 2  # for each opening; ours
ENOUGH_FAILED = 100  # calls; ours
MOSTLY = 0.5  # of them fail
SEEK_SHARE = 0.9  # seeks for each request: nearly every request has one of its own; ours

CALLS = ("opens", "closes", "queries", "changes")


def metadata_storm(e: Evidence) -> list[Finding]:
    own = e.totals.own
    calls, seconds, all_seconds = own.sum(*CALLS), own.sum("meta_s"), own.sum("io_s")
    if calls < ENOUGH_REQUESTS or seconds < META_SHARE * all_seconds:
        return []
    files = int((own.by_file(*CALLS) > 0).sum())
    requests = own.sum("reads", "writes")
    return [
        Finding(
            "metadata storm",
            f"Metadata takes {percent(seconds / all_seconds)} of the time in I/O, "
            f"{format_seconds(seconds)} of all ranks together: {plural(own.sum('opens'), 'open')}, "
            f"{own.sum('queries'):,.0f} stat and the like, {plural(own.sum('changes'), 'change')} "
            f"of names or attributes, on {plural(files, 'file')}, for "
            f"{plural(requests, 'request')} of data.",
            "Open each file once and keep it open; ask for attributes on one rank and broadcast "
            "them; put many small files into one.",
            seconds,
            {"metadata calls": calls, "share of I/O time": seconds / all_seconds, "files": files},
        )
    ]


def slow_metadata(e: Evidence) -> list[Finding]:
    """Few metadata calls that take longer than the data, for instance collective opens."""
    own = e.totals.own
    calls, seconds, all_seconds = own.sum(*CALLS), own.sum("meta_s"), own.sum("io_s")
    if not 0 < calls < ENOUGH_REQUESTS or seconds < SLOW_SHARE * all_seconds:
        return []
    if e.activity.share(seconds) < OF_ALL:
        return []
    by_file = own.by_file("meta_s")
    file = int(by_file.argmax())
    return [
        Finding(
            "slow metadata calls",
            f"Metadata takes {percent(seconds / all_seconds)} of the time in I/O in only "
            f"{plural(calls, 'call')} of {format_seconds(seconds / calls)} on average, "
            f"{percent(by_file[file] / seconds)} of it for {e.path(file)}.",
            "A collective opening or view waits for the last rank: see in the time line who comes "
            "late. Else look at the file system's metadata server and at how many files and "
            "ranks there are.",
            seconds,
            {
                "metadata calls": calls,
                "time, s": seconds,
                "share of I/O time": seconds / all_seconds,
            },
        )
    ]


def failing_calls(e: Evidence) -> list[Finding]:
    own = e.totals.own
    failed, calls = own.sum("failed"), own.sum(*CALLS)
    if failed < ENOUGH_FAILED or failed < MOSTLY * calls:
        return []
    return [
        Finding(
            "failing calls",
            f"{failed:,.0f} calls fail, and there are {calls:,.0f} metadata calls: the program "
            "searches for files.",
            "Shorten search paths (modules, libraries, configuration), or search on one rank and "
            "broadcast what was found.",
            own.sum("query_s", "open_s") * min(failed / calls, 1),
            {"failed": failed, "calls": calls},
        )
    ]


def reopening(e: Evidence) -> list[Finding]:
    own = e.totals.own
    requests = own["reads"] + own["writes"]
    # A row of all processes together counts only if each of them opened the file so often.
    again = (
        (own["opens"] >= OFTEN * own["processes"])
        & (requests <= FEW_REQUESTS * own["opens"])
        & (requests > 0)
    )
    rows = own.where(again)
    if len(rows) == 0:
        return []
    by_file = rows.by_file("opens")
    file = int(by_file.argmax())
    here = rows.where(rows["file"] == file)
    ranks = int(here.users()[file])
    each = here.sum("reads", "writes") / by_file[file]
    word = "rank" if e.processes.is_mpi else "process"
    by = f"one {word}" if ranks == 1 else f"{ranks:,} {word}{'s' if e.processes.is_mpi else 'es'}"
    return [
        Finding(
            "re-opening",
            f"{e.path(file)} is opened {by_file[file]:,.0f} times by {by}, for "
            f"{each:.1f} requests each time"
            + (
                f"; {plural((by_file > 0).sum() - 1, 'other file')} likewise."
                if (by_file > 0).sum() > 1
                else "."
            ),
            "Open it once, keep the descriptor, and close it at the end.",
            rows.sum("open_s"),
            {"opens": by_file[file], "requests": here.sum("reads", "writes")},
        )
    ]


def seeks(e: Evidence) -> list[Finding]:
    rows = e.totals.own.where(e.totals.own["layer"] != MPI_IO)
    count, requests = rows.sum("seeks"), rows.sum("reads", "writes")
    if count < ENOUGH_REQUESTS or count < SEEK_SHARE * requests:
        return []
    return [
        Finding(
            "a seek for each request",
            f"There are {count:,.0f} seeks for {requests:,.0f} requests.",
            "pread and pwrite say the position with the request; in stdio every seek may throw "
            "the buffer away.",
            0.0,
            {"seeks": count, "requests": requests},
        )
    ]
