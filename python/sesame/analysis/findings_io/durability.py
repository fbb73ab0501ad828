"""Waiting for the disk after each write."""

from __future__ import annotations

from sesame.analysis.findings_io.found import Evidence, Finding, most, plural
from sesame.analysis.quantities import format_seconds

EVERY_SECOND = 0.5  # syncs right after a write, for each write; ours
ENOUGH = 10  # syncs, and writes: a few syncs at the ends of files are normal; ours


def sync_after_write(e: Evidence) -> list[Finding]:
    own = e.totals.own
    rows = own.where(own["syncs_after_writes"] >= EVERY_SECOND * own["writes"])
    count = rows.sum("syncs_after_writes")
    if count < ENOUGH:
        return []
    file = most(rows.by_file("syncs_after_writes"))
    here = rows.where(rows["file"] == file)
    if here.sum("writes") < ENOUGH:
        return []
    return [
        Finding(
            "sync after each write",
            f"In {e.path(file)} {plural(here.sum('syncs_after_writes'), 'sync')} come right after "
            f"one of {plural(here.sum('writes'), 'write')}; syncs take "
            f"{format_seconds(rows.sum('sync_s'))}, the writes "
            f"{format_seconds(rows.sum('write_s'))}.",
            "One fsync when the data must be safe, as at the end of a checkpoint, is enough; "
            "files that are written again after a crash need none.",
            rows.sum("sync_s"),
            {"syncs": count, "writes": rows.sum("writes"), "sync time, s": rows.sum("sync_s")},
        )
    ]
