"""Curves of probes, such as the bandwidth of messages over their size, by release."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from sesame.evaluation.cases import all_probes
from sesame.evaluation.columns import Floats
from sesame.evaluation.records import CurveName
from sesame.evaluation.site import Site
from sesame.evaluation.store import Store

MOST_RUNS = 30  # of a release, that its curve is the mean of: the last


@dataclass(frozen=True)
class CurvePoints:
    """The means of the last runs under a release."""

    runs: int
    x: list[float]
    y: list[float]


@dataclass(frozen=True)
class CurveSummary:
    """A curve of a probe."""

    probe: str
    target: str
    name: str
    unit: str
    x_unit: str
    releases: dict[str, CurvePoints]  # by fingerprint; without those under which there is none


def curve_summaries(
    site: Site, store: Store, begin: float, end: float, releases: Sequence[str]
) -> list[CurveSummary]:
    """Of the site's probes with a curve in [begin, end). `releases`: fingerprints, in order."""
    known = {(one.name, one.target.name) for one in all_probes(site, store)}
    every = [one for one in store.curves() if (one.probe, one.target) in known]
    wanted = [(one.number, release) for one in every for release in releases]
    runs = dict(zip(wanted, store.points(wanted, begin, end, MOST_RUNS), strict=True))
    found = [_summary(one, {each: runs[one.number, each] for each in releases}) for one in every]
    return [one for one in found if one.releases]


def _summary(curve: CurveName, runs: dict[str, list[tuple[Floats, Floats]]]) -> CurveSummary:
    means = {release: _mean(each) for release, each in runs.items() if each}
    return CurveSummary(curve.probe, curve.target, curve.name, curve.unit, curve.x_unit, means)


def _mean(runs: Sequence[tuple[Floats, Floats]]) -> CurvePoints:
    """Of the runs that have the x of the last one, which is first."""
    x = runs[0][0]
    same = [y for other, y in runs if other == x]
    return CurvePoints(len(same), list(x), np.mean(same, axis=0).tolist())
