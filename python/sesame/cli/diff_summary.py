"""A difference of data sets, as tables on the terminal."""

from __future__ import annotations

from collections.abc import Sequence

from rich.console import Console
from rich.table import Table

from sesame.analysis.quantities import (
    format_bytes,
    format_count,
    format_quantity,
    format_seconds,
)
from sesame.comparison.difference import Change, Difference
from sesame.comparison.in_words import in_words, percent, signed_seconds
from sesame.comparison.ratio import Ratio
from sesame.comparison.side import Side
from sesame.datasets.describe import count_of

MOST_CHANGES = 12
MOST_RANKS = 8
MOST_KEYS = 12
WIDTH_OF_FILES = 200
LEAST_SHARE = 1e-4  # of the time: calls that changed less are counted, not listed


def print_difference(difference: Difference, console: Console | None = None) -> None:
    """Prints the difference on `console`, by default on stdout."""
    if console is None:
        console = Console(highlight=False, soft_wrap=True)
        if not console.is_terminal:
            console.width = WIDTH_OF_FILES
    for side, ratio in zip(difference.sides, (None, *difference.ratios), strict=True):
        console.print(_headline(side, ratio), markup=False)
    if difference.without_start:
        console.print("times are from the end of MPI_Init to MPI_Finalize, of the slowest rank")
    for doubt in difference.doubts:
        console.print(f"warning: {doubt}", markup=False)
        if doubt.hint is not None:
            console.print(f"hint: {doubt.hint}", markup=False)
    for table in (
        changes_table(difference),
        _shares_table(difference),
        _counts_table(difference),
        _rank_table(difference),
        _figure_table(difference),
        _values_table("setting", difference, difference.settings),
        _values_table("machine", difference, difference.machine_values),
    ):
        if table is not None:
            console.print()
            console.print(table)


def _headline(side: Side, ratio: Ratio | None) -> str:
    run = side.run
    several = "" if len(side.runs) == 1 else f" and {len(side.runs) - 1} more"
    time = side.time
    words = f"{side.label}  {format_seconds(time.value)}"
    if len(side.samples_s) > 1:
        words += f" ({format_seconds(time.low)} to {format_seconds(time.high)})"
    if ratio is not None:
        words += f"  {in_words(ratio)}"
    return f"{words}  {run.path}{several}: {run.title or run.program}"


def changes_table(difference: Difference) -> Table | None:
    """What differs most first."""
    mean = max((sum(c.mean_s[i] for c in difference.changes) for i in (0, 1)), default=0.0)
    shown = [c for c in difference.changes if c.largest_s > LEAST_SHARE * mean][:MOST_CHANGES]
    if not shown:
        return None
    table = _table("mean time of a rank", [side.label for side in difference.sides])
    for side in difference.sides[1:]:
        table.add_column(f"{side.label} - A", justify="right")
        table.add_column("", justify="right")
    if any(change.rank is not None for change in shown):
        table.add_column("most on rank", justify="right")
    for change in shown:
        table.add_row(*_change_cells(change)[: len(table.columns)])
    left = len(difference.changes) - len(shown)
    if left:
        rest = difference.changes[len(shown) :]
        sums = [sum(c.mean_s[i] for c in rest) for i in range(len(difference.sides))]
        table.add_row(count_of(left, "other"), *map(format_seconds, sums))
    return table


def _change_cells(change: Change) -> list[str]:
    cells = [change.name, *map(format_seconds, change.mean_s)]
    for seconds, ratio in zip(change.change_s, change.ratios, strict=True):
        cells += [signed_seconds(seconds), _relative(seconds, ratio)]
    return [*cells, "" if change.rank is None else str(change.rank)]


def _relative(seconds: float, ratio: Ratio | None) -> str:
    if ratio is None:
        return "new" if seconds > 0 else ""
    # ~ marks a change that may be noise, as in benchstat.
    noise = "~ " if ratio.verdict == "unknown" and ratio.low is not None else ""
    return noise + ("gone" if ratio.value == 0 else percent(ratio.value))


def _shares_table(difference: Difference) -> Table | None:
    """Where the predicted time of each side's slowest rank goes."""
    if not difference.shares:
        return None
    table = _table("slowest rank's time", difference.slowest_labels)
    for side in difference.sides[1:]:
        table.add_column(f"{side.label} - A", justify="right")
    for share in difference.shares:
        changes = [signed_seconds(seconds - share.seconds[0]) for seconds in share.seconds[1:]]
        table.add_row(share.name, *map(format_seconds, share.seconds), *changes)
    return table


def _counts_table(difference: Difference) -> Table | None:
    ranks = [side.run.ranks for side in difference.sides]
    changed = [c for c in difference.changes if _differ(c.count, ranks) or _differ(c.bytes, ranks)]
    if not changed:
        return None
    labels = [side.label for side in difference.sides]
    table = _table("calls", [*labels, *(f"bytes {label}" for label in labels)])
    for change in changed[:MOST_CHANGES]:
        counts, sizes = map(format_count, change.count), map(format_bytes, change.bytes)
        table.add_row(change.name, *counts, *sizes)
    if len(changed) > MOST_CHANGES:
        table.add_row(count_of(len(changed) - MOST_CHANGES, "other"))
    return table


def _differ(counts: Sequence[float], ranks: Sequence[int]) -> bool:
    """Whether the mean count of a rank differs between sides."""
    return any(count * ranks[0] != counts[0] * n for count, n in zip(counts, ranks, strict=True))


def _rank_table(difference: Difference) -> Table | None:
    """The distribution of the ranks' times, and the ranks that changed most."""
    labels = [side.label for side in difference.sides]
    quantiles = difference.quantiles_s()
    if quantiles is None or max(side.run.ranks for side in difference.sides) == 1:
        return None
    table = _table("time of ranks", labels)
    for name, values in zip(
        ("least", "quarter below", "median", "quarter above", "largest"),
        zip(*quantiles, strict=True),
        strict=True,
    ):
        table.add_row(name, *map(format_seconds, values))
    if difference.rank_s is not None:
        for rank in difference.ranks_by_change()[:MOST_RANKS]:
            times = difference.rank_s[:, rank]
            if len(set(times)) > 1:
                table.add_row(f"rank {rank}", *map(format_seconds, times))
    return table


def _figure_table(difference: Difference) -> Table | None:
    if not difference.figures:
        return None
    table = _table("figure", [side.label for side in difference.sides])
    for side in difference.sides[1:]:
        table.add_column(f"{side.label} / A", justify="right")
    for figure in difference.figures:
        base = figure.values[0]
        shown = ["" if v is None else format_quantity(v, figure.unit) for v in figure.values]
        changes = ["" if not base or v is None else percent(v / base) for v in figure.values[1:]]
        table.add_row(figure.name, *shown, *changes)
    return table


def _values_table(
    title: str, difference: Difference, rows: Sequence[tuple[str, Sequence[str | None]]]
) -> Table | None:
    if not rows:
        return None
    table = _table(title, [side.label for side in difference.sides], justify="left")
    for name, values in rows[:MOST_KEYS]:
        table.add_row(name, *("" if value is None else value for value in values))
    if len(rows) > MOST_KEYS:
        table.add_row(f"… and {len(rows) - MOST_KEYS} more (--json has them)")
    return table


def _table(title: str, labels: Sequence[str], justify: str = "right") -> Table:
    table = Table(title, box=None, header_style="bold", pad_edge=False)
    for label in labels:
        table.add_column(label, justify="left" if justify == "left" else "right")
    return table
