"""The idle period of a daemon: the interpreter sleeps while a thread of the library reads counters.

Waking the Python interpreter for a reading costs ten times as much as the reading itself. While all
subsystems are measured at full detail and cost less than their share of the budget, the governor
has nothing to decide at the end of an interval. Then a thread of the library (IdleReader) closes
the intervals, and the daemon makes their readings later, in one batch. The idle period ends early
when an interval costs more than the share, or when a request or a message needs the probes.
"""

from __future__ import annotations

from collections.abc import Collection

from sesame.measurement.governor import Governor
from sesame.measurement.idle_reader import IdleReader, IntervalSample
from sesame.measurement.probes import Probes


class IdlePeriod:
    def __init__(self, governor: Governor, probes: Collection[Probes], processors: int) -> None:
        """`processors`: a file descriptor of /proc/stat."""
        self._governor, self._probes, self._processors = governor, probes, processors
        self._reader = IdleReader(governor.counters)
        self._interval_ns = 0  # 0: not idle
        self.due_ns = 0
        """When the next reading is due, on the monotonic clock."""

    def fileno(self) -> int:
        """A file descriptor that is readable from the end of the period until `acknowledge`."""
        return self._reader.fileno()

    def acknowledge(self) -> None:
        self._reader.acknowledge()

    def begin(self, interval_ns: int, most: int) -> bool:
        """Starts an idle period of at most `most` readings; the first is the next one due.

        Returns False, and starts nothing, if the governor may have to act at the end of this
        interval.
        """
        limits = self._governor.idle_limits()
        checks = [one.change_check() for one in self._probes]
        known = [one for one in checks if one is not None]
        if limits is None or len(known) < len(checks) or most < 1:
            return False
        self._interval_ns = interval_ns
        self._reader.start(
            limits,
            known,
            self._processors,
            due_ns=self.due_ns,
            interval_ns=interval_ns,
            most=most,
        )
        return True

    def end(self) -> list[IntervalSample]:
        """Ends the period; returns the intervals closed in it. Outside a period it returns none.

        Call it before probes are switched or read.
        """
        if not self._interval_ns:
            return []
        samples, sums = self._reader.stop()
        if samples:
            self._governor.finish_idle(sums, samples[-1].end)
        self.due_ns += len(samples) * self._interval_ns
        self._interval_ns = 0
        return samples

    def close(self) -> None:
        self._reader.close()
