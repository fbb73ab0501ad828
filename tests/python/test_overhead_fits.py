"""Fits of distributions: parameters that are known, scipy's own fits, and what tests refuse."""

from __future__ import annotations

import numpy as np
import pytest

from sesame.errors import InputError
from sesame.trust import Reason

stats = pytest.importorskip("scipy.stats")

from sesame.overhead.densities import cdf, draw, log_density, quantile  # noqa: E402
from sesame.overhead.distributions import parse_distribution  # noqa: E402
from sesame.overhead.fits import ad_distance, fit_families, fit_lengths, ks_distance  # noqa: E402

TEXTS = {
    "exponential": "exponential(267us)",
    "lognormal": "lognormal(2213us, 3034us)",
    "weibull": "weibull(0.7, 300us)",
    "gamma": "gamma(3, 100us)",
    "pareto": "pareto(2.5, 100us)",
    "mixture of exponential": "mixture(0.6, exponential(10us), exponential(2ms))",
    "mixture of lognormal": "mixture(0.3, lognormal(10us, 3us), lognormal(1ms, 300us))",
}


def theirs(text: str):
    """The same distribution of scipy."""
    one = parse_distribution(text)
    values = one.parameters
    if one.family == "lognormal":
        sigma = np.sqrt(np.log1p((values[1] / values[0]) ** 2))
        return stats.lognorm(sigma, scale=values[0] / np.exp(sigma**2 / 2))
    return {
        "exponential": lambda: stats.expon(scale=values[0]),
        "weibull": lambda: stats.weibull_min(values[0], scale=values[1]),
        "gamma": lambda: stats.gamma(values[0], scale=values[1]),
        "pareto": lambda: stats.pareto(values[0], scale=values[1]),
    }[one.family]()


@pytest.mark.parametrize("family", [name for name in TEXTS if "mixture" not in name])
def test_functions_are_those_of_scipy(family):
    one, other = parse_distribution(TEXTS[family]), theirs(TEXTS[family])
    assert other.mean() == pytest.approx(one.mean)
    x = other.ppf(np.linspace(0.01, 0.99, 50))
    np.testing.assert_allclose(cdf(one, x), other.cdf(x), rtol=1e-9)
    np.testing.assert_allclose(log_density(one, x), other.logpdf(x), rtol=1e-9)
    np.testing.assert_allclose(quantile(one, cdf(one, x)), x, rtol=1e-6)


@pytest.mark.few_cases(3)
@pytest.mark.parametrize("family", TEXTS)
def test_the_family_of_random_data_is_found_again(family):
    true = parse_distribution(TEXTS[family])
    values = draw(true, 4000, np.random.default_rng(5))
    found = fit_lengths(values)
    assert found.fits[0].family == family
    assert found.goodness is not None and not found.goodness.is_refused
    assert found.doubts == ()
    np.testing.assert_allclose(found.distribution.mean, true.mean, rtol=0.12)
    assert ks_distance(true, values) < 0.03


@pytest.mark.parametrize("name", ["weibull", "gamma"])
def test_fits_maximise_the_likelihood_as_those_of_scipy(name):
    values = draw(parse_distribution(TEXTS[name]), 800, np.random.default_rng(2))
    other = {"weibull": stats.weibull_min, "gamma": stats.gamma}[name].fit(values * 1e3, floc=0)
    (ours,) = [one.distribution for one in fit_families(values) if one.family == name]
    assert ours.parameters == pytest.approx((other[0], other[2] * 1e-3), rel=1e-3)


def test_distances_are_those_of_scipy():
    values = np.random.default_rng(1).exponential(1.0, 200)
    one = parse_distribution("exponential(1s)")
    assert ks_distance(one, values) == pytest.approx(stats.kstest(values, "expon").statistic)
    # Against the definition, an integral over all x, in steps of the ordered values.
    u = np.sort(cdf(one, values))
    ends = np.concatenate([[1e-15], u, [1 - 1e-15]])
    n, total = len(u), 0.0
    for k in range(n + 1):
        grid = np.linspace(ends[k], ends[k + 1], 2001)
        total += np.trapezoid((k / n - grid) ** 2 / (grid * (1 - grid)), grid)
    assert ad_distance(one, values) == pytest.approx(n * total, rel=1e-2)


def test_data_of_no_family_become_quantiles():
    random = np.random.default_rng(4)
    values = np.concatenate([random.normal(mean, 0.01, 300) for mean in (1, 2, 4, 8)])
    found = fit_lengths(random.permutation(values))
    assert found.distribution.family == "empirical"
    assert found.distribution.mean == pytest.approx(values.mean())
    assert found.goodness is not None and found.goodness.is_refused
    assert Reason.MODEL_LIMIT in [doubt.reason for doubt in found.doubts]


def test_a_tail_beyond_the_data_does_not_change_the_load():
    """A lognormal without its longest lengths: the fit has the shape and too large a mean."""
    random = np.random.default_rng(12)
    wide = random.lognormal(0, 3, 4000)
    values = np.sort(wide)[:3700]
    found = fit_lengths(random.permutation(values))
    assert found.fits[0].distribution.mean > 1.1 * values.mean()
    assert found.distribution.family == "empirical"
    assert found.distribution.mean == pytest.approx(values.mean())


def test_requests_that_depend_on_each_other_are_reported():
    random = np.random.default_rng(6)
    noise = np.zeros(3000)
    for i in range(1, len(noise)):
        noise[i] = 0.8 * noise[i - 1] + random.normal()
    found = fit_lengths(np.exp(noise))
    assert found.autocorrelation[0] == pytest.approx(0.8, abs=0.05)
    assert any("not independent" in doubt.text for doubt in found.doubts)


def test_small_samples_of_a_family_keep_a_family():
    """Their distribution functions are more than 8 % away from any by chance. A test at 5 % may
    refuse one of 15."""
    samples = [np.random.default_rng(seed).exponential(1e-3, 30) for seed in range(15)]
    found = [fit_lengths(sample) for sample in samples]
    assert sum(one.goodness.ks > 0.1 for one in found) >= 5
    assert sum(one.distribution.family == "empirical" for one in found) <= 1


def test_few_lengths_of_no_family_become_quantiles():
    random = np.random.default_rng(4)
    values = np.concatenate([random.normal(mean, 0.01, 15) for mean in (1, 2, 4, 8)])
    assert fit_lengths(random.permutation(values)).distribution.family == "empirical"


def test_few_lengths_are_doubted():
    assert fit_lengths([1.0, 2.0, 3.0, 4.0]).doubts[0].reason == Reason.FEW_SAMPLES


def test_equal_lengths_are_constant():
    assert str(fit_lengths([0.01] * 50).distribution) == "10ms"


@pytest.mark.parametrize("lengths", [[], [0.0, 0.0], [-1.0, 2.0], [float("inf"), 1.0]])
def test_lengths_that_cannot_be_fitted_are_refused(lengths):
    with pytest.raises(InputError):
        fit_lengths(lengths)


def test_zeros_are_as_frequent_as_in_the_data():
    lengths = np.random.default_rng(5).exponential(2e-3, 900)
    found = fit_lengths(np.concatenate([lengths, np.zeros(300)]))
    assert found.zeros == 300
    assert found.distribution.mean == pytest.approx(0.75 * lengths.mean(), rel=0.02)
    assert found.described.startswith("0 in 25.0% of cases, else exponential(")
    again = parse_distribution(str(found.distribution))
    assert again.mean == pytest.approx(found.distribution.mean)
