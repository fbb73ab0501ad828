"""Runs to detection of a change, at the same rate of false alarms: one in 1,000 runs.

Compares `sesame.evaluation.changes`, whose thresholds are fixed, with XDMoD's rule (a run outside
the mean and a multiple of the standard deviation of the first 20 runs) and with a plain CUSUM of
the runs standardised by these. The thresholds of the other two are chosen here for each noise
anew, which needs knowledge that a site does not have: it favours them. The change begins after
run 20 + BEFORE.
"""

from __future__ import annotations

import argparse
import math
import random
import statistics
from collections.abc import Callable, Iterator
from typing import Protocol

from sesame.evaluation.changes import FIRST_RUNS, Detector

RATE = 1000  # runs for one false alarm
BEFORE = 80
MOST_RUNS = 400  # after the change; later detections count as this
SHIFTS = (1.0, 2.0, 3.0)
DRIFT = 0.05  # standard deviations a run
Series = Callable[[random.Random], Iterator[float]]


class Adds(Protocol):
    """A detector: `add` gives None until it raises an alarm."""

    def add(self, value: float) -> int | None: ...


def normal(rng: random.Random) -> Iterator[float]:
    while True:
        yield rng.gauss(0, 1)


def skewed(rng: random.Random) -> Iterator[float]:
    """Log-normal with unit variance, like times that are disturbed upward."""
    scale = math.sqrt((math.e**0.5 - 1) * math.e**0.5)  # sigma² = 0.5
    while True:
        yield math.exp(rng.gauss(0, math.sqrt(0.5))) / scale


def outliers(rng: random.Random) -> Iterator[float]:
    """Normal, with 3 % of runs up to 10 standard deviations off, upward."""
    while True:
        yield rng.gauss(0, 1) + (rng.uniform(4, 10) if rng.random() < 0.03 else 0)


def autocorrelated(rng: random.Random) -> Iterator[float]:
    """A first-order autoregression with a correlation of 0.4 and unit variance."""
    value = rng.gauss(0, 1)
    while True:
        yield value
        value = 0.4 * value + rng.gauss(0, math.sqrt(1 - 0.16))


class Rule:
    """XDMoD's: alarms at a run that is `threshold` standard deviations off."""

    def __init__(self, threshold: float) -> None:
        self.threshold = threshold
        self.first: list[float] = []

    def score(self, value: float) -> float | None:
        if len(self.first) < FIRST_RUNS:
            self.first.append(value)
            if len(self.first) == FIRST_RUNS:
                self.mean, self.spread = statistics.mean(self.first), statistics.stdev(self.first)
            return None
        return (value - self.mean) / self.spread

    def add(self, value: float) -> int | None:
        score = self.score(value)
        return 0 if score is not None and abs(score) > self.threshold else None


class PlainCusum(Rule):
    """Page's sums of standardised runs, reference value 0.5."""

    up = down = 0.0

    def add(self, value: float) -> int | None:
        score = self.score(value)
        if score is None:
            return None
        self.up = max(self.up + score - 0.5, 0)
        self.down = max(self.down - score - 0.5, 0)
        return 0 if max(self.up, self.down) > self.threshold else None


def false_alarms(make: Callable[[], Adds], noise: Series, runs: int, seed: int) -> float:
    """Alarms in 1,000 runs of a series of which nothing changes; each detector runs until its
    alarm, at most 1,000 runs, then another takes over."""
    rng = random.Random(seed)
    alarms = done = 0
    while done < runs:
        detector, series = make(), noise(rng)
        for _ in range(FIRST_RUNS):
            detector.add(next(series))
        for _ in range(RATE):
            done += 1
            if detector.add(next(series)) is not None:
                alarms += 1
                break
    return 1000 * alarms / done


def calibrated(kind: type[Rule], noise: Series, runs: int) -> float:
    low, high = 1.0, 60.0
    for _ in range(9):
        middle = math.sqrt(low * high)
        many = false_alarms(lambda: kind(middle), noise, runs, 1) > 1  # noqa: B023
        low, high = (middle, high) if many else (low, middle)
    return math.sqrt(low * high)


def runs_to_detection(
    make: Callable[[], Adds], noise: Series, change: Callable[[int], float], trials: int
) -> float:
    """The mean, over series without a false alarm before the change."""
    rng, delays = random.Random(2), []
    while len(delays) < trials:
        detector, series = make(), noise(rng)
        early = False
        for _ in range(FIRST_RUNS + BEFORE):
            if detector.add(next(series)) is not None:
                early = True
                break
        if early:
            continue
        for run in range(1, MOST_RUNS + 1):
            if detector.add(next(series) + change(run)) is not None:
                break
        delays.append(run)
    return statistics.mean(delays)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=40_000, help="to count false alarms")
    parser.add_argument("--trials", type=int, default=120, help="series for each mean delay")
    options = parser.parse_args()
    print(f"{'noise':15} {'detector':12} {'threshold':>9} {'false':>6}", end=" ")
    print(*(f"{shift:g} sd".rjust(6) for shift in SHIFTS), "drift".rjust(6))
    for noise in (normal, skewed, outliers, autocorrelated):
        detectors: list[tuple[str, str, Callable[[], Adds]]] = [("Sesame", "fixed", Detector)]
        for name, kind in (("XDMoD rule", Rule), ("plain CUSUM", PlainCusum)):
            threshold = calibrated(kind, noise, options.runs)
            detectors.append((name, f"{threshold:.2f}", lambda k=kind, t=threshold: k(t)))
        for name, shown, make in detectors:
            alarms = false_alarms(make, noise, options.runs, 3)
            delays = [
                runs_to_detection(make, noise, lambda _, s=shift: s, options.trials)
                for shift in SHIFTS
            ]
            delays.append(runs_to_detection(make, noise, lambda run: DRIFT * run, options.trials))
            print(f"{noise.__name__:15} {name:12} {shown:>9} {alarms:6.2f}", end=" ")
            print(*(f"{delay:6.1f}" for delay in delays), flush=True)


if __name__ == "__main__":
    main()
