"""Where the nodes of a machine are drawn: cells on a grid, boxes around groups, lines between.

Coordinates are in cells, from the upper left corner. A mesh or torus of more than two dimensions
is drawn as planes side by side: the last dimension goes across, the one before it down, and so on.
A tree is drawn as nested boxes, each with its switch in its title bar.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any

import numpy as np

Array = np.ndarray[Any, Any]
MOST_DRAWN = 4096  # nodes; of a larger machine only those that the run used are drawn
GAP = 1.0  # between planes of a mesh
BAR, PAD = 0.7, 0.25  # of a box: the height of its title bar, the space inside its border
STUB = 0.45  # length of the ends that show that a dimension of a torus is closed


@dataclass
class Diagram:
    """`at` is the upper left corner of each node that is drawn, by number; a cell is 1 wide."""

    kind: str
    about: str
    at: dict[int, tuple[float, float]] = field(default_factory=dict)
    boxes: list[tuple[float, float, float, float, str]] = field(default_factory=list)
    lines: list[tuple[float, float, float, float]] = field(default_factory=list)

    def size(self) -> tuple[float, float]:
        rights = [x + 1 for x, _ in self.at.values()] + [x + w for x, _, w, _, _ in self.boxes]
        lowest = [y + 1 for _, y in self.at.values()] + [y + h for _, y, _, h, _ in self.boxes]
        ends = np.array(self.lines or [(0.0, 0.0, 0.0, 0.0)])
        width = max(*rights, float(ends[:, [0, 2]].max()), 1.0)
        return width, max(*lowest, float(ends[:, [1, 3]].max()), 1.0)


def draw(values: Mapping[str, str], used: Sequence[int]) -> Diagram:
    """The diagram of a machine from the values of its file (`machine_values`). `used`: the nodes
    that the run had, in rising order; others are drawn where there is space."""
    topology = {key.removeprefix("topology."): value for key, value in values.items()}
    kind = topology.get("kind", "crossbar")
    if kind in ("mesh", "torus"):
        return _grid(kind, _numbers(topology["dims"]), used)
    if kind == "fat_tree":
        arity = _numbers(topology["arity"])
        nodes = int(values.get("nodes", math.prod(arity)))
        sizes = [math.prod(arity[: level + 1]) for level in range(len(arity))]
        about = f"fat tree of {nodes:,} nodes, {arity[0]} on each leaf switch"
        return _tree(kind, about, sizes, "switch", _shown(nodes, used))
    if kind == "hyperx":
        dims, each = _numbers(topology["dims"]), int(topology["nodes_per_router"])
        about = f"HyperX of {' × '.join(map(str, dims))} routers of {each} nodes"
        sizes = [each, each * dims[-1], each * math.prod(dims)]
        nodes = int(values.get("nodes", sizes[-1]))
        return _tree(kind, about, sizes, "router", _shown(nodes, used))
    if kind == "dragonfly":
        groups, routers, each = (
            int(topology[key]) for key in ("groups", "routers", "nodes_per_router")
        )
        about = f"dragonfly of {groups} groups with {routers} routers of {each} nodes"
        sizes = [each, each * routers, each * routers * groups]
        nodes = int(values.get("nodes", sizes[-1]))
        return _tree(kind, about, sizes, "router", _shown(nodes, used))
    return listed(kind, f"{kind} of {values.get('nodes', 'unknown')} nodes", used)


def listed(kind: str, about: str, nodes: Sequence[int]) -> Diagram:
    """Nodes in rows, without connections."""
    columns = _columns(len(nodes))
    at = {node: (float(i % columns), float(i // columns)) for i, node in enumerate(nodes)}
    return Diagram(kind, about, at)


def add_below(diagram: Diagram, numbers: Sequence[int], attached: Sequence[int | None]) -> None:
    """Puts other units, as I/O nodes, in a row below the diagram, each with a line to the node to
    whose switch it is attached. `numbers` are those by which `at` knows them."""
    width, below = diagram.size()
    columns = max(min(len(numbers), int(width)), 1)
    for i, (number, node) in enumerate(zip(numbers, attached, strict=True)):
        spread = (i % columns + 0.5) * max(width, columns) / columns - 0.5
        x, y = spread, below + 1.2 + 1.2 * (i // columns)
        diagram.at[number] = (x, y)
        if node is not None and (to := diagram.at.get(node)) is not None:
            diagram.lines.append((x + 0.5, y, to[0] + 0.5, to[1] + 1))


def _grid(kind: str, dims: Sequence[int], used: Sequence[int]) -> Diagram:
    nodes = math.prod(dims)
    about = f"{kind} of {' × '.join(map(str, dims))} nodes"
    shown = _shown(nodes, used)
    where = np.array(np.unravel_index(np.array(shown, np.int64), dims))
    strides = _strides(dims)
    at = [np.tensordot(strides[axis], where, 1) for axis in (0, 1)]
    origin = [float(one.min(initial=0)) if len(shown) < nodes else 0.0 for one in at]
    spread = [float(one.max(initial=0)) - low for one, low in zip(at, origin, strict=True)]
    if math.prod(length + 1 for length in spread) > 4 * MOST_DRAWN:
        return listed(kind, f"{about}; the nodes that were used, in rows", used)
    margin = STUB if kind == "torus" else 0.0
    positions = {
        node: (x - origin[0] + margin, y - origin[1] + margin)
        for node, x, y in zip(shown, at[0].tolist(), at[1].tolist(), strict=True)
    }
    diagram = Diagram(kind, about, positions)
    _join_neighbours(diagram, dims, shown, where)
    return diagram


def _strides(dims: Sequence[int]) -> list[Array]:
    """How many cells one step in each dimension goes across, and down."""
    strides, extent = [np.zeros(len(dims)), np.zeros(len(dims))], [1.0, 1.0]
    for number, dimension in enumerate(reversed(range(len(dims)))):
        axis, is_outer = number % 2, number >= 2
        step = extent[axis] + (GAP if is_outer else 0.0) if is_outer else 1.0
        strides[axis][dimension] = step
        extent[axis] = step * (dims[dimension] - 1) + extent[axis]
    return strides


def _join_neighbours(
    diagram: Diagram, dims: Sequence[int], shown: Sequence[int], where: Array
) -> None:
    """Lines along the two innermost dimensions, with stubs where a torus is closed."""
    for dimension in range(max(len(dims) - 2, 0), len(dims)):
        others = np.delete(where, dimension, axis=0)
        rows: dict[tuple[int, ...], list[int]] = {}
        for i, key in enumerate(zip(*others.tolist(), strict=True) if len(others) else ()):
            rows.setdefault(key, []).append(i)
        if not len(others):
            rows[()] = list(range(len(shown)))
        is_across = dimension == len(dims) - 1
        for row in rows.values():
            along = [row[i] for i in np.argsort(where[dimension, row])]
            x0, y0 = diagram.at[shown[along[0]]]
            x1, y1 = diagram.at[shown[along[-1]]]
            stub = STUB + 0.5 if diagram.kind == "torus" else 0.0
            if is_across:
                diagram.lines.append((x0 + 0.5 - stub, y0 + 0.5, x1 + 0.5 + stub, y1 + 0.5))
            else:
                diagram.lines.append((x0 + 0.5, y0 + 0.5 - stub, x1 + 0.5, y1 + 0.5 + stub))


@dataclass(frozen=True)
class _Group:
    """A drawn part of a tree: its size, and what puts it at a position."""

    width: float
    height: float
    put: Callable[[float, float], None]
    is_switch: bool = False


def _tree(kind: str, about: str, sizes: Sequence[int], word: str, shown: Sequence[int]) -> Diagram:
    """Nested groups of `sizes` nodes, the smallest first."""
    diagram = Diagram(kind, about)

    def leaf(node: int) -> _Group:
        return _Group(1, 1, lambda x, y: diagram.at.__setitem__(node, (x, y)))

    def group(level: int, nodes: Sequence[int]) -> _Group:
        if level < 0:
            return leaf(nodes[0])
        inner = sizes[level - 1] if level else 1
        number = nodes[0] // sizes[level]
        parts = [group(level - 1, part) for part in _by(nodes, inner)]
        is_root = level == len(sizes) - 1
        title = f"{word} {number}" if level == 0 else "" if is_root else f"level {level + 1}"
        return _boxed(diagram, parts, title)

    whole = group(len(sizes) - 1, list(shown))
    whole.put(0.0, 0.0)
    return diagram


def _boxed(diagram: Diagram, parts: Sequence[_Group], title: str) -> _Group:
    """Groups in rows inside a box, with lines from its title bar to those of switches: down at
    the left, and along each row."""
    width, height = max(part.width for part in parts), max(part.height for part in parts)
    columns = _columns(len(parts), height / width)
    rows = -(-len(parts) // columns)
    step = (width + (PAD if parts[0].is_switch else 0), height + (PAD if parts[0].is_switch else 0))
    whole = (columns * step[0] + 2 * PAD, rows * step[1] + BAR + 2 * PAD)

    def put(x: float, y: float) -> None:
        diagram.boxes.append((x, y, *whole, title))
        for i, part in enumerate(parts):
            left, top = x + PAD + i % columns * step[0], y + BAR + PAD + i // columns * step[1]
            part.put(left, top)
            if part.is_switch:
                bus, middle = top - PAD / 2, left + part.width / 2
                diagram.lines.append((middle, bus, middle, top))
                diagram.lines.append((x + PAD / 2, bus, middle, bus))
        if parts[0].is_switch:
            trunk = x + PAD / 2
            bottom = y + BAR + PAD / 2 + (rows - 1) * step[1]
            diagram.lines.append((trunk, y + BAR, trunk, bottom))

    return _Group(*whole, put, is_switch=True)


def _by(nodes: Sequence[int], size: int) -> list[Sequence[int]]:
    """Nodes in rising order, in groups of equal node // size."""
    numbers = np.asarray(nodes) // size
    cuts = [0, *(np.flatnonzero(np.diff(numbers)) + 1).tolist(), len(nodes)]
    return [nodes[begin:end] for begin, end in pairwise(cuts)]


def _shown(nodes: int, used: Sequence[int]) -> list[int]:
    return list(range(nodes)) if nodes <= MOST_DRAWN else list(used)


def _columns(count: int, aspect: float = 1.0) -> int:
    """Columns of a grid about twice as wide as high; `aspect`: height over width of an item."""
    return max(1, min(count, round(math.sqrt(2.2 * count * aspect))))


def _numbers(text: str) -> list[int]:
    return [int(number) for number in json.loads(text)]
