"""An explanation as text on the terminal."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rich.console import Console
from rich.markup import escape
from rich.table import Table

from sesame.analysis.quantities import format_seconds

if TYPE_CHECKING:
    from sesame.analysis.explain import Explanation


def print_explanation(console: Console, explanation: Explanation) -> None:
    from sesame.analysis.explain.explanation import PS

    time = format_seconds(explanation.end_ps * PS)
    console.print(f"[bold]where the time of rank {explanation.rank}, the slowest, goes: {time}[/]")
    console.print(_part_table(explanation))
    table = Table("constant", "value", "source", box=None, header_style="bold", pad_edge=False)
    for constant in explanation.constants:
        table.add_row(constant.key, escape(constant.value), escape(constant.source))
    console.print(table)
    for limit in explanation.limits:
        console.print(f"limit: {limit.text}", soft_wrap=True, markup=False)
        if limit.hint is not None:
            console.print(f"hint: {limit.hint}", soft_wrap=True, markup=False)


def _part_table(explanation: Explanation) -> Table:
    from sesame.analysis.explain.explanation import PS

    table = Table("share", "time", "of all", "most", box=None, header_style="bold", pad_edge=False)
    for column in table.columns[1:3]:
        column.justify = "right"
        column.no_wrap = True
    for share in explanation.shares:
        table.add_row(
            share.name,
            format_seconds(share.time_ps * PS),
            f"{100 * share.time_ps / explanation.end_ps:.1f} %",
            escape(", ".join(f"{name} {format_seconds(ps * PS)}" for name, ps in share.most)),
        )
    return table
