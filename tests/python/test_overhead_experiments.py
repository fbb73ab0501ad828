"""Factorial experiments: published examples, and least squares on the same numbers."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from sesame.errors import InputError
from sesame.overhead.experiments import (
    Factor,
    analyse,
    fractional_design,
    full_design,
    parse_factors,
)
from sesame.overhead.prediction import student_quantile
from sesame.trust import Reason


def factors(count: int) -> tuple[Factor, ...]:
    return parse_factors([f"f{number}=low,high" for number in range(count)])


def test_a_published_example_without_replications():
    """Jain, section 17.1: memory and cache sizes of a workstation."""
    found = analyse(full_design(factors(2)), [15, 45, 25, 75])
    assert found.mean.value == 40
    assert {one.word: one.effect.value for one in found.effects} == {"A": 20, "B": 10, "AB": 5}
    shares = [(one.word, round(100 * one.share)) for one in found.effects]
    assert shares == [("A", 76), ("B", 19), ("AB", 5)]
    assert found.doubts[0].reason == Reason.FEW_SAMPLES
    assert all(one.is_significant is None for one in found.effects)


def test_a_published_example_with_three_replications():
    """Jain, section 18.2 to 18.4."""
    responses = [[15, 18, 12], [45, 48, 51], [25, 28, 19], [75, 75, 81]]
    found = analyse(full_design(factors(2)), responses)
    assert found.total_variation == 7032
    assert found.mean.value == 41
    assert {one.word: one.effect.value for one in found.effects} == {"A": 21.5, "B": 9.5, "AB": 5}
    assert found.share_of("A") == pytest.approx(5547 / 7032)
    assert found.error_share == pytest.approx(102 / 7032)
    assert (found.mean.low, found.mean.high) == pytest.approx((39.08, 42.91), abs=0.01)
    assert all(one.is_significant for one in found.effects)


@pytest.mark.parametrize(("count", "less"), [(3, 0), (4, 0), (4, 1), (7, 4)])
def test_effects_are_those_of_least_squares(count, less):
    design = fractional_design(factors(count), less)
    values = np.random.default_rng(7).normal(10, 3, (design.runs, 4))
    found = analyse(design, values)
    names, columns = zip(*design.contrasts().items(), strict=True)
    matrix = np.repeat(np.column_stack(columns), 4, axis=0)
    solved, rest, rank, _ = np.linalg.lstsq(matrix, values.ravel(), rcond=None)
    assert rank == design.runs
    expected = dict(zip(names, solved, strict=True))
    assert found.mean.value == pytest.approx(expected["I"])
    for one in found.effects:
        assert one.effect.value == pytest.approx(expected[one.word])
    assert found.error_share == pytest.approx(rest[0] / ((values - values.mean()) ** 2).sum())
    assert sum(one.share for one in found.effects) + found.error_share == pytest.approx(1)


def test_intervals_hold_the_effect_as_often_as_they_say():
    design = full_design(factors(2))
    random = np.random.default_rng(11)
    true = np.array([10.0, 14.0, 8.0, 12.0])[:, None]  # A raises by 2, B lowers by 1
    held = [
        abs(effect.value - 2) <= (effect.high - effect.low) / 2
        for _ in range(500)
        for one in analyse(design, true + random.normal(0, 1, (4, 3))).effects
        if one.word == "A" and (effect := one.effect)
    ]
    assert np.mean(held) == pytest.approx(0.90, abs=0.045)


def test_a_fraction_has_orthogonal_columns_and_the_highest_resolution():
    design = fractional_design(factors(4), 1)
    assert design.generators == ("D=ABC",)
    gram = design.signs.T @ design.signs
    assert (gram == 8 * np.eye(4)).all()
    aliases = design.aliases()
    assert aliases["AB"] == ["CD"] and aliases["A"] == ["BCD"]
    seven = fractional_design(factors(7), 4)
    assert seven.runs == 8 and (seven.signs.T @ seven.signs == 8 * np.eye(7)).all()
    five = fractional_design(factors(5), 2)
    words = [set(one.replace("=", "")) for one in five.generators]
    assert min(len(words[0]), len(words[1]), len(words[0] ^ words[1])) == 3


def test_multiplicative_responses_are_recognised():
    design = full_design(factors(3))
    random = np.random.default_rng(3)
    signs = design.signs
    product = np.exp(signs @ [1.5, 1.0, 0.5])[:, None] * random.lognormal(0, 0.05, (8, 5))
    texts = [str(doubt) for doubt in analyse(design, product).doubts]
    assert any("a multiplicative model fits better" in text for text in texts)
    total = 50 + (signs @ [15, 10, 5])[:, None] + random.normal(0, 1, (8, 5))
    texts = [str(doubt) for doubt in analyse(design, total).doubts]
    assert not any("multiplicative" in text for text in texts)


def test_quantiles_of_t_are_those_of_scipy():
    stats = pytest.importorskip("scipy.stats")
    cases = itertools.product((0.6, 0.9, 0.95, 0.975, 0.9995), (1, 2, 3, 8, 49, 500))
    for probability, freedom in cases:
        expected = stats.t.ppf(probability, freedom)
        assert student_quantile(probability, freedom) == pytest.approx(expected, rel=1e-7)


@pytest.mark.parametrize(
    ("texts", "message"),
    [
        (["processes=4"], "processes: expected two different levels, got 1"),
        (["processes=4,4"], "processes: expected two different levels, got 1"),
        (["processes=1,2,3"], "processes: expected two different levels, got 3"),
        (["processes"], 'expected FACTOR=LOW,HIGH, got "processes"'),
        (["a=1,2", "a=3,4"], "a: this factor is given twice"),
    ],
)
def test_wrong_factors_are_refused(texts, message):
    with pytest.raises(InputError) as caught:
        parse_factors(texts)
    assert caught.value.message == message


def test_a_fraction_that_is_too_small_is_refused():
    with pytest.raises(InputError, match="cannot tell"):
        fractional_design(factors(5), 3)
