"""Factorial experiments with two levels of each factor: designs, effects, allocation of variation.

    design = full_design(factors)                    # or fractional_design(factors, 1)
    analysis = analyse(design, responses)            # responses: one row for each run of the design
    analysis.effects                                 # effect, interval, share of the variation

After R. Jain, The Art of Computer Systems Performance Analysis (1991), chapters 17 to 19.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import reduce
from statistics import NormalDist
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sesame.errors import InputError
from sesame.overhead.prediction import student_quantile
from sesame.settings import setting
from sesame.trust import Doubt, Estimate, Reason

Array = NDArray[np.float64]
LETTERS = "ABCDEFGHJKLMNOPQ"  # I is the mean
MOST_FACTORS = 10
MOST_RUNS = 1024
# A logarithm of the responses must raise the log-likelihood by so much: half of the 95 % quantile
# of chi-squared with one degree of freedom (Box and Cox, 1964).
BETTER_BY = 1.92
FEWEST_RESIDUALS = 8  # for checks of the residuals
NORMAL_CORRELATION = 0.9  # of residuals with normal quantiles; below it they are not normal
SPREAD_CORRELATION = 0.5  # of the size of residuals with predicted responses
MEAN = "I"


@dataclass(frozen=True)
class Factor:
    """Something that an experiment varies, and its two levels, as given to the model."""

    name: str
    low: str
    high: str


@dataclass(frozen=True)
class Design:
    """The runs of an experiment: `signs` has a row for each run, a column for each factor, with -1
    for the low level and 1 for the high one. `generators` are the last factors as products of
    others; none in a full design."""

    factors: tuple[Factor, ...]
    signs: NDArray[np.int64]
    generators: tuple[str, ...] = ()

    @property
    def runs(self) -> int:
        return len(self.signs)

    @property
    def is_full(self) -> bool:
        return not self.generators

    def settings(self) -> list[dict[str, str]]:
        """The levels of each run by factor."""
        return [
            {
                factor.name: factor.high if sign > 0 else factor.low
                for factor, sign in zip(self.factors, row, strict=True)
            }
            for row in self.signs
        ]

    def contrasts(self) -> dict[str, NDArray[np.int64]]:
        """A column of signs for each effect that the design can tell apart, by its letters. The
        mean is I."""
        base = len(self.factors) - len(self.generators)
        columns = {MEAN: np.ones(self.runs, np.int64)}
        for word in _words(base):
            columns[word] = self._product(word)
        return columns

    def _product(self, word: str) -> NDArray[np.int64]:
        chosen = [LETTERS.index(letter) for letter in word]
        return np.asarray(np.prod(self.signs[:, chosen], axis=1), np.int64)

    def aliases(self) -> dict[str, list[str]]:
        """For each contrast the other effects that it cannot be distinguished from, up to
        three factors; empty lists in a full design."""
        contrasts = self.contrasts()
        by_column = {tuple(column): name for name, column in contrasts.items()}
        found: dict[str, list[str]] = {name: [] for name in contrasts}
        if self.is_full:
            return found
        for word in _words(len(self.factors), most=3):
            name = by_column[tuple(self._product(word))]
            if name != word:
                found[name].append(word)
        return found

    def described(self, word: str) -> str:
        """The factors of an effect such as BD, by their names."""
        if word == MEAN:
            return "mean"
        return " × ".join(self.factors[LETTERS.index(letter)].name for letter in word)


@dataclass(frozen=True)
class Effect:
    """The effect of a factor or an interaction: by how much the high level (signs' product 1)
    raises the mean response. `share` of the total variation, from 0 to 1. Without replications the
    interval is empty (equal ends) and `is_significant` is None."""

    word: str
    name: str
    aliases: tuple[str, ...]
    effect: Estimate
    share: float
    is_significant: bool | None


@dataclass(frozen=True)
class Analysis:
    """Effects in order of their share, the mean first; and what makes them doubtful."""

    mean: Estimate
    effects: tuple[Effect, ...]
    error_share: float
    total_variation: float
    replications: int
    confidence: float
    doubts: tuple[Doubt, ...]

    def share_of(self, word: str) -> float:
        return next(one.share for one in self.effects if one.word == word)

    def as_json(self) -> dict[str, Any]:
        return {
            "mean": self.mean.as_json(),
            "effects": [
                {
                    "factors": one.word,
                    "name": one.name,
                    "aliases": list(one.aliases),
                    "effect": one.effect.as_json(),
                    "variation_percent": 100 * one.share,
                    "is_significant": one.is_significant,
                }
                for one in self.effects
            ],
            "error_percent": 100 * self.error_share,
            "replications": self.replications,
            "confidence": self.confidence,
            "doubts": [doubt.as_json() for doubt in self.doubts],
        }


def parse_factors(texts: Sequence[str]) -> tuple[Factor, ...]:
    """Factors of texts such as "processes=1,32". Raises InputError."""
    factors = []
    for text in texts:
        name, equals, levels = text.partition("=")
        values = [level.strip() for level in levels.split(",")] if equals else []
        if not name or not equals or not all(values):
            raise InputError(f'expected FACTOR=LOW,HIGH, got "{text}"')
        if len(values) != 2 or values[0] == values[1]:
            count = len(set(values))
            raise InputError(
                f"{name}: expected two different levels, got {count}",
                hint=f"{name}=LOW,HIGH; `sesame overhead sweep` varies a setting in more steps",
            )
        factors.append(Factor(name.strip(), values[0], values[1]))
    names = [factor.name for factor in factors]
    for name in names:
        if names.count(name) > 1:
            raise InputError(f"{name}: this factor is given twice")
    return tuple(factors)


def full_design(factors: Sequence[Factor]) -> Design:
    """All 2^k combinations of levels, the first factor varying fastest. Raises InputError."""
    _check(factors, 0)
    return Design(tuple(factors), _all_signs(len(factors)))


def fractional_design(factors: Sequence[Factor], less: int) -> Design:
    """2^(k - less) runs. The last `less` factors are products of others, chosen so that effects are
    confounded with interactions of as many factors as possible (the highest resolution, and among
    those the fewest shortest words). Raises InputError."""
    _check(factors, less)
    if less == 0:
        return full_design(factors)
    base = len(factors) - less
    signs = _all_signs(base)
    # Words of one letter would be the factor itself.
    candidates = [word for word in _words(base) if len(word) > 1]
    if len(candidates) < less:
        raise InputError(
            f"{2**base} runs cannot tell {len(factors)} factors apart",
            hint=f"a fraction of at most 1/2^{max(less - 1, 0)}, or fewer factors",
        )
    new = LETTERS[base : len(factors)]
    words = max(
        itertools.combinations(reversed(candidates), less),
        key=lambda words: _quality(words, new),
    )
    added = [
        np.prod(signs[:, [LETTERS.index(letter) for letter in word]], axis=1) for word in words
    ]
    generators = tuple(f"{letter}={word}" for letter, word in zip(new, words, strict=True))
    return Design(tuple(factors), np.column_stack([signs, *added]), generators)


def analyse(
    design: Design, responses: Any, confidence: float = 0.90, *, is_paired: bool = False
) -> Analysis:
    """Effects with confidence intervals, and the share of the variation that each explains.

    `responses` has a row for each run of the design and a column for each replication. With one
    replication there are no intervals, which a doubt says. `is_paired`: replication i of all runs
    has the same random numbers. Then each replication gives each effect, and the interval is that
    of their mean; what replications have in common is no variation. Raises InputError.
    """
    values = np.atleast_2d(np.asarray(responses, float))
    if values.shape[0] != design.runs:
        values = values.reshape(design.runs, -1)
    if not np.isfinite(values).all():
        raise InputError("a response of the experiment is not a finite number")
    runs, replications = values.shape
    means = values.mean(axis=1)
    contrasts = design.contrasts()
    effects = {word: float(column @ means) / runs for word, column in contrasts.items()}
    common = values.mean(axis=0) - values.mean() if is_paired else np.zeros(replications)
    error = float(((values - means[:, None] - common) ** 2).sum())
    total = float(((values - values.mean() - common) ** 2).sum())
    independent = _half_width(error, runs, replications, confidence)
    halves = {
        word: _half_width_of_mean(column @ values / runs, confidence) if is_paired else independent
        for word, column in contrasts.items()
    }
    aliases = design.aliases()

    def estimate(word: str) -> Estimate:
        value = effects[word]
        return Estimate(value, value - halves[word], value + halves[word], replications)

    found = [
        Effect(
            word,
            design.described(word),
            tuple(aliases[word]),
            estimate(word),
            runs * replications * effects[word] ** 2 / total if total > 0 else 0.0,
            None if replications == 1 else abs(effects[word]) > halves[word],
        )
        for word in contrasts
        if word != MEAN
    ]
    found.sort(key=lambda one: -one.share)
    return Analysis(
        estimate(MEAN),
        tuple(found),
        error / total if total > 0 else 0.0,
        total,
        replications,
        confidence,
        tuple(_doubts(design, values)),
    )


def _check(factors: Sequence[Factor], less: int) -> None:
    count = len(factors)
    if not 1 <= count <= MOST_FACTORS:
        raise InputError(f"expected 1 to {MOST_FACTORS} factors, got {count}")
    if not 0 <= less < count:
        raise InputError(f"a fraction 1/2^{less} of a design with {count} factors has no runs")
    if 2 ** (count - less) > MOST_RUNS:
        raise InputError(f"{2 ** (count - less):,} runs, expected at most {MOST_RUNS:,}")


def _all_signs(count: int) -> NDArray[np.int64]:
    runs = np.arange(2**count)
    return np.column_stack([np.where(runs >> place & 1, 1, -1) for place in range(count)])


def _words(count: int, most: int | None = None) -> list[str]:
    """A, B, AB, C, AC, …; or all words of at most `most` letters."""
    words = [""]
    for letter in LETTERS[:count]:
        words += [word + letter for word in words]
    return [word for word in words[1:] if most is None or len(word) <= most]


def _quality(words: Sequence[str], new: str) -> tuple[int, int]:
    """The resolution of generators, and the negative number of words of that length in their
    defining relation."""
    whole = [frozenset(word) ^ {letter} for word, letter in zip(words, new, strict=True)]
    lengths = [
        len(reduce(frozenset.symmetric_difference, some))
        for size in range(1, len(whole) + 1)
        for some in itertools.combinations(whole, size)
    ]
    return min(lengths), -lengths.count(min(lengths))


def _half_width(error: float, runs: int, replications: int, confidence: float) -> float:
    """Half of the confidence interval of each effect (Jain, section 18.4)."""
    if replications == 1:
        return 0.0
    freedom = runs * (replications - 1)
    deviation = math.sqrt(error / freedom / (runs * replications))
    return student_quantile((1 + confidence) / 2, freedom) * deviation


def _half_width_of_mean(values: Array, confidence: float) -> float:
    """The same of an effect that was found in each replication."""
    if len(values) == 1:
        return 0.0
    deviation = float(np.std(values, ddof=1)) / math.sqrt(len(values))
    return student_quantile((1 + confidence) / 2, len(values) - 1) * deviation


def _doubts(design: Design, values: Array) -> list[Doubt]:
    doubts = []
    if values.shape[1] == 1:
        doubts.append(
            Doubt(
                Reason.FEW_SAMPLES,
                "one replication of each run: no confidence intervals are possible",
                "take at least two replications (-r 2)",
            )
        )
    else:
        doubts += _residual_doubts(values)
    gain = gain_of_logarithm(design, values)
    if gain > BETTER_BY:
        doubts.append(
            Doubt(
                Reason.MODEL_LIMIT,
                "a multiplicative model fits better: with logarithms of the responses the "
                f"factors alone explain more (log-likelihood higher by {gain:.1f})",
                f"analyse logarithms ({setting('log', True)})",
            )
        )
    return doubts


def gain_of_logarithm(design: Design, values: Array) -> float:
    """By how much the log-likelihood of a model without interactions rises when it explains the
    logarithms of the responses (Box and Cox, An Analysis of Transformations, 1964). Minus infinity
    if a response is not positive."""
    if values.min() <= 0 or np.ptp(values) == 0:
        return -math.inf
    columns = np.column_stack([np.ones(design.runs), design.signs]).astype(float)
    if columns.shape[1] >= values.size:
        return -math.inf
    scaled = np.exp(np.log(values).mean()) * np.log(values)  # as large as without the logarithm
    plain_error, log_error = (_error_without(columns, one) for one in (values, scaled))
    tiny = 1e-18 * float((values**2).sum())
    return values.size / 2 * math.log(max(plain_error, tiny) / max(log_error, tiny))


def _error_without(columns: Array, values: Array) -> float:
    """The sum of squares that effects of the columns do not explain."""
    means = values.mean(axis=1)
    effects = columns.T @ means / len(columns)
    return float(((values - (columns @ effects)[:, None]) ** 2).sum())


def _residual_doubts(values: Array) -> list[Doubt]:
    """Jain, section 18.6: are the residuals normal, and do they grow with the response?"""
    means = values.mean(axis=1, keepdims=True)
    residuals = (values - means).ravel()
    if len(residuals) < FEWEST_RESIDUALS or np.ptp(residuals) == 0:
        return []
    doubts = []
    normal = NormalDist()
    places = (np.arange(len(residuals)) + 0.5) / len(residuals)
    quantiles = [normal.inv_cdf(float(place)) for place in places]
    correlation = float(np.corrcoef(np.sort(residuals), quantiles)[0, 1])
    if correlation < NORMAL_CORRELATION:
        doubts.append(
            Doubt(
                Reason.MODEL_LIMIT,
                f"the residuals are not normal (correlation {correlation:.2f} with normal "
                "quantiles): intervals are approximate",
                "more replications",
            )
        )
    spread = values.std(axis=1, ddof=1)
    if len(spread) > 2 and np.ptp(spread) > 0 and np.ptp(means) > 0:
        trend = float(np.corrcoef(means.ravel(), spread)[0, 1])
        if trend > SPREAD_CORRELATION and spread.max() > 3 * max(spread.min(), 1e-300):
            doubts.append(
                Doubt(
                    Reason.MODEL_LIMIT,
                    "runs with larger responses scatter more (correlation of mean and standard "
                    f"deviation {trend:.2f}): intervals are approximate",
                    f"analyse logarithms ({setting('log', True)})",
                )
            )
    return doubts
