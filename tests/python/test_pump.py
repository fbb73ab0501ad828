"""Events on their way from the kernel's ring."""

from __future__ import annotations

import os
from contextlib import closing

import numpy as np

from sesame.measurement.probes import CLASS_ASSIGNED
from sesame.measurement.pump import EventPump


class Ring:
    """Has a message and an event from before."""

    def __init__(self) -> None:
        self._descriptor = os.eventfd(0)
        self._left = True

    def fileno(self) -> int:
        return self._descriptor

    def take(self, buffer: np.ndarray) -> tuple[set[tuple[int, str]], np.ndarray]:
        was_left, self._left = self._left, False
        return ({(CLASS_ASSIGNED, "fs")}, buffer[:1]) if was_left else (set(), buffer[:0])


def test_what_an_earlier_measurement_has_left_is_not_handed_on():
    messages: list[str] = []
    written: list[int] = []
    ring = Ring()
    with closing(
        EventPump(
            [ring], lambda events: written.append(len(events)), {CLASS_ASSIGNED: messages.append}
        )
    ):
        pass
    os.close(ring.fileno())
    assert (messages, written) == ([], [])
