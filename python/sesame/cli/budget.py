"""Options that are the share of a processor that measuring may take, such as --budget."""

from __future__ import annotations

import click

from sesame.analysis.shares import parse_share
from sesame.errors import InputError
from sesame.settings import setting

# From this share on, a number without % is refused: 0.1 is rather 0.1 % than 10 % of a processor.
AMBIGUOUS = 0.01


def budget_of(context: click.Context, parameter: click.Parameter, text: str) -> float | None:
    """A callback of click: the share that `0.1%` or `0.001` states, or None for `none`."""
    return None if text == "none" else share_of(context, parameter, text, "0.1%, or none")


def share_of(
    _context: click.Context, parameter: click.Parameter, text: str, example: str = "1%"
) -> float:
    """The same without `none`."""
    name = str(parameter.name)
    share = parse_share(text, name, example=example, limit=AMBIGUOUS)
    if share == 0:
        raise InputError(f"{setting(name, text)}: expected more than 0", hint="for instance 0.1%")
    if share > 1:
        raise InputError(
            f"{setting(name, text)}: expected at most 100%", hint=f"for instance {example}"
        )
    return share
