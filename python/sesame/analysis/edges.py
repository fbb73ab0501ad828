"""Finds the edges of caches: sizes above which a rate falls, each with an interval.

The time per byte over the size is fitted, with the least relative errors, by a time per pass and
one of:

- no edge: the same time per byte at all sizes;
- a cliff: more time per byte from one size on. A cache with LRU replacement does so when a file is
  read through it again and again;
- an overflow: only the bytes beyond a size take more time. A cache that keeps a part of the file
  does so, and a buffer that fills while a file is written.

An edge is accepted if the Bayesian information criterion clearly prefers it and the rate falls by
LEAST_DROP or more. The interval has the sizes that a likelihood-ratio test does not reject. Then
sizes below an edge are searched for more edges, and for a cliff sizes above it. The search is made
with cliffs, with overflows and with both; the result with the best criterion is the answer.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]

LEAST_DROP = 1.5  # of the rate
EVIDENCE = 10.0  # difference of the information criterion; "very strong" by Kass and Raftery, 1995
CHI2_95 = 3.841  # one parameter
NOISE_FLOOR = 0.01  # relative: smaller scatter is chance, no clock or machine is that exact
ITERATIONS = 3
RIDGE = 1e-12
STEPS_IN_GAP = 8  # positions of an overflow that are tried between two sizes
SIDE_POINTS = 2  # least number of sizes on either side of an edge; fewer may be outliers
LEAST_POINTS = 5


@dataclass(frozen=True)
class Edge:
    size: float
    low: float  # of the interval, 95 %
    high: float
    fast: float  # rate below it
    slow: float  # rate of the largest size that belongs to it
    shape: str  # cliff or overflow


def find_edges(sizes: Sequence[float], rates: Sequence[float]) -> list[Edge]:
    """All edges, the smallest size first. Rates are per second and positive."""
    order = np.argsort(np.asarray(sizes, dtype=float))
    size = np.asarray(sizes, dtype=float)[order]
    cost = 1.0 / np.asarray(rates, dtype=float)[order]
    answers = [
        _search(size, cost, shapes) for shapes in (("cliff",), ("overflow",), tuple(_EDGE_MODELS))
    ]
    best = min(answers, key=lambda edges: _criterion_of(size, cost, edges))
    return _refine(size, cost, sorted(best, key=lambda edge: edge.size))


def _search(size: Array, cost: Array, shapes: Sequence[str]) -> list[Edge]:
    edge = _best_edge(size, cost, shapes)
    if edge is None:
        return []
    below = size <= edge.size
    edges = [edge, *_search(size[below], cost[below], shapes)]
    if edge.shape == "cliff":
        edges += _search(size[~below], cost[~below], shapes)
    return edges


def _refine(size: Array, cost: Array, edges: list[Edge]) -> list[Edge]:
    """Fits each edge again to the sizes between its neighbours, so that the other edges do not
    count as noise."""
    refined = []
    for i, edge in enumerate(edges):
        low = edges[i - 1].size if i > 0 else 0.0
        high = edges[i + 1].size if i + 1 < len(edges) else np.inf
        part = (size > low) & (size <= high)
        again = _best_edge(size[part], cost[part], (edge.shape,))
        refined.append(again if again is not None and low < again.size < high else edge)
    return refined


def _criterion_of(size: Array, cost: Array, edges: list[Edge]) -> float:
    """The information criterion of a fit with all these edges."""
    bases = [_EDGE_MODELS[edge.shape].basis(size, np.array([edge.size]))[0] for edge in edges]
    error = float(_fit(size, cost, np.stack([np.ones_like(size), *bases], axis=1)[None])[0][0])
    return _criterion(error, len(size), 2 + 2 * len(edges))


def _criterion(error: float, points: int, parameters: int) -> float:
    variance = max(error / points, NOISE_FLOOR**2)
    return float(points * np.log(variance) + parameters * np.log(points))


def _best_edge(size: Array, cost: Array, shapes: Sequence[str]) -> Edge | None:
    if len(size) < LEAST_POINTS:
        return None
    found = [pair for shape in shapes if (pair := _profile(size, cost, shape)) is not None]
    if not found:
        return None
    edge, error = min(found, key=lambda pair: pair[1])
    none = float(_fit(size, cost, np.ones((1, len(size), 1)))[0][0])
    # An edge adds two parameters: its size and its height.
    gain = _criterion(none, len(size), 2) - _criterion(error, len(size), 4)
    return edge if gain > EVIDENCE else None


def _cliff_candidates(size: Array) -> Array:
    """The gaps between two sizes, as rows [from, to]: a cliff may be anywhere in a gap."""
    inner = np.stack([size[:-1], size[1:]], axis=1)
    return inner[SIDE_POINTS - 1 : len(size) - SIDE_POINTS]


def _overflow_candidates(size: Array) -> Array:
    gaps = _cliff_candidates(size)
    steps = np.linspace(0, 1, STEPS_IN_GAP, endpoint=False)
    grid = (gaps[:, :1] * (gaps[:, 1:] / gaps[:, :1]) ** steps).ravel()
    grid = np.append(grid, gaps[-1, 1])
    return np.stack([grid[:-1], grid[1:]], axis=1)


@dataclass(frozen=True)
class _EdgeModel:
    candidates: Callable[[Array], Array]
    basis: Callable[[Array, Array], Array]  # [edge, size]: share of the file beyond the edge


_EDGE_MODELS = {
    "cliff": _EdgeModel(
        _cliff_candidates, lambda size, edges: (size[None] > edges[:, None]).astype(float)
    ),
    "overflow": _EdgeModel(
        _overflow_candidates, lambda size, edges: np.maximum(0.0, 1.0 - edges[:, None] / size)
    ),
}


def _profile(size: Array, cost: Array, shape: str) -> tuple[Edge, float] | None:
    """The likeliest edge of a shape and its error, if the rate falls enough there."""
    candidates = _EDGE_MODELS[shape].candidates(size)
    middles = np.sqrt(candidates[:, 0] * candidates[:, 1])
    bases = _EDGE_MODELS[shape].basis(size, middles)
    errors, costs = _fit(size, cost, np.stack([np.ones_like(bases), bases], axis=2))
    fast = np.array([np.median(fit[size <= at]) for fit, at in zip(costs, middles, strict=True)])
    slower = np.minimum(costs, cost) >= LEAST_DROP * fast[:, None]
    falls = np.sum(slower, axis=1) >= SIDE_POINTS
    errors = np.where(falls, errors, np.inf)
    best = int(np.argmin(errors))
    if not np.isfinite(errors[best]):
        return None
    variance = max(errors[best] / max(1, len(size) - 4), NOISE_FLOOR**2)
    likely = candidates[errors - errors[best] < CHI2_95 * variance]
    edge = Edge(
        size=float(middles[best]),
        low=float(likely[:, 0].min()),
        high=float(likely[:, 1].max()),
        fast=float(1 / fast[best]),
        slow=float(1 / costs[best, -1]),
        shape=shape,
    )
    return edge, float(errors[best])


def _fit(size: Array, cost: Array, designs: Array) -> tuple[Array, Array]:
    """Errors and fitted times per byte of many designs [design, size, column] at once. Each fit has
    a time per pass, unless that would be negative."""
    unit = float(np.median(cost))
    per_pass = np.broadcast_to((size[0] / size)[None, :, None], (*designs.shape[:2], 1))
    error, fitted = _solve(np.concatenate([designs, per_pass], axis=2), cost / unit)
    other_error, other_fitted = _solve(designs, cost / unit)
    use = np.isfinite(error)
    return np.where(use, error, other_error), unit * np.where(use[:, None], fitted, other_fitted)


def _solve(designs: Array, cost: Array) -> tuple[Array, Array]:
    """Least relative errors; the error is infinite where a coefficient would be negative."""
    weight = np.broadcast_to(1.0 / cost, designs.shape[:2])
    right = np.ones(len(designs), dtype=bool)
    for _ in range(ITERATIONS):
        rows = designs * weight[:, :, None]
        normal = np.einsum("knp,knq->kpq", rows, rows) + RIDGE * np.eye(designs.shape[2])
        target = np.einsum("knp,kn->kp", rows, cost * weight)
        solution = np.linalg.solve(normal, target[:, :, None])
        fitted = (designs @ solution)[:, :, 0]
        right &= np.all(solution[:, :, 0] >= 0, axis=1) & np.all(fitted > 0, axis=1)
        weight = 1.0 / np.where(right[:, None], fitted, cost)
    logs = np.log(np.where(right[:, None], fitted, 1.0) / cost)
    return np.where(right, np.sum(logs**2, axis=1), np.inf), fitted
