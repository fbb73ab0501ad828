"""The links of a topology that messages between nodes pass: a fixed shortest route for each pair.

Meshes and tori: dimension order, the first dimension first. Fat trees: up to the lowest common
switch and down; what joins a switch to the level above counts as one trunk of all its uplinks.
HyperX: one link for each dimension, the first one first. Dragonflies: minimal, by the shortest of
the parallel global links. Every route begins with the link from the node into the network and ends
with the one to the other node; a crossbar has no others.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

Array = np.ndarray[Any, Any]
IN, OUT = 0, 1  # the two kinds of links that every topology has: of a node into and out of it
KINDS = 1 << 40  # above every number of a link, to sort by kind and number at once


class Topology:
    """Routes between the nodes of a machine (`model` as native.read_machine returns it)."""

    def __init__(self, model: dict[str, Any]) -> None:
        self.nodes = int(model["nodes"])
        self.kind = str(model["topology"]["kind"])
        self.shape = model["topology"]
        network, sharing = model["network"], model["sharing"]
        one = max(network["bandwidth_bytes_per_s"], network["stream_bandwidth_bytes_per_s"])
        self._link = float(sharing["link_bandwidth_bytes_per_s"] or one)
        self._global = float(sharing["global_bandwidth_bytes_per_s"] or self._link)
        self._card = float(sharing["send"]["bandwidth_bytes_per_s"] or one)
        self._cards = int(sharing["cards"])

    def routes(self, source: Array, destination: Array) -> tuple[Array, Array, Array]:
        """The links that the pairs of different nodes pass, in three columns: the number of the
        pair, the kind of the link, its number."""
        pairs = np.arange(len(source))
        source, destination = source.astype(np.int64), destination.astype(np.int64)
        steps = [(pairs, IN, source), *self._inner(source, destination), (pairs, OUT, destination)]
        return (
            np.concatenate([pair for pair, _, _ in steps]),
            np.concatenate([np.full(len(pair), kind, np.int64) for pair, kind, _ in steps]),
            np.concatenate([number for _, _, number in steps]),
        )

    def bytes_per_s(self, kind: int) -> float:
        """What a link of this kind can carry in one direction."""
        one = self._link
        if kind in (IN, OUT):
            one = self._card
        elif self.kind == "dragonfly" and kind == 2:
            one = self._global
        return one * self.parallel(kind)

    def parallel(self, kind: int) -> int:
        """How many parallel ones a link of this kind consists of."""
        if kind in (IN, OUT):
            return self._cards
        if self.kind == "fat_tree":
            # A switch of a higher level stands for several, each with its uplinks.
            return int(np.prod(self.shape["uplinks"][: (kind - 2) // 2 + 1]))
        if self.kind == "dragonfly" and kind == 2:
            return int(self.shape.get("global_links", 1))
        return 1

    def name(self, kind: int, number: int) -> str:
        if kind in (IN, OUT):
            return f"node {number} {'sends' if kind == IN else 'receives'}"
        if self.kind in ("mesh", "torus"):
            node, step = divmod(number, 2 * len(self.shape["dims"]))
            return f"node {node}, dimension {step // 2} {'+-'[step % 2]}"
        if self.kind == "fat_tree":
            level, down = divmod(kind - 2, 2)
            return f"switch {number} of level {level + 1}, {('up', 'down')[down]}"
        if self.kind == "hyperx":
            router, dimension, end = hyperx_link(self.shape["dims"], number)
            return f"router {router}, dimension {dimension} to {end}"
        if kind == 2:
            groups = int(self.shape["groups"])
            return f"group {number // groups} to group {number % groups}"
        routers = int(self.shape["routers"])
        group, ends = divmod(number, routers * routers)
        return f"group {group}, router {ends // routers} to {ends % routers}"

    def _inner(self, source: Array, destination: Array) -> Iterator[tuple[Array, int, Array]]:
        if self.kind in ("mesh", "torus"):
            yield from self._grid(source, destination)
        elif self.kind == "fat_tree":
            yield from self._tree(source, destination)
        elif self.kind == "hyperx":
            yield from self._hyperx(source, destination)
        elif self.kind == "dragonfly":
            yield from self._dragonfly(source, destination)

    def _grid(self, source: Array, destination: Array) -> Iterator[tuple[Array, int, Array]]:
        dims = [int(extent) for extent in self.shape["dims"]]
        here = source.copy()
        for dimension, extent in enumerate(dims):
            stride = int(np.prod(dims[dimension + 1 :], dtype=np.int64))
            while True:
                at, to = here // stride % extent, destination // stride % extent
                moving = np.flatnonzero(at != to)
                if not len(moving):
                    break
                ahead = (to - at)[moving]
                down = ahead < 0
                if self.kind == "torus":
                    forward = ahead % extent
                    down = 2 * forward > extent
                link = here[moving] * 2 * len(dims) + 2 * dimension + down
                yield moving, 2, link
                step = np.where(down, -1, 1)
                here[moving] += ((at[moving] + step) % extent - at[moving]) * stride

    def _tree(self, source: Array, destination: Array) -> Iterator[tuple[Array, int, Array]]:
        below = 1
        for level, children in enumerate(self.shape["arity"][:-1]):
            below *= int(children)
            apart = np.flatnonzero(source // below != destination // below)
            yield apart, 2 + 2 * level, (source // below)[apart]
            yield apart, 3 + 2 * level, (destination // below)[apart]

    def _hyperx(self, source: Array, destination: Array) -> Iterator[tuple[Array, int, Array]]:
        dims = [int(extent) for extent in self.shape["dims"]]
        of_router = int(self.shape["nodes_per_router"])
        here, last = source // of_router, destination // of_router
        for dimension, extent in enumerate(dims):
            stride = int(np.prod(dims[dimension + 1 :], dtype=np.int64))
            at, to = here // stride % extent, last // stride % extent
            moving = np.flatnonzero(at != to)
            first = sum(dims[:dimension])
            yield moving, 2, here[moving] * sum(dims) + first + to[moving]
            here = here + (to - at) * stride

    def _dragonfly(self, source: Array, destination: Array) -> Iterator[tuple[Array, int, Array]]:
        groups, routers = int(self.shape["groups"]), int(self.shape["routers"])
        of_router = int(self.shape["nodes_per_router"])
        links = int(self.shape.get("global_links", 1))
        each = -(-(groups - 1) // routers)  # first links of a router

        def first_router(group: Array, other: Array) -> Array:
            return np.asarray((other - (other > group)) // max(each, 1))

        first, last = source // of_router, destination // of_router
        from_group, from_router = first // routers, first % routers
        to_group, to_router = last // routers, last % routers
        apart = from_group != to_group
        here = (from_router - first_router(from_group, to_group)) % routers
        there = (to_router - first_router(to_group, from_group)) % routers
        # How far behind the router of the first link each one begins (core/network/group_links.h).
        offsets = np.arange(links) * routers // links
        offset = offsets[last % links]  # as core/network/fabric.cc chooses
        for end in (there, here):
            offset = np.where(np.isin(end, offsets), end, offset)
        leaves = (first_router(from_group, to_group) + offset) % routers
        enters = (first_router(to_group, from_group) + offset) % routers
        leaves, enters = (np.where(apart, end, to_router) for end in (leaves, enters))

        def local(group: Array, begin: Array, end: Array, chosen: Array) -> Any:
            moving = np.flatnonzero(chosen & (begin != end))
            link = (group * routers + begin) * routers + end
            return moving, 3, link[moving]

        yield local(from_group, from_router, leaves, np.ones(len(apart), bool))
        between = np.flatnonzero(apart)
        yield between, 2, (from_group * groups + to_group)[between]
        yield local(to_group, enters, to_router, apart)


def hyperx_link(dims: Sequence[int], number: int) -> tuple[int, int, int]:
    """The router at which a link begins, its dimension, and the coordinate at which it ends
    (core/network/hyperx_routes.cc)."""
    router, end = divmod(number, sum(dims))
    dimension = 0
    while end >= dims[dimension]:
        end -= dims[dimension]
        dimension += 1
    return router, dimension, end
