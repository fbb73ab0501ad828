"""Combines repeats of a run, each with newly measured computation; finds the runs of a series that
can share measured computation."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

from sesame.simulation.run import RunResult, nodes_of
from sesame.simulation.scenario import Scenario
from sesame.simulation.sweep import Point
from sesame.trust import Doubt, Reason, median_of, merged

# Keys that determine which rank is on which node. A program can query that and compute something
# else; all other keys change only the time of its calls.
PLACING = ("nodes", "node.cores", "topology.")
WIDE = 0.1  # an interval whose half width is more than this share of the median
MORE_HINT = "repeat it more often, or on an idle machine"


def same_computation(
    points: Sequence[Point], scenario_of: Callable[[Point], Scenario]
) -> list[list[Point]]:
    """Groups points that compute the same, so that measuring once is enough; keeps their order."""
    groups: dict[tuple[object, ...], list[Point]] = {}
    for point in points:
        placing: list[object] = [s for s in point.settings if s[0].startswith(PLACING)]
        if point.machine:
            placing += nodes_of(scenario_of(point))
        groups.setdefault((point.ranks, *placing), []).append(point)
    return list(groups.values())


def median_run(runs: Sequence[RunResult]) -> int:
    """Index of the repeat with the median time; for an even number, the faster of the middle
    two."""
    order = sorted(range(len(runs)), key=lambda i: runs[i].result["predicted_time_s"])
    return order[(len(runs) - 1) // 2]


def combined(runs: Sequence[RunResult]) -> RunResult:
    """The repeat with the median time, with the median and its interval over all of them."""
    chosen = runs[median_run(runs)]
    if len(runs) == 1:
        return chosen
    times = tuple(float(run.result["predicted_time_s"]) for run in runs)
    estimate = median_of(times)
    # Repeats replace the doubt about scatter inside one run.
    of_runs = [[d for d in run.doubts if d.reason != Reason.SCATTER] for run in runs]
    doubts = [*merged(of_runs, "repeats"), *estimate.doubts]
    if estimate.relative_width > WIDE:
        width = f"{100 * estimate.relative_width:.0f} %"
        text = f"the interval of {len(runs)} repeats reaches {width} to either side of the median"
        doubts.append(Doubt(Reason.SCATTER, text, MORE_HINT))
    failed = next((run for run in runs if run.exit_status), chosen)
    estimate = replace(estimate, doubts=tuple(doubts))
    return replace(failed, doubts=tuple(doubts), estimate=estimate, repeats_s=times)
