"""Distributions of lengths of time: what a node model says about requests and intervals.

A distribution is written as text, in node.toml and on the command line:

    10ms                              the same as constant(10ms)
    constant(10ms)
    exponential(223us)                mean
    lognormal(2213us, 3034us)         mean, standard deviation
    weibull(0.8, 300us)               shape, scale
    gamma(2, 150us)                   shape, scale
    pareto(2.5, 100us)                shape, smallest value
    mixture(0.3, exponential(1ms), lognormal(5ms, 2ms))    probability of the first, both
    empirical(9us, 800us, 3ms, 10ms)  quantiles at equal steps of probability from 0 to 1,
                                      straight lines between them

All times of this module are in seconds.
"""

from __future__ import annotations

import itertools
import math
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from sesame.errors import InputError

# Mean of a length: longer ones do not fit the simulator's clock (2^63 ps).
MOST_SECONDS = 1e6
MOST_QUANTILES = 100_000
MOST_DEPTH = 8  # of mixtures of mixtures

# The parameters of each family in their order. "time" is a length of time, "number" a plain number.
PARAMETERS: dict[str, tuple[tuple[str, str], ...]] = {
    "constant": (("value", "time"),),
    "exponential": (("mean", "time"),),
    "lognormal": (("mean", "time"), ("standard deviation", "time")),
    "weibull": (("shape", "number"), ("scale", "time")),
    "gamma": (("shape", "number"), ("scale", "time")),
    "pareto": (("shape", "number"), ("smallest value", "time")),
}
FAMILIES = (*PARAMETERS, "mixture", "empirical")
_UNITS = (("s", 1.0), ("ms", 1e-3), ("us", 1e-6), ("ns", 1e-9), ("ps", 1e-12))
_TOKEN = re.compile(r"\s*([(),]|[^\s(),][^(),]*)")


_NEGATIVE, _INFINITE = re.compile(r"\s*-\s*[\d.]"), re.compile(r"\s*[+-]?(inf|nan)", re.I)


@dataclass(frozen=True)
class Distribution:
    """A distribution of a length of time. Use the functions below, or `parse_distribution`.

    `parameters` are as in PARAMETERS, in seconds; the probability of the first component for a
    mixture; the quantiles for an empirical one. Raises InputError for parameters that describe no
    distribution with a positive, finite mean (a constant may be 0).
    """

    family: str
    parameters: tuple[float, ...]
    components: tuple[Distribution, ...] = ()

    def __post_init__(self) -> None:
        _check(self)

    @property
    def mean(self) -> float:
        """In seconds."""
        return _moments(self)[0]

    @property
    def variance(self) -> float:
        """In square seconds; infinite for a Pareto distribution of shape 2 or less."""
        return _moments(self)[1]

    @property
    def standard_deviation(self) -> float:
        return math.sqrt(self.variance)

    def scaled(self, factor: float) -> Distribution:
        """The distribution of `factor` times the length."""
        if self.family == "mixture":
            first, second = self.components
            return mixture(self.parameters[0], first.scaled(factor), second.scaled(factor))
        kinds = [kind for _, kind in PARAMETERS.get(self.family, ())] or itertools.repeat("time")
        values = (
            value * factor if kind == "time" else value
            for value, kind in zip(self.parameters, kinds, strict=False)
        )
        return Distribution(self.family, tuple(values))

    def __str__(self) -> str:
        """The text that `parse_distribution` reads, exact to 12 digits."""
        return self._written(12)

    def rounded(self) -> str:
        """The same to 4 digits, to be read."""
        return self._written(4)

    def _written(self, digits: int) -> str:
        def seconds(value: float) -> str:
            return format_seconds(value, digits)

        if self.family == "constant":
            return seconds(self.parameters[0])
        if self.family == "mixture":
            first, second = (one._written(digits) for one in self.components)
            return f"mixture({self.parameters[0]:.{digits}g}, {first}, {second})"
        if self.family == "empirical":
            return f"empirical({', '.join(map(seconds, self.parameters))})"
        written = (
            seconds(value) if kind == "time" else f"{value:.{digits}g}"
            for value, (_, kind) in zip(self.parameters, PARAMETERS[self.family], strict=True)
        )
        return f"{self.family}({', '.join(written)})"


