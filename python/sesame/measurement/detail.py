"""The level of detail at which an instrumentation point is measured."""

from __future__ import annotations

from enum import IntEnum


class Detail(IntEnum):
    """Each level costs more than the one before; probes/cell.h describes what it adds."""

    OFF = 0
    COUNT = 1
    SAMPLED = 2
    DURATION = 3
