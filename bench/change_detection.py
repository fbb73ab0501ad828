"""Runs to detection of a change, at the same rate of false alarms: one in 1,000 runs.

Compares `sesame.evaluation.changes`, whose thresholds are fixed, with XDMoD's rule (a run outside
the mean and a multiple of the standard deviation of the first 20 runs) and with a plain CUSUM of
the runs standardised by these. The thresholds of the other two are chosen here for each noise
anew, which needs knowledge that a site does not have: it favours them. The change begins after
run 20 + BEFORE. A second table has how often the interval of a change's size holds it. With
`--series FILE` (a number a line) the three say what they find there, the other two with XDMoD's 3
standard deviations and the threshold that is right for normal noise.
"""

from __future__ import annotations

import argparse
import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from sesame.evaluation.alarms import FIRST_RUNS, first_alarms
from sesame.evaluation.changes import changes, shift

RATE = 1000  # runs for one false alarm
BEFORE = 80
MOST_RUNS = 400  # after the change; later detections count as this
SHIFTS = (1.0, 2.0, 3.0)
CORRELATIONS = (0.0, 0.2, 0.5, 0.8)
RUNS_AROUND = ((100, 100), (100, 20), (30, 10), (15, 12))  # a change
DRIFT = 0.05  # standard deviations a run
Values = np.ndarray[Any, Any]
Noise = Callable[[np.random.Generator, int], Values]
Detector = Callable[[Values], int | None]  # the run of the alarm


def normal(rng: np.random.Generator, runs: int) -> Values:
    return rng.standard_normal(runs)


def skewed(rng: np.random.Generator, runs: int) -> Values:
    """Log-normal with unit variance, like times that are disturbed upward."""
    scale = math.sqrt((math.e**0.5 - 1) * math.e**0.5)  # sigma² = 0.5
    return np.exp(rng.normal(0, math.sqrt(0.5), runs)) / scale


def outliers(rng: np.random.Generator, runs: int) -> Values:
    """Normal, with 3 % of runs up to 10 standard deviations off, upward."""
    off = np.where(rng.random(runs) < 0.03, rng.uniform(4, 10, runs), 0)
    return rng.standard_normal(runs) + off


def autoregressive(rng: np.random.Generator, runs: int, correlation: float) -> Values:
    """Of first order, with unit variance."""
    steps = math.sqrt(1 - correlation**2) * rng.standard_normal(runs)
    values = np.empty(runs)
    value = rng.standard_normal()
    for run in range(runs):
        value = correlation * value + steps[run]
        values[run] = value
    return values


def autocorrelated(rng: np.random.Generator, runs: int) -> Values:
    return autoregressive(rng, runs, 0.4)


def sesame(values: Values) -> int | None:
    found = first_alarms([values])[0]
    return None if found is None else found[1]


def _standardised(values: Values) -> Values:
    first = values[:FIRST_RUNS]
    return (values[FIRST_RUNS:] - first.mean()) / first.std(ddof=1)


def _first_over(scores: Values, threshold: float) -> int | None:
    over = np.flatnonzero(scores > threshold)
    return FIRST_RUNS + int(over[0]) if len(over) else None


def rule(threshold: float) -> Detector:
    """XDMoD's: alarms at a run that is `threshold` standard deviations off."""
    return lambda values: _first_over(np.abs(_standardised(values)), threshold)


def plain_cusum(threshold: float) -> Detector:
    """Page's sums of standardised runs, reference value 0.5."""

    def page(steps: Values) -> Values:
        total = np.cumsum(steps)
        return total - np.minimum(np.minimum.accumulate(total), 0)

    def detect(values: Values) -> int | None:
        scores = _standardised(values)
        return _first_over(np.maximum(page(scores - 0.5), page(-scores - 0.5)), threshold)

    return detect


def false_alarms(detect: Detector, noise: Noise, runs: int, seed: int) -> float:
    """Alarms in 1,000 runs of a series of which nothing changes; each detector runs until its
    alarm, at most 1,000 runs, then another takes over."""
    rng = np.random.default_rng(seed)
    alarms = done = 0
    while done < runs:
        at = detect(noise(rng, FIRST_RUNS + RATE))
        done += RATE if at is None else at - FIRST_RUNS + 1
        alarms += at is not None
    return 1000 * alarms / done


def coverage(correlation: float, runs: tuple[int, int], trials: int) -> float:
    """How often the interval of a shift by one standard deviation holds it, with so many runs
    before and after."""
    rng, held = np.random.default_rng(4), 0
    for _ in range(trials):
        values = autoregressive(rng, sum(runs), correlation)
        found = shift(values[: runs[0]], values[runs[0] :] + 1)
        held += found.low <= 1 <= found.high
    return held / trials