def constant(value: float) -> Distribution:
    return Distribution("constant", (value,))


def exponential(mean: float) -> Distribution:
    return Distribution("exponential", (mean,))


def lognormal(mean: float, standard_deviation: float) -> Distribution:
    return Distribution("lognormal", (mean, standard_deviation))


def weibull(shape: float, scale: float) -> Distribution:
    return Distribution("weibull", (shape, scale))


def gamma(shape: float, scale: float) -> Distribution:
    return Distribution("gamma", (shape, scale))


def pareto(shape: float, smallest: float) -> Distribution:
    return Distribution("pareto", (shape, smallest))


def mixture(probability: float, first: Distribution, second: Distribution) -> Distribution:
    return Distribution("mixture", (probability,), (first, second))


def empirical(quantiles: Sequence[float]) -> Distribution:
    return Distribution("empirical", tuple(float(value) for value in quantiles))


def parse_distribution(text: str) -> Distribution:
    """Raises InputError with what was expected."""
    tokens = _TOKEN.findall(text)
    if "".join(tokens).replace(" ", "") != re.sub(r"\s", "", text) or not tokens:
        raise InputError(f'expected a distribution such as "exponential(223us)", got "{text}"')
    reading = iter([token.strip() for token in tokens] + [""])
    found, rest = _read(next(reading), reading, text, 0)
    if rest:
        raise InputError(f'"{text}": unexpected "{rest}" after the distribution')
    return found


def parse_seconds(text: str) -> float:
    """A length of time with its unit, such as "10ms". Raises InputError."""
    from sesame import native

    if _NEGATIVE.match(text):
        raise InputError(f'expected a time that is not negative, got "{text.strip()}"')
    if _INFINITE.match(text):
        raise InputError(f'expected a finite time, got "{text.strip()}"')
    return float(native.parse_duration_ps(text)) / 1e12


def format_seconds(seconds: float, digits: int = 12) -> str:
    """The text that `parse_seconds` reads."""
    for unit, factor in _UNITS:
        if seconds >= factor or unit == "ps":
            break
    return "0s" if seconds == 0 else f"{seconds / factor:.{digits}g}{unit}"


def _read(name: str, tokens: Iterator[str], text: str, depth: int) -> tuple[Distribution, str]:
    """The distribution that begins with the token `name`, and the token after it."""
    if depth > MOST_DEPTH:
        raise InputError(f"mixtures of mixtures: expected at most {MOST_DEPTH} levels")
    after = next(tokens, "")
    if after != "(":
        return constant(parse_seconds(name)), after
    if name not in FAMILIES:
        raise InputError(
            f'"{name}" is no family of distributions, expected one of {", ".join(FAMILIES)}'
        )
    arguments: list[str | Distribution] = []
    while after != ")":
        argument = next(tokens, "")
        if argument in ("", ",", "(", ")"):
            raise InputError(f'"{text}": expected a parameter of {name}, got "{argument}"')
        if name == "mixture" and arguments:
            component, after = _read(argument, tokens, text, depth + 1)
            arguments.append(component)
        else:
            arguments.append(argument)
            after = next(tokens, "")
        if after not in (",", ")"):
            raise InputError(f'"{text}": expected "," or ")" in {name}, got "{after}"')
    return _made(name, arguments), next(tokens, "")


def _made(name: str, arguments: list[str | Distribution]) -> Distribution:
    if name == "empirical":
        return empirical([parse_seconds(str(argument)) for argument in arguments])
    if name == "mixture":
        if len(arguments) != 3:
            raise InputError(
                "mixture: expected the probability of the first distribution and two "
                f"distributions, got {len(arguments)} parameters"
            )
        components = tuple(item for item in arguments if isinstance(item, Distribution))
        return Distribution(name, (_number(name, str(arguments[0])),), components)
    wanted = PARAMETERS[name]
    if len(arguments) != len(wanted):
        expected = " and ".join(parameter for parameter, _ in wanted)
        raise InputError(f"{name}: expected {expected}, got {len(arguments)} parameters")
    values = (
        parse_seconds(str(argument)) if kind == "time" else _number(name, str(argument))
        for argument, (_, kind) in zip(arguments, wanted, strict=True)
    )
    return Distribution(name, tuple(values))


