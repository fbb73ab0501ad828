"""Fits distributions to measured lengths of time, and judges them.

    fitted = fit_lengths(lengths)         # seconds, in the order in which they were measured
    fitted.distribution                   # for a node model
    fitted.doubts                         # why it may mislead

Families are fitted by maximum likelihood (Law and Kelton, Simulation Modeling and Analysis,
chapter 6) and chosen by the Bayesian information criterion. The choice is judged by the distances
of Kolmogorov and Smirnov and of Anderson and Darling. Since its parameters come from the same data,
the probabilities of these distances come from fits to random data of the distribution (parametric
bootstrap). Needs scipy (the extra `overhead`).
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import optimize, special

from sesame.datasets.describe import count_of
from sesame.errors import InputError
from sesame.overhead.densities import Array, cdf, draw, log_density
from sesame.overhead.distributions import (
    Distribution,
    constant,
    empirical,
    exponential,
    gamma,
    lognormal,
    mixture,
    pareto,
    weibull,
)
from sesame.trust import Doubt, Reason

FEWEST = 30  # lengths, for a fit without doubt
MOST_FITTED = 5_000  # lengths; of more a random sample is fitted
MOST_JUDGED = 500  # lengths in a test: with more, tests refuse every simple family
BOOTSTRAPS = 99
SIGNIFICANCE = 0.05
COARSE = 0.08  # distance of distribution functions from which quantiles are used instead
MEAN_ERROR = 0.1  # of a fit; with more, loads would be wrong
QUANTILES = 101
EM_STEPS, EM_PRECISION = 100, 1e-6
LAGS = 20
DEPENDENT = 0.1  # autocorrelation that changes queues


@dataclass(frozen=True)
class Fit:
    """A family fitted to lengths, with the criteria by which it is chosen (smaller is better)."""

    distribution: Distribution
    log_likelihood: float
    parameters: int
    aic: float
    bic: float

    @property
    def family(self) -> str:
        """With the family of the components: "mixture of exponential"."""
        parts = self.distribution.components
        name = self.distribution.family
        return f"{name} of {parts[0].family}" if parts else name


@dataclass(frozen=True)
class Goodness:
    """Distances of the data from a fitted distribution, and how probable larger ones are."""

    ks: float
    ks_probability: float
    ad: float
    ad_probability: float
    samples: int

    @property
    def is_refused(self) -> bool:
        return min(self.ks_probability, self.ad_probability) < SIGNIFICANCE


@dataclass(frozen=True)
class Fitted:
    """Lengths, the fits in order of their criterion, and the distribution to simulate."""

    lengths: Array  # s, in the order of measurement, without zeros
    zeros: int  # lengths of 0, which no family has
    fits: tuple[Fit, ...]  # to the others
    goodness: Goodness | None  # of the first fit
    # The first fit, or quantiles where it is too far from the data; and zeros as often as measured.
    distribution: Distribution
    autocorrelation: tuple[float, ...]  # at lags 1, 2, …
    doubts: tuple[Doubt, ...]

    @property
    def mean(self) -> float:
        return float(self.lengths.mean())

    @property
    def described(self) -> str:
        """The distribution in words that fit into a line of a table."""
        one, zeros = self.distribution, ""
        if self.zeros:
            zeros = f"0 in {one.parameters[0]:.1%} of cases, else "
            one = one.components[1]
        return zeros + (str(one) if one.family != "empirical" else "measured quantiles")

    @property
    def standard_deviation(self) -> float:
        return float(self.lengths.std(ddof=1)) if len(self.lengths) > 1 else 0.0

    def as_json(self) -> dict[str, Any]:
        goodness = self.goodness
        return {
            "samples": len(self.lengths),
            "zeros": self.zeros,
            "mean_s": self.mean,
            "standard_deviation_s": self.standard_deviation,
            "least_s": float(self.lengths.min()),
            "most_s": float(self.lengths.max()),
            "distribution": self.described,
            "fits": [
                {"distribution": str(one.distribution), "aic": one.aic, "bic": one.bic}
                for one in self.fits
            ],
            "kolmogorov_smirnov": None
            if goodness is None
            else {"distance": goodness.ks, "probability": goodness.ks_probability},
            "anderson_darling": None
            if goodness is None
            else {"distance": goodness.ad, "probability": goodness.ad_probability},
            "autocorrelation": list(self.autocorrelation),
            "doubts": [doubt.as_json() for doubt in self.doubts],
        }


def fit_lengths(lengths: Sequence[float] | Array, seed: int = 1) -> Fitted:
    """Raises InputError for lengths that are negative or not finite, or if there are none above
    0."""
    everything = np.asarray(lengths, float)
    if not np.isfinite(everything).all() or (everything < 0).any():
        raise InputError("a length of time is negative or not finite")
    values = everything[everything > 0]
    if len(values) == 0:
        raise InputError("no lengths of time above 0 to fit a distribution to")
    zeros = len(everything) - len(values)
    random = np.random.default_rng(seed)
    if np.ptp(values) == 0:
        chosen = _with_zeros(constant(float(values[0])), zeros, len(values))
        return Fitted(values, zeros, (), None, chosen, (), tuple(_count_doubts(len(values))))
    sample = values if len(values) <= MOST_FITTED else random.choice(values, MOST_FITTED, False)
    fits = tuple(sorted(fit_families(sample), key=lambda one: one.bic))
    goodness = judge(fits[0], sample, random)
    correlations = autocorrelation(values)
    doubts = [*_count_doubts(len(values)), *_dependence_doubts(correlations, len(values))]
    chosen = fits[0].distribution
    why = _why_unfit(fits[0], goodness, sample, values) if len(values) >= FEWEST else None
    if why is not None:
        chosen = quantiles_of(values)
        doubts.append(Doubt(Reason.MODEL_LIMIT, why, "the measured quantiles are used instead"))
    chosen = _with_zeros(chosen, zeros, len(values))
    return Fitted(values, zeros, fits, goodness, chosen, correlations, tuple(doubts))


def _with_zeros(chosen: Distribution, zeros: int, others: int) -> Distribution:
    """Without the zeros, the mean would be too long."""
    return mixture(zeros / (zeros + others), constant(0.0), chosen) if zeros else chosen


def _why_unfit(fit: Fit, goodness: Goodness, sample: Array, values: Array) -> str | None:
    """Why the fit is too far from the data to be simulated: its shape, or a tail that is far beyond
    the data and gives it another mean. Few lengths are far from their own family by chance."""
    distance = ks_distance(fit.distribution, sample)
    by_chance = len(sample) <= MOST_JUDGED and goodness.ks_probability >= SIGNIFICANCE
    if distance > COARSE and not by_chance:
        return f"no family fits: the nearest, {fit.family}, is {100 * distance:.0f} % away"
    ratio = fit.distribution.mean / float(values.mean())
    if abs(ratio - 1) > MEAN_ERROR:
        return (
            f"the mean of the nearest family, {fit.family}, is {ratio:.2f} times the measured one"
        )
    return None


def quantiles_of(values: Array) -> Distribution:
    """The measured quantiles, with the measured mean: the table has straight lines between its
    quantiles, and the last one, with the longest lengths, would be too long. Its end is moved, and
    where that is not enough all are scaled."""
    table = np.quantile(values, np.linspace(0, 1, QUANTILES))
    mean, step = float(values.mean()), 1 / (QUANTILES - 1)
    over = float(np.trapezoid(table, dx=step)) - mean
    table[-1] = max(table[-1] - 2 * over / step, table[-2])
    table *= mean / float(np.trapezoid(table, dx=step))
    return empirical([float(one) for one in table])


def fit_families(values: Array) -> list[Fit]:
    """Maximum-likelihood fits of all families that describe a finite mean; values above 0."""
    fits = []
    for count, function in FAMILIES.values():
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("error", RuntimeWarning)
                distribution = function(values)
        except (InputError, ArithmeticError, ValueError, RuntimeError, RuntimeWarning):
            continue  # no maximum, or one without a finite mean
        likelihood = float(log_density(distribution, values).sum())
        if math.isfinite(likelihood):
            bic = count * math.log(len(values)) - 2 * likelihood
            fits.append(Fit(distribution, likelihood, count, 2 * count - 2 * likelihood, bic))
    return fits


def _exponential(values: Array) -> Distribution:
    return exponential(float(values.mean()))


def _lognormal(values: Array) -> Distribution:
    logs = np.log(values)
    return _lognormal_of(float(logs.mean()), float(logs.var()))


def _lognormal_of(location: float, variance: float) -> Distribution:
    mean = math.exp(location + variance / 2)
    return lognormal(mean, mean * math.sqrt(math.expm1(variance)))


def _weibull(values: Array) -> Distribution:
    """The shape solves an equation without the scale (Law and Kelton, section 6.2.2)."""
    relative = values / values.max()  # powers of it cannot overflow
    logs = np.log(relative)
    mean_log = logs.mean()

    def equation(shape: float) -> float:
        powers = relative**shape
        return float((powers * logs).sum() / powers.sum() - 1 / shape - mean_log)

    shape = float(optimize.brentq(equation, 0.05, 200))
    scale = float(values.max() * (relative**shape).mean() ** (1 / shape))
    return weibull(shape, scale)


def _gamma(values: Array) -> Distribution:
    mean = float(values.mean())
    gap = math.log(mean) - float(np.log(values).mean())

    def equation(shape: float) -> float:
        return math.log(shape) - float(special.digamma(shape)) - gap

    shape = float(optimize.brentq(equation, 1e-3, 1e6))
    return gamma(shape, mean / shape)


def _pareto(values: Array) -> Distribution:
    least = float(values.min())
    return pareto(float(len(values) / np.log(values / least).sum()), least)


def _two_exponentials(values: Array) -> Distribution:
    """By expectation maximisation, from the means of the lower and the upper half."""
    middle = np.median(values)
    means = np.array([values[values <= middle].mean(), values[values > middle].mean()])

    def logs(shares: Array, parts: Array) -> Array:
        return np.asarray(np.log(shares) - np.log(parts[0]) - values[:, None] / parts[0])

    def maximise(weights: Array) -> Array:
        return np.array([(weights * values[:, None]).sum(axis=0) / weights.sum(axis=0)])

    shares, parts = _expectation_maximisation(logs, maximise, means[None, :])
    return mixture(float(shares[0]), *(exponential(float(mean)) for mean in parts[0]))


def _two_lognormals(values: Array) -> Distribution:
    """By expectation maximisation on logarithms. A component narrower than a hundredth of all is
    none: its likelihood would grow without limit."""
    data = np.log(values)[:, None]
    least = max(float(data.std()) * 1e-2, 1e-6)
    halves = np.sort(data[:, 0])
    low, high = np.array_split(halves, 2)
    start = np.array([[low.mean(), high.mean()], [low.std() + least, high.std() + least]])

    def logs(shares: Array, parts: Array) -> Array:
        deviations = (data - parts[0]) / parts[1]
        return np.asarray(np.log(shares) - np.log(parts[1]) - deviations**2 / 2)

    def maximise(weights: Array) -> Array:
        sums = weights.sum(axis=0)
        means = (weights * data).sum(axis=0) / sums
        variances = (weights * (data - means) ** 2).sum(axis=0) / sums
        return np.array([means, np.maximum(np.sqrt(variances), least)])

    shares, parts = _expectation_maximisation(logs, maximise, start)
    components = (_lognormal_of(float(m), float(s) ** 2) for m, s in parts.T)
    return mixture(float(shares[0]), *components)


def _expectation_maximisation(
    logs: Callable[[Array, Array], Array], maximise: Callable[[Array], Array], parts: Array
) -> tuple[Array, Array]:
    """Shares and parameters of two components. Raises ArithmeticError if one vanishes."""
    shares, before = np.array([0.5, 0.5]), -math.inf
    for _ in range(EM_STEPS):
        joint = logs(shares, parts)
        total = np.logaddexp(joint[:, 0], joint[:, 1])
        weights = np.exp(joint - total[:, None])
        shares = weights.mean(axis=0)
        if shares.min() * len(weights) < 2:
            raise ArithmeticError("one component describes all")
        parts = maximise(weights)
        now = float(total.mean())
        if now - before < EM_PRECISION:
            break
        before = now
    return shares, parts


# Number of parameters and maximum-likelihood fit of each family.
FAMILIES: dict[str, tuple[int, Callable[[Array], Distribution]]] = {
    "exponential": (1, _exponential),
    "lognormal": (2, _lognormal),
    "weibull": (2, _weibull),
    "gamma": (2, _gamma),
    "pareto": (2, _pareto),
    "mixture of exponential": (3, _two_exponentials),
    "mixture of lognormal": (5, _two_lognormals),
}


def ks_distance(distribution: Distribution, values: Array) -> float:
    """The largest difference of the distribution function from that of the values."""
    ordered = np.sort(values)
    theory = cdf(distribution, ordered)
    steps = np.arange(len(ordered) + 1) / len(ordered)
    return float(max((steps[1:] - theory).max(), (theory - steps[:-1]).max()))


def ad_distance(distribution: Distribution, values: Array) -> float:
    """The statistic of Anderson and Darling, which weighs the tails."""
    theory = np.clip(cdf(distribution, np.sort(values)), 1e-12, 1 - 1e-12)
    count = len(values)
    weights = 2 * np.arange(1, count + 1) - 1
    return float(-count - (weights * (np.log(theory) + np.log1p(-theory[::-1]))).mean())


def judge(fit: Fit, values: Array, random: np.random.Generator) -> Goodness:
    """Tests the family with a parametric bootstrap (Stute, González Manteiga and Presedo Quindimil,
    Bootstrap based goodness-of-fit tests, 1993)."""
    if len(values) > MOST_JUDGED:
        values = random.choice(values, MOST_JUDGED, False)
    _, refit = FAMILIES[fit.family]
    try:
        fitted = refit(values)
    except (InputError, ArithmeticError, ValueError, RuntimeError):
        fitted = fit.distribution
    ks, ad = ks_distance(fitted, values), ad_distance(fitted, values)
    larger = np.zeros(2)
    done = 0
    for _ in range(BOOTSTRAPS):
        try:
            with np.errstate(all="ignore"):
                others = draw(fitted, len(values), random)
                again = refit(others)
        except (InputError, ArithmeticError, ValueError, RuntimeError):
            continue
        larger += [ks_distance(again, others) >= ks, ad_distance(again, others) >= ad]
        done += 1
    probabilities = (larger + 1) / (done + 1)
    return Goodness(ks, float(probabilities[0]), ad, float(probabilities[1]), len(values))


def autocorrelation(values: Array, lags: int = LAGS) -> tuple[float, ...]:
    """Correlations of lengths with those that come 1, 2, … later. Of their logarithms, since a few
    long ones would hide it."""
    logs = np.log(values)
    deviations: NDArray[np.float64] = logs - logs.mean()
    variance = float(deviations @ deviations)
    most = min(lags, len(values) // 4)
    if variance == 0:
        return ()
    return tuple(
        float(deviations[:-lag] @ deviations[lag:]) / variance for lag in range(1, most + 1)
    )


def _count_doubts(count: int) -> list[Doubt]:
    if count >= FEWEST:
        return []
    text = f"{count_of(count, 'length')}; {FEWEST} make a fit"
    return [Doubt(Reason.FEW_SAMPLES, text, "measure longer")]


def _dependence_doubts(correlations: Sequence[float], count: int) -> list[Doubt]:
    if not correlations:
        return []
    first = correlations[0]
    if abs(first) < max(DEPENDENT, 1.96 / math.sqrt(count)):
        return []
    effect = (
        "long requests follow each other, so real queues are longer than simulated ones"
        if first > 0
        else "long and short requests alternate, so real queues are shorter than simulated ones"
    )
    text = f"requests are not independent (autocorrelation {first:+.2f} at lag 1): {effect}"
    return [Doubt(Reason.MODEL_LIMIT, text)]
