"""The option --budget: the share of a processor that measuring may take."""

from __future__ import annotations

import click

from sesame.analysis.shares import parse_share
from sesame.errors import InputError

# From this share on, a number without % is refused: 0.1 is rather 0.1 % than 10 % of a processor.
AMBIGUOUS = 0.01


def budget_of(_context: click.Context, _parameter: click.Parameter, text: str) -> float | None:
    """A callback of click: the share that `0.1%` or `0.001` states, or None for `none`."""
    if text == "none":
        return None
    share = parse_share(text, "budget", example="0.1%, or none", limit=AMBIGUOUS)
    if share == 0:
        raise InputError(f"--budget {text}: expected more than 0", hint="for instance 0.1%")
    return share
