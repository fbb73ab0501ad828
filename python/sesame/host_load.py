"""The load that other programs put on the machine while a measurement ran.

`LoadWatch` reads /proc/stat at its start and again at `stop`: the processor time of all processes,
less what the measuring process and its finished children used, is what others took; steal is what
the hypervisor gave to other virtual machines (proc(5)). Times are seconds of processor time.
"""

from __future__ import annotations

import os
import time
from dataclasses import dataclass
from pathlib import Path

from sesame.trust import Doubt, Reason

# Fields of the line "cpu" of /proc/stat that count work: user, nice, system, irq, softirq. Guests'
# time is in user and nice already.
WORK_FIELDS = (0, 1, 2, 5, 6)
STEAL_FIELD = 7
# Above this share of one processor, the load of others shows in measured times. Background work on
# an idle machine takes less than half of it.
BUSY_SHARE = 0.05
# Above this share, measured times depend more on the load than on the machine.
HEAVY_SHARE = 0.25
# The kernel may count time in whole ticks: smaller values are indistinguishable from zero.
FEWEST_TICKS = 3
HINT = "repeat it on an idle machine"


@dataclass(frozen=True)
class HostLoad:
    """What others took of the machine's processors during `elapsed_s`."""

    elapsed_s: float
    others_s: float
    steal_s: float
    processors: int

    @property
    def others_share(self) -> float:
        """Processors that other processes kept busy, on average: 1.0 is one whole processor."""
        return self.others_s / self.elapsed_s if self.elapsed_s > 0 else 0.0

    @property
    def steal_share(self) -> float:
        return self.steal_s / self.elapsed_s if self.elapsed_s > 0 else 0.0

    @property
    def is_busy(self) -> bool:
        return bool(self.doubts())

    @property
    def is_heavy(self) -> bool:
        """Whether times measured meanwhile say little about the machine itself."""
        return self.is_busy and self.share > HEAVY_SHARE

    @property
    def share(self) -> float:
        """Processors that other processes and the hypervisor took, on average."""
        return self.others_share + self.steal_share

    def doubts(self) -> list[Doubt]:
        found = []
        if self.others_share > BUSY_SHARE and self.others_s > _shortest_s():
            text = f"other processes used {self.others_share:.2f} of {self.processors} processors"
            found.append(Doubt(Reason.BUSY_HOST, text, HINT))
        if self.steal_share > BUSY_SHARE and self.steal_s > _shortest_s():
            text = f"the hypervisor took {self.steal_share:.2f} of {self.processors} processors"
            found.append(Doubt(Reason.BUSY_HOST, text, HINT))
        return found


class LoadWatch:
    """Watches the machine from its creation to `stop`.

    Processor time of children counts as our own once they have been waited for, so stop after that.
    """

    def __init__(self, stat: Path = Path("/proc/stat")) -> None:
        self._stat = stat
        self._begin_s = time.monotonic()
        self._own_s = _own_time_s()
        self._work_s, self._steal_s = self._read()

    def stop(self) -> HostLoad:
        """The load since the start; may be called again for a longer span."""
        work_s, steal_s = self._read()
        own_s = _own_time_s() - self._own_s
        return HostLoad(
            elapsed_s=time.monotonic() - self._begin_s,
            others_s=max(work_s - self._work_s - own_s, 0.0),
            steal_s=steal_s - self._steal_s,
            processors=os.cpu_count() or 1,
        )

    def _read(self) -> tuple[float, float]:
        with self._stat.open() as file:
            ticks = [int(field) for field in file.readline().split()[1:]]
        ticks_per_s = os.sysconf("SC_CLK_TCK")
        work = sum(ticks[field] for field in WORK_FIELDS)
        return work / ticks_per_s, ticks[STEAL_FIELD] / ticks_per_s


def load_of(seconds: float) -> HostLoad:
    """Watches the machine for `seconds` and returns its load. Call it before a measurement."""
    watch = LoadWatch()
    time.sleep(seconds)
    return watch.stop()


def _shortest_s() -> float:
    return FEWEST_TICKS / os.sysconf("SC_CLK_TCK")


def _own_time_s() -> float:
    times = os.times()
    return times.user + times.system + times.children_user + times.children_system
