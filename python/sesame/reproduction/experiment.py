"""Parts of an experiment of a published report: simulated runs, printed numbers, findings."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Literal

from sesame.reproduction.outcome import Diagram, Judgement, Outcome, Table
from sesame.settings import setting

SOURCE = "SESAME report, section 8.2"
IONODES = (1, 2, 4, 8, 16)  # as in the figures
BLOCK_BYTES = 4096  # of caches and disks, as in the machine model pfssim


@dataclass(frozen=True)
class Case:
    """One simulated run of a workload on the report's machine."""

    workload: str
    options: tuple[str, ...]
    ranks: int
    overrides: tuple[str, ...] = ()
    compute: str = "none"
    # The same run up to the start of the measurement: its counts are subtracted.
    before: tuple[str, ...] | None = None

    def __str__(self) -> str:
        words = (self.workload, *self.options, f"-n {self.ranks}")
        changed = dict(override.split("=", 1) for override in self.overrides)
        return " ".join((*words, *([setting("settings", changed)] if changed else [])))


@dataclass(frozen=True)
class Measured:
    """The results of a run. Counts are totals over all I/O nodes, or all elements of I/O lists."""

    time_s: float
    write_seeks: int  # of I/O lists
    reads: int
    writes: int
    disk_reads: int  # requests to devices
    disk_writes: int
    blocks_read: float  # from devices

    def __sub__(self, other: Measured) -> Measured:
        """Subtracts the counts up to the start of the measurement. The time already is only that of
        the measured part."""
        return Measured(
            self.time_s,
            self.write_seeks - other.write_seeks,
            self.reads - other.reads,
            self.writes - other.writes,
            self.disk_reads - other.disk_reads,
            self.disk_writes - other.disk_writes,
            self.blocks_read - other.blocks_read,
        )


Results = Mapping[Case, Measured]
Quantity = Literal["time_s", "blocks_read"]
ORDINATES = {"time_s": "predicted time (s)", "blocks_read": "blocks read from disks"}


@dataclass(frozen=True)
class Panel:
    """One diagram: curves by name, each a list of (place on the axis, run)."""

    title: str
    axis: str
    quantity: Quantity
    curves: Mapping[str, Sequence[tuple[int, Case]]]

    def values(self, results: Results, curve: str) -> list[float]:
        return [float(getattr(results[case], self.quantity)) for _, case in self.curves[curve]]

    def diagram(self, results: Results) -> Diagram:
        curves = {
            name: [
                (place, value)
                for (place, _), value in zip(points, self.values(results, name), strict=True)
            ]
            for name, points in self.curves.items()
        }
        return Diagram(self.title, self.axis, ORDINATES[self.quantity], curves)

    def table(self, results: Results) -> Table:
        places = [str(place) for place, _ in next(iter(self.curves.values()))]
        rows = [
            [name, *(f"{value:.4g}" for value in self.values(results, name))]
            for name in self.curves
        ]
        title = f"{self.title} ({'s' if self.quantity == 'time_s' else 'blocks'})"
        return Table(title, [self.axis, *places], rows)


@dataclass(frozen=True)
class Row:
    """One number of a table: the report's value as text, and a function for the value here."""

    name: str
    theirs: str
    ours: Callable[[Results], str]


@dataclass(frozen=True)
class Finding:
    """A finding of the report, and the test whether it is reproduced here."""

    text: str
    holds: Callable[[Results], bool]
    # Why the result here may differ; shown if it does.
    remark: str = ""


@dataclass(frozen=True)
class Experiment:
    """An experiment of a report: its runs, and the figures and findings to compare with."""

    name: str
    title: str
    source: str
    panels: Sequence[Panel] = ()
    rows: Sequence[Row] = ()
    findings: Sequence[Finding] = ()
    more_cases: Sequence[Case] = field(default=())

    @property
    def cases(self) -> list[Case]:
        drawn = [
            case for panel in self.panels for points in panel.curves.values() for _, case in points
        ]
        return list(dict.fromkeys((*drawn, *self.more_cases)))

    def outcome(self, results: Results) -> Outcome:
        tables = [panel.table(results) for panel in self.panels]
        if self.rows:
            rows = [[row.name, row.theirs, row.ours(results)] for row in self.rows]
            tables.insert(0, Table("", ["", "the report", "here"], rows))
        return Outcome(
            self.name,
            self.title,
            self.source,
            [Judgement(one.text, one.holds(results), one.remark) for one in self.findings],
            tables,
            [panel.diagram(results) for panel in self.panels],
            [str(case) for case in self.cases],
            [{"command": str(case), **asdict(results[case])} for case in self.cases],
        )
