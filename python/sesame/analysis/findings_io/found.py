"""The input of a rule (`Evidence`) and its result (`Finding`)."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from sesame.analysis.traced.activity import Activity
from sesame.analysis.traced.file_waits import FileWaits
from sesame.analysis.traced.intervals import Array
from sesame.analysis.traced.load import Files, Processes
from sesame.analysis.traced.sharing import Sharing
from sesame.analysis.traced.totals import Totals
from sesame.analysis.traced.waits import Waits
from sesame.traced.io_calls import STDIO

# Thresholds that several rules use; docs/models/findings.md has them all with their sources.
ENOUGH_REQUESTS = 1000  # Drishti's absolute threshold for small and random requests
LEAST_BYTES = 1 << 20


@dataclass(frozen=True)
class Evidence:
    """The totals of files whose data are stored. Members that need records of single calls are None
    if there are no such records."""

    totals: Totals
    activity: Activity
    files: Files
    processes: Processes
    sharing: Sharing | None
    waits: Waits | None
    file_waits: FileWaits | None

    @property
    def requests_below(self) -> Totals:
        """The totals of requests that reach the file system; not those of stdio, which gathers
        requests first."""
        return self.totals.where(self.totals["bottom"] & (self.totals["layer"] != STDIO))

    def path(self, file: int) -> str:
        return self.files.path[file]

    def mainly(self, by_file: Array) -> str:
        """The file with the largest value, as text: `all of them in …`, `73 % of them in …`."""
        file = most(by_file)
        part = by_file[file] / by_file.sum()
        return f"{'all' if part == 1 else percent(part)} of them in {self.path(file)}"

    @property
    def ranks(self) -> int:
        return len(self.processes.ranks)


@dataclass(frozen=True)
class Finding:
    """What a rule found."""

    topic: str  # the rule's name
    sentence: str
    hint: str
    seconds: float | None  # the time of all ranks that it concerns; None: the whole run
    evidence: dict[str, float] = field(default_factory=dict)


def percent(part: float) -> str:
    """A share as text; only 0 and 1 are shown as 0 % and 100 %."""
    value = 100 * part
    if 0 < value < 0.1:
        return "under 0.1 %"
    if 99.9 < value < 100:
        return "over 99.9 %"
    return f"{value:.1f} %" if 0 < value < 1 or 99 < value < 100 else f"{value:.0f} %"


def plural(count: float, word: str) -> str:
    return f"{count:,.0f} {word}" + ("" if count == 1 else "s")


def most(values: Array) -> int:
    """The index of the largest value."""
    return int(np.argmax(values))
