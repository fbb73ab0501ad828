"""Traces of daemons on several nodes: events are written or counted, whichever process restarts."""

from __future__ import annotations

import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import numpy as np
import pyarrow.compute as pc
import pytest
from tests.command_line import SESAME, run
from tests.integration.networks import Network

from sesame.analysis.quantities import format_count
from sesame.datasets import DataSet

pytestmark = pytest.mark.usefixtures("network_namespaces")

READ_ALWAYS = "import os, sys\nf = os.open('/dev/zero', os.O_RDONLY)\nwhile True: os.read(f, 7)"
READ_SOMETIMES = READ_ALWAYS.replace("os", "time, os", 1).replace(
    "os.read(f, 7)", "[os.read(f, 7) for _ in range(200)]; time.sleep(0.01)"
)
READ_MANY_TIMES = READ_ALWAYS.replace("while True", "for _ in range(100_000)")


@pytest.fixture
def network(tmp_path) -> Iterator[Network]:
    made = Network(tmp_path, nodes=2)
    yield made
    made.close()


@pytest.fixture
def load() -> Iterator[subprocess.Popen[bytes]]:
    """At a rate that a daemon can follow."""
    process = subprocess.Popen([sys.executable, "-c", READ_SOMETIMES])
    yield process
    process.kill()
    process.wait()


def way_to_collector(network: Network) -> tuple[str, ...]:
    token = str(network.directory / "rt")
    return ("--destination", "http://10.77.0.1:7118", "--destination-token-file", token)


def received(network: Network) -> list[DataSet]:
    return [DataSet(path) for path in sorted((network.directory / "received").glob("*.sesame"))]


def rows(data_sets: list[DataSet], name: str) -> list[dict]:
    return [row for one in data_sets if one.has(name) for row in one.table(name).to_pylist()]


def seen_by_nodes(network: Network) -> dict[str, int]:
    """What the kernel has counted; of points that are off by now it is all."""
    return {state["node"]: state["events"]["seen"] for state in network.states()}


def wait_for_more_events(network: Network) -> None:
    """Until the collector has some thousand more of every node: those of a second."""
    least = {s["node"]: s["delivery"]["events"]["delivered"] + 10_000 for s in network.states()}
    network.wait_for(lambda s: s["delivery"]["events"]["delivered"] >= least[s["node"]])


def check_account(data_sets: list[DataSet], seen: dict[str, int]) -> dict[str, int]:
    """Every event is a record or was counted; gives how many were written, by node."""
    accounts = rows(data_sets, "kernel_trace")
    written = {}
    for node, count in seen.items():
        own = [row for row in accounts if row["node"] == node]
        assert max(row["seen"] for row in own) == count
        written[node] = sum(row["written"] for row in own)
        assert written[node] + sum(row["discarded"] for row in own) == count
        events = sum(
            np.count_nonzero(one.table("kernel_event").column("node").to_numpy() == node)
            for one in data_sets
            if one.has("kernel_event")
        )
        assert events == written[node]
    return written


def stop_and_end(network: Network) -> dict[str, int]:
    """Points off, then everybody ends; gives what was seen by node."""
    assert network.control("stop").status == 0
    assert network.control("read", "--json").status == 0
    end = time.monotonic() + 100
    while any(state["delivery"]["events"]["waiting"] for state in network.states()):
        assert time.monotonic() < end
        time.sleep(0.05)
    seen = seen_by_nodes(network)
    for address in network.nodes:
        assert network.end(address) == 0
    if "collector" in network.running:
        assert network.end("collector") == 0
    return seen


def test_networks_are_separate_and_leave_nothing(tmp_path):
    with ExitStack() as left:
        networks = []
        for _ in range(2):
            networks.append(Network(tmp_path, nodes=1))
            left.callback(networks[-1].close)
        for network in reversed(networks):
            namespaces = network.prefix + "*"
            assert len(list(Path("/run/netns").glob(namespaces))) == 2
            network.close()
            assert not list(Path("/run/netns").glob(namespaces))


