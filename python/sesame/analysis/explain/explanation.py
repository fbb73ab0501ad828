"""The explanation of a prediction. It needs nothing but the data set of the run."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np

from sesame.analysis.explain.constants import Constant, constants_of
from sesame.analysis.explain.limits import limits_of
from sesame.analysis.explain.records import (
    IN_NODE,
    Array,
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
    "node.packing_time",
)
# Keys of the cost of a message, in [network], or in [node.network] if both ranks are on one node.
NETWORK_KEYS = (
    "latency",
    "bandwidth",
    "send_overhead",
    "receive_overhead",
    "gap",
    "hop_latency",
    "eager_limit",
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
        tuple(_constants(data_set, messages, shares)),
        tuple(limits_of(messages, nodes, Topology(model), int(ends[rank]), data_set.info)),
        tuple(data_set.info.get("notes", ())),
    )


def _constants(
    data_set: DataSet, messages: dict[str, Array], shares: Iterable[TimeShare]
) -> list[Constant]:
    info = data_set.info
    known = constants_of(info["target_system"]["machine_file"], info["scenario"]["overrides"])
    inside = (messages["flags"] & IN_NODE) != 0
    used = [
        prefix
        for prefix, is_used in (
            ("network.", bool((~inside).any())),
            ("node.network.", bool(inside.any())),
        )
        if is_used
    ]
    files = any(share.name == FILES for share in shares)
    return [
        constant
        for key, constant in known.items()
        if key in ALWAYS_USED
        or any(
            key in {prefix + name for name in NETWORK_KEYS} or key.startswith(prefix + "segment")
            for prefix in used
        )
        or (files and key.startswith(("storage.", "node.storage.")))
    ]
