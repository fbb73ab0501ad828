"""Tables of a page, which a click or a key sorts."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from html import escape
from typing import Any

import numpy as np

NUMBERS = ' class="n"'
_LONG, _ENDS = re.compile(r"[\w./-]{25,}"), re.compile(r"[._/](?=\w)")
MOST_ROWS = 2000  # more make a page slow; they are in the JSON


@dataclass(frozen=True)
class Column:
    """`values` sort; `format` makes the text of each. Text columns have no format."""

    title: str
    values: Sequence[Any] | np.ndarray[Any, Any]
    format: Callable[[Any], str] | None = None
    hint: str = ""  # what the title means


def table_html(name: str, columns: Sequence[Column], *, caption: str = "") -> str:
    """A box that scrolls, with a button in every title that sorts the rows by it. REQUIRES: no
    title is empty: a button needs a name."""
    heads = "".join(
        f'<th scope="col"{NUMBERS if column.format else ""}><button type="button" '
        f'title="{escape(column.hint or column.title)}">{escape(column.title)}</button></th>'
        for column in columns
    )
    cells = [_cells(column) for column in columns]
    rows = "".join(f"<tr>{''.join(row)}</tr>" for row in list(zip(*cells, strict=True))[:MOST_ROWS])
    says = f"<caption>{escape(caption)}</caption>" if caption else ""
    return (
        f'<div class="scroll" tabindex="0" role="region" aria-label="{escape(name)}">'
        f'<table class="sortable">{says}<thead><tr>{heads}</tr></thead>'
        f"<tbody>{rows}</tbody></table></div>"
    )


def _cells(column: Column) -> list[str]:
    if column.format is None:
        return [f"<td>{_text(str(value))}</td>" for value in column.values[:MOST_ROWS]]
    show = column.format
    return [
        f'<td class="n" data-v="{value:.9g}">{escape(show(value))}</td>'
        for value in column.values[:MOST_ROWS]
    ]


def _text(value: str) -> str:
    """Long names (node.storage.cache.write_hit) break after a dot, line or slash, if at all."""
    return _LONG.sub(lambda word: _ENDS.sub(r"\g<0><wbr>", word[0]), escape(value))


def rows_left_out(rows: int) -> str:
    return f" The first {MOST_ROWS:,} of {rows:,} rows are shown." if rows > MOST_ROWS else ""
