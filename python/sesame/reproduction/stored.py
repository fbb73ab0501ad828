"""Writes reproduced experiments as a data set, and reads them.

Findings, curves, bars and arrows are tables; their names and titles are in info.json, under
`result.experiments`, in the order of the experiments and of their diagrams.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from datetime import datetime
from typing import TYPE_CHECKING, Any

from sesame.datasets.info import HostMachine, Info, Instrument, Kind
from sesame.reproduction.outcome import Arrow, Band, Bar, Diagram, Judgement, Lanes, Outcome, Table
from sesame.trust import Doubt, Reason

if TYPE_CHECKING:
    from sesame.datasets import DataSet, DataSetWriter

Rows = list[dict[str, Any]]
_OF = {"experiment": ("int64", "its number, from 0"), "diagram": ("int64", "number of its diagram")}
# Record types: their meaning, and the type and meaning of each field.
TABLES: dict[str, tuple[str, dict[str, tuple[str, str]]]] = {
    "finding": (
        "A finding of the report, and whether it is reproduced here",
        {
            "experiment": _OF["experiment"],
            "text": ("text", "what the report found"),
            "is_reproduced": ("int64", "1 where it is reproduced here"),
            "seen": ("text", "what was seen here"),
            "remark": ("text", "why ours may differ"),
        },
    ),
    "curve": (
        "A point of a curve",
        {
            **_OF,
            "curve": ("text", "name of the curve"),
            "x": ("float64", "in the unit of the diagram's axis"),
            "y": ("float64", "in the unit of its ordinate"),
        },
    ),
    "bar": (
        "Something that took time in a lane",
        {
            **_OF,
            "lane": ("text", "name of the lane"),
            "begin": ("float64", "in the unit of the axis"),
            "end": ("float64", "in the unit of the axis"),
            "kind": ("text", "what it was"),
            "text": ("text", "more about it"),
        },
    ),
    "arrow": (
        "A message from lane to lane",
        {
            **_OF,
            "source": ("text", "lane"),
            "begin": ("float64", "in the unit of the axis"),
            "destination": ("text", "lane"),
            "end": ("float64", "in the unit of the axis"),
            "text": ("text", "more about it"),
        },
    ),
}


def write_outcomes(
    writer: DataSetWriter,
    outcomes: Sequence[Outcome],
    begin: datetime,
    *,
    facts: Sequence[tuple[str, str]] = (),
) -> None:
    """Writes all outcomes and finishes the data set. `facts`: names and values that the page shows
    for all of them."""
    from sesame.datasets import Field, RecordType

    rows = _rows_of(outcomes)
    for name, (meaning, fields) in TABLES.items():
        described = tuple(Field(key, kind, "", what) for key, (kind, what) in fields.items())
        columns = {key: [row[key] for row in rows[name]] for key in fields}
        writer.write_described(RecordType(name, meaning, described), columns)
    names = [outcome.name for outcome in outcomes]
    info = Info(
        kind=Kind.REPRODUCED,
        title="Reproduced: " + ", ".join(names),
        description="Experiments of a published report, run again.",
        instrument=Instrument.ours("sesame reproduce"),
        host=HostMachine.here(),
        begin_time=begin.isoformat(timespec="seconds"),
        command=["sesame", "reproduce", *names],
        result={
            "experiments": [_described(outcome) for outcome in outcomes],
            "facts": [list(fact) for fact in facts],
        },
    )
    writer.finish(info)


def _rows_of(outcomes: Sequence[Outcome]) -> dict[str, Rows]:
    rows: dict[str, Rows] = {name: [] for name in TABLES}
    for number, outcome in enumerate(outcomes):
        for judged in outcome.judgements:
            row = {**asdict(judged), "is_reproduced": int(judged.is_reproduced)}
            rows["finding"].append({"experiment": number, **row})
        for place, diagram in enumerate(outcome.diagrams):
            of = {"experiment": number, "diagram": place}
            if isinstance(diagram, Diagram):
                rows["curve"] += [
                    {**of, "curve": name, "x": float(x), "y": float(y)}
                    for name, points in diagram.curves.items()
                    for x, y in points
                ]
            else:
                rows["bar"] += [{**of, **asdict(bar)} for bar in diagram.bars]
                rows["arrow"] += [{**of, **asdict(arrow)} for arrow in diagram.arrows]
    return rows


def _described(outcome: Outcome) -> dict[str, Any]:
    """The parts of an outcome that are not in the tables."""
    return {
        "name": outcome.name,
        "title": outcome.title,
        "source": outcome.source,
        "tables": [asdict(table) for table in outcome.tables],
        "diagrams": [_described_diagram(diagram) for diagram in outcome.diagrams],
        "commands": list(outcome.commands),
        "runs": [dict(run) for run in outcome.runs],
        "doubts": [doubt.as_json() for doubt in outcome.doubts],
    }


def _described_diagram(diagram: Diagram | Lanes) -> dict[str, Any]:
    if isinstance(diagram, Lanes):
        return {"title": diagram.title, "axis": diagram.axis, "lanes": list(diagram.lanes)}
    return {
        "title": diagram.title,
        "axis": diagram.axis,
        "ordinate": diagram.ordinate,
        "curves": list(diagram.curves),
        "is_logarithmic": diagram.is_logarithmic,
        "bands": [asdict(band) for band in diagram.bands],
        "has_lines": diagram.has_lines,
    }


def read_outcomes(data_set: DataSet) -> list[Outcome]:
    """The outcomes that write_outcomes stored."""
    rows = {name: data_set.table(name).to_pylist() for name in TABLES}
    return [
        _outcome(number, described, rows)
        for number, described in enumerate(data_set.info.result["experiments"])
    ]


def _outcome(number: int, described: Mapping[str, Any], rows: Mapping[str, Rows]) -> Outcome:
    own = {
        name: [row for row in some if row["experiment"] == number] for name, some in rows.items()
    }
    diagrams = [
        _diagram(
            {
                name: [row for row in some if row.get("diagram") == place]
                for name, some in own.items()
            },
            one,
        )
        for place, one in enumerate(described["diagrams"])
    ]
    return Outcome(
        name=described["name"],
        title=described["title"],
        source=described["source"],
        judgements=[
            Judgement(row["text"], bool(_is_reproduced(row)), row["remark"], row["seen"])
            for row in own["finding"]
        ],
        tables=[Table(**table) for table in described["tables"]],
        diagrams=diagrams,
        commands=described["commands"],
        runs=described["runs"],
        doubts=[
            Doubt(Reason(one["reason"]), one["text"], one.get("hint"))
            for one in described["doubts"]
        ],
    )


def _is_reproduced(finding: Mapping[str, Any]) -> int:
    """The field had another name in data sets of earlier versions."""
    return int(finding.get("is_reproduced", finding.get("comes_out", 0)))


def _diagram(rows: Mapping[str, Rows], described: Mapping[str, Any]) -> Diagram | Lanes:
    def fields_of(row: dict[str, Any]) -> dict[str, Any]:
        return {key: value for key, value in row.items() if key not in _OF}

    if "lanes" in described:
        bars = [Bar(**fields_of(row)) for row in rows["bar"]]
        arrows = [Arrow(**fields_of(row)) for row in rows["arrow"]]
        return Lanes(described["title"], described["axis"], described["lanes"], bars, arrows)
    curves: dict[str, list[tuple[float, float]]] = {name: [] for name in described["curves"]}
    for row in rows["curve"]:
        curves[row["curve"]].append((row["x"], row["y"]))
    return Diagram(
        described["title"],
        described["axis"],
        described["ordinate"],
        curves,
        described["is_logarithmic"],
        [Band(**band) for band in described["bands"]],
        described["has_lines"],
    )
