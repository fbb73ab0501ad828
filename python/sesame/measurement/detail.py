"""How closely a point of the kernel is observed."""

from __future__ import annotations

from enum import IntEnum


class Detail(IntEnum):
    """What each level adds is in probes/cell.h."""

    OFF = 0
    COUNT = 1
    SAMPLED = 2
    DURATION = 3
