"""What is read from the database of results, and the notes in it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

from sesame.evaluation.load import Load
from sesame.evaluation.probing import Outcome


@dataclass(frozen=True)
class Note:
    """What a person entered. An empty `target` means all."""

    text: str
    began: float
    ended: float
    planned: bool
    target: str = ""


class Observation(NamedTuple):
    """A result as availability needs it."""

    probe: str
    began: float
    outcome: Outcome
    step: str = ""
    reason: str = ""
    is_joined: bool = False  # all results since the one before passed, and were left out
    load: Load | None = None  # as far as it was read


class ProbeCounts(NamedTuple):
    """The results of a probe under one release in one of several periods of days (since 1970)."""

    period: int  # its place among the periods
    release: str
    passed: int
    failed: int
    unobserved: int
    first_day: int
    last_day: int
    last_observed: int | None  # the last day on which it passed or failed
    latest: float  # when its last result began


class Series(NamedTuple):
    """The figures of one name and unit of a probe."""

    number: int
    probe: str
    target: str
    name: str
    unit: str


class CurveName(NamedTuple):
    """A curve of a probe, of which each run has its own points."""

    number: int
    probe: str
    target: str
    name: str
    unit: str
    x_unit: str


class SeriesDays(NamedTuple):
    """The figures of a series by day and release: columns, in order."""

    day: tuple[int, ...] = ()
    release: tuple[str, ...] = ()
    runs: tuple[int, ...] = ()
    total: tuple[float, ...] = ()
    least: tuple[float, ...] = ()
    most: tuple[float, ...] = ()
