"""Questions to a node model: factorial experiments, sweeps, and advice within limits.

Every run of a study has the same random numbers (`predict`), so that settings are compared under
the same load, and the same seed gives the same table.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sesame.errors import InputError
from sesame.measurement.defaults import MOST_IN_BATCH, SHORTEST_INTERVAL_S
from sesame.overhead.distributions import format_seconds, parse_seconds
from sesame.overhead.experiments import (
    Analysis,
    Design,
    Factor,
    analyse,
    fractional_design,
)
from sesame.overhead.model import BATCH, FORWARD, NO_PERIOD_HINT, SETTINGS, NodeModel
from sesame.overhead.prediction import FIGURES, Prediction, mean_of
from sesame.overhead.simulate import LONGEST_CHOSEN, chosen_seconds, predict
from sesame.settings import setting
from sesame.trust import Doubt, Estimate, Reason

Settings = Mapping[str, str]
Progress = Callable[[str], None]
MOST_POINTS = 200
STEPS = 6  # of a range of times
RANGE = re.compile(r"(.+?)\.\.(.+)")
# Quick looks of the search, before a prediction at full length.
LOOKS = 4
PERIODS_OF_LOOK, MESSAGES_OF_LOOK = 200, 20
LONGEST_LOOK_S, SHORTEST_LOOK_S = 400.0, 5.0
BATCH_SIZES = (4, 16, 64, 256)
SHORTEST_PERIOD, LONGEST_PERIOD = 1e-3, 100.0
PERIODS_IN_TEN = 4
# A batch of a daemon's timer is full after this part of the latency; the rest is for handling it.
FILLING = 0.9


@dataclass(frozen=True)
class Run:
    """How a study simulates each of its settings; as the parameters of `predict`. Settings that are
    compared are simulated equally long."""

    seconds: float | None = None
    replications: int = 50
    seed: int = 1
    workers: int | None = None

    def predict(self, model: NodeModel, *, slowdown: bool = True) -> Prediction:
        return predict(
            model, self.seconds, self.replications, self.seed, self.workers, slowdown=slowdown
        )


@dataclass(frozen=True)
class Point:
    """A setting and what is predicted for it."""

    settings: dict[str, str]
    prediction: Prediction

    def as_json(self) -> dict[str, Any]:
        return {"settings": self.settings, **self.prediction.as_json()}


@dataclass(frozen=True)
class FactorStudy:
    """The runs of a factorial experiment and an analysis for each figure."""

    design: Design
    points: tuple[Point, ...]
    analyses: dict[str, Analysis]
    is_logarithmic: bool

    def as_json(self) -> dict[str, Any]:
        return {
            "factors": [[one.name, one.low, one.high] for one in self.design.factors],
            "generators": list(self.design.generators),
            "logarithms": self.is_logarithmic,
            "runs": [point.as_json() for point in self.points],
            "analyses": {name: one.as_json() for name, one in self.analyses.items()},
        }


def check_figures(names: Sequence[str]) -> None:
    """Raises InputError for a name that is no figure of a prediction, and without any."""
    if not names:
        raise InputError(
            f"{setting('figures')}: expected at least one figure, such as daemon_cpu",
        )
    for name in names:
        if name not in FIGURES:
            raise InputError(f"no figure is called {name}, expected one of {', '.join(FIGURES)}")


def study_factors(
    model: NodeModel,
    factors: Sequence[Factor],
    figures: Sequence[str],
    run: Run,
    *,
    fraction: int = 0,
    confidence: float = 0.90,
    is_logarithmic: bool = False,
    progress: Progress = lambda _: None,
) -> FactorStudy:
    """A 2^(k - fraction) r experiment. Raises InputError for unknown factors, figures or levels,
    and for logarithms of a figure that can be 0."""
    check_figures(figures)
    design = fractional_design(factors, fraction)
    settings = design.settings()
    models = [model.with_settings(one) for one in settings]  # all are checked before the first run
    for factor in factors:
        if len({_value(one, factor.name) for one in models}) < 2:
            raise InputError(f"{factor.name}: both levels mean the same, {factor.low}")
    _refuse_ignored(models, [factor.name for factor in factors])
    points = []
    for point in _predicted(models, settings, run, progress, "slowdown" in figures):
        _check_finite(point, figures)
        points.append(point)
    analyses = {}
    for figure in figures:
        responses = np.array([getattr(point.prediction, figure) for point in points])
        if is_logarithmic:
            responses = _logarithms(figure, responses)
        analyses[figure] = analyse(design, responses, confidence, is_paired=True)
    return FactorStudy(design, tuple(points), analyses, is_logarithmic)


def _value(model: NodeModel, name: str) -> object:
    return model.setting(name)


BATCH_SETTINGS = ("batch_size", "batch_age")


def ignored(models: Sequence[NodeModel], names: Sequence[str]) -> list[Doubt]:
    """A doubt for each of the settings `names` that changes nothing in any of the models."""
    if any(model.daemon.policy == BATCH for model in models):
        return []
    hint = f"a daemon with {setting('settings', {'policy': BATCH})} sends batches"
    return [
        Doubt(
            Reason.INCOMPLETE_INPUT,
            f"{name} changes nothing: policy {FORWARD} sends a message for each sample",
            hint,
        )
        for name in BATCH_SETTINGS
        if name in names
    ]


def _refuse_ignored(models: Sequence[NodeModel], names: Sequence[str]) -> None:
    for doubt in ignored(models, names):
        raise InputError(doubt.text, hint=doubt.hint)


def _check_finite(point: Point, figures: Sequence[str]) -> None:
    found = point.prediction
    for figure in figures:
        if not np.isfinite(getattr(found, figure)).all():
            words = " ".join(f"{name}={value}" for name, value in point.settings.items())
            why = "no sample was received" if not found.received.all() else "it is not finite"
            raise InputError(
                f"{figure} does not exist in the run {words}: {why}",
                hint=f"leave it out of {setting('figures')}, or simulate for more "
                f"{setting('seconds')}",
            )


def _logarithms(figure: str, responses: NDArray[np.float64]) -> NDArray[np.float64]:
    if not (responses > 0).all():
        raise InputError(
            f"{figure} is 0 in a run, so it has no logarithm",
            hint=f"leave out {setting('log', True)}",
        )
    return np.log(responses)


def _predicted(
    models: Sequence[NodeModel],
    settings: Sequence[Settings],
    run: Run,
    progress: Progress,
    slowdown: bool,
) -> Iterator[Point]:
    if run.seconds is None:
        run = replace(run, seconds=chosen_seconds(models))
    for number, (model, chosen) in enumerate(zip(models, settings, strict=True), 1):
        words = " ".join(f"{name}={value}" for name, value in chosen.items())
        progress(f"{number} of {len(models)}: {words}")
        yield Point(dict(chosen), run.predict(model, slowdown=slowdown))


def parse_levels(text: str) -> tuple[str, list[str]]:
    """A setting and its values, of "processes=1..32" (doubled steps), "sampling_period=5ms..50ms"
    (equal ratios), "daemons=1,2,4" or, for a choice, its name alone. Raises InputError."""
    name, equals, values = text.partition("=")
    if not equals:
        if name == "policy":
            return name, [FORWARD, BATCH]
        raise InputError(f'expected SETTING=FIRST..LAST or SETTING=A,B,…, got "{text}"')
    if name not in SETTINGS:
        raise InputError(f"unknown setting {name}, expected one of {', '.join(SETTINGS)}")
    found = RANGE.fullmatch(values)
    levels = _range(name, found[1], found[2]) if found else values.split(",")
    levels = [level.strip() for level in levels]
    if not all(levels) or len(set(levels)) != len(levels):
        raise InputError(f'{name}: expected different values, got "{values}"')
    if len(levels) > MOST_POINTS:
        raise InputError(f"{name}: expected at most {MOST_POINTS} values, got {len(levels)}")
    return name, levels


def _range(name: str, first: str, last: str) -> list[str]:
    if first.isdecimal() and last.isdecimal():
        low, high = int(first), int(last)
        if not 0 < low < high or high > 10**9:
            raise InputError(
                f"{name}: expected a range from a smaller to a larger number, from 1 to 10^9, "
                f"got {first}..{last}",
                hint="steps double, so 0 is given by itself: 0,1,2,4" if low == 0 else None,
            )
        doubled = [low * 2**step for step in range(math.floor(math.log2(high / low)) + 1)]
        return [str(value) for value in dict.fromkeys([*doubled, high])]
    shortest, longest = parse_seconds(first), parse_seconds(last)
    if not 0 < shortest < longest:
        raise InputError(f"{name}: expected a range from a shorter to a longer time above 0")
    return [_round_time(value) for value in np.geomspace(shortest, longest, STEPS)]


def _round_time(seconds: float) -> str:
    return format_seconds(float(f"{seconds:.3g}"))


def sweep(
    model: NodeModel,
    varied: str,
    values: Sequence[str],
    by: tuple[str, Sequence[str]] | None,
    run: Run,
    progress: Progress = lambda _: None,
) -> dict[str, list[Point]]:
    """A curve of points for each value of `by` ("" without it). Raises InputError."""
    name, groups = by if by is not None else ("", [""])
    if name == varied:
        raise InputError(f"{varied}: varied and compared at the same time")
    settings = [
        ({name: group} if name else {}) | {varied: value} for group in groups for value in values
    ]
    models = [model.with_settings(one) for one in settings]
    _refuse_ignored(models, [varied, name])
    points = list(_predicted(models, settings, run, progress, True))
    length = len(values)
    return {group: points[at * length : (at + 1) * length] for at, group in enumerate(groups)}


@dataclass(frozen=True)
class Limits:
    """`cost`: share of a processor that daemons and the writing of samples may take; `latency`:
    seconds after which 99 % of the samples must have been received."""

    cost: float
    latency: float


@dataclass(frozen=True)
class Tried:
    """A setting that was looked at. The estimates' upper ends are compared with the limits."""

    settings: dict[str, str]
    cost: Estimate  # share of a processor
    latency: Estimate  # s, 99 %
    keeps_cost: bool
    keeps_latency: bool
    doubts: tuple[Doubt, ...]

    @property
    def keeps_both(self) -> bool:
        return self.keeps_cost and self.keeps_latency

    def as_json(self) -> dict[str, Any]:
        return {
            "settings": self.settings,
            "cost": self.cost.as_json(),
            "latency_p99_s": self.latency.as_json(),
            "keeps_cost": self.keeps_cost,
            "keeps_latency": self.keeps_latency,
        }