def confirmed(correlation: float, trials: int) -> tuple[int, int, int, int]:
    """Of series of 200 runs with a step of one standard deviation in the middle: how many have a
    confirmed change within 15 runs of it, and of how many of these the interval holds it. Of a
    fifth as many series of 1,000 runs without a change: alarms, and how many are confirmed."""
    rng = np.random.default_rng(7)
    near = held = 0
    for _ in range(trials):
        values = autoregressive(rng, 200, correlation)
        values[100:] += 1
        for one in changes(values):
            if one.is_confirmed and abs(one.first_after - 100) <= 15:
                near += 1
                held += one.size.low <= 1 <= one.size.high
    alarms = [
        one.is_confirmed
        for _ in range(trials // 5)
        for one in changes(autoregressive(rng, 1000, correlation))
    ]
    return near, held, len(alarms), sum(alarms)


def intervals(trials: int) -> None:
    heads = (f"{correlation:g}".rjust(7) for correlation in CORRELATIONS)
    print("interval of a shift holds it, correlation:", *heads)
    for runs in RUNS_AROUND:
        shares = (100 * coverage(correlation, runs, trials) for correlation in CORRELATIONS)
        text = f"{runs[0]} runs before, {runs[1]} after"
        print(text.rjust(41), *(f"{one:.1f} %".rjust(7) for one in shares), flush=True)


def calibrated(kind: Callable[[float], Detector], noise: Noise, runs: int) -> float:
    low, high = 1.0, 60.0
    for _ in range(10):
        middle = math.sqrt(low * high)
        many = false_alarms(kind(middle), noise, runs, 1) > 1
        low, high = (middle, high) if many else (low, middle)
    return math.sqrt(low * high)


def runs_to_detection(
    detect: Detector, noise: Noise, change: Callable[[Values], Values], trials: int
) -> float:
    """The mean, over series without a false alarm before the change."""
    rng, delays = np.random.default_rng(2), []
    begin = FIRST_RUNS + BEFORE
    after = np.arange(1, MOST_RUNS + 1)
    while len(delays) < trials:
        values = noise(rng, begin + MOST_RUNS)
        values[begin:] += change(after)
        at = detect(values)
        if at is None:
            delays.append(MOST_RUNS)
        elif at >= begin:
            delays.append(at - begin + 1)
    return float(np.mean(delays))


def table(runs: int, trials: int) -> None:
    print(f"{'noise':15} {'detector':12} {'threshold':>9} {'false':>6}", end=" ")
    print(*(f"{size:g} sd".rjust(6) for size in SHIFTS), "drift".rjust(6))
    for noise in (normal, skewed, outliers, autocorrelated):
        detectors: list[tuple[str, str, Detector]] = [("Sesame", "fixed", sesame)]
        for name, kind in (("XDMoD rule", rule), ("plain CUSUM", plain_cusum)):
            threshold = calibrated(kind, noise, runs)
            detectors.append((name, f"{threshold:.2f}", kind(threshold)))
        for name, shown, detect in detectors:
            alarms = false_alarms(detect, noise, runs, 3)
            delays = [
                runs_to_detection(detect, noise, lambda _, s=size: s, trials) for size in SHIFTS
            ]
            delays.append(runs_to_detection(detect, noise, lambda run: DRIFT * run, trials))
            print(f"{noise.__name__:15} {name:12} {shown:>9} {alarms:6.2f}", end=" ")
            print(*(f"{delay:6.1f}" for delay in delays), flush=True)


def report(path: Path) -> None:
    values = np.array([float(line) for line in path.read_text().split()])
    print(f"{path.name}: {len(values)} runs; positions count from 0")
    for found in changes(values):
        sure = "confirmed" if found.is_confirmed else "not confirmed"
        print(
            f"Sesame: first run after the change {found.first_after}, alarm at "
            f"{found.detected_at}, {found.before:g} to {found.after:g}, {sure}"
        )
    for name, detect in (("XDMoD rule, 3 sd", rule(3)), ("plain CUSUM", plain_cusum(6.9))):
        print(f"{name}: alarm at {detect(values)}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=200_000, help="to count false alarms")
    parser.add_argument(
        "--trials",
        type=int,
        default=400,
        help="series for each mean delay; 5 times as many for each interval",
    )
    parser.add_argument("--series", type=Path, help="a file of numbers, one a line")
    options = parser.parse_args()
    if options.series is not None:
        report(options.series)
    else:
        table(options.runs, options.trials)
        intervals(5 * options.trials)
        for correlation in CORRELATIONS:
            near, held, alarms, sure = confirmed(correlation, options.trials)
            print(
                f"correlation {correlation:g}: of {options.trials} steps {near} found and "
                f"confirmed, {held} intervals hold them; of {alarms} false alarms {sure} confirmed"
            )


if __name__ == "__main__":
    main()
