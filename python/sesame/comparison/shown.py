"""How a difference is shown by notebooks and as a data frame."""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING

from sesame.analysis.quantities import format_seconds
from sesame.comparison.in_words import in_words, signed_seconds
from sesame.extras import require

if TYPE_CHECKING:
    import pandas as pd

    from sesame.comparison.difference import Difference

MOST_CHANGES = 10


def frame_of(difference: Difference) -> pd.DataFrame:
    """See `Difference.to_pandas`."""
    require("notebook", "a data frame", "pandas")
    import pandas as pd

    changes, labels = difference.changes, [side.label for side in difference.sides]
    columns: dict[str, list[object]] = {"call": [change.name for change in changes]}
    for i, label in enumerate(labels):
        columns[f"{label}_s"] = [change.mean_s[i] for change in changes]
    for i, label in enumerate(labels[1:]):
        columns[f"{label}_change_s"] = [change.change_s[i] for change in changes]
        columns[f"{label}_ratio"] = [
            float("nan") if (ratio := change.ratios[i]) is None else ratio.value
            for change in changes
        ]
    return pd.DataFrame(columns)


def html_of(difference: Difference) -> str:
    """The times of the sides, doubts, the calls that differ most, and where the time goes."""
    sides = [["", "time", "", "data set"]]
    for side, ratio in zip(difference.sides, (None, *difference.ratios), strict=True):
        words = "" if ratio is None else in_words(ratio)
        sides.append([side.label, format_seconds(side.time.value), words, side.name])
    doubts = [f"<div>doubtful: {escape(str(doubt))}</div>" for doubt in difference.doubts]
    labels = [side.label for side in difference.sides]
    calls = [["call", *labels, *(f"{label} - {labels[0]}" for label in labels[1:])]]
    changed = [change for change in difference.changes if change.largest_s > 0]
    for change in changed[:MOST_CHANGES]:
        means = map(format_seconds, change.mean_s)
        calls.append([change.name, *means, *map(signed_seconds, change.change_s)])
    more = len(changed) - MOST_CHANGES
    rest = f"<div>and {more:,} more calls that differ</div>" if more > 0 else ""
    shares = [["slowest rank's time", *difference.slowest_labels]]
    shares += [[share.name, *map(format_seconds, share.seconds)] for share in difference.shares]
    tables = [_table(calls) if changed else "", rest, _table(shares) if difference.shares else ""]
    return "".join([_table(sides), *doubts, *tables])


def _table(rows: list[list[str]]) -> str:
    def line(cells: list[str], tag: str) -> str:
        style = "text-align:left"
        return "".join(f"<{tag} style='{style}'>{escape(cell)}</{tag}>" for cell in cells)

    head = f"<thead><tr>{line(rows[0], 'th')}</tr></thead>"
    body = "".join(f"<tr>{line(row, 'td')}</tr>" for row in rows[1:])
    return f"<table>{head}<tbody>{body}</tbody></table>"