def _number(name: str, text: str) -> float:
    try:
        return float(text)
    except ValueError as error:
        raise InputError(f'{name}: expected a number, got "{text}"') from error


def _check(distribution: Distribution) -> None:
    family, values = distribution.family, distribution.parameters
    if family not in FAMILIES:
        raise InputError(f'"{family}" is no family of distributions')
    if not all(map(math.isfinite, values)):
        raise InputError(f"{family}: a parameter is not finite")
    if family == "mixture":
        if not 0 < values[0] < 1:
            raise InputError(f"mixture: expected a probability between 0 and 1, got {values[0]:g}")
    elif family == "empirical":
        _check_quantiles(values)
    else:
        _check_parameters(family, values)
    if not (distribution.mean > 0 or (family == "constant" and values[0] == 0)):
        raise InputError(f"{family}: expected a positive mean, got {distribution.mean:g} s")
    if distribution.mean > MOST_SECONDS:
        raise InputError(
            f"{family}: expected a mean of at most {MOST_SECONDS:g} s, got {distribution.mean:g} s"
        )


def _check_parameters(family: str, values: tuple[float, ...]) -> None:
    if len(values) != len(PARAMETERS[family]):
        raise InputError(f"{family}: expected {len(PARAMETERS[family])} parameters")
    for value, (name, _) in zip(values, PARAMETERS[family], strict=True):
        if value < 0 or (value == 0 and family != "constant"):
            raise InputError(f"{family}: expected a positive {name}, got {value:g}")
    if family == "pareto" and values[0] <= 1:
        raise InputError(
            f"pareto: the mean is infinite at a shape of {values[0]:g}, expected one above 1"
        )
    if family == "weibull" and values[0] < 0.05:
        raise InputError(f"weibull: expected a shape of at least 0.05, got {values[0]:g}")


def _check_quantiles(values: tuple[float, ...]) -> None:
    if not 2 <= len(values) <= MOST_QUANTILES:
        raise InputError(f"empirical: expected 2 to {MOST_QUANTILES} quantiles, got {len(values)}")
    if values[0] < 0 or any(later < earlier for earlier, later in itertools.pairwise(values)):
        raise InputError("empirical: expected quantiles in ascending order, none negative")


def _moments(distribution: Distribution) -> tuple[float, float]:
    """Mean and variance. The formulas are those of Law and Kelton, Simulation Modeling and
    Analysis, chapter 6."""
    values = distribution.parameters
    match distribution.family:
        case "constant":
            return values[0], 0.0
        case "exponential":
            return values[0], values[0] ** 2
        case "lognormal":
            return values[0], values[1] ** 2
        case "weibull":
            first, second = (math.gamma(1 + order / values[0]) for order in (1, 2))
            return values[1] * first, values[1] ** 2 * (second - first**2)
        case "gamma":
            return values[0] * values[1], values[0] * values[1] ** 2
        case "pareto":
            return _pareto_moments(*values)
        case "mixture":
            return _mixture_moments(values[0], *distribution.components)
    pairs = list(itertools.pairwise(values))
    mean = sum(low + high for low, high in pairs) / (2 * len(pairs))
    square = sum(low * low + low * high + high * high for low, high in pairs) / (3 * len(pairs))
    return mean, max(0.0, square - mean**2)


def _pareto_moments(shape: float, smallest: float) -> tuple[float, float]:
    mean = shape * smallest / (shape - 1)
    if shape <= 2:
        return mean, math.inf
    return mean, shape * smallest**2 / ((shape - 1) ** 2 * (shape - 2))


def _mixture_moments(
    probability: float, first: Distribution, second: Distribution
) -> tuple[float, float]:
    mean = probability * first.mean + (1 - probability) * second.mean
    square = probability * (first.variance + first.mean**2)
    square += (1 - probability) * (second.variance + second.mean**2)
    return mean, square - mean**2
