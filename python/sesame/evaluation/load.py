"""How busy the machine was in a run: what others run makes a probe slower, and may make it fail."""

from __future__ import annotations

import os
from dataclasses import dataclass

from sesame.evaluation.measures import BUSY, ticks

# Of all processors together: /proc/stat counts hundredths of a second.
LEAST_TICKS = 20


@dataclass(frozen=True)
class Load:
    """`average`: of the minute before the run. `others`: the share of the processors that others
    than the probe kept busy during it; None if it was too short to tell."""

    average: float
    others: float | None = None

    def __str__(self) -> str:
        busy = (
            ""
            if self.others is None
            else f" (others had {100 * self.others:.0f} % of the processors)"
        )
        return f"{self.average:.1f}{busy}"


class LoadMeter:
    """Measures the load from its construction on, on the machine that probes."""

    def __init__(self) -> None:
        self._average, self._ticks, self._own = _average(), _ticks(), _own()

    def load(self) -> Load | None:
        """Of a run whose processes have ended; None where /proc does not say it, as under systemd's
        ProcSubset=pid."""
        if self._average is None:
            return None
        late_ticks = _ticks()
        if not self._ticks or not late_ticks:
            return Load(self._average)
        spent = [late - early for early, late in zip(self._ticks, late_ticks, strict=True)]
        if sum(spent) < LEAST_TICKS:
            return Load(self._average)
        own = (_own() - self._own) * os.sysconf("SC_CLK_TCK")
        busy = sum(spent[column] for column in BUSY) - own
        return Load(self._average, min(max(busy / sum(spent), 0.0), 1.0))


def _average() -> float | None:
    try:
        return os.getloadavg()[0]
    except OSError:
        return None


def _ticks() -> list[int]:
    try:
        return ticks()
    except (IndexError, ValueError):
        return []


def _own() -> float:
    """Seconds of processor time of this process and of its children that ended."""
    return sum(os.times()[:4])


def load_words(then: Load | None, before: Load | None) -> str:
    """`; load average 15.7 then, 3.1 before`, or "" if it is not known."""
    if then is None:
        return ""
    return f"; load average {then} then" + ("" if before is None else f", {before} before")
