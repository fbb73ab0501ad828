"""Explanations of predictions: the parts add up to the time, and are those of the model."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest

from sesame import native
from sesame.analysis.explain import explain
from sesame.analysis.explain.explanation import PS
from sesame.datasets import DataSet
from sesame.machines import find_machine

EAGER, RENDEZVOUS, PAUSE_US = 1000, 1 << 20, 500
PAUSE_PS = PAUSE_US * 1_000_000
MACHINE = "infiniband"


def explained(simulate: Any, tmp_path: Path, *command: object) -> Any:
    options = ("--placement", "cyclic", "-o", "run.sesame", "--json", "--explain")
    run = simulate(*options, *command)
    assert run.status == 0, run.stderr
    data_set = DataSet(tmp_path / "run.sesame")
    explanation = explain(data_set)
    assert without_hints(run.json["explanation"]) == without_hints(explanation.as_json())
    # Every picosecond is in exactly one part.
    assert sum(part.time_ps for part in explanation.shares) == explanation.end_ps
    assert explanation.end_ps * PS == pytest.approx(run.json["predicted_time_s"], rel=1e-12)
    return explanation


def without_hints(explanation: dict[str, Any]) -> dict[str, Any]:
    """Hints name settings as options of the command line, or as arguments of the library."""
    return {**explanation, "limits": [limit["text"] for limit in explanation["limits"]]}


def costs(size: int, machine: str = MACHINE, one_sided: bool = False) -> dict[str, int]:
    network = native.Network(str(find_machine(machine)), [], 2, "cyclic")
    import numpy as np

    columns = (np.array([value], np.int64) for value in (0, 1, size))
    found = (network.rdma_costs if one_sided else network.costs)(*columns)
    return {name: int(value[0]) for name, value in found.items()}


@pytest.fixture
def late(compiled) -> Any:
    return compiled("tests/programs/model/late.c")


def test_a_late_sender_and_its_message_are_distinguished(late, simulate, tmp_path):
    """Rank 1 is the slowest: it waits for rank 0, and for what a message takes, twice."""
    command = ("-n", 2, "--machine", MACHINE, "--compute", "none", "--", late)
    explanation = explained(simulate, tmp_path, *command, EAGER, RENDEZVOUS, PAUSE_US, "last")
    parts = {part.name: part for part in explanation.shares}
    assert explanation.rank == 1
    eager, long = costs(EAGER), costs(RENDEZVOUS)
    assert (eager["rendezvous"], long["rendezvous"]) == (0, 1)
    assert dict(parts["waiting for late senders"].by) == {"rank 0": PAUSE_PS}
    assert parts["bytes of messages"].time_ps == eager["transfer"] + long["transfer"]
    assert parts["sleeps and clocks"].time_ps == 101 * PAUSE_PS
    assert parts["overhead of receives"].time_ps == 2 * eager["receive_overhead"]
    # Of the rendezvous the request is there when rank 1 is ready; one way is left of the handshake.
    wires = eager["latency"] + long["latency"] + long["control_latency"]
    both = parts["latency of messages"].time_ps + parts["overhead of sends"].time_ps
    assert both == wires + eager["send_overhead"]
    assert "other time in MPI calls" not in parts


def test_a_late_receiver_is_named(late, simulate, tmp_path):
    command = ("-n", 2, "--machine", MACHINE, "--compute", "none", "--", late)
    explanation = explained(simulate, tmp_path, *command, EAGER, RENDEZVOUS, PAUSE_US)
    parts = {part.name: part for part in explanation.shares}
    assert explanation.rank == 0
    waiting = parts["waiting for late receivers"]
    assert set(waiting.by) == {"rank 1"}
    assert 0.9 * PAUSE_PS < waiting.time_ps <= PAUSE_PS + costs(EAGER)["latency"] * 2
    assert parts["sleeps and clocks"].time_ps == 11 * PAUSE_PS


ONE_SIDED = {"put": ("put",), "get": ("get",), "swap": ("put", "get")}
ONE_SIDED_BYTES = 4096


@pytest.mark.parametrize("call", ONE_SIDED)
def test_data_of_one_sided_operations_costs_no_copies(call, compiled, simulate, tmp_path):
    """Rank 0 puts, gets, or does both 10 times, each until it is done."""
    program = compiled("tests/programs/model/one_sided.c")
    command = ("-n", 2, "--machine", "csd3", "--placement", "cyclic", "--compute", "none")
    explained(simulate, tmp_path, *command, "--", program, call)
    table = pq.read_table(tmp_path / "run.sesame/message.parquet")
    rows = table.filter(pc.equal(table["bytes"], ONE_SIDED_BYTES)).to_pylist()
    assert Counter(row["protocol"] for row in rows) == dict.fromkeys(ONE_SIDED[call], 10)
    cost = costs(ONE_SIDED_BYTES, "csd3", one_sided=True)
    assert cost["transfer"] > costs(ONE_SIDED_BYTES, "csd3")["transfer"]  # which has copies apart
    for row in rows:
        assert row["arrival_ps"] - row["send_ps"] == cost["latency"] + cost["transfer"]


def test_recorded_computation_has_the_limits_of_the_run_that_measured_it(
    compiled, simulate, tmp_path
):
    machine = ("--machine", MACHINE, "--set", "node.cores=4", "--placement", "block")
    heat = ("--", compiled("examples/heat.c"), 512, 20)
    measured = explained(simulate, tmp_path, "-n", 8, *machine, *heat)
    (tmp_path / "run.sesame").rename(tmp_path / "measured.sesame")
    recorded = ("--compute", "recorded:measured.sesame")
    again = explained(simulate, tmp_path, "-n", 8, *machine, *recorded, *heat)
    [limit] = [one.text for one in measured.limits if "ranks share a node" in one.text]
    assert limit.startswith("up to 4 ranks")
    assert limit in [one.text for one in again.limits]


@pytest.mark.parametrize("machine", ["infiniband", "paragon"])
def test_the_parts_of_an_example_add_up(machine, compiled, simulate, tmp_path):
    program = compiled("examples/heat.c")
    command = ("-n", 8, "--machine", machine, "--", program, 64, 64, 20)
    explanation = explained(simulate, tmp_path, *command)
    names = {part.name for part in explanation.shares}
    assert {"computation", "latency of messages"} <= names


def test_constants_come_with_their_sources(late, simulate, tmp_path):
    command = ("-n", 2, "--machine", MACHINE, "--compute", "none", "--set", "network.gap=1us")
    explanation = explained(simulate, tmp_path, *command, "--", late, EAGER, RENDEZVOUS, PAUSE_US)
    known = {constant.key: constant for constant in explanation.constants}
    assert known["network.latency"].value == "1.2 us"
    assert known["network.latency"].source.startswith("[HBv3]")
    assert known["network.receive_overhead"].source.startswith("[MBW]")  # above the key
    assert known["network.gap"].source == "given on the command line"
    assert not any(key.startswith("node.network") for key in known)  # no message inside a node


def test_the_page_shows_each_share(late, simulate, tmp_path):
    command = ("-n", 2, "--machine", MACHINE, "--compute", "none", "--report", "run.html")
    explanation = explained(simulate, tmp_path, *command, "--", late, EAGER, RENDEZVOUS, PAUSE_US)
    page = (tmp_path / "run.html").read_text()
    for share in explanation.shares:
        assert f"<tr><td>{share.name}</td>" in page


@pytest.mark.parametrize("sharing", ["none", "interface"])
def test_waiting_for_a_card_is_a_part_where_messages_share_it_and_a_limit_elsewhere(
    sharing, compiled, simulate, tmp_path
):
    settings = [f"network.sharing={sharing}", "nodes=2", "node.cores=4"]
    settings += ["collectives.alltoall.3.algorithm=scattered"]  # all messages at once
    command = ["-n", 8, "--machine", "csd3", "--compute", "none"]
    command += [part for one in settings for part in ("--set", one)]
    program = compiled("bench/programs/published.c")
    explanation = explained(simulate, tmp_path, *command, "--", program, "alltoall", 16384)
    parts = {part.name: part.time_ps for part in explanation.shares}
    waits = parts.get("queueing in the network", 0) > 0.05 * explanation.end_ps
    limited = any("no queue there" in limit.text for limit in explanation.limits)
    assert (waits, limited) == ((False, True) if sharing == "none" else (True, False))


@pytest.mark.parametrize(("uplinks", "sharing"), [(1, "interface"), (4, "interface"), (1, "links")])
def test_crowded_links_are_a_limit_where_only_cards_are_shared(
    uplinks, sharing, compiled, simulate, tmp_path
):
    """Four nodes exchange with four others over the uplinks of their switch."""
    settings = [f"network.sharing={sharing}", "nodes=8", "topology.kind=fat_tree"]
    settings += ["topology.arity=[4,2]", f"topology.uplinks=[{uplinks}]"]
    command = ["-n", 8, "--placement", "cyclic", "--machine", "csd3", "--compute", "none"]
    command += [part for one in settings for part in ("--set", one)]
    program = compiled("bench/programs/published.c")
    explanation = explained(simulate, tmp_path, *command, "--", program, "alltoall", 65536)
    texts = [limit.text for limit in explanation.limits if "if switch" in limit.text]
    assert len(texts) == (1 if (uplinks, sharing) == (1, "interface") else 0), texts
