"""How a notebook shows a data set: its time, facts and tables."""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING, Any

from sesame.analysis.quantities import format_count, format_seconds
from sesame.datasets import Kind, describe

if TYPE_CHECKING:
    from sesame.api.data_set import DataSet

# For each kind the key of the result that holds its time, and the name of that time.
TIMES = {
    Kind.SIMULATED: ("predicted_time_s", "predicted time"),
    Kind.TRACED: ("duration_s", "run time"),
    Kind.IMPORTED: ("duration_s", "run time"),
    Kind.REPLAYED: ("replayed_time_s", "replayed time"),
    Kind.BENCH: ("time_s", "time"),
}
LEFT_OUT = {"title", "kind", "description", "contact", "size", "seed"}


def html_of(data_set: DataSet) -> str:
    """Its time, its notes, its facts and its tables."""
    info = data_set.info
    parts = [f"<b>{escape(info.title or data_set.path.name)}</b> <i>{info.kind}</i>"]
    if (time := time_of(data_set)) is not None:
        parts.append(f"<div style='font-size:160%'>{time[1]} <small>{time[0]}</small></div>")
    parts += [f"<div>note: {escape(note)}</div>" for note in info.notes]
    rows = [
        f"<tr><th style='text-align:left'>{escape(name)}</th>"
        f"<td style='text-align:left'>{escape(value)}</td></tr>"
        for name, value in describe.facts(data_set)
        if name not in LEFT_OUT
    ]
    parts.append(f"<table>{''.join(rows)}</table>")
    tables = ", ".join(
        f"<code>{escape(name)}</code> ({format_count(rows)})"
        for name, rows, _ in describe.record_counts(data_set)
    )
    parts.append(f"<div>tables: {tables or 'none'}</div>")
    return "".join(parts)


def time_of(data_set: DataSet) -> tuple[str, str] | None:
    """The name of its time ("predicted time"), and the time; None for a kind without one."""
    key, meaning = TIMES.get(data_set.kind, ("", ""))
    value: Any = data_set.info.result.get(key)
    return None if value is None else (meaning, format_seconds(float(value)))
