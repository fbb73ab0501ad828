"""While there is nothing to decide the daemon sleeps through some pulls, and makes them later."""

from __future__ import annotations

from collections.abc import Collection

from sesame.measurement.governor import Governor
from sesame.measurement.probes import Probes
from sesame.measurement.watch import Sample, Watch


class Rest:
    def __init__(self, governor: Governor, probes: Collection[Probes], processors: int) -> None:
        """`processors`: /proc/stat."""
        self._governor, self._probes, self._processors = governor, probes, processors
        self._watch = Watch(governor.counters)
        self._interval_ns = 0  # while it lasts
        self.due_ns = 0
        """Monotonic: when the next pull is due that has not been made."""

    def fileno(self) -> int:
        """Readable when it has ended, until `acknowledge`."""
        return self._watch.fileno()

    def acknowledge(self) -> None:
        self._watch.acknowledge()

    def begin(self, interval_ns: int, most: int) -> bool:
        """From the one that is due on nobody need be awake for so many pulls, as long as there is
        nothing to decide. False: somebody need."""
        calm = self._governor.calm()
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

    def end(self) -> list[Sample]:
        """What has passed, once; to be called before anything of the probes is switched or read."""
        if not self._interval_ns:
            return []
        samples, sums = self._watch.wake()
        if samples:
            self._governor.pass_over(sums, samples[-1].end)
        self.due_ns += len(samples) * self._interval_ns
        self._interval_ns = 0
        return samples

    def close(self) -> None:
        self._watch.close()
