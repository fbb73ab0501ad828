"""The option --budget: the share of a processor that measuring may take."""

from __future__ import annotations

import click

from sesame.errors import InputError


def budget_of(_context: click.Context, _parameter: click.Parameter, text: str) -> float | None:
    """A callback of click: the share that `text` states (`0.1%` is 0.001), or None for `none`."""
    if text == "none":
        return None
    try:
        share = float(text.removesuffix("%")) / 100
    except ValueError:
        share = 0.0
    if share <= 0:
        raise InputError(f"--budget {text}: expected a share of a processor, as 0.1%, or none")
    return share
