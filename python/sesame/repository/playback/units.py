"""Which unit of the drawing a record belongs to: nodes of the machine, or processes."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from sesame.datasets import DataSet, Kind
from sesame.errors import InputError
from sesame.machines.values import machine_values
from sesame.repository.playback.layout import MOST_DRAWN, Diagram, add_below, draw, listed

Array = np.ndarray[Any, Any]
NO_UNIT = -1
MOST_RANKS = 1 << 24
# What reading a machine file that describes no machine may raise.
UNREADABLE = (ArithmeticError, LookupError, TypeError, ValueError, RecursionError, InputError)
KERNEL_TABLES = ("cpu_time", "kernel_summary", "kernel_phase", "kernel_event")


@dataclass(frozen=True)
class Units:
    """Units have the numbers from 0 on: nodes or processes first, then I/O nodes.

    `of_rank`: the unit of each rank; `of_node`: of a node by its name, and of a simulated node by
    its number; `io`: of I/O nodes.
    """

    word: str  # "node" or "rank"
    names: tuple[str, ...]
    of_rank: Array
    of_node: Mapping[str, int]
    io: tuple[int, ...]
    diagram: Diagram  # by unit; nodes that the run did not use have negative numbers

    @property
    def count(self) -> int:
        return len(self.names)

    def unit_of_ranks(self, ranks: Array) -> Array:
        """The unit of each record; NO_UNIT for ranks that are not known."""
        inside = (ranks >= 0) & (ranks < len(self.of_rank))
        return np.where(inside, self.of_rank[np.where(inside, ranks, 0)], NO_UNIT)

    def unit_of_nodes(self, names: Array) -> Array:
        return np.array([self.of_node.get(str(name), NO_UNIT) for name in names], np.int64)


def units_of(data_set: DataSet) -> Units | None:
    """The units of a data set; None if nothing in it is at a rank or node."""
    if data_set.kind == Kind.SIMULATED and data_set.has("rank"):
        return _simulated(data_set)
    if data_set.has("process"):
        return _processes(data_set)
    return _measured(data_set)


def _simulated(data_set: DataSet) -> Units:
    """On the nodes of the machine; in rows where the data set does not say on which, or all were on
    one."""
    ranks = _checked(data_set, data_set.table("rank", ["rank"]).num_rows)
    system = str((data_set.info.target_system or {}).get("name", ""))
    try:
        return _on_machine(data_set, ranks)
    except UNREADABLE:
        return _ranks(ranks, f"{ranks:,} ranks of {system} in rows; its machine cannot be drawn")


def _on_machine(data_set: DataSet, ranks: int) -> Units:
    """Raises one of UNREADABLE for a machine file that describes no machine, as an upload may
    have."""
    scenario, system = data_set.info.scenario or {}, data_set.info.target_system or {}
    values = machine_values(str(system.get("machine_file", "")), scenario.get("overrides", []))
    node_of = _placed(str(scenario.get("placement", "block")), ranks, values)
    used = [] if node_of is None else np.unique(node_of).tolist()
    if node_of is None or len(used) < 2 or len(used) > MOST_DRAWN:
        return _ranks(ranks, _where(used, str(system.get("name", "")), ranks))
    diagram = draw(values, used)
    if not set(used) <= set(diagram.at):
        raise ValueError("the machine has fewer nodes than the run used")
    unit_of = {node: unit for unit, node in enumerate(used)}
    attached = _attached(data_set, values)
    io_numbers = list(range(len(used), len(used) + len(attached)))
    diagram.at = {unit_of.get(node, -1 - node): position for node, position in diagram.at.items()}
    add_below(diagram, io_numbers, [unit_of.get(node, -1 - node) for node in attached])
    names = [f"node {node}" for node in used] + [f"I/O node {i}" for i in range(len(attached))]
    of_rank = np.array([unit_of[node] for node in node_of.tolist()], np.int64)
    of_node = {str(node): unit for node, unit in unit_of.items()}
    return Units("node", tuple(names), of_rank, of_node, tuple(io_numbers), diagram)


def _checked(data_set: DataSet, ranks: int) -> int:
    """The number of ranks. Raises InputError if it is more than MOST_RANKS."""
    if ranks > MOST_RANKS:
        raise InputError(
            f"{ranks:,} ranks, expected at most {MOST_RANKS:,} to play", path=str(data_set.path)
        )
    return ranks


def _where(used: list[int], system: str, ranks: int) -> str:
    if len(used) == 1:
        return f"{ranks} ranks, all on node {used[0]} of {system}"
    if len(used) > MOST_DRAWN:
        return f"{ranks:,} ranks of {system} in rows; there are too many nodes to draw each"
    return f"{ranks} ranks of {system} in rows; the data set does not say on which nodes they were"


def _placed(placement: str, ranks: int, values: Mapping[str, str]) -> Array | None:
    """The node of each rank, as docs/formats/machine.md has it; None for a file."""
    cores, nodes = int(values.get("node.cores", 1)), _nodes(values)
    rank = np.arange(ranks)
    if placement == "block":
        return rank // cores
    return rank % nodes if placement == "cyclic" and nodes else None


def _nodes(values: Mapping[str, str]) -> int | None:
    if "nodes" in values:
        return int(values["nodes"])
    product = 1
    for key in ("dims", "arity"):
        if f"topology.{key}" in values:
            product = int(np.prod(json.loads(values[f"topology.{key}"])))
            return product * int(values.get("topology.nodes_per_router", 1))  # of a HyperX
    keys = [f"topology.{key}" for key in ("groups", "routers", "nodes_per_router")]
    return int(np.prod([int(values[key]) for key in keys])) if keys[0] in values else None


def _attached(data_set: DataSet, values: Mapping[str, str]) -> list[int]:
    """The node of each I/O node of the parallel file system, if the run used it. Without a list in
    the machine file they are spread evenly (core/storage/links.cc)."""
    nodes = _nodes(values)
    if not (data_set.has("storage_ionode") or data_set.has("storage_activity")) or nodes is None:
        return []
    count = int(values.get("storage.ionodes", 1))
    if count > MOST_DRAWN:
        return []
    if "storage.attached" in values:
        return [int(node) for node in json.loads(values["storage.attached"])]
    return [i * nodes // count for i in range(count)]


def _ranks(ranks: int, about: str) -> Units:
    """Ranks in rows; where there are too many, several in a cell."""
    each = -(-ranks // MOST_DRAWN)
    units = -(-ranks // each)
    names = [
        f"rank {i * each}" if each == 1 else f"ranks {i * each} to {min((i + 1) * each, ranks) - 1}"
        for i in range(units)
    ]
    diagram = listed("list", about, range(units))
    return Units("rank", tuple(names), np.arange(ranks) // each, {}, (), diagram)


def _processes(data_set: DataSet) -> Units:
    table = data_set.table("process", ["rank", "host"])
    rank = table.column("rank").to_numpy().astype(np.int64)
    hosts = table.column("host").to_pylist()
    ranks = _checked(data_set, int(rank.max(initial=-1)) + 1)
    names = list(dict.fromkeys(str(host) for host in hosts))
    of_node = {name: i for i, name in enumerate(names)}
    if len(names) < 2 or len(names) > MOST_DRAWN:
        where = f" on {names[0]}" if len(names) == 1 and names[0] else ""
        found = _ranks(ranks, f"{ranks:,} processes{where}")
        return _with_node(found, names[0]) if len(names) == 1 and _is_merged(data_set) else found
    of_rank = np.full(ranks, NO_UNIT)
    of_rank[rank] = [of_node[str(host)] for host in hosts]
    diagram = listed(
        "list", f"{len(names):,} nodes; how they are connected is not known", range(len(names))
    )
    return Units("node", tuple(names), of_rank, of_node, (), diagram)


def _is_merged(data_set: DataSet) -> bool:
    return any(data_set.has(table) for table in KERNEL_TABLES)


def _with_node(units: Units, node: str) -> Units:
    """Processes of one node, and below them the node itself, for what its kernel did."""
    number = units.count
    add_below(units.diagram, [number], [None])
    return replace(units, names=(*units.names, node or "the node"), of_node={node: number})


def _measured(data_set: DataSet) -> Units | None:
    names: dict[str, None] = {}
    for table in KERNEL_TABLES:
        if data_set.has(table):
            for batch in data_set.batches(table, ["node"]):
                names |= dict.fromkeys(
                    str(one) for one in batch.column("node").unique().to_pylist()
                )
    if not names or len(names) > MOST_DRAWN:
        return None
    about = f"{len(names):,} nodes; how they are connected is not known"
    diagram = listed("list", "one node" if len(names) == 1 else about, range(len(names)))
    of_node = {name: i for i, name in enumerate(names)}
    return Units("node", tuple(names), np.zeros(0, np.int64), of_node, (), diagram)
