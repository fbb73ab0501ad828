"""How often the limits and intervals of `sesame evaluate` hold the truth, in simulated months.

A month has outages at random times, some of which begin with a reboot; hourly probes at a minute of
their own; and a prober that is off twice for some hours. The estimates see what a site would see:
results of probes and times of boots, through the same functions as a report. The truth is what was
simulated. An outage and the time between two last an hour at least, then an exponential time.
"""

from __future__ import annotations

import argparse
import math
import random
from bisect import bisect_right
from collections.abc import Iterable
from dataclasses import dataclass

from sesame.evaluation.estimates import (
    Sample,
    State,
    availability_of,
    mean_time_to_incident,
    spans_of,
)
from sesame.evaluation.incidents import incidents_of
from sesame.evaluation.probing import Outcome
from sesame.evaluation.store import Observation

HOUR = 3600.0
MONTH = 30 * 24 * HOUR
LONGEST = 1.5 * HOUR
REBOOTS = 0.5  # share of outages that end with one
EXPECTED = (1, 5, 8, 12, 20)  # incidents a month
OUTAGE = 2 * HOUR  # mean


@dataclass
class Month:
    outages: list[tuple[float, float]]
    reboots: list[float]
    times: list[float]  # of probes


def simulated(rng: random.Random, mean_up: float) -> Month:
    """Outages come at a constant rate while the machine is up, from long before the month on."""
    outages, reboots, at = [], [], -10 * OUTAGE
    while at < MONTH:
        begin = at + HOUR + rng.expovariate(1 / (mean_up - HOUR))
        at = begin + HOUR + rng.expovariate(1 / (OUTAGE - HOUR))
        outages.append((begin, at))
        if rng.random() < REBOOTS:
            reboots.append(at)
    offs = [(at, at + rng.uniform(1, 20) * HOUR) for at in (rng.uniform(0, MONTH) for _ in "ab")]
    minute = rng.uniform(0, HOUR)
    times = [minute + hour * HOUR for hour in range(-1, 722)]
    times = [at for at in times if not any(begin <= at < end for begin, end in offs)]
    return Month(outages, reboots, times)


def overlap(outages: Iterable[tuple[float, float]], begin: float, end: float) -> float:
    return sum(max(min(b, end) - max(a, begin), 0) for a, b in outages)


@dataclass
class Held:
    """How many of the months."""

    bounds: int = 0
    interval: int = 0
    exact: int = 0
    mid_p: int = 0
    counted: int = 0  # months whose incidents were counted right


def held(months: int, expected: float, seed: int) -> Held:
    rng, found = random.Random(seed), Held()
    mean_up = MONTH / expected - OUTAGE
    for _ in range(months):
        month = simulated(rng, mean_up)
        edges = [edge for outage in month.outages for edge in outage]
        ups = [bisect_right(edges, at) % 2 == 0 for at in month.times]
        samples = [Sample(at, up) for at, up in zip(month.times, ups, strict=True)]
        spans = spans_of(samples, 0, MONTH, LONGEST, month.reboots)
        seen = availability_of(spans)
        down = overlap(month.outages, 0, MONTH)
        found.bounds += seen.low - 1e-9 <= 1 - down / MONTH <= seen.high + 1e-9
        unseen = [one for one in spans if one.state is State.UNSEEN]
        down -= sum(overlap(month.outages, one.begin, one.end) for one in unseen)
        observed = MONTH - sum(one.length for one in unseen)
        truth, estimate = 1 - down / observed, seen.estimate
        assert estimate is not None
        found.interval += estimate.low - 1e-9 <= truth <= estimate.high + 1e-9
        _count(found, month, ups, estimate.value * seen.observed * MONTH, mean_up)
    return found


def _count(found: Held, month: Month, ups: list[bool], exposed: float, mean_up: float) -> None:
    results = [
        Observation("p", at, Outcome.PASS if up else Outcome.FAIL)
        for at, up in zip(month.times, ups, strict=True)
    ]
    incidents = incidents_of(results, month.reboots, [])
    count = sum(0 <= one.began < MONTH for one in incidents)
    found.counted += count == sum(0 <= begin < MONTH for begin, _ in month.outages)
    exact = mean_time_to_incident(count, exposed)
    mid = mean_time_to_incident(count, exposed, mid_p=True)
    found.exact += exact.low <= mean_up <= exact.high
    found.mid_p += mid.low <= mean_up <= mid.high


def poisson_coverage(mean: float, *, mid_p: bool) -> float:
    """Of incidents at a constant rate in a fixed time, summed over all counts."""
    total = 0.0
    for count in range(int(mean + 12 * math.sqrt(mean) + 20)):
        one = mean_time_to_incident(count, 1.0, mid_p=mid_p)
        if one.low <= 1 / mean <= one.high:
            total += math.exp(count * math.log(mean) - mean - math.lgamma(count + 1))
    return total


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--months", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    heads = ("expected", "bounds", "interval", "exact", "mid-P", "counts right", "exact*", "mid-P*")
    print(*(head.rjust(12) for head in heads))
    for expected in EXPECTED:
        found = held(options.months, expected, options.seed)
        shares = (found.bounds, found.interval, found.exact, found.mid_p, found.counted)
        theory = (poisson_coverage(expected, mid_p=False), poisson_coverage(expected, mid_p=True))
        values = [*(100 * one / options.months for one in shares), *(100 * one for one in theory)]
        print(str(expected).rjust(12), *(f"{value:.1f} %".rjust(12) for value in values))
    print("* of counts alone, at a constant rate in a fixed time: no simulation")


if __name__ == "__main__":
    main()