@dataclass(frozen=True)
class Advice:
    """`chosen` is None if no setting keeps to both limits; then `why` says what is in the way."""

    chosen: Tried | None
    prediction: Prediction | None
    tried: tuple[Tried, ...]
    why: str


def advise(
    model: NodeModel,
    limits: Limits,
    run: Run,
    periods: Sequence[float] | None = None,
    progress: Progress = lambda _: None,
) -> Advice:
    """The shortest sampling period with a policy and a batch size that keep to both limits, the
    cheapest of those. Raises InputError for limits that no setting can have."""
    if not model.is_instrumented or model.setting("sampling_period") is None:
        raise InputError(
            "the model has no sampling period, which advice would choose", hint=NO_PERIOD_HINT
        )
    if not 0 < limits.cost < math.inf or not 0 < limits.latency < math.inf:
        raise InputError("expected limits above 0")
    tried: list[Tried] = []
    has_timer = model.daemon.source == "timer"
    for period in sorted(periods or _default_periods(has_timer)):
        here = []
        for settings in _settings_at(period, limits, has_timer):
            progress(f"sampling_period={settings['sampling_period']} policy={settings['policy']}")
            here.append(_look(model, settings, limits, run, period))
        tried += here
        for one in sorted((one for one in here if one.keeps_both), key=lambda one: one.cost.value):
            asked = model.with_settings(one.settings)
            prediction = _longer(run, period, asked).predict(asked)
            confirmed = _judged(one.settings, prediction, limits)
            if confirmed.keeps_both and prediction.is_steady:
                return Advice(confirmed, prediction, tuple(tried), "")
    return Advice(None, None, tuple(tried), _why_none(tried, limits))


