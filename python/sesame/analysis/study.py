"""All results about a traced run, for the report, `sesame info` and JSON."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from sesame.analysis.findings_io import Evidence, Finding, find
from sesame.analysis.traced.activity import Activity, activity_of
from sesame.analysis.traced.counted import totals_of
from sesame.analysis.traced.file_waits import FileWaits, file_waits_of
from sesame.analysis.traced.load import TracedRun, load_run
from sesame.analysis.traced.sharing import Sharing, sharing_of
from sesame.analysis.traced.totals import Totals
from sesame.analysis.traced.waits import Waits, waits_of
from sesame.datasets import DataSet
from sesame.datasets.describe import doubts_of

CUT_OFF = "cut off"


@dataclass(frozen=True)
class Study:
    """The results of one run; those that take time are made at their first use."""

    run: TracedRun
    totals: Totals
    activity: Activity

    @cached_property
    def sharing(self) -> Sharing | None:
        return sharing_of(self.run) if len(self.run.io) else None

    @cached_property
    def waits(self) -> Waits | None:
        return waits_of(self.run, self.activity.io_times) if len(self.run.mpi) else None

    @cached_property
    def file_waits(self) -> FileWaits | None:
        return file_waits_of(self.run) if len(self.run.io) else None

    @cached_property
    def findings(self) -> list[Finding]:
        run = self.run
        if not self.has_io:
            return []
        return find(
            Evidence(
                self.totals,
                self.activity,
                run.files,
                run.processes,
                self.sharing,
                self.waits,
                self.file_waits,
            )
        )

    def share_of(self, finding: Finding) -> float:
        """The share of the time of all ranks that a finding concerns; 1 for the whole run."""
        if finding.seconds is None:
            return 1.0
        return min(self.activity.share(finding.seconds), 1.0)

    @property
    def has_io(self) -> bool:
        """Whether calls on files were recorded or counted."""
        return len(self.run.io) > 0 or self.run.data_set.has("file_total")

    @property
    def has_mpi(self) -> bool:
        """False if the run used MPI but no MPI calls were recorded."""
        return len(self.run.mpi) > 0 or not self.run.processes.is_mpi

    @property
    def discarded(self) -> int:
        """The number of records that were lost."""
        raw = self.run.data_set.info.get("raw") or {}
        return max(int(self.run.processes.discarded.sum()), int(raw.get("discarded") or 0))

    @property
    def damage(self) -> list[str]:
        """Warnings that concern all figures: lost and damaged records."""
        lines = []
        if self.discarded:
            lines.append(
                f"{self.discarded:,} records were lost. Totals, times and findings lack them."
            )
        cut = [
            int(rank)
            for rank, outcome in zip(
                self.run.processes.rank, self.run.processes.outcome, strict=True
            )
            if outcome == CUT_OFF
        ]
        if cut:
            names = ", ".join(map(str, cut[:10])) + (", …" if len(cut) > 10 else "")
            lines.append(
                f"{len(cut)} of {len(self.run.processes.rank)} processes were cut off (rank "
                f"{names}): what they did after their last buffer is not here."
            )
        raw = self.run.data_set.info.get("raw") or {}
        lines += doubts_of(self.run.data_set.info)
        lines += [str(line) for line in raw.get("damage") or []]
        result = self.run.data_set.info.get("result") or {}
        if result.get("dropped"):
            lines.append(
                f"Pruning left out {result['dropped']:,} MPI calls: time in MPI and waits lack "
                "them."
            )
        if self.waits is not None and (self.waits.unmatched_sends or self.waits.unmatched_receives):
            lines.append(
                f"{self.waits.unmatched_sends:,} sends have no receive and "
                f"{self.waits.unmatched_receives:,} receives no send in the records."
            )
        return lines

    @cached_property
    def headline(self) -> dict[str, Any]:
        """The main totals; times in seconds, sizes in bytes. None for shares that are not known."""
        own, activity = self.totals.own, self.activity
        io_s, mpi_s = activity.sum(activity.io), activity.sum(activity.mpi)
        return {
            "run_time_s": self.run.seconds,
            "processes": len(self.run.processes.rank),
            "ranks_of_mpi": len(activity.ranks) if self.run.processes.is_mpi else 0,
            "hosts": len(set(self.run.processes.host)),
            "files": int((own.by_file("processes") > 0).sum()),
            "io_share": activity.share(io_s) if self.has_io else None,
            "mpi_share": activity.share(mpi_s) if self.has_mpi else None,
            "rest_share": activity.share(activity.sum(activity.rest)),
            "largest_io_s": float(activity.io.max(initial=0)),
            "rank_of_largest_io": int(np.argmax(activity.io)) if len(activity.io) else -1,
            "bytes_read": int(own.sum("bytes_read")),
            "bytes_written": int(own.sum("bytes_written")),
            "reads": int(own.sum("reads")),
            "writes": int(own.sum("writes")),
            "metadata_share_of_io": own.sum("meta_s") / own.sum("io_s") if own.sum("io_s") else 0.0,
            "discarded": self.discarded,
        }


def study_run(data_set: DataSet) -> Study:
    run = load_run(data_set)
    totals = totals_of(run)
    return Study(run, totals, activity_of(run, totals))