def test_events_of_two_nodes_arrive_and_the_report_shows_them(network):
    network.begin_collector()
    for address in network.nodes:
        network.begin_daemon(address, "--interval", "0.5", *way_to_collector(network))
    assert network.control("start", "fs.read=trace", "task").status == 0
    subprocess.run([sys.executable, "-c", READ_MANY_TIMES], check=True)
    seen = stop_and_end(network)
    data_sets = received(network)
    written = check_account(data_sets, seen)
    assert min(written.values()) >= 100_000
    [data_set] = data_sets
    events = data_set.table("kernel_event")
    ours = events.filter(pc.and_(pc.equal(events["bytes"], 7), pc.equal(events["point"], "read")))
    counts = {row["values"]: row["counts"] for row in ours["node"].value_counts().to_pylist()}
    assert min(counts["node2"], counts["node3"]) >= 0.99 * 100_000
    times = events["time_ns"].to_numpy()
    assert times.min() >= 0
    assert times.max() <= max(row["end_ns"] for row in rows(data_sets, "kernel_reading"))
    outcome = run([*SESAME, "report", str(data_set.path), "r.html"], network.directory)
    assert outcome.status == 0, outcome.stderr
    page = (network.directory / "r.html").read_text()
    assert "<td>node3</td><td>fs.read</td>" in page
    assert f"{written['node3']:,}" in page or format_count(written["node3"]) in page


@pytest.mark.long
def test_every_event_is_accounted_for_when_the_collector_is_killed_under_load(network, load):
    network.begin_collector("--segment", "0.03")
    for address in network.nodes:
        way = ("--interval", "0.3", "--level", "fs.read=trace", *way_to_collector(network))
        network.begin_daemon(address, *way)
    for _ in range(3):
        wait_for_more_events(network)
        assert network.end("collector", signal.SIGKILL) == -signal.SIGKILL
        network.wait_for(lambda state: state["delivery"]["waiting"] >= 3)
        network.begin_collector("--segment", "0.03")
    wait_for_more_events(network)
    seen = stop_and_end(network)
    written = check_account(received(network), seen)
    assert all(written[node] > 0.9 * count for node, count in seen.items())
    assert list((network.directory / "received").glob(".journal-*")) == []


@pytest.mark.long
def test_a_daemon_that_reads_its_settings_again_continues_tracing(network, load, tmp_path):
    settings = tmp_path / "sesamed.toml"
    settings.write_text('interval = 0.3\n[levels]\n"fs.read" = "trace"\n')
    network.begin_collector()
    for address in network.nodes:
        way = way_to_collector(network)
        process = network.begin_daemon(address, "--settings", str(settings), *way)
    wait_for_more_events(network)
    settings.write_text('interval = 0.2\n[levels]\n"fs.read" = "trace"\ntask = "trace"\n')
    process.send_signal(signal.SIGHUP)
    network.wait_for(lambda state: state["interval"] == 0.2, [network.nodes[-1]])
    wait_for_more_events(network)
    seen = stop_and_end(network)
    assert min(check_account(received(network), seen).values()) > 1000


@pytest.mark.long
def test_memory_is_bounded_when_the_collector_is_away_and_what_goes_is_counted(network):
    network.begin_collector()
    daemon = network.begin_daemon(
        network.nodes[0],
        "--interval",
        "0.5",
        "--level",
        "fs.read=trace",
        *way_to_collector(network),
    )
    assert network.end("collector", signal.SIGKILL) == -signal.SIGKILL
    readers = [subprocess.Popen([sys.executable, "-c", READ_ALWAYS]) for _ in range(2)]
    network.nodes = network.nodes[:1]
    most = 0
    end = time.monotonic() + 120
    while seen_by_nodes(network)["node2"] < 3 << 20:
        assert time.monotonic() < end
        status = Path(f"/proc/{daemon.pid}/status").read_text()
        most = max(most, int(status.split("VmRSS:")[1].split()[0]))
    for reader in readers:
        reader.kill()
        reader.wait()
    network.begin_collector()
    seen = stop_and_end(network)
    written = check_account(received(network), seen)
    assert most < 400_000  # kB: a million events of 72 bytes, and Python's libraries
    assert written["node2"] <= 1.1 * (1 << 20)


def test_a_recording_has_the_events_of_its_command_only(network):
    for address in network.nodes:
        network.begin_daemon(address, "--interval", "60", "--level", "fs.read=trace")
    with subprocess.Popen([sys.executable, "-c", READ_MANY_TIMES]) as before:
        assert before.wait() == 0
    command = ("--", sys.executable, "-c", READ_MANY_TIMES)
    outcome = network.control("record", "-o", "all.sesame", *command)
    assert outcome.status == 0, outcome.stderr
    data_set = DataSet(network.directory / "all.sesame")
    accounts = rows([data_set], "kernel_trace")
    for node in ("node2", "node3"):
        assert sum(row["written"] for row in accounts if row["node"] == node) >= 100_000
    assert before.pid not in data_set.table("kernel_event", ["process"])["process"].to_pylist()
