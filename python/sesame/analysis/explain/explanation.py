"""The explanation of a prediction. It needs nothing but the data set of the run."""

from __future__ import annotations

import re
from collections.abc import Collection
from dataclasses import dataclass
from typing import Any

import numpy as np

from sesame.analysis.explain.constants import Constant, constants_of
from sesame.analysis.explain.limits import limits_of
from sesame.analysis.explain.records import (
    IN_NODE,
    Array,
    calls_of,
    has_all_nodes,
    messages_of,
    network_of,
    records_of,
)
from sesame.analysis.explain.shares import FILES, TimeShare, divide
from sesame.analysis.routes import Topology
from sesame.datasets import DataSet
from sesame.errors import InputError
from sesame.settings import setting
from sesame.trust import Doubt

PS = 1e-12
ALWAYS_USED = (
    "node.compute_ratio",
    "node.slowdown",
    "node.copy_bandwidth",
    "node.reduction_bandwidth",
)
# Keys of the cost of a message, in [network], or in [node.network] if both ranks are on one node.
NETWORK_KEYS = (
    "latency",
    "bandwidth",
    "stream_bandwidth",
    "send_overhead",
    "receive_overhead",
    "gap",
    "hop_latency",
    "eager_limit",
)
# Those of eager messages with data alone.
COPY_KEYS = ("send_copy_bandwidth", "receive_copy_bandwidth")
# Calls that may run Bruck's Alltoall: collective access to files exchanges counts with it.
PACKING_CALLS = re.compile(
    r"MPI_(I?alltoall|Alltoall_init|File_i?(read|write)_(at_all|all|ordered)(_begin)?)",
    re.IGNORECASE,
)


@dataclass(frozen=True)
class Explanation:
    """`shares` divide the time of the slowest rank; their sum is the predicted time."""

    rank: int
    end_ps: int
    shares: tuple[TimeShare, ...]
    constants: tuple[Constant, ...]  # those that the run used
    limits: tuple[Doubt, ...]
    outside: tuple[str, ...]  # what is not in the model at all

    def as_json(self) -> dict[str, Any]:
        return {
            "rank": self.rank,
            "time_s": self.end_ps * PS,
            "parts": [
                {
                    "part": share.name,
                    "time_s": share.time_ps * PS,
                    "share": share.time_ps / max(self.end_ps, 1),
                    "most_s": {name: time * PS for name, time in share.most},
                }
                for share in self.shares
            ],
            "constants": [constant.as_json() for constant in self.constants],
            "limits": [limit.as_json() for limit in self.limits],
            "outside_the_model": list(self.outside),
        }


def why_not(data_set: DataSet) -> str | None:
    """Why a run cannot be explained; None when it can."""
    result = data_set.info.get("result", {})
    if not data_set.has("call"):
        return f"it has no records of calls; simulate it without {setting('records', False)}"
    if result.get("outcome") != "completed":
        return "it did not complete"
    if not has_all_nodes(data_set):
        return "it spawned ranks, whose nodes are not in its records"
    return None


def explain(data_set: DataSet) -> Explanation:
    """Explains a run. Raises InputError if it did not complete, or has no records of calls."""
    if (reason := why_not(data_set)) is not None:
        raise InputError(f"this run cannot be explained: {reason}", path=str(data_set.path))
    network, model = network_of(data_set)
    ranks = data_set.table("rank", ["end_s", "compute_s"])
    ends, computed = (np.rint(ranks.column(c).to_numpy() / PS) for c in ("end_s", "compute_s"))
    rank = int(ends.argmax())
    messages = messages_of(data_set, network)
    shares = divide(records_of(data_set, network, rank), int(ends[rank]), int(computed[rank]))
    nodes = np.array(network.nodes())
    return Explanation(
        rank,
        int(ends[rank]),
        tuple(shares),
        tuple(
            used_constants(
                _known_constants(data_set),
                messages,
                calls_of(data_set),
                any(share.name == FILES for share in shares),
            )
        ),
        tuple(limits_of(messages, nodes, Topology(model), int(ends[rank]), data_set.info)),
        tuple(data_set.info.get("notes", ())),
    )


def _known_constants(data_set: DataSet) -> list[Constant]:
    info = data_set.info
    text = info["target_system"]["machine_file"]
    return list(constants_of(text, info["scenario"]["overrides"]).values())


def used_constants(
    known: Collection[Constant],
    messages: dict[str, Array],
    calls: Collection[str],
    uses_files: bool,
) -> list[Constant]:
    """Those of the `known` constants that a run with these messages and calls can use."""
    used = {*ALWAYS_USED, *_keys_of_messages(messages)}
    if any(PACKING_CALLS.fullmatch(call) for call in calls):
        used.add("node.packing_time")
    files = ("storage.", "node.storage.") if uses_files else ()
    return [
        constant
        for constant in known
        if constant.key.partition(".segment")[0] in used or constant.key.startswith(files)
    ]


def _keys_of_messages(messages: dict[str, Array]) -> set[str]:
    """Keys of the costs of these messages; a table's name stands for its segments."""
    inside = (messages["flags"] & IN_NODE) != 0
    copied = (messages["rendezvous"] == 0) & (messages["bytes"] > 0)
    keys: set[str] = set()
    for table, chosen in (("network", ~inside), ("node.network", inside)):
        if chosen.any():
            keys |= {table, *(f"{table}.{name}" for name in NETWORK_KEYS)}
        if (chosen & copied).any():
            keys |= {f"{table}.{name}" for name in COPY_KEYS}
    return keys
