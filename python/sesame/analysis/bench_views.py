"""The views of a workload's run: a chart for each study and table that it wrote."""

from __future__ import annotations

from collections.abc import Callable

from sesame.analysis.bench import Panel, Table, panel_chart, panels_of
from sesame.analysis.plots import Plot
from sesame.analysis.views import View
from sesame.datasets import DataSet

OF_EVERY_RUN = ("figure", "check")
BAND = "Lines are medians, bands the range of the repetitions."


def views_of(data_set: DataSet) -> list[View]:
    """The views of a run; their names are the titles of the charts."""
    return [
        View(panel.title, panel.about or f"By {panel.axis}.", _drawing(panel))
        for panel in panels_of(str(data_set.info.result["workload"]), tables_of(data_set))
    ]


def tables_of(data_set: DataSet) -> dict[str, Table]:
    """The tables that only this workload has: values and units by column."""
    names = [name for name in data_set.record_types if name not in OF_EVERY_RUN]
    return {name: _table(data_set, name) for name in names}


def _drawing(panel: Panel) -> Callable[[DataSet], Plot]:
    return lambda _: _plot(panel)


def _plot(panel: Panel) -> Plot:
    chart = panel_chart(panel)
    notes = [BAND] if any(line.has_range for line in panel.lines) else []
    if chart.axes["x"].get("log") and any(0 in line.x for line in panel.lines):
        notes.append("Values at 0 are not on the logarithmic axis; they are in the table below.")
    return Plot(chart, " ".join(notes))


def _table(data_set: DataSet, name: str) -> Table:
    units = {part["name"]: part["unit"] for part in data_set.record_types[name]["fields"]}
    columns = data_set.table(name).to_pydict()
    return {column: {"unit": units[column], "values": values} for column, values in columns.items()}
