"""The records of one rank of a simulated run, and the costs that the machine gives its messages."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from sesame import native
from sesame.analysis.machine_file import machine_file_of
from sesame.datasets import DataSet

Array = np.ndarray[Any, Any]
MESSAGE_COLUMNS = (
    "source",
    "destination",
    "bytes",
    "send_ps",
    "arrival_ps",
    "receive_complete_ps",
    "flags",
    "protocol",
)
CALL_COLUMNS = ("rank", "begin_ps", "end_ps", "call")
FILE_COLUMNS = ("rank", "begin_ps", "end_ps", "call", "file", "flags")
IN_NODE, OF_COLLECTIVE = 1, 2  # flags of a message
INSIDE_CALL, ASYNCHRONOUS = 1, 4  # flags of a call on a file


@dataclass(frozen=True)
class Records:
    """The records of one rank: columns by name. Messages also have the columns of their costs, in
    ps, of native.Network; those of one-sided operations have what a rank pays for alone."""

    rank: int
    calls: dict[str, Array]
    files: dict[str, Array]
    received: dict[str, Array]
    sent: dict[str, Array]
    paths: list[str]


def network_of(data_set: DataSet) -> tuple[Any, dict[str, Any]]:
    """The network of the run with the placement of its ranks, and the machine."""
    scenario = data_set.info["scenario"]
    overrides = scenario["overrides"]
    placement = str(scenario["placement"]).removeprefix("file:")
    with machine_file_of(data_set) as path:
        model = native.read_machine(str(path), overrides)
        return native.Network(str(path), overrides, scenario["ranks"], placement), model


def has_all_nodes(data_set: DataSet) -> bool:
    """Whether `network_of` knows the node of every rank. It lacks ranks that were spawned: their
    nodes are not in the data set."""
    return not data_set.info.get("result", {}).get("spawned_ranks")


def calls_of(data_set: DataSet) -> set[str]:
    """Names of the calls that ranks made."""
    names: set[str] = set()
    for batch in data_set.batches("call", ["call"]):
        names.update(pc.unique(batch.column("call")).to_pylist())
    return names


def messages_of(data_set: DataSet, network: Any) -> dict[str, Array]:
    """All messages of the run with their costs."""
    return _with_costs(_select(data_set, "message", MESSAGE_COLUMNS, None), network)


def records_of(data_set: DataSet, network: Any, rank: int) -> Records:
    """The calls and messages of one rank, in the order of time."""
    received = _select(data_set, "message", MESSAGE_COLUMNS, ("destination", rank))
    sent = _select(data_set, "message", MESSAGE_COLUMNS, ("source", rank))
    paths = []
    if data_set.has("file"):
        paths = data_set.table("file", ["path"]).column("path").to_pylist()
    return Records(
        rank,
        _ordered(_select(data_set, "call", CALL_COLUMNS, ("rank", rank)), "begin_ps"),
        _ordered(_select(data_set, "file_call", FILE_COLUMNS, ("rank", rank)), "begin_ps"),
        _ordered(_with_costs(received, network), "receive_complete_ps"),
        _ordered(_with_costs(sent, network), "send_ps"),
        paths,
    )


def _select(
    data_set: DataSet, name: str, columns: Sequence[str], only: tuple[str, int] | None
) -> dict[str, Array]:
    """Columns of a table; empty if there is no such table. `only` chooses rows: a column and the
    value that it must have."""
    parts: dict[str, list[Array]] = {column: [] for column in columns}
    for batch in data_set.batches(name, list(columns)) if data_set.has(name) else ():
        if only is not None:
            batch = batch.filter(pc.equal(batch.column(only[0]), only[1]))
        for column in columns:
            parts[column].append(_values(batch.column(column)))
    return {
        column: np.concatenate(found) if found else np.empty(0, np.int64)
        for column, found in parts.items()
    }


def _values(column: pa.Array) -> Array:
    """A column as an array; names as text, not as codes."""
    if pa.types.is_dictionary(column.type):
        names: Array = np.array(column.dictionary.to_pylist(), object)
        return np.asarray(names[column.indices.to_numpy()])
    return np.asarray(column.to_numpy())


def _with_costs(messages: dict[str, Array], network: Any) -> dict[str, Array]:
    columns = [messages[name].astype(np.int64) for name in ("source", "destination", "bytes")]
    costs: dict[str, Array] = network.costs(*columns)
    one_sided = is_one_sided(messages)
    if one_sided.any():
        of_these = network.rdma_costs(*(column[one_sided] for column in columns))
        # The target's processor takes no part, and the data waits for no answer.
        for name in ("receive_overhead", "rendezvous"):
            of_these[name][:] = 0
        of_these["send_overhead"][messages["protocol"][one_sided] == "get"] = 0
        for name, values in costs.items():
            values[one_sided] = of_these[name]
    return {**messages, **costs}


def is_one_sided(messages: dict[str, Array]) -> Array:
    """Which of the messages are data of one-sided operations."""
    protocol = messages["protocol"]
    return np.asarray((protocol == "put") | (protocol == "get"))


def _ordered(columns: dict[str, Array], by: str) -> dict[str, Array]:
    order = np.argsort(columns[by], kind="stable")
    return {name: values[order] for name, values in columns.items()}
