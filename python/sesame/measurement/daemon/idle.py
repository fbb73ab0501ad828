"""The idle period: the daemon sleeps while a thread of the library reads the counters."""

from __future__ import annotations

from collections.abc import Collection

from sesame.measurement.governor import Governor
from sesame.measurement.idle_reader import IdleReader, IntervalSample
from sesame.measurement.probes import Probes


class IdlePeriod:
    def __init__(self, governor: Governor, probes: Collection[Probes], processors: int) -> None:
        """`processors`: /proc/stat."""
        self._governor, self._probes, self._processors = governor, probes, processors
        self._watch = IdleReader(governor.counters)
        self._interval_ns = 0  # while it lasts
        self.due_ns = 0
        """Monotonic: when the next reading is due that has not been made."""

    def fileno(self) -> int:
        """Readable when it has ended, until `acknowledge`."""
        return self._watch.fileno()

    def acknowledge(self) -> None:
        self._watch.acknowledge()

    def begin(self, interval_ns: int, most: int) -> bool:
        """Starts an idle period of at most `most` readings, from the next due one on. Gives False
        when the governor may have to act at the end of this interval."""
        calm = self._governor.idle_limits()
        still = [one.still() for one in self._probes]
        known = [one for one in still if one is not None]
        if calm is None or len(known) < len(still) or most < 1:
            return False
        self._interval_ns = interval_ns
        self._watch.rest(
            calm,
            known,
            self._processors,
            due_ns=self.due_ns,
            interval_ns=interval_ns,
            most=most,
        )
        return True

    def end(self) -> list[IntervalSample]:
        """What has passed, once; to be called before anything of the probes is switched or read."""
        if not self._interval_ns:
            return []
        samples, sums = self._watch.wake()
        if samples:
            self._governor.finish_idle(sums, samples[-1].end)
        self.due_ns += len(samples) * self._interval_ns
        self._interval_ns = 0
        return samples

    def close(self) -> None:
        self._watch.close()