def _default_periods(has_timer: bool) -> list[float]:
    tens = math.log10(LONGEST_PERIOD / SHORTEST_PERIOD)
    steps = round(tens * PERIODS_IN_TEN) + 1
    periods = [float(one) for one in np.geomspace(SHORTEST_PERIOD, LONGEST_PERIOD, steps)]
    return [one for one in periods if one >= SHORTEST_INTERVAL_S] if has_timer else periods


def _settings_at(period: float, limits: Limits, has_timer: bool) -> Iterator[dict[str, str]]:
    """Forwarding, and batches that are sent when their oldest sample has half of the latency. A
    daemon with a timer, as sesamed, has no limit of age: its batches are so small that they are
    full in time."""
    base = {"sampling_period": _round_time(period)}
    yield base | {"policy": FORWARD}
    if has_timer:
        full = int(FILLING * limits.latency / period)
        sizes = {size for size in (*BATCH_SIZES, full) if 1 < size <= min(full, MOST_IN_BATCH)}
        for size in sorted(sizes):
            yield base | {"policy": BATCH, "batch_size": str(size), "batch_age": "none"}
        return
    for size in BATCH_SIZES:
        age = _round_time(limits.latency / 2)
        yield base | {"policy": BATCH, "batch_size": str(size), "batch_age": age}


