"""Events of a replay: operations arrive at them, and other operations wait for them."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from sesame.traced.groups import Array

# Kinds of links: the operation arrives at its start, waits before it continues, arrives at its end.
ARRIVE, WAIT, AFTER = 0, 1, 2


@dataclass
class Links:
    """Collects links between operations and events.

    An event happens when all operations have arrived that are linked to it by ARRIVE or AFTER.
    """

    events: int = 0
    _operations: list[Array] = field(default_factory=list)
    _events: list[Array] = field(default_factory=list)
    _kinds: list[Array] = field(default_factory=list)

    def new_events(self, count: int) -> Array:
        self.events += count
        return np.arange(self.events - count, self.events)

    def add(self, kind: int, operations: Array, events: Array) -> None:
        self._operations.append(np.asarray(operations, np.int64))
        self._events.append(np.asarray(events, np.int64))
        self._kinds.append(np.full(len(operations), kind, np.int64))

    def columns(self) -> tuple[Array, Array, Array]:
        """Operation, event and kind of every link."""
        nothing = [np.zeros(0, np.int64)]
        return (
            np.concatenate(self._operations or nothing),
            np.concatenate(self._events or nothing),
            np.concatenate(self._kinds or nothing),
        )
