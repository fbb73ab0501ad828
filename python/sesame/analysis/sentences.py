"""The findings of a data set as sentences: a function for each kind of data set."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sesame.analysis.quantities import format_seconds

if TYPE_CHECKING:
    from sesame.datasets import DataSet

LEAST_SHARE = 0.001  # of the time; smaller shares get no sentence


def of_traced(data_set: DataSet) -> list[str]:
    """The findings of the report, with what to do about them."""
    from sesame.analysis.study import study_run

    return [f"{one.sentence} {one.hint}".strip() for one in study_run(data_set).findings]


def of_simulated(data_set: DataSet) -> list[str]:
    """Where the predicted time goes, and how far the model can be trusted for this run."""
    from sesame.analysis.explain import explain, why_not
    from sesame.analysis.explain.explanation import PS

    remarks = _remarks(data_set)
    if (reason := why_not(data_set)) is not None:
        return [*remarks, f"The prediction is not explained: {reason}."]
    explained = explain(data_set)
    whole = max(explained.end_ps, 1)
    parts = [
        f"{100 * part.time_ps / whole:.1f} % of the time of rank {explained.rank}, the slowest, "
        f"is {part.name} ({format_seconds(part.time_ps * PS)})."
        for part in sorted(explained.shares, key=lambda part: -part.time_ps)
        if part.time_ps >= LEAST_SHARE * whole
    ]
    return [*remarks, *parts, *(f"limit: {limit.text}" for limit in explained.limits)]


def _remarks(data_set: DataSet) -> list[str]:
    """Why the prediction may be wrong, and what it leaves out."""
    doubts = [f"doubtful: {one['reason']}: {one['text']}" for one in data_set.info.doubts]
    return [*doubts, *(f"note: {note}" for note in data_set.info.notes)]


def of_bench(data_set: DataSet) -> list[str]:
    """What the workload's own analysis found."""
    return [str(sentence) for sentence in data_set.info.result.get("findings", [])]


def of_series(data_set: DataSet) -> list[str]:
    """The fastest point, and the speed-up and efficiency on the most ranks."""
    from sesame.analysis.scaling import scalings_of
    from sesame.simulation.series import read_series

    runs = read_series(data_set)
    found = [
        f"{point}: {run.result['outcome']}, exit status {run.exit_status}."
        for point, run in runs
        if not run.succeeded
    ]
    if good := [pair for pair in runs if pair[1].succeeded]:
        best, run = min(good, key=lambda pair: pair[1].predicted_s)
        found.append(f"{best} is the fastest of {len(good)}: {format_seconds(run.predicted_s)}.")
    scaled = [
        (point, s)
        for (point, _), s in zip(runs, scalings_of(runs), strict=True)
        if s is not None and point.ranks > s.base_ranks
    ]
    for machine in dict.fromkeys(point.machine for point, _ in scaled):
        here = [pair for pair in scaled if pair[0].machine == machine]
        point, most = max(here, key=lambda pair: pair[0].ranks)
        found.append(
            f"{point}: speed-up {most.speed_up:.2f} over {most.base_ranks}, "
            f"{100 * most.efficiency:.0f} % of the ideal."
        )
    return [*_remarks(data_set), *found]


def of_reproduced(data_set: DataSet) -> list[str]:
    """The findings of the report, and whether each is reproduced."""
    from sesame.reproduction.stored import read_outcomes

    return [
        f"{outcome.name}: {'' if judged.is_reproduced else 'not '}reproduced: {judged.text}"
        for outcome in read_outcomes(data_set)
        for judged in outcome.judgements
    ]
