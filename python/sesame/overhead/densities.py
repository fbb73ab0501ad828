"""Distribution functions of the families of `distributions`, and random lengths of them.

Needs scipy (the extra `overhead`). Lengths are in seconds.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import special

from sesame.overhead.distributions import Distribution

Array = NDArray[np.float64]
BISECTIONS = 80


def log_parameters(distribution: Distribution) -> tuple[float, float]:
    """Mean and standard deviation of the logarithm of a lognormal length."""
    mean, deviation = distribution.parameters
    variance = math.log1p((deviation / mean) ** 2)
    return math.log(mean) - variance / 2, math.sqrt(variance)


def cdf(distribution: Distribution, x: Array) -> Array:
    """The probability of a length of at most x."""
    values = distribution.parameters
    match distribution.family:
        case "constant":
            return (x >= values[0]).astype(float)
        case "exponential":
            return -np.expm1(-x / values[0])
        case "lognormal":
            location, scale = log_parameters(distribution)
            return np.asarray(special.ndtr((np.log(np.maximum(x, 1e-300)) - location) / scale))
        case "weibull":
            return -np.expm1(-((x / values[1]) ** values[0]))
        case "gamma":
            return np.asarray(special.gammainc(values[0], x / values[1]))
        case "pareto":
            return np.where(
                x < values[1], 0.0, 1 - (values[1] / np.maximum(x, values[1])) ** values[0]
            )
        case "mixture":
            first, second = distribution.components
            return values[0] * cdf(first, x) + (1 - values[0]) * cdf(second, x)
    return np.interp(x, values, np.linspace(0, 1, len(values)))


def log_density(distribution: Distribution, x: Array) -> Array:
    """The logarithm of the probability density at x > 0; not for constant and empirical."""
    values = distribution.parameters
    match distribution.family:
        case "exponential":
            return -x / values[0] - math.log(values[0])
        case "lognormal":
            location, scale = log_parameters(distribution)
            deviations = (np.log(x) - location) / scale
            return -(deviations**2) / 2 - np.log(x) - math.log(scale * math.sqrt(2 * math.pi))
        case "weibull":
            shape, scale = values
            relative = x / scale
            return math.log(shape / scale) + (shape - 1) * np.log(relative) - relative**shape
        case "gamma":
            shape, scale = values
            constant = math.lgamma(shape) + shape * math.log(scale)
            return (shape - 1) * np.log(x) - x / scale - constant
        case "pareto":
            shape, least = values
            inside = math.log(shape) + shape * math.log(least) - (shape + 1) * np.log(x)
            return np.where(x < least, -np.inf, inside)
        case "mixture":
            first, second = distribution.components
            return np.logaddexp(
                math.log(values[0]) + log_density(first, x),
                math.log1p(-values[0]) + log_density(second, x),
            )
    raise ValueError(f"{distribution.family} has no density")


def quantile(distribution: Distribution, probability: Array) -> Array:
    """The lengths that are not exceeded with these probabilities, between 0 and 1."""
    values = distribution.parameters
    match distribution.family:
        case "constant":
            return np.full(len(probability), values[0])
        case "exponential":
            return -values[0] * np.log1p(-probability)
        case "lognormal":
            location, scale = log_parameters(distribution)
            return np.asarray(np.exp(location + scale * special.ndtri(probability)))
        case "weibull":
            return np.asarray(values[1] * (-np.log1p(-probability)) ** (1 / values[0]))
        case "gamma":
            return np.asarray(values[1] * special.gammaincinv(values[0], probability))
        case "pareto":
            return np.asarray(values[1] * (1 - probability) ** (-1 / values[0]))
        case "mixture":
            return _quantile_of_mixture(distribution, probability)
    return np.interp(probability, np.linspace(0, 1, len(values)), values)


def _quantile_of_mixture(distribution: Distribution, probability: Array) -> Array:
    ends = [quantile(one, probability) for one in distribution.components]
    low, high = np.minimum(*ends), np.maximum(*ends)
    for _ in range(BISECTIONS):
        middle = (low + high) / 2
        below = cdf(distribution, middle) < probability
        low, high = np.where(below, middle, low), np.where(below, high, middle)
    return (low + high) / 2


def draw(distribution: Distribution, count: int, random: np.random.Generator) -> Array:
    """Independent random lengths."""
    values = distribution.parameters
    match distribution.family:
        case "mixture":
            is_first = random.random(count) < values[0]
            first, second = (draw(one, count, random) for one in distribution.components)
            return np.where(is_first, first, second)
        case "exponential":
            return random.exponential(values[0], count)
        case "gamma":
            return np.asarray(random.gamma(values[0], values[1], count))
    uniform: Any = random.random(count)
    return quantile(distribution, uniform)
