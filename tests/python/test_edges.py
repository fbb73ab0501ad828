"""Edges of caches are found where they are, and nowhere else."""

from __future__ import annotations

import numpy as np
import pytest

from sesame.analysis.edges import find_edges

MIB = 2.0**20
SIZES = MIB * 2.0 ** np.arange(0, 9, 0.5)


def noisy(rates, seed, noise=0.05):
    return rates * np.exp(np.random.default_rng(seed).normal(0, noise, len(rates)))


def cliff(size, edge, fast=3000.0, slow=200.0):
    return np.where(size <= edge, fast, slow)


def overflow(size, edge, fast=3000.0, slow=200.0):
    beyond = np.maximum(0, 1 - edge / size)
    return 1 / ((1 - beyond) / fast + beyond / slow)


@pytest.mark.parametrize("known", [5 * MIB, 64 * MIB, 100 * MIB])
def test_cliff_lies_between_the_sizes_on_its_sides(known):
    (edge,) = find_edges(SIZES, cliff(SIZES, known))
    beyond = np.searchsorted(SIZES, known, side="right")
    assert (edge.low, edge.high) == (SIZES[beyond - 1], SIZES[beyond])
    assert edge.shape == "cliff"
    assert edge.fast == pytest.approx(3000)
    assert edge.slow == pytest.approx(200)


@pytest.mark.parametrize("known", [5 * MIB, 64 * MIB])
def test_overflow_is_located_between_sizes(known):
    (edge,) = find_edges(SIZES, overflow(SIZES, known))
    assert edge.shape == "overflow"
    assert edge.size == pytest.approx(known, rel=0.05)


@pytest.mark.few_cases(1)
@pytest.mark.parametrize("model", [cliff, overflow])
def test_interval_holds_the_truth_as_often_as_it_says(model):
    known = 24 * MIB
    held = 0
    for seed in range(50):
        edges = find_edges(SIZES, noisy(model(SIZES, known), seed))
        held += any(edge.low <= known <= edge.high for edge in edges)
    assert held >= 44


@pytest.mark.few_cases(1)
@pytest.mark.parametrize("noise", [0.02, 0.1, 0.3])
def test_no_cache_is_invented_from_noise(noise):
    false = sum(
        bool(find_edges(SIZES, noisy(np.full(len(SIZES), 200.0), seed, noise)))
        for seed in range(50)
    )
    assert false <= 1


def test_rate_that_rises_with_size_has_no_edge():
    # A time for each pass makes small files slow; that is no cache.
    rates = 1 / (1 / 2000 + 5e-3 * MIB / SIZES)
    assert find_edges(SIZES, noisy(rates, 1)) == []


def test_small_fall_is_no_cache():
    assert find_edges(SIZES, cliff(SIZES, 20 * MIB, fast=260, slow=200)) == []


def test_two_caches_are_two_edges():
    rates = np.where(SIZES <= 5 * MIB, 18000.0, np.where(SIZES <= 90 * MIB, 4500.0, 1000.0))
    edges = find_edges(SIZES, noisy(rates, 7))
    assert len(edges) == 2
    assert edges[0].low <= 5 * MIB <= edges[0].high
    assert edges[1].low <= 90 * MIB <= edges[1].high


def test_one_odd_observation_is_no_cache():
    rates = np.full(len(SIZES), 1000.0)
    rates[-1] = 100.0
    assert find_edges(SIZES, noisy(rates, 3)) == []
    rates = np.full(len(SIZES), 1000.0)
    rates[8] = 100.0
    assert find_edges(SIZES, noisy(rates, 3)) == []


def test_too_few_sizes_say_nothing():
    assert find_edges([1.0, 2.0, 4.0, 8.0], [100.0, 100.0, 1.0, 1.0]) == []
