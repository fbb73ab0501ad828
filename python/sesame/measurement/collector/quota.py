"""What each node may add in the time of a data set, so that none pushes out the data of others."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable

from sesame.measurement.events import Block
from sesame.measurement.readings import Reading

DEFAULT_BYTES = 256_000_000  # in a journal; a data set is smaller
# The part of it for traced events. The rest is for readings, so that a node that traces too much is
# measured all the same.
EVENTS_SHARE = 0.9
MOST_REPORTED = 100  # nodes, for each data set


class Quota:
    """The bytes of each node in the current period. Not thread-safe.

    A relay's journals are shorter than a data set, so that periods do not follow them.
    """

    def __init__(
        self,
        most_bytes: float,
        say: Callable[[str], None],
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.most_bytes, self._say, self._clock = most_bytes, say, clock
        self._began = clock()
        self._used: Counter[str] = Counter()
        self._reported: set[str] = set()
        self.refused = 0
        """Items since the start."""

    def renew(self, seconds: float) -> None:
        """Starts a period if the current one has lasted so long."""
        now = self._clock()
        if now - self._began >= seconds:
            self._began = now
            self._used.clear()
            self._reported.clear()

    def give_back(self, item: Reading | Block, size: int) -> None:
        """Call it if an item for which `takes` was called could not be stored."""
        self._used[item.node] -= size

    def takes(self, item: Reading | Block, size: int) -> bool:
        """Whether an item of `size` bytes fits into what is left to its node, which is used up."""
        share = EVENTS_SHARE if isinstance(item, Block) else 1.0
        if self._used[item.node] + size <= share * self.most_bytes:
            self._used[item.node] += size
            return True
        self.refused += 1
        self._report(item.node)
        return False

    def _report(self, node: str) -> None:
        if node not in self._reported and len(self._reported) < MOST_REPORTED:
            self._reported.add(node)
            self._say(
                f"{node}: more than {self.most_bytes / 1e6:g} MB for a data set; until the next "
                "one its events are discarded, and at the end its readings"
            )
