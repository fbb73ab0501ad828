"""Shares that a user writes. A number without % is a share in every option and function."""

from __future__ import annotations

import math

from sesame.errors import InputError
from sesame.settings import setting


def parse_share(
    text: str, name: str = "at_most", *, example: str = "5%", limit: float = 1.0
) -> float:
    """The share that `5%` or `0.05` states: 0.05. Raises InputError, also for a number from `limit`
    without %, by which a percentage may be meant."""
    try:
        share = float(text.removesuffix("%").strip()) / (100 if text.endswith("%") else 1)
    except ValueError:
        share = -1.0
    if not 0 <= share < math.inf:
        raise InputError(
            f"{setting(name, text)}: expected a percentage", hint=f"for instance {example}"
        )
    if share >= limit and not text.endswith("%"):
        hint = f"for instance {text}%"
        if share < 1:
            hint = f"write {text}%, or {100 * share:g}% if a share of {text} is meant"
        raise InputError(f"{setting(name, text)}: expected a percentage", hint=hint)
    return share
