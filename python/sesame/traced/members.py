"""Parses the list of processes in the record of a communicator."""

from __future__ import annotations

import re

import numpy as np

from sesame.errors import InputError
from sesame.traced.groups import Array

NOT_TRACED = -1  # stands for a process that left no trace

_PART = re.compile(r"(-1|\d+)(?:-(-1|\d+)(?::(\d+))?)?")


def members_of(text: str | None) -> Array:
    """The ranks of a list such as 0-14:2,1,3 (0, 2, … 14, 1 and 3). Raises InputError."""
    members: list[int] = []
    for part in filter(None, (text or "").split(",")):
        found = _PART.fullmatch(part)
        if found is None or found[3] == "0":
            raise InputError(f"members of a communicator: '{text}' is no list of ranks")
        first, last, step = found.groups()
        members += range(int(first), int(last or first) + 1, int(step or 1))
    return np.array(members, np.int64)