def _longer(run: Run, period: float, model: NodeModel) -> Run:
    """At least so long that many samples are taken and messages sent."""
    asked = run.seconds or chosen_seconds([model])
    seconds = max(asked, min(PERIODS_OF_LOOK * period, 1e5))
    return Run(seconds, max(run.replications, 2), run.seed, run.workers)


def _look(
    model: NodeModel, settings: dict[str, str], limits: Limits, run: Run, period: float
) -> Tried:
    asked = model.with_settings(settings)
    samples = min(max(PERIODS_OF_LOOK * period, SHORTEST_LOOK_S), LONGEST_LOOK_S)
    messages = MESSAGES_OF_LOOK * (asked.message_interval or 0.0)
    seconds = max(samples, 3 * period, min(messages, LONGEST_CHOSEN))
    quick = Run(seconds, LOOKS, run.seed, run.workers)
    return _judged(settings, quick.predict(asked, slowdown=False), limits)


def _judged(settings: dict[str, str], prediction: Prediction, limits: Limits) -> Tried:
    taken = (prediction.daemon_cpu + prediction.writing_cpu) / prediction.seconds
    cost = mean_of(taken, 0.95, prediction.doubts)
    latency = prediction.estimate("latency_p99")
    return Tried(
        settings,
        cost,
        latency,
        cost.high <= limits.cost,
        latency.high <= limits.latency,  # False where nothing was received (NaN)
        prediction.doubts,
    )


def _why_none(tried: Sequence[Tried], limits: Limits) -> str:
    cost_text, latency_text = f"{100 * limits.cost:g} %", format_seconds(limits.latency)
    cheap = [one for one in tried if one.keeps_cost]
    fast = [one for one in tried if one.keeps_latency]
    if not cheap:
        least = min(tried, key=lambda one: one.cost.value)
        return (
            f"every setting costs more than {cost_text} of a processor; the cheapest "
            f"({_words(least)}) costs {100 * least.cost.value:.3g} %"
        )
    if not fast:
        received = [one for one in tried if not math.isnan(one.latency.value)]
        if not received:
            return "no sample was received with any setting"
        least = min(received, key=lambda one: one.latency.value)
        return (
            f"no setting delivers 99 % of the samples within {latency_text}; the fastest "
            f"({_words(least)}) needs {least.latency.value:.3g} s"
        )
    nearest = min(fast, key=lambda one: one.cost.value)
    return (
        f"what keeps to {cost_text} of a processor is later than {latency_text}; the cheapest "
        f"that is in time ({_words(nearest)}) costs {100 * nearest.cost.value:.3g} %"
    )


def _words(one: Tried) -> str:
    return ", ".join(f"{name} {value}" for name, value in one.settings.items())
