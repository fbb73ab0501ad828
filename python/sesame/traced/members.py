"""The processes of a communicator, as its record lists them."""

from __future__ import annotations

import numpy as np

from sesame.errors import InputError
from sesame.traced.groups import Array


def members_of(text: str | None) -> Array:
    """0-14:2,1,3 are the processes 0, 2, … 14, 1 and 3. Raises InputError."""
    members: list[int] = []
    for part in filter(None, (text or "").split(",")):
        span, _, step = part.partition(":")
        first, _, last = span.partition("-")
        try:
            members += range(int(first), int(last or first) + 1, int(step or 1))
        except ValueError:
            raise InputError(f"members of a communicator: '{text}' is no list of ranks") from None
    return np.array(members, np.int64)
