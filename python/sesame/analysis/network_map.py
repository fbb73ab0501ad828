"""Draws how busy the links of the network were on the topology itself."""

from __future__ import annotations

import math

import numpy as np

from sesame.analysis.link_use import NOT_SHOWN, link_use
from sesame.analysis.plots import Plot
from sesame.analysis.routes import IN, OUT, hyperx_link
from sesame.datasets import DataSet
from sesame.web.chart import Chart

MOST_DRAWN = 3_000  # links, the busiest
# Mean shares of a link's bandwidth, from the lowest on.
CLASSES = (
    (0.0, "busy up to 10 % of the time", "grey"),
    (0.1, "busy 10 to 30 %", "sky"),
    (0.3, "busy 30 to 60 %", "orange"),
    (0.6, "busy more than 60 %", "vermillion"),
)
APART = 0.07  # of a direction of a link from the line between its ends, in cells
MOST_APART = 0.05  # of it, as a part of that line: short links are drawn closer together
WRAP = 0.4  # how far the link that closes a ring is drawn
ASKEW = 0.15  # from plane to plane in the other direction too, so that links between them are seen
Point = tuple[float, float]


def network_map(data_set: DataSet) -> Plot:
    """Every link at its place, coloured by its mean share; both directions side by side."""
    use = link_use(data_set)
    if use is None:
        return Plot(_empty_map(), NOT_SHOWN)

    # A large tree is drawn up to the last node that the run used.
    nodes = 1 + max(number for kind, number, _ in use.all if kind in (IN, OUT))

    def layout_of(apart: float) -> Layout:
        return Layout(use.topology.kind, use.topology.shape, nodes, apart)

    layout = layout_of(APART)
    chart = _empty_map(equalUnits=layout.has_circles)
    busiest = sorted(use.all, key=lambda link: -link[2])[:MOST_DRAWN]
    drawn = [
        (*ends, share, use.topology.name(kind, number))
        for kind, number, share in busiest
        if (ends := layout.ends(kind, number)) is not None
    ]
    chart.points("", *_places(layout_of(0.0), busiest), "soft", size=3)
    counts = []
    limits = [least for least, _, _ in CLASSES] + [math.inf]
    for (least, name, colour), most in zip(CLASSES, limits[1:], strict=True):
        chosen = [link for link in drawn if least <= link[2] < most]
        if not chosen:
            continue
        counts.append(f"{len(chosen):,} links {name}")
        begin, end = (np.array([link[i] for link in chosen], float) for i in (0, 1))
        texts = [f"{link[3]}: {100 * link[2]:.0f} %" for link in chosen]
        chart.links(
            name, begin[:, 0], begin[:, 1], end[:, 0], end[:, 1], colour, arrows=False, texts=texts
        )
    return Plot(chart, f"{'; '.join(counts)}. {layout.about} Links without messages are not drawn.")


def _empty_map(**settings: bool) -> Chart:
    chart = Chart(520, width=820, square=True, zoomY=True, crosshair=False, legend=True, **settings)
    chart.x("", grid=False, ticks=[])
    chart.y("", grid=False, ticks=[], reversed=True)
    return chart


def _places(layout: Layout, links: list[tuple[int, int, float]]) -> tuple[list[float], list[float]]:
    """Where links begin and end: nodes, routers and switches."""
    ends = [layout.ends(kind, number) for kind, number, _ in links]
    places = sorted({(round(x, 3), round(y, 3)) for pair in ends if pair for x, y in pair})
    return [x for x, _ in places], [y for _, y in places]


