"""The outcome of an experiment: tables, diagrams, and whether the report's findings are
reproduced."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from sesame.trust import Doubt


@dataclass(frozen=True)
class Table:
    """A table of text cells."""

    title: str
    columns: Sequence[str]
    rows: Sequence[Sequence[str]]


@dataclass(frozen=True)
class Band:
    """A named range of a diagram's axis."""

    begin: float
    end: float
    name: str


@dataclass(frozen=True)
class Diagram:
    """Curves by name, each a list of (place on the axis, value)."""

    title: str
    axis: str
    ordinate: str
    curves: Mapping[str, Sequence[tuple[float, float]]]
    is_logarithmic: bool = False  # both axes
    bands: Sequence[Band] = ()
    has_lines: bool = True


@dataclass(frozen=True)
class Bar:
    """An activity in a lane, from its begin to its end."""

    lane: str
    begin: float
    end: float
    kind: str  # bars of the same kind have the same colour
    text: str = ""


@dataclass(frozen=True)
class Arrow:
    """An arrow from one lane to another or the same one, for instance a message."""

    source: str
    begin: float
    destination: str
    end: float
    text: str = ""


@dataclass(frozen=True)
class Lanes:
    """A time line with one lane for each participant, the first on top."""

    title: str
    axis: str
    lanes: Sequence[str]
    bars: Sequence[Bar] = ()
    arrows: Sequence[Arrow] = ()


@dataclass(frozen=True)
class Judgement:
    """A finding of the report, and whether it is reproduced here."""

    text: str
    is_reproduced: bool
    # Why the result here may differ; shown if it does.
    remark: str = ""
    # What was seen here.
    seen: str = ""


@dataclass(frozen=True)
class Outcome:
    """All results of an experiment, for a page, JSON and a data set."""

    name: str
    title: str
    source: str
    judgements: Sequence[Judgement]
    tables: Sequence[Table] = ()
    diagrams: Sequence[Diagram | Lanes] = ()
    commands: Sequence[str] = ()
    runs: Sequence[Mapping[str, Any]] = field(default=())  # for machines to read
    doubts: Sequence[Doubt] = ()  # why times may be wrong
