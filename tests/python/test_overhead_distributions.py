"""Distributions: text, moments, and what the simulation draws from them."""

from __future__ import annotations

import math
import statistics

import numpy as np
import pytest

from sesame import native
from sesame.errors import InputError
from sesame.overhead.distributions import Distribution, empirical, mixture, parse_distribution
from sesame.overhead.native_model import plain_distribution

TEXTS = [
    "10ms",
    "exponential(223us)",
    "lognormal(2.213ms, 3.034ms)",
    "weibull(0.8, 300us)",
    "gamma(0.5, 150us)",
    "gamma(2.5, 150us)",
    "pareto(4.5, 100us)",
    "mixture(0.3, exponential(1ms), lognormal(5ms, 2ms))",
    "empirical(0s, 9us, 800us, 3ms, 10ms)",
]


def draw(distribution: Distribution, count: int, source: int = 0) -> np.ndarray:
    return np.array(native.draw_lengths(plain_distribution(distribution), 7, source, count))


@pytest.mark.parametrize("text", TEXTS)
def test_text_is_read_as_it_is_written(text):
    assert str(parse_distribution(text)) == text
    assert parse_distribution(text.replace(" ", "").replace("(", " ( ")) == parse_distribution(text)


@pytest.mark.parametrize("text", TEXTS)
def test_draws_have_the_mean_and_variance_that_formulas_give(text):
    distribution = parse_distribution(text)
    values = draw(distribution, 400_000)
    error = distribution.standard_deviation / math.sqrt(len(values))
    assert abs(values.mean() - distribution.mean) <= 4 * error + 1e-12
    squares = (values - distribution.mean) ** 2
    error = squares.std() / math.sqrt(len(values))
    assert abs(squares.mean() - distribution.variance) <= 4 * error + 1e-24


def normal(x: float) -> float:
    return statistics.NormalDist().cdf(x)


def lognormal(x: float) -> float:
    variance = math.log1p((3034 / 2213) ** 2)
    return normal((math.log(x / 2213e-6) + variance / 2) / math.sqrt(variance))


CDFS = {
    "exponential(223us)": lambda x: -math.expm1(-x / 223e-6),
    "lognormal(2213us, 3034us)": lognormal,
    "weibull(0.8, 300us)": lambda x: -math.expm1(-((x / 300e-6) ** 0.8)),
    "gamma(0.5, 150us)": lambda x: math.erf(math.sqrt(x / 150e-6)),  # chi-square of 1 degree
    "gamma(2, 150us)": lambda x: 1 - math.exp(-x / 150e-6) * (1 + x / 150e-6),
    "pareto(4.5, 100us)": lambda x: 1 - (100e-6 / x) ** 4.5,
    "empirical(1us, 3us)": lambda x: (x - 1e-6) / 2e-6,
}


@pytest.mark.parametrize("text", CDFS)
def test_draws_follow_the_distribution_function(text):
    """Kolmogorov and Smirnov: at the 0.1 % level the distance is below 1.95 / sqrt(n)."""
    values = np.sort(draw(parse_distribution(text), 20_000))
    shares = np.array([CDFS[text](float(value)) for value in values])
    steps = np.arange(len(values) + 1) / len(values)
    distance = max((steps[1:] - shares).max(), (shares - steps[:-1]).max())
    assert distance < 1.95 / math.sqrt(len(values))


def test_random_numbers_are_those_of_numpys_philox():
    """numpy increments the counter before the first block."""
    seed, replication, node, source = 2**63 + 5, 3, 17, 2**40 + 9
    words = native.random_words(seed, replication, node, source, 14)
    counter = source << 64 | node << 128 | replication << 192
    reference = np.random.Philox(counter=counter - 1, key=seed)
    assert words == [int(word) for word in reference.random_raw(14)]


def test_streams_of_different_sources_differ():
    distribution = parse_distribution("exponential(1ms)")
    first, second = (draw(distribution, 10_000, source) for source in (1, 2))
    assert abs(np.corrcoef(first, second)[0, 1]) < 0.04


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("exponential(0s)", "expected a positive mean"),
        ("exponential(-3us)", "negative"),
        ("exponential(223)", "a unit is missing"),
        ("exponential()", "expected a parameter"),
        ("exponential(1us, 2us)", "expected mean, got 2 parameters"),
        ("lognormal(1us)", "expected mean and standard deviation, got 1 parameters"),
        ("lognormal(1us, 1us", 'expected "," or ")"'),
        ("lognormal(1us, 1us))", 'unexpected ")"'),
        ("normal(1us, 1us)", '"normal" is no family of distributions, expected one of constant'),
        ("pareto(1, 1us)", "the mean is infinite at a shape of 1"),
        ("pareto(nan, 1us)", "not finite"),
        ("weibull(1e-9, 1us)", "expected a shape of at least 0.05"),
        ("gamma(inf, 1us)", "not finite"),
        ("mixture(0.5, 1us)", "expected the probability"),
        ("mixture(1.5, 1us, 2us)", "between 0 and 1"),
        ("empirical(3us, 2us)", "ascending"),
        ("empirical(3us)", "expected 2 to"),
        ("empirical(0s, 0s)", "expected a positive mean"),
        ("exponential(1e300s)", "expected"),
        ("", "expected a distribution"),
        ("(", "expected"),
        ("mixture(0.5, " * 40, "at most 8 levels"),
    ],
)
def test_text_that_is_no_distribution_is_refused(text, expected):
    with pytest.raises(InputError) as refused:
        parse_distribution(text)
    assert expected in str(refused.value)


def test_scaling_multiplies_the_length():
    for text in TEXTS:
        distribution = parse_distribution(text)
        assert distribution.scaled(3).mean == pytest.approx(3 * distribution.mean)
        assert distribution.scaled(3).variance == pytest.approx(9 * distribution.variance)


def test_a_pareto_distribution_may_have_infinite_variance():
    assert parse_distribution("pareto(1.5, 1ms)").variance == math.inf


def test_moments_of_a_mixture_are_those_of_its_values():
    made = mixture(0.25, Distribution("constant", (1.0,)), Distribution("constant", (5.0,)))
    assert (made.mean, made.variance) == (4.0, 3.0)
    assert empirical([0.0, 12.0]).variance == pytest.approx(12.0)
