"""How far a number can be trusted: its interval, its samples, and the reasons to doubt it.

A value that was measured or estimated is an `Estimate`. What makes it doubtful is a `Doubt`, whose
`Reason` is one of a closed list, so that tables, JSON, pages and tests can search for it.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum


class Reason(StrEnum):
    """Why a number is doubtful. The value is what users read and search for."""

    BUSY_HOST = "busy host"
    FEW_SAMPLES = "few samples"
    SCATTER = "scattered samples"
    OUTSIDE_RANGE = "outside the calibrated range"
    DISTURBED_INPUT = "disturbed input"
    INCOMPLETE_INPUT = "incomplete input"
    MODEL_LIMIT = "model limit"
    NOT_COMPARABLE = "not comparable"


@dataclass(frozen=True)
class Doubt:
    """One reason to doubt a number: what was seen, and what the user can do about it."""

    reason: Reason
    text: str
    hint: str | None = None

    def __str__(self) -> str:
        return f"{self.reason}: {self.text}"

    def as_json(self) -> dict[str, str]:
        described = {"reason": str(self.reason), "text": self.text}
        return described if self.hint is None else {**described, "hint": self.hint}


@dataclass(frozen=True)
class Estimate:
    """A value with the interval [low, high] that holds it, in the value's own unit."""

    value: float
    low: float
    high: float
    samples: int
    doubts: tuple[Doubt, ...] = field(default=())

    @property
    def relative_width(self) -> float:
        """Half the interval's width as a share of the value; infinite for a value of 0."""
        half = (self.high - self.low) / 2
        if half == 0:
            return 0.0
        return half / abs(self.value) if self.value != 0 else math.inf

    def as_json(self) -> dict[str, object]:
        return {
            "value": self.value,
            "low": self.low,
            "high": self.high,
            "samples": self.samples,
            "doubts": [doubt.as_json() for doubt in self.doubts],
        }


def merged(doubts: Sequence[Sequence[Doubt]], what: str) -> list[Doubt]:
    """The doubts of several runs or points: one for each reason, with the text of the first.

    A doubt that not all of them have begins with how many have it: "2 of 5 runs: …". `what` names
    them ("runs").
    """
    found: dict[Reason, tuple[Doubt, int]] = {}
    for of_one in doubts:
        known: set[Reason] = set()
        for doubt in of_one:
            first, count = found.get(doubt.reason, (doubt, 0))
            found[doubt.reason] = (first, count + (doubt.reason not in known))
            known.add(doubt.reason)
    return [
        doubt
        if count == len(doubts)
        else replace(doubt, text=f"{count} of {len(doubts)} {what}: {doubt.text}")
        for doubt, count in found.values()
    ]


def median_rank(samples: int, confidence: float) -> int:
    """How many samples to drop at either end so that the rest holds the median.

    The number of samples below the median is binomial with p = 1/2 (order statistics; H. A. David,
    Order Statistics, section 2.5). Returns -1 when all samples together do not reach `confidence`.
    """
    outside = 0.0
    for dropped in range(samples // 2 + 1):
        outside += 2 * math.comb(samples, dropped) / 2**samples
        if outside > 1 - confidence:
            return dropped - 1
    return samples // 2


def median_of(
    samples: Sequence[float], confidence: float = 0.95, doubts: Iterable[Doubt] = ()
) -> Estimate:
    """The median with a distribution-free confidence interval. Needs at least one sample.

    With too few samples for `confidence` (fewer than 6 for 95 %) the interval is the whole range
    of the samples and the estimate carries the doubt "few samples".
    """
    import statistics

    ordered = sorted(samples)
    dropped = median_rank(len(ordered), confidence)
    found = list(doubts)
    if dropped < 0:
        found.append(
            Doubt(
                Reason.FEW_SAMPLES,
                f"{len(ordered)} samples; the interval is their range",
                "take at least 6",
            )
        )
    low, high = max(dropped, 0), len(ordered) - 1 - max(dropped, 0)
    return Estimate(
        statistics.median(ordered), ordered[low], ordered[high], len(ordered), tuple(found)
    )
