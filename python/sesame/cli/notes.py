"""Notes and doubts about a prediction, as lines on stderr and as JSON.

Rich is not imported: a run with --json prints nothing else.
"""

from __future__ import annotations

from collections.abc import Sequence

import click

from sesame.cli.console import note
from sesame.trust import Doubt


def print_notes(notes: Sequence[str]) -> None:
    """Prints what a prediction leaves out."""
    for text in notes:
        note(text)


def print_doubts(doubts: Sequence[Doubt]) -> None:
    """Prints why the prediction may be wrong, and what to do about it."""
    for doubt in doubts:
        click.echo(f"warning: {doubt}", err=True)
        if doubt.hint is not None:
            click.echo(f"hint: {doubt.hint}", err=True)


def doubts_as_json(doubts: Sequence[Doubt]) -> dict[str, list[dict[str, str]]]:
    """The key `doubts`, also when there are none: an empty list says that none was found."""
    return {"doubts": [doubt.as_json() for doubt in doubts]}
