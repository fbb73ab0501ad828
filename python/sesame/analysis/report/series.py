"""The report of a series of simulated runs: its curves and a table of its runs."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from pathlib import Path

from sesame.analysis.measuring import interval_name
from sesame.analysis.ordinates import PREDICTED as PREDICTED_TIME
from sesame.analysis.ordinates import ordinates_of, repeats_of
from sesame.analysis.quantities import format_bytes, format_count, format_seconds
from sesame.analysis.report.simulated import PREDICTED
from sesame.analysis.scaling import interval_of, scalings_of
from sesame.analysis.views import sections_by_name
from sesame.datasets import DataSet
from sesame.simulation import Point, RunResult
from sesame.simulation.series import doubts_of, machines_of, read_series, scenario_of
from sesame.web.page import Headline, Section, template, write_page


def write_series(data_set: DataSet, path: Path) -> None:
    """The page of a series, from its data set alone. Raises OutputError."""
    scenario, runs = scenario_of(data_set), read_series(data_set)
    times = [run.predicted_s for _, run in runs]
    low, high = format_seconds(min(times)), format_seconds(max(times))
    write_page(
        path,
        title=f"{scenario.name} on {machines_of(runs)}: a series of {len(runs)} runs",
        subtitle=shlex.join(scenario.command),
        headline=Headline(f"{low} to {high}", PREDICTED),
        outcome=next((r.result["outcome"] for _, r in runs if r.exit_status), "completed"),
        doubts=[doubt.as_json() for doubt in doubts_of(data_set)],
        notes=data_set.info.notes,
        sections=[*sections_by_name(data_set, runs).values(), _runs(runs)],
        facts=[
            ("compute time", str(scenario.compute)),
            ("seed", str(scenario.seed)),
        ],
    )


def _runs(runs: Sequence[tuple[Point, RunResult]]) -> Section:
    rows = _run_rows(runs)
    shown = [title for title in rows[0] if any(row[title] for row in rows)]
    table = [[row[title] for title in shown] for row in rows]
    return Section("Runs", "", template("runs.html").render(head=shown, rows=table))


def _run_rows(runs: Sequence[tuple[Point, RunResult]]) -> list[dict[str, str]]:
    """A row for each run, as text by title of the column; "" for unknown values."""
    storage = [ordinate for ordinate in ordinates_of(runs) if ordinate is not PREDICTED_TIME]
    repeats = repeats_of(runs)
    return [
        {
            "machine": point.machine,
            "ranks": str(point.ranks),
            "settings": ", ".join(point.overrides),
            "predicted": format_seconds(run.predicted_s),
            interval_name(repeats): " to ".join(map(format_seconds, interval_of(run)))
            if repeats > 1
            else "",
            "speed-up": f"{scaling.speed_up:.2f}" if scaling else "",
            "efficiency": f"{100 * scaling.efficiency:.0f} %" if scaling else "",
            **{ordinate.title: ordinate.show(run) for ordinate in storage},
            "messages": format_count(run.result["messages"]),
            "data": format_bytes(run.result["bytes"]),
            "simulated in": format_seconds(run.result["wall_time_s"]),
            "outcome": run.result["outcome"],
            "exit status": "" if run.succeeded else str(run.exit_status),
        }
        for (point, run), scaling in zip(runs, scalings_of(runs), strict=True)
    ]
