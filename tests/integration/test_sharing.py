"""Runs in which messages share cards and links: whatever is shared is given in the order of
simulated time, and programs get the right answers."""

from __future__ import annotations

import json

import pytest
from tests.integration.orders import assert_same_in_any_order
from tests.integration.test_order import seconds

COMPUTE = ("--compute", "none")
DRAGONFLY = (
    "network.sharing=links topology.groups=4 topology.routers=2 topology.nodes_per_router=1 "
    "topology.global_links=1 nodes=8 node.cores=2"
)
HYPERX = (
    "network.sharing=links topology.kind=hyperx topology.dims=[2,2] topology.nodes_per_router=2 "
    "nodes=8"
)
# A machine, and what is set in it.
SHARED = {
    "cards": ("csd3", ""),
    "cards and memory": ("csd3", "node.network.total_bandwidth=10GB/s network.card.number=2"),
    "busy cores": ("csd3", "network.card.slowdown=[1.5,4] nodes=4"),
    "tree": ("frontera", "network.sharing=links"),
    "hashed": ("frontera", "network.sharing=links topology.routing=hashed"),
    "torus": ("sp2", "network.sharing=links topology.kind=torus topology.dims=[3,3] nodes=9"),
    "hyperx": ("sp2", HYPERX),
    "hyperx, valiant": ("sp2", f"{HYPERX} topology.routing=valiant"),
    "minimal": ("lumi-c", DRAGONFLY),
    "valiant": ("lumi-c", f"{DRAGONFLY} topology.routing=valiant"),
    "adaptive": ("lumi-c", f"{DRAGONFLY} topology.routing=adaptive"),
    "parallel links": ("lumi-c", f"{DRAGONFLY} topology.global_links=2 topology.routing=adaptive"),
}
# One of each kind.
FIRST = ("cards", "busy cores", "hashed", "adaptive")


# Ranks that compute, some alone on their node.
COMPUTING = ("--compute", "fixed:3us", "--placement", "cyclic")


def settings(sharing: str) -> list[str]:
    return [*on_machine(*SHARED[sharing]), *(COMPUTING if sharing == "busy cores" else ())]


def on_machine(machine: str, changes: str) -> list[str]:
    return ["--machine", machine, *(part for one in changes.split() for part in ("--set", one))]


def file_sharing(machine: str) -> list[str]:
    changes = (
        "network.sharing=interface node.cores=2 node.network.latency=1us "
        "node.network.bandwidth=1GB/s"
    )
    return on_machine(machine, changes)


@pytest.mark.few_cases(2)
@pytest.mark.parametrize("sharing", sorted(SHARED, key=lambda one: one not in FIRST))
def test_random_programs_give_the_same_data_in_any_order(sharing, compiled, simulate, tmp_path):
    program = compiled("tests/programs/model/schedule.c")
    seed = 200 + list(SHARED).index(sharing)
    options = (*COMPUTE, *settings(sharing), "-n", 7)
    assert_same_in_any_order(simulate, tmp_path, 2, *options, "--", program, seed, 40)


def test_a_message_that_starts_when_another_passes_keeps_its_place(compiled, simulate, tmp_path):
    """Two messages are at a link at one time, without a hop latency. One rank has to wait for its
    turn to send, or not, as the order of execution has it."""
    program = compiled("tests/programs/model/schedule.c")
    torus = "network.sharing=links topology.kind=torus topology.dims=[2,4] nodes=8"
    options = (*COMPUTE, *on_machine("sp2", torus), "--placement", "cyclic", "-n", 8)
    assert_same_in_any_order(simulate, tmp_path, 3, *options, "--", program, 305, 40)


@pytest.mark.long
@pytest.mark.parametrize("seed", range(300, 330))
@pytest.mark.parametrize("sharing", SHARED)
def test_many_random_programs(sharing, seed, compiled, simulate, tmp_path):
    program = compiled("tests/programs/model/schedule.c")
    placement = ("--placement", ("block", "cyclic")[seed % 2])
    options = (*COMPUTE, *settings(sharing), *placement, "-n", 3 + seed % 6)
    assert_same_in_any_order(simulate, tmp_path, 2, *options, "--", program, seed, 40)


@pytest.mark.parametrize("sharing", ["cards", "tree", "torus"])
def test_a_renumbered_program_takes_the_same_time(sharing, compiled, simulate):
    program = compiled("tests/programs/model/mirror.c")
    options = (*COMPUTE, *settings(sharing), "--placement", "cyclic", "-n", 8)
    up, down = (seconds(simulate(*options, "--", program, way)) for way in ("up", "down"))
    assert up == down[::-1]


@pytest.mark.parametrize("sharing", ["cards", "busy cores", "tree", "adaptive"])
@pytest.mark.parametrize("program", ["wildcards", "spawn"])
def test_programs_get_their_answers(program, sharing, compiled, simulate):
    options = (*COMPUTE, *settings(sharing), "--placement", "cyclic", "-n", 4)
    done = simulate(*options, "--", compiled(f"tests/programs/answers/{program}.c"))
    assert done.status == 0, done.stdout + done.stderr


def test_one_sided_operations_share_the_memory(compiled, simulate):
    options = (*COMPUTE, *settings("cards and memory"), "-n", 4)
    done = simulate(*options, "--", compiled("tests/programs/answers/one_sided.c"))
    assert done.status == 0, done.stdout + done.stderr


def test_files_share_the_cards(compiled, simulate, tmp_path):
    """The same data set in any order, with messages and accesses to files at the same cards."""
    program = compiled("tests/programs/model/schedule.c")
    options = (*COMPUTE, *file_sharing("sp2"), "-n", 6)
    assert_same_in_any_order(simulate, tmp_path, 2, *options, "--", program, 77, 40, "shared")


# Data that I/O nodes fetch, and caches of nodes that they ask to drop copies.
@pytest.mark.parametrize(
    ("machine", "strategy"), [("paragon", "disk-directed"), ("pfssim", "two-phase")]
)
def test_replies_to_io_nodes_share_the_cards(machine, strategy, compiled, simulate, tmp_path):
    program = compiled("tests/programs/files/data.c")
    options = (*COMPUTE, *file_sharing(machine), "--collective", strategy, "-n", 6)
    assert_same_in_any_order(simulate, tmp_path, 2, *options, "--", program, "file")


def test_more_sharing_is_not_faster_for_a_ping_pong(compiled, simulate):
    times = []
    for sharing in ("none", "interface", "links"):
        options = (*COMPUTE, "--machine", "frontera", "--set", f"network.sharing={sharing}")
        options += ("--placement", "cyclic", "-n", 2, "--json")
        done = simulate(*options, "--", compiled("tests/programs/model/pingpong.c"), 0, 8, 100000)
        assert done.status == 0, done.stderr
        found = json.loads(done.stdout)
        assert found["sharing"] == sharing
        times.append(found["predicted_time_s"])
    assert times[0] == pytest.approx(times[2], rel=1e-9)
    assert times == sorted(times)
