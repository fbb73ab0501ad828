"""Where a run reached the limits of the model (docs/models/network.md, Limits). Estimates from the
run's messages what the prediction leaves out."""

from __future__ import annotations

from typing import Any

import numpy as np

from sesame.analysis.explain.constants import constants_of
from sesame.analysis.explain.records import IN_NODE, OF_COLLECTIVE, Array
from sesame.analysis.quantities import format_bytes, format_seconds
from sesame.analysis.routes import IN, KINDS, OUT, Topology
from sesame.settings import setting
from sesame.simulation.compute import TIMED, computed_together, mode_of
from sesame.trust import Doubt, Reason

CROWDED = 0.02  # share of the predicted time; a shorter queue does not matter
LARGE_BUFFER = 16 << 20  # unexpected data of one rank that a real MPI may have no memory for
COLLECTIVE_SHARE = 0.1
NOTABLE_COMPUTE = 0.05
MOST_LINKS = 24  # the most loaded, of which queues are estimated
PS = 1e-12


def limits_of(
    messages: dict[str, Array],
    nodes: Array,
    topology: Topology,
    end_ps: int,
    info: Any,
    compute_share: float,
) -> list[Doubt]:
    """The limits that the run reached, the most important first. `nodes`: the node of each rank;
    `compute_share`: computation of all ranks, of their time."""
    sharing = info["result"].get("sharing", "none")
    sides = ("destination", "source") if sharing == "none" else ()
    found = [
        *(_crowding(messages, nodes, end_ps, side) for side in sides),
        _crowded_links(messages, nodes, topology, end_ps) if sharing == "interface" else None,
        _unexpected(messages),
        _shared_nodes(nodes, info, compute_share),
        _collectives(messages, info),
    ]
    return [doubt for doubt in found if doubt is not None]


def _limit(text: str, hint: str | None = None) -> Doubt:
    return Doubt(Reason.MODEL_LIMIT, text, hint)


def _crowding(messages: dict[str, Array], nodes: Array, end_ps: int, side: str) -> Doubt | None:
    """How much later messages between nodes would arrive if a node's network card received (or
    sent) one at a time. In the model they do not wait for one another."""
    between = (messages["flags"] & IN_NODE) == 0
    if not between.any():
        return None
    node = nodes[messages[side][between]]
    transfer = messages["transfer"][between]
    last_byte = messages["arrival_ps"][between]
    if side == "source":
        last_byte = last_byte - messages["latency"][between]
    later = queueing(node, last_byte - transfer, transfer)
    most = int(later.max(initial=0))
    if most <= CROWDED * end_ps:
        return None
    crowded = int(node[int(later.argmax())])
    what = "reach" if side == "destination" else "leave"
    return _limit(
        f"messages {what} node {crowded} at the same time: if its card took one after the other, "
        f"the last would be {format_seconds(most * PS)} later ({_percent(most / end_ps)} of the "
        f"predicted time); the model has no queue there",
        "the prediction is too short by up to that time for each such burst that a rank waits for",
    )


