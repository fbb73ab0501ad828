"""What an explanation is made of, without a simulator."""

from __future__ import annotations

import random
from typing import Any

import numpy as np

from sesame.analysis.explain.constants import NO_SOURCE, constants_of
from sesame.analysis.explain.explanation import used_constants
from sesame.analysis.explain.limits import _crowding, _shared_nodes, _unexpected, queueing
from sesame.analysis.explain.records import IN_NODE, Records
from sesame.analysis.explain.shares import COMPUTATION, IDLE, LATE_SENDER, divide
from sesame.machines import find_machine


def test_customers_wait_for_their_own_server():
    """Against a queue that is followed customer by customer."""
    source = random.Random(3)
    rows = [
        (source.randrange(4), source.randrange(1000), source.randrange(1, 90)) for _ in range(300)
    ]
    free: dict[int, int] = {}
    expected = {}
    for i, (server, arrival, service) in sorted(
        enumerate(rows), key=lambda item: (item[1][1], item[0])
    ):
        start = max(arrival, free.get(server, 0))
        free[server] = start + service
        expected[i] = start - arrival
    waits = queueing(*(np.array(column) for column in zip(*rows, strict=True)))
    assert waits.tolist() == [expected[i] for i in range(len(rows))]


def messages(rows: list[dict[str, Any]]) -> dict[str, np.ndarray]:
    usual: dict[str, Any] = {
        "source": 0,
        "destination": 0,
        "flags": 0,
        "bytes": 8,
        "rendezvous": 0,
        "latency": 0,
        "receive_overhead": 0,
        "send_ps": 0,
        "transfer": 0,
    }
    columns = {
        name: np.array([{**usual, **row}[name] for row in rows], int)
        for name in (*usual, "arrival_ps", "receive_complete_ps")
    }
    protocols = [row.get("protocol", "eager") for row in rows]
    return {**columns, "protocol": np.array(protocols, object)}


def test_many_servers_late_in_a_long_run_do_not_overflow():
    count = 20_000
    arrival = np.where(np.arange(count) % 2 == 0, 10**15, 0)
    waits = queueing(np.arange(count), arrival, np.full(count, 1000))
    assert not waits.any()


def test_messages_that_arrive_together_crowd_a_node():
    """Ten senders to one node: the last waits for nine transfers, in the model for none."""
    row = {"destination": 1, "transfer": 100, "arrival_ps": 1000, "receive_complete_ps": 1000}
    nodes = np.arange(12)
    crowd = messages([{**row, "source": 2 + i} for i in range(10)])
    limit = _crowding(crowd, nodes, 2000, "destination")
    assert limit is not None and "900 ps later (45 % of the predicted time)" in limit.text
    assert _crowding(crowd, nodes, 2000, "source") is None
    assert _crowding(crowd, np.zeros(12, int), 2000, "source") is not None  # they share a card
    apart = messages([{**row, "arrival_ps": 1000 * i} for i in range(10)])
    assert _crowding(apart, nodes, 2000, "destination") is None


def test_eager_messages_without_a_receive_are_counted():
    early = {"bytes": 6 << 20, "arrival_ps": 10, "receive_complete_ps": 50}
    limit = _unexpected(messages([early] * 3))
    assert limit is not None and "18.9 MB" in limit.text
    assert _unexpected(messages([{**early, "rendezvous": 1}] * 3)) is None
    assert _unexpected(messages([{**early, "receive_complete_ps": 10}] * 3)) is None


def test_constants_have_the_comment_beside_or_above_them():
    text = (
        '# the machine\nname = "x"\n\n[network]\nlatency = "1 us" # [A] measured # twice\n'
        '# [B] half\n# of it\nsend_overhead = "0.5 us"\n\n[node]\ncolour = "#fff"\n'
    )
    known = constants_of(text, ["network.latency=2us"])
    assert known["network.send_overhead"].source == "[B] half of it"
    assert (known["node.colour"].value, known["node.colour"].source) == ("#fff", NO_SOURCE)
    assert known["network.latency"].value == "2us"
    assert constants_of(text, [])["network.latency"].source == "[A] measured # twice"


COPIES = {"network.send_copy_bandwidth", "network.receive_copy_bandwidth"}


def keys_used(
    rows: list[dict[str, Any]], calls: tuple[str, ...] = (), sharing: str = "none"
) -> set[str]:
    """Of CSD3, with copies inside a node as well, by a run with these messages and calls."""
    inside = ["node.network.send_copy_bandwidth=9 GB/s", "network.link.bandwidth=9 GB/s"]
    known = constants_of(find_machine("csd3").read_text(), inside)
    times = {"arrival_ps": 0, "receive_complete_ps": 0}
    sent = messages([{**row, **times} for row in rows])
    used = used_constants(known.values(), sent, calls, uses_files=False, sharing=sharing)
    return {constant.key for constant in used}