class Layout:
    """Where links are drawn, in cells."""

    def __init__(
        self, kind: str, shape: dict[str, object], nodes: int, apart: float = APART
    ) -> None:
        self._kind, self._shape, self._nodes = kind, shape, nodes
        self._apart = apart  # between a link's middle line and each direction

    @property
    def has_circles(self) -> bool:
        """Its distances mean the same in both directions."""
        return self._kind not in ("mesh", "torus", "fat_tree")

    @property
    def about(self) -> str:
        return {
            "mesh": "Dimensions go across and down in turn, the last one across.",
            "torus": "Dimensions go across and down in turn, the last one across; stubs close the "
            "rings.",
            "fat_tree": "Nodes are at the bottom, each level of switches above the one below.",
            "hyperx": "Routers that differ in the last coordinate alone are on a small circle, "
            "these on a larger one for each dimension before.",
            "dragonfly": "Routers of a group are on a small circle, groups on a large one.",
        }.get(self._kind, "Nodes are on a circle around the switch.")

    def ends(self, kind: int, number: int) -> tuple[Point, Point] | None:
        """Both ends of a link; None for one without a place: of a node and its own router."""
        if self._kind in ("mesh", "torus"):
            return None if kind in (IN, OUT) else self._grid_link(number)
        inner = {
            "fat_tree": self._tree_link,
            "hyperx": self._hyperx_link,
            "dragonfly": self._dragonfly_link,
        }
        if kind in (IN, OUT):
            node, switch = self._node_link(number)
            return self._shifted(node, switch) if kind == IN else self._shifted(switch, node)
        return inner[self._kind](kind, number)

    def _numbers(self, key: str) -> list[int]:
        return [int(n) for n in self._shape[key]]  # type: ignore[attr-defined]

    def _grid_place(self, node: int) -> Point:
        """Dimensions go across and down in turn, each in steps over the blocks of those before."""
        dims = self._numbers("dims")
        at = [int(i) for i in np.unravel_index(node, dims)]
        place, step = [0.0, 0.0], [1, 1]
        for i, (extent, position) in enumerate(zip(reversed(dims), reversed(at), strict=True)):
            along = i % 2
            place[along] += position * step[along]
            place[1 - along] += ASKEW * position if i > 1 else 0.0
            step[along] = step[along] * extent + 1
        return place[0], place[1]

    def _grid_link(self, number: int) -> tuple[Point, Point]:
        dims = self._numbers("dims")
        node, step = divmod(number, 2 * len(dims))
        dimension, down = divmod(step, 2)
        at = [int(i) for i in np.unravel_index(node, dims)]
        to = at[dimension] + (-1 if down else 1)
        begin = self._grid_place(node)
        if not 0 <= to < dims[dimension]:  # closes the ring
            across = dimension == len(dims) - 1
            away = -WRAP if down else WRAP
            end = (begin[0] + away, begin[1]) if across else (begin[0], begin[1] + away)
            return self._shifted(begin, end)
        at[dimension] = to
        return self._shifted(begin, self._grid_place(int(np.ravel_multi_index(at, dims))))

    def _switch_place(self, level: int, number: int) -> Point:
        """Level 0 are nodes."""
        arity = self._numbers("arity")
        below = math.prod(arity[:level])
        last = min((number + 1) * below, self._nodes)
        scale = 40 / max(self._nodes, 40)  # wide trees are drawn narrower
        return (number * below + last - 1) / 2 * scale, 6.0 * (len(arity) - level)

    def _tree_link(self, kind: int, number: int) -> tuple[Point, Point]:
        level, down = divmod(kind - 2, 2)
        arity = self._numbers("arity")
        low = self._switch_place(level + 1, number)
        high = self._switch_place(level + 2, number // arity[level + 1])
        return self._shifted(high, low) if down else self._shifted(low, high)

    def _router_place(self, router: int) -> Point:
        """Circles of circles, the last coordinate on the smallest."""
        extents = (
            self._numbers("dims")
            if self._kind == "hyperx"
            else [int(str(self._shape[key])) for key in ("groups", "routers")]
        )
        x = y = 0.0
        radius = max(1.0, extents[-1] / 6)
        for extent in reversed(extents):
            router, at = divmod(router, extent)
            dx, dy = _on_circle(at, extent, radius)
            x, y = x + dx, y + dy
            radius *= 2 + extent / 2
        return x, y

    def _hyperx_link(self, kind: int, number: int) -> tuple[Point, Point]:
        dims = self._numbers("dims")
        router, dimension, end = hyperx_link(dims, number)
        at = [int(i) for i in np.unravel_index(router, dims)]
        at[dimension] = end
        other = int(np.ravel_multi_index(at, dims))
        return self._shifted(self._router_place(router), self._router_place(other))

    def _dragonfly_link(self, kind: int, number: int) -> tuple[Point, Point]:
        groups, routers = int(str(self._shape["groups"])), int(str(self._shape["routers"]))
        if kind == 2:
            begin, end = divmod(number, groups)
            each = -(-(groups - 1) // routers)
            exits = (end - (end > begin)) // each, (begin - (begin > end)) // each
            return self._shifted(
                self._router_place(begin * routers + exits[0]),
                self._router_place(end * routers + exits[1]),
            )
        group, ends = divmod(number, routers * routers)
        return self._shifted(
            self._router_place(group * routers + ends // routers),
            self._router_place(group * routers + ends % routers),
        )

    def _node_link(self, node: int) -> tuple[Point, Point]:
        """A node and the switch at which it is."""
        if self._kind == "fat_tree":
            leaf = node // self._numbers("arity")[0]
            return self._switch_place(0, node), self._switch_place(1, leaf)
        if self._kind in ("hyperx", "dragonfly"):
            each = int(str(self._shape["nodes_per_router"]))
            x, y = self._router_place(node // each)
            dx, dy = _on_circle(node % each, each, 0.3)
            return (x + dx, y + dy), (x, y)
        return _on_circle(node, self._nodes, max(3.0, self._nodes / 6)), (0.0, 0.0)

    def _shifted(self, begin: Point, end: Point) -> tuple[Point, Point]:
        """Moves a line a little to its right, so that both directions of a link are seen."""
        dx, dy = end[0] - begin[0], end[1] - begin[1]
        length = math.hypot(dx, dy) or 1.0
        apart = min(self._apart / length, MOST_APART)
        x, y = -dy * apart, dx * apart
        return (begin[0] + x, begin[1] + y), (end[0] + x, end[1] + y)


def _on_circle(number: int, count: int, radius: float) -> Point:
    angle = 2 * math.pi * number / count
    return radius * math.sin(angle), -radius * math.cos(angle)
