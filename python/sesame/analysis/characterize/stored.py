"""A characterisation as a data set: `sesame characterize -o`; its page and its views.

Its tables are sums of requests by size, time, band of the space and requester. Times are seconds
since the first recorded moment, positions and sizes bytes.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from pathlib import Path
from typing import Any

import numpy as np

from sesame.analysis.characterize.findings import find
from sesame.analysis.characterize.page import facts, to_json
from sesame.analysis.characterize.profile import READS, TIME_CELLS, WRITES, Profile
from sesame.analysis.plots import Plot, bar_list
from sesame.analysis.quantities import format_bytes, format_size
from sesame.analysis.traced_plots import READ_COLOUR, WRITE_COLOUR
from sesame.analysis.views import View
from sesame.analysis.views import views_of as all_views_of
from sesame.datasets import (
    DataSet,
    DataSetWriter,
    HostMachine,
    Info,
    Instrument,
    Kind,
    RecordType,
    describe,
)
from sesame.datasets.characterised import (
    REQUEST_BAND,
    REQUEST_FINDING,
    REQUEST_RATE,
    REQUEST_SIZE,
    REQUESTER,
)
from sesame.web.chart import Chart, stacked, time_unit
from sesame.web.page import Headline, Section, template, write_page
from sesame.web.table import Column, table_html


def write_characterisation(
    writer: DataSetWriter, profile: Profile, source: DataSet, begin: datetime
) -> None:
    """Finishes the data set of a profile, which was made of `source` at the time `begin`."""
    figures = to_json(profile)
    sizes = sorted(profile.sizes.items())
    _write(writer, REQUEST_SIZE, [list(pair) for pair in sizes])
    cell_s = profile.span_s / TIME_CELLS
    counts = [profile.over_time[READS], profile.over_time[WRITES]]
    moved = [profile.bytes_over_time[READS], profile.bytes_over_time[WRITES]]
    rows = zip(*(column.tolist() for column in (*counts, *moved)), strict=True)
    _write(
        writer, REQUEST_RATE, [[i * cell_s, (i + 1) * cell_s, *row] for i, row in enumerate(rows)]
    )
    width = profile.band_bytes
    bands = zip(*(profile.bands[kind].tolist() for kind in (READS, WRITES)), strict=True)
    _write(
        writer, REQUEST_BAND, [[i * width, (i + 1) * width, *row] for i, row in enumerate(bands)]
    )
    names = [field.name for field in REQUESTER.fields]
    _write(writer, REQUESTER, [[row[name] for name in names] for row in figures.pop("who")])
    found = [[one.topic, one.sentence, one.hint or ""] for one in find(profile)]
    _write(writer, REQUEST_FINDING, found)
    del figures["findings"], figures["sizes"], figures["bands"]
    what = f"disk {profile.place}" if profile.source.is_disk else "files"
    info = Info(
        kind=Kind.CHARACTERISED,
        title=f"How the {what} of {source.info.title or source.path.name} is used"
        if profile.source.is_disk
        else f"How the files of {source.info.title or source.path.name} are used",
        description="Figures of requests, from another data set.",
        instrument=Instrument.ours("sesame characterize"),
        host=source.info.host if source.info.host.name else HostMachine.here(),
        begin_time=source.info.begin_time or begin.isoformat(timespec="seconds"),
        command=source.info.command,
        result={**figures, "facts": [list(fact) for fact in facts(profile)]},
    )
    writer.finish(info)


def _write(writer: DataSetWriter, described: RecordType, rows: Sequence[Sequence[Any]]) -> None:
    columns = [list(column) for column in zip(*rows, strict=True)] or [[] for _ in described.fields]
    names = [field.name for field in described.fields]
    writer.write_records(described.name, dict(zip(names, columns, strict=True)))


def views_of(_: DataSet) -> list[View]:
    """In the order of the page."""
    return [
        View("requests over time", "Reads and writes each second.", _rate, (REQUEST_RATE.name,)),
        View(
            "data over time",
            "Data read and written each second.",
            _throughput,
            (REQUEST_RATE.name,),
        ),
        View("request sizes", "Requests by size.", _sizes, (REQUEST_SIZE.name,)),
        View("spatial locality", "Requests by band of the space.", _bands, (REQUEST_BAND.name,)),
    ]


def sentences_of(data_set: DataSet) -> list[str]:
    """The findings."""
    return [str(row["sentence"]) for row in data_set.table(REQUEST_FINDING.name).to_pylist()]


def write_characterised(data_set: DataSet, path: Path) -> None:
    """The page of a stored characterisation."""
    result = data_set.info.result
    write_page(
        path,
        title=data_set.info.title,
        headline=Headline(f"{result['requests_per_s']:.4g} /s", "requests, on average"),
        outcome="completed",
        cards=[],
        sections=[
            _findings(data_set),
            *(view.section(data_set) for view in all_views_of(data_set)),
            _requesters(data_set),
        ],
        machine=None,
        facts=[*(tuple(fact) for fact in result["facts"]), *describe.facts(data_set)],
    )


def _findings(data_set: DataSet) -> Section:
    shown = [
        {"finding": row, "share": "", "evidence": []}
        for row in data_set.table(REQUEST_FINDING.name).to_pylist()
    ]
    about = "What the figures mean. Rules: Sesame's documentation, docs/models/characterize.md."
    return Section("Findings", about, template("findings.html").render(first=shown, others=[]))


def _requesters(data_set: DataSet) -> Section:
    rows = data_set.table(REQUESTER.name).to_pylist()
    columns = [Column("process", [row["name"] for row in rows])]
    for field in REQUESTER.fields[1:]:
        show = format_bytes if field.unit == "B" else "{:,.0f}".format
        columns.append(Column(field.name, [row[field.name] for row in rows], show, field.meaning))
    return Section("Requesters", "Processes or ranks.", table_html("requesters", columns))


def _rate(data_set: DataSet) -> Plot:
    return _over_time(data_set, ("reads", "writes"), "requests each second", 1.0)


def _throughput(data_set: DataSet) -> Plot:
    return _over_time(data_set, ("bytes_read", "bytes_written"), "MB each second", 1e-6)


def _over_time(data_set: DataSet, names: tuple[str, str], title: str, scale: float) -> Plot:
    columns = _columns(data_set, REQUEST_RATE.name)
    factor, unit = time_unit(float(columns["end_s"][-1]))
    length = np.maximum(columns["end_s"] - columns["begin_s"], 1e-9)
    chart = Chart(300)
    x = np.append(columns["begin_s"], columns["end_s"][-1]) * factor
    for name, colour in zip(names, (READ_COLOUR, WRITE_COLOUR), strict=True):
        y = columns[name] / length * scale
        words = name.replace("_", " ")
        chart.line(words, x, np.append(y, y[-1]), colour, stepped=True, width=1.2)
    chart.x(f"time ({unit})")
    chart.y(title, zero=True)
    return Plot(chart)


def _sizes(data_set: DataSet, most: int = 20) -> Plot:
    columns = _columns(data_set, REQUEST_SIZE.name)
    order = np.argsort(-columns["requests"], kind="stable")[:most]
    order = order[np.argsort(columns["size_bytes"][order])]
    names = [format_size(int(size)) for size in columns["size_bytes"][order]]
    counts = [float(count) for count in columns["requests"][order]]
    left = len(columns["requests"]) - len(order)
    note = f"{left:,} rarer sizes are left out." if left else ""
    return Plot(bar_list(names, counts, "requests", "size"), note)


def _bands(data_set: DataSet) -> Plot:
    columns = _columns(data_set, REQUEST_BAND.name)
    width = float(columns["end_bytes"][0] - columns["begin_bytes"][0])
    middle = (columns["begin_bytes"] + width / 2) * 1e-9
    chart = Chart(320)
    layers = [columns["reads"], columns["writes"]]
    colours = (READ_COLOUR, WRITE_COLOUR)
    for i, base in enumerate(stacked(layers)):
        name = ("reads", "writes")[i]
        chart.columns(name, middle, layers[i], colours[i], base=base, width=width * 1e-9)
    chart.x("position (GB)")
    chart.y("requests", zero=True)
    return Plot(chart, f"Bands of {format_bytes(width)}.")


def _columns(data_set: DataSet, name: str) -> dict[str, Any]:
    table = data_set.table(name)
    return {column: table.column(column).to_numpy() for column in table.column_names}