def _crowded_links(
    messages: dict[str, Array], nodes: Array, topology: Topology, end_ps: int
) -> Doubt | None:
    """The same for the links between switches, on fixed routes. Parallel links count as one with
    the bandwidth of all."""
    between = np.flatnonzero((messages["flags"] & IN_NODE) == 0)
    ends = [nodes[messages[side][between]].astype(np.int64) for side in ("source", "destination")]
    pairs, pair_of = np.unique(ends[0] * topology.nodes + ends[1], return_inverse=True)
    step_pair, kind, number = topology.routes(pairs // topology.nodes, pairs % topology.nodes)
    inner = (kind != IN) & (kind != OUT)
    step_pair = step_pair[inner]
    links, link_of = np.unique((kind * KINDS + number)[inner], return_inverse=True)
    ps_per_byte = np.array([1 / (PS * topology.bytes_per_s(int(link) // KINDS)) for link in links])
    size = messages["bytes"][between]
    begin = (messages["arrival_ps"] - messages["transfer"])[between]
    load = np.bincount(link_of, np.bincount(pair_of, size)[step_pair], len(links)) * ps_per_byte
    most, crowded = 0, 0
    for link in np.argsort(-load, kind="stable")[:MOST_LINKS]:
        passes = np.isin(pair_of, step_pair[link_of == link])
        service = np.rint(size[passes] * ps_per_byte[link]).astype(np.int64)
        wait = queueing(np.zeros(len(service), np.int64), begin[passes], service).max()
        most, crowded = max((most, crowded), (int(wait), int(link)))
    if most <= CROWDED * end_ps:
        return None
    name = topology.name(*divmod(int(links[crowded]), KINDS))
    return _limit(
        f"messages queue only at the cards of nodes: if {name} "
        f"took one after the other, the last would be {format_seconds(most * PS)} later "
        f"({_percent(most / end_ps)} of the predicted time)",
        f"{setting('settings', {'network.sharing': 'links'})} simulates the links",
    )


def queueing(server: Array, arrival: Array, service: Array) -> Array:
    """How long each of the customers waits for its server, first come, first served."""
    order = np.lexsort((arrival, server))
    server, arrival, service = server[order], arrival[order], service[order]
    # end[i] = max over j <= i of arrival[j] + service[j] + ... + service[i], for each server.
    done = np.cumsum(service)
    slack = arrival - (done - service)
    of_servers = np.split(slack, np.flatnonzero(np.diff(server)) + 1)
    start = np.concatenate([np.maximum.accumulate(one) for one in of_servers]) + (done - service)
    waits = np.empty(len(order), np.int64)
    waits[order] = start - arrival
    return waits


def _unexpected(messages: dict[str, Array]) -> Doubt | None:
    """Eager messages that need a buffer at the receiver until their receive is posted."""
    posted = messages["receive_complete_ps"] - messages["receive_overhead"]
    early = (messages["rendezvous"] == 0) & (messages["arrival_ps"] < posted)
    rank = np.tile(messages["destination"][early], 2)
    size = messages["bytes"][early].astype(np.int64)
    time = np.concatenate([messages["arrival_ps"][early], posted[early]])
    change = np.concatenate([size, -size])
    order = np.lexsort((time, rank))
    held = np.cumsum(change[order])  # of every rank 0 at its end
    most = int(held.max(initial=0))
    if most <= LARGE_BUFFER:
        return None
    worst = int(rank[order][int(held.argmax())])
    return _limit(
        f"rank {worst} had {format_bytes(most)} of eager messages that no receive was posted for; "
        "the model buffers any number of them and charges no copy"
    )


def _shared_nodes(nodes: Array, info: Any, compute_share: float) -> Doubt | None:
    """Ranks of a node share memory and caches; computation was measured of fewer at a time, in this
    run or in the one that it was recorded in."""
    most = int(np.bincount(nodes).max(initial=0))
    if most < 2 or mode_of(info) not in TIMED or compute_share < NOTABLE_COMPUTE:
        return None
    machine = constants_of(info["target_system"]["machine_file"], info["scenario"]["overrides"])
    together = computed_together(info)
    if "node.slowdown" in machine or together >= most:
        return None
    return _limit(
        f"up to {most} ranks share a node, and computation was measured of "
        f"{'one rank' if together == 1 else f'{together} ranks'} at a time: what "
        "sharing memory and caches costs is not all in it",
        f"{setting('compute', 'measured:2')} measures it with this program, "
        "`sesame machine calibrate` with others",
    )


def _collectives(messages: dict[str, Array], info: Any) -> Doubt | None:
    if not len(messages["flags"]):
        return None
    share = float(np.mean((messages["flags"] & OF_COLLECTIVE) != 0))
    if share < COLLECTIVE_SHARE:
        return None
    followed = "Open MPI's" if info["result"].get("collectives") == "openmpi" else "MPICH's"
    return _limit(
        f"{_percent(share)} of the messages are of collectives, which follow {followed} "
        "algorithms and thresholds; another MPI may choose others",
        f"{setting('settings', {'network.collectives': 'mpich'})}, or openmpi, chooses whose",
    )


def _percent(share: float) -> str:
    return f"{100 * share:.2g} %" if share < 0.0995 else f"{100 * share:.0f} %"