def test_copies_are_used_by_eager_messages_with_data():
    eager = keys_used([{"bytes": 8}])
    assert {"network.latency", "network.stream_bandwidth", *COPIES} <= eager
    assert {"network.segment.0.bandwidth", "network.segment.3.latency"} <= eager
    assert not any(key.startswith(("node.network.", "storage.")) for key in eager)
    one_sided = ({"bytes": 8, "protocol": "put"}, {"bytes": 8, "protocol": "get"})
    for other in ({"bytes": 8192, "rendezvous": 1}, {"bytes": 0}, *one_sided):
        assert keys_used([other]) == eager - COPIES
    inside = keys_used([{"bytes": 8, "flags": IN_NODE}])
    assert {"node.network.latency", "node.network.send_copy_bandwidth"} <= inside
    assert not any(key.startswith("network.") for key in inside)
    assert "node.network.segment.1.latency" in inside


def test_cards_and_links_are_used_where_messages_share_them():
    alone = keys_used([{"bytes": 8}])
    cards = {f"network.card.{name}" for name in ("bandwidth", "message_rate", "pairs")}
    links = {"network.link.bandwidth", "topology.kind"}
    assert keys_used([{"bytes": 8}], sharing="interface") - alone == {"network.sharing", *cards}
    shared = keys_used([{"bytes": 8}], sharing="links") - alone
    assert shared == {"network.sharing", *cards, *links}
    inside = [{"bytes": 8, "flags": IN_NODE}]
    within = keys_used(inside, sharing="links") - keys_used(inside)
    assert within == {"node.network.total_bandwidth"}


def test_packing_is_used_by_calls_that_may_run_bruck_s_alltoall():
    for call in ("MPI_Alltoall", "MPI_Ialltoall", "MPI_Alltoall_init", "MPI_File_write_at_all"):
        assert "node.packing_time" in keys_used([], ("MPI_Init", call)), call
    others = ("MPI_Alltoallv", "MPI_Neighbor_alltoall", "MPI_Allreduce", "MPI_File_write_at")
    assert "node.packing_time" not in keys_used([], others)


def records(calls: list[tuple[int, int, str]], received: list[dict[str, int]]) -> Records:
    names = ("begin_ps", "end_ps", "call")
    columns = zip(*calls, strict=True)
    of_message = (
        "receive_complete_ps",
        "arrival_ps",
        "send_ps",
        "source",
        "rendezvous",
        "receive_overhead",
        "transfer",
        "latency",
        "control_latency",
        "send_overhead",
    )
    of_sent = (*of_message, "injection", "destination")
    files = ("begin_ps", "end_ps", "call", "file", "flags")
    return Records(
        rank=0,
        calls={
            n: np.array(c, object if n == "call" else int)
            for n, c in zip(names, columns, strict=True)
        },
        files={name: np.empty(0, int) for name in files},
        received={n: np.array([m.get(n, 0) for m in received]) for n in of_message},
        sent={name: np.empty(0, int) for name in of_sent},
        paths=[],
    )


def test_the_parts_add_up_whatever_the_records_say():
    source = random.Random(11)
    for _ in range(200):
        times = sorted(source.sample(range(10_000), 12))
        calls = [(b, e, "MPI_Recv") for b, e in zip(times[::2], times[1::2], strict=True)]
        received = [
            {
                "receive_complete_ps": t,
                "arrival_ps": t - source.randrange(3),
                "send_ps": source.randrange(10_000),
                "source": source.randrange(4),
                "rendezvous": source.randrange(2),
                "receive_overhead": source.randrange(40),
                "transfer": source.randrange(300),
                "latency": source.randrange(300),
                "control_latency": source.randrange(100),
                "send_overhead": source.randrange(50),
            }
            for t in sorted(source.sample(range(10_000), 9))
        ]
        shares = divide(records(calls, received), 10_500, source.randrange(12_000))
        assert sum(share.time_ps for share in shares) == 10_500
        assert all(share.time_ps > 0 for share in shares)


def test_waiting_is_by_the_rank_that_was_late():
    message = {
        "receive_complete_ps": 900,
        "arrival_ps": 900,
        "send_ps": 700,
        "source": 3,
        "transfer": 150,
        "latency": 50,
    }
    shares = divide(records([(100, 900, "MPI_Recv")], [message]), 1000, 150)
    known = {share.name: share for share in shares}
    assert known[LATE_SENDER].by == {"rank 3": 600}
    assert (known[COMPUTATION].time_ps, known[IDLE].time_ps) == (150, 50)


def test_ranks_that_share_a_node_and_did_not_compute_together_are_a_limit():
    machine = find_machine("ethernet").read_text(encoding="utf-8")

    def found(
        together: int, *overrides: str, mode: str = "measured", share: float = 0.5
    ) -> str | None:
        info = {
            "result": {"computed_together": together},
            "target_system": {"machine_file": machine},
            "scenario": {"overrides": overrides, "compute": {"mode": mode}},
        }
        doubt = _shared_nodes(np.array([0, 0, 0, 0, 1]), info, share)
        return doubt and doubt.text

    assert "up to 4 ranks share a node" in str(found(1))
    assert "of one rank at a time" in str(found(1))
    assert "of 2 ranks at a time" in str(found(2))
    assert "of one rank at a time" in str(found(1, mode="recorded"))
    assert found(4) is None
    assert found(1, share=0.01) is None
    assert [found(1, mode=mode) for mode in ("fixed", "none")] == [None, None]
    assert found(1, "node.slowdown=[1,1.2]") is None
