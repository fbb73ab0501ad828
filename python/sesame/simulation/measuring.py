"""The uncertainty of measured computation, from its own samples and from the load of the machine.

The simulator compares samples of the same region, the computation between two places in the
program that call MPI (core/mpi/messages/measured_compute.h). docs/models/uncertainty.md describes
the figures, and the limits above which they give doubts.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from sesame.host_load import BUSY_SHARE, HostLoad
from sesame.host_load import HINT as IDLE_HINT
from sesame.settings import setting
from sesame.trust import Doubt, Reason

# Computation with a smaller share of the ranks' time does not affect the prediction much.
NOTABLE_SHARE = 0.05
MOST_SPREAD = 0.25
MOST_SHORT_SHARE = 0.5


@dataclass(frozen=True)
class Measuring:
    """Statistics of measured computation. Shares are of the measured time."""

    samples: int
    regions: int
    reading_s: float  # time of one reading of the clock
    short_share: float  # in samples shorter than ten readings
    spread: float | None  # mean relative difference of successive samples; None without repetition
    excess: float | None  # share above the fastest sample of each region
    preemptions: int
    delayed_share: float  # of the simulator's time: ready to run, but not running
    others_share: float  # of the processors, used by other processes
    steal_share: float  # of the processors, used by other virtual machines
    compute_share: float  # of the ranks' predicted time
    doubts: tuple[Doubt, ...] = ()

    def as_json(self) -> dict[str, Any]:
        return {key: value for key, value in vars(self).items() if key != "doubts"}


def measuring_of(
    result: dict[str, Any], load: HostLoad, *, in_simulator: bool = True
) -> Measuring | None:
    """The statistics in result.json of the simulator; None if it measured no computation.

    `in_simulator`: ranks compute in the simulator, not in processes of their own. Only then does it
    disturb them that the simulator waits for a processor.
    """
    compute, host = result.get("compute"), result.get("host_process")
    if compute is None or host is None:
        return None
    sampled, repeated = compute["sampled_s"], compute["repeated_s"]
    ready = host["cpu_time_s"] + host["delayed_s"]
    ranks = result["rank_table"]
    measuring = Measuring(
        samples=compute["samples"],
        regions=compute["regions"],
        reading_s=compute["reading_s"],
        short_share=_share(compute["short_s"], sampled),
        spread=_share(compute["difference_s"], repeated) if repeated else None,
        excess=1 - _share(compute["fastest_s"], repeated) if repeated else None,
        preemptions=host["preemptions"],
        delayed_share=_share(host["delayed_s"], ready),
        others_share=load.others_share,
        steal_share=load.steal_share,
        compute_share=_share(sum(ranks["compute_s"]), sum(ranks["end_s"])),
    )
    return replace(measuring, doubts=tuple(_doubts(measuring, load, in_simulator)))


def _share(part: float, whole: float) -> float:
    return part / whole if whole > 0 else 0.0


def _doubts(measuring: Measuring, load: HostLoad, in_simulator: bool) -> list[Doubt]:
    if measuring.compute_share < NOTABLE_SHARE:
        return []
    found = []
    seen = [doubt.text for doubt in load.doubts()]
    if in_simulator and measuring.delayed_share > BUSY_SHARE:
        share = f"{100 * measuring.delayed_share:.0f} %"
        seen.append(f"the simulator waited for a processor for {share} of its time")
    if seen:
        text = f"while computation was measured, {', and '.join(seen)}"
        found.append(Doubt(Reason.BUSY_HOST, text, IDLE_HINT))
    if measuring.short_share > MOST_SHORT_SHARE:
        found.append(
            Doubt(
                Reason.MODEL_LIMIT,
                f"{100 * measuring.short_share:.0f} % of the measured computation is in samples "
                "too short for the clock: less than ten times the "
                f"{1e9 * measuring.reading_s:.0f} ns that one reading takes",
                f"{setting('compute', 'none')} leaves computation out, "
                f"{setting('compute', 'fixed:TIME')} sets it",
            )
        )
    elif measuring.spread is not None and measuring.spread > MOST_SPREAD:
        text = (
            "successive samples of the same computation differ by "
            f"{100 * measuring.spread:.0f} %: measuring was disturbed, or the work itself varies"
        )
        found.append(Doubt(Reason.SCATTER, text, _repeat_hint()))
    return found


def _repeat_hint() -> str:
    return (
        f"{setting('repeat', 7)} gives an interval; to measure once and keep it, "
        f"{setting('output', 'FILE.sesame')} on an idle machine and then "
        f"{setting('compute', 'recorded:FILE.sesame')}"
    )
