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
    is_one_sided,
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
# What messages between nodes share, by network.sharing; a table's name stands for its keys.
SHARED_TABLES = {
    "none": (),
    "interface": ("network.card",),
    "links": ("network.card", "network.link", "topology"),
}
ALL_SHARED = set(SHARED_TABLES["links"])
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
    ends, computed = _times_of_ranks(data_set)
    rank, end_ps, shares = _shares_of_slowest(data_set, network, ends, computed)
    messages = messages_of(data_set, network)
    nodes = np.array(network.nodes())
    return Explanation(
        rank,
        end_ps,
        tuple(shares),
        tuple(
            used_constants(
                _known_constants(data_set),
                messages,
                calls_of(data_set),
                uses_files=any(share.name == FILES for share in shares),
                sharing=data_set.info["result"].get("sharing", "none"),
            )
        ),
        tuple(
            limits_of(
                messages,
                nodes,
                Topology(model),
                end_ps,
                data_set.info,
                float(computed.sum() / max(ends.sum(), 1)),
            )
        ),
        tuple(data_set.info.get("notes", ())),
    )


def shares_of_slowest(data_set: DataSet) -> list[TimeShare]:
    """How the time of the slowest rank is divided, as `explain` has it. The run can be explained
    (`why_not`)."""
    network, _ = network_of(data_set)
    return _shares_of_slowest(data_set, network, *_times_of_ranks(data_set))[2]


def _times_of_ranks(data_set: DataSet) -> tuple[Array, Array]:
    """The end of each rank, and its computation, in ps."""
    ranks = data_set.table("rank", ["end_s", "compute_s"])
    ends, computed = (np.rint(ranks.column(c).to_numpy() / PS) for c in ("end_s", "compute_s"))
    return ends, computed


def _shares_of_slowest(
    data_set: DataSet, network: Any, ends: Array, computed: Array
) -> tuple[int, int, list[TimeShare]]:
    """The slowest rank, its time in ps, and the shares of it."""
    rank = int(ends.argmax())
    end_ps = int(ends[rank])
    shares = divide(records_of(data_set, network, rank), end_ps, int(computed[rank]))
    return rank, end_ps, shares


def _known_constants(data_set: DataSet) -> list[Constant]:
    info = data_set.info
    text = info["target_system"]["machine_file"]
    return list(constants_of(text, info["scenario"]["overrides"]).values())


def used_constants(
    known: Collection[Constant],
    messages: dict[str, Array],
    calls: Collection[str],
    *,
    uses_files: bool,
    sharing: str,
) -> list[Constant]:
    """Those of the `known` constants that a run with these messages and calls can use. `sharing`
    as network.sharing of machine files."""
    used = {*ALWAYS_USED, *_keys_of_messages(messages, sharing)}
    if any(PACKING_CALLS.fullmatch(call) for call in calls):
        used.add("node.packing_time")
    files = ("storage.", "node.storage.") if uses_files else ()
    return [
        constant
        for constant in known
        if constant.key in used
        or constant.key.partition(".segment")[0] in used
        or constant.key.rpartition(".")[0] in used & ALL_SHARED
        or constant.key.startswith(files)
    ]


def _keys_of_messages(messages: dict[str, Array], sharing: str) -> set[str]:
    """Keys of the costs of these messages; a table's name stands for its segments, or its keys."""
    inside = (messages["flags"] & IN_NODE) != 0
    copied = (messages["rendezvous"] == 0) & (messages["bytes"] > 0) & ~is_one_sided(messages)
    keys: set[str] = set()
    for table, chosen in (("network", ~inside), ("node.network", inside)):
        if chosen.any():
            keys |= {table, *(f"{table}.{name}" for name in NETWORK_KEYS)}
        if (chosen & copied).any():
            keys |= {f"{table}.{name}" for name in COPY_KEYS}
    if "network" in keys and SHARED_TABLES[sharing]:
        keys |= {"network.sharing", *SHARED_TABLES[sharing]}
    if "node.network" in keys and SHARED_TABLES[sharing]:
        keys.add("node.network.total_bandwidth")
    return keys
