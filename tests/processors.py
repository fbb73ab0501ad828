"""For tests of what several processors do at once."""

from __future__ import annotations

import os

import pytest


def needs_processors(number: int) -> pytest.MarkDecorator:
    """Skips a test where this process may use fewer processors."""
    usable = len(os.sched_getaffinity(0))
    return pytest.mark.skipif(
        usable < number, reason=f"needs {number} processors, and may use {usable}"
    )
