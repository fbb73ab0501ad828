"""Tables on the terminal, and in full where the output goes to a file or a program.

Rich is imported at the first table: a daemon prints none.
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table

WIDE = 10_000  # columns: no cell of a table is wrapped or cut


def console(*, stderr: bool = False, highlight: bool = True) -> Console:
    """For stdout or stderr. Cells are wrapped at the width of a terminal only, so that programs
    such as grep find whole names elsewhere."""
    from rich.console import Console

    is_terminal = (sys.stderr if stderr else sys.stdout).isatty()
    return Console(stderr=stderr, highlight=highlight, width=None if is_terminal else WIDE)


def new_table(*titles: str) -> Table:
    from rich.table import Table

    return Table(*titles, box=None)


def note(text: str) -> None:
    """A line on stderr about what the output does not show."""
    click.echo(f"note: {text}", err=True)


def plain(text: str) -> str:
    """Text in which Rich sees no markup."""
    from rich.markup import escape

    return escape(text)
