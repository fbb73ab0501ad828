"""A relay forwards each item once, in order, whatever happens to it or to the other collector."""

from __future__ import annotations

import dataclasses
import json
import os
import random
import time
from pathlib import Path

import pytest
from test_collector import FakeNode, data_sets, rows
from test_daemon_events import Kernel

from sesame.errors import SesameError
from sesame.measurement.bounds import MOST_BODY_BYTES
from sesame.measurement.collector import relay as relay_module
from sesame.measurement.collector.intake import REFUSED, Intake
from sesame.measurement.collector.relay import Relay
from sesame.measurement.collector.retention import Keeping
from sesame.measurement.collector.store import Store
from sesame.measurement.connection import TooLargeError
from sesame.measurement.readings import Phase, Reading

AHEAD_NS = 3_600_000_000_000  # of the other collector's clock


def kill(store: Store) -> None:
    """Closes its files, as the end of its process would."""
    if store._journal is not None:
        store._journal.close()
    os.close(store._lock)


class Upstream:
    """The other collector, as a connection to it. It may be away, and its receipts may be lost."""

    address = "hub"

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        self.is_away = False
        self.most_bytes = float("inf")  # of a request
        self.chance: random.Random | None = None
        self.requests = 0
        self.said: list[str] = []
        self._begin()

    def _begin(self) -> None:
        self.store = Store(self.directory, 600, self.said.append)
        self.intake = Intake(self.store, self.directory, lambda _: None)

    def ask(self, _method: str, path: str, body: bytes) -> bytes:
        self.requests += 1
        what = (
            self.chance.choice(("stored", "away", "receipt lost", "killed")) if self.chance else ""
        )
        if self.is_away or what == "away":
            raise SesameError("hub: Connection refused")
        if len(body) > self.most_bytes:
            raise TooLargeError("hub: the request is too large")
        self.intake.take(body, "relay", lambda _: None)
        if what == "killed":
            kill(self.store)
            self._begin()
        if what in ("killed", "receipt lost"):
            raise SesameError("hub: it closed the connection")
        return b"{}"

    def ask_clock(self) -> int:
        return time.time_ns() + AHEAD_NS

    def close(self) -> None: ...


@pytest.fixture
def upstream(tmp_path) -> Upstream:
    return Upstream(tmp_path / "hub")


def relay_at(directory: Path, upstream: Upstream, said: list[str]) -> tuple[Store, Relay]:
    store = Store(directory, 600, said.append, is_relay=True)
    intake = Intake(store, directory, said.append)
    return store, Relay(store, upstream, said.append, intake.refuse)


def sequences(directory: Path) -> dict[str, list[int]]:
    """The numbers of the stored readings of each node."""
    found: dict[str, list[int]] = {}
    for data_set in data_sets(directory):
        for row in rows(data_set, "kernel_reading"):
            found.setdefault(row["node"], []).append(row["sequence"])
    return {node: sorted(numbers) for node, numbers in found.items()}


def test_a_relay_forwards_readings_and_events_in_the_time_of_the_other_collector(
    tmp_path, upstream
):
    store, relay = relay_at(tmp_path / "relay", upstream, [])
    node, kernel = FakeNode("a", ahead_ns=10**18), Kernel()
    first = node.read()
    store.add(first)
    kernel.see(20)
    for block in kernel.stream.after(-1, 1000):
        store.add(block)
    store.add(node.read())
    assert relay.step() == relay_module.PERIOD_SECONDS
    assert relay.forwarded == 4
    assert store.ended_journals() == []
    upstream.store.close()
    [data_set] = data_sets(upstream.directory)
    times = rows(data_set, "kernel_reading")
    assert [row["sequence"] for row in times] == [0, 1]
    for row in times:
        error_ns = row["offset_ns"] - first.offset.offset_ns - AHEAD_NS
        assert abs(error_ns) <= row["uncertainty_ns"]
        assert row["uncertainty_ns"] < 1e9
    assert data_set.table("kernel_event").num_rows == 20
    relay.close()
    store.close()
    assert list((tmp_path / "relay").glob("*.sesame")) == []


@pytest.mark.few_cases(2)
@pytest.mark.parametrize("seed", range(4))
def test_each_item_arrives_once_whatever_fails(tmp_path, upstream, seed):
    chance = random.Random(seed)
    said: list[str] = []
    nodes = [FakeNode(name, ahead_ns=10**18) for name in "abc"]
    kernel = Kernel()
    store, relay = relay_at(tmp_path / "relay", upstream, said)
    upstream.chance = chance
    for _ in range(60):
        store.add(chance.choice(nodes).read())
        kernel.see(chance.randrange(20))
        for block in kernel.stream.after(-1, 1000):
            store.add(block)
        if chance.random() < 0.4:
            relay.step()
        if chance.random() < 0.1:  # it is killed, too
            kill(store)
            store, relay = relay_at(tmp_path / "relay", upstream, said)
    kernel.stream.flush()
    for block in kernel.stream.after(-1, 1000):
        store.add(block)
    upstream.chance = None
    relay.close()
    store.close()
    upstream.store.close()
    expected = {one.node.name: list(range(len(one.node.history))) for one in nodes}
    assert not list(upstream.directory.glob("damaged-*")), upstream.said
    assert sequences(upstream.directory) == expected
    accounts = [
        row
        for data_set in data_sets(upstream.directory)
        if "kernel_trace" in data_set.tables
        for row in rows(data_set, "kernel_trace")
    ]
    assert sum(row["written"] for row in accounts) == kernel.taken
    assert sum(row["discarded"] for row in accounts) == 0


def test_a_relay_waits_longer_and_longer_and_says_once_that_it_waits(tmp_path, upstream):
    said: list[str] = []
    store, relay = relay_at(tmp_path / "relay", upstream, said)
    upstream.is_away = True
    node = FakeNode("a", ahead_ns=10**18)
    delays = []
    for _ in range(9):
        store.add(node.read())
        delays.append(relay.step())
    for number, delay in enumerate(delays):
        most = min(relay_module.SHORTEST_BACK_OFF * 2**number, relay_module.LONGEST_BACK_OFF)
        assert most / 2 <= delay <= most
    assert said == ["forwarding waits: hub: Connection refused"]
    assert len(store.ended_journals()) == 1  # no journal for each attempt
    upstream.is_away = False
    relay.step()
    relay.step()
    assert said[1:] == ["hub: forwarding works again"]
    relay.close()
    store.close()
    upstream.store.close()
    assert sequences(upstream.directory) == {"a": list(range(9))}


def test_what_could_not_be_forwarded_is_forwarded_by_the_next_start(tmp_path, upstream):
    said: list[str] = []
    store, relay = relay_at(tmp_path / "relay", upstream, said)
    upstream.is_away = True
    store.add(FakeNode("a", ahead_ns=10**18).read())
    relay.close()
    store.close()
    assert said[-1] == "some items could not be forwarded; the next start sends them"
    upstream.is_away = False
    store, relay = relay_at(tmp_path / "relay", upstream, said)
    relay.step()
    relay.close()
    store.close()
    upstream.store.close()
    assert sequences(upstream.directory) == {"a": [0]}


def test_a_relay_drops_the_oldest_journals_above_the_size_to_keep_and_says_so(tmp_path, upstream):
    said: list[str] = []
    store, relay = relay_at(tmp_path / "relay", upstream, said)
    upstream.is_away = True
    node = FakeNode("a", ahead_ns=10**18)
    for _ in range(4):
        store.add(node.read())
        store.end_segment()
    size = len(node.node.history[0].encode())
    store.keeping = Keeping(bytes=int(2.5 * size))
    relay.step()
    assert len(store.ended_journals()) == 2
    assert relay.dropped_bytes >= 2 * size - 50
    assert any("were dropped" in line for line in said)
    upstream.is_away = False
    relay.step()
    store.close()
    upstream.store.close()
    assert sequences(upstream.directory) == {"a": [2, 3]}


def test_a_large_journal_is_sent_in_several_requests_and_continues_where_one_failed(
    tmp_path, upstream, monkeypatch
):
    monkeypatch.setattr(relay_module, "MOST_BATCH", 5)
    store, relay = relay_at(tmp_path / "relay", upstream, [])
    node = FakeNode("a", ahead_ns=10**18)
    for _ in range(23):
        store.add(node.read())
    answer, calls = upstream.ask, []

    def fail_at_the_third(method: str, path: str, body: bytes) -> bytes:
        calls.append(body.count(b"\n"))
        if len(calls) == 3:
            raise SesameError("hub: gone")
        return answer(method, path, body)

    upstream.ask = fail_at_the_third
    relay.step()
    relay.step()
    assert calls == [5, 5, 5, 5, 5, 3]
    store.close()
    upstream.store.close()
    assert sequences(upstream.directory) == {"a": list(range(23))}


def large(one: Reading, least_bytes: int) -> Reading:
    """The reading with as many phases as it needs to be larger, all of them valid."""
    phase = Phase("\N{DESERT ISLAND}" * 200, one.begin_ns, one.end_ns, 1)
    made = dataclasses.replace(one, phases=[phase] * (least_bytes // 850))
    assert Reading.from_json(made.encode()) == made
    return made


def refused(directory: Path) -> list[dict]:
    return [json.loads(line) for line in (directory / REFUSED).read_text().splitlines()]


def test_an_item_too_large_for_any_request_does_not_keep_back_the_others(tmp_path, upstream):
    """As a collector of before stored it: a journal is not checked."""
    said: list[str] = []
    store, relay = relay_at(tmp_path / "relay", upstream, said)
    node = FakeNode("a", ahead_ns=10**18)
    store.add(node.read())
    store.add(large(node.read(), MOST_BODY_BYTES))
    store.add(node.read())
    assert relay.step() == relay_module.PERIOD_SECONDS
    assert store.ended_journals() == []
    [entry] = refused(tmp_path / "relay")
    assert entry["bytes"] > MOST_BODY_BYTES and "expected at most" in entry["reason"]
    assert [line for line in said if "is refused" in line]
    relay.close()
    store.close()
    upstream.store.close()
    assert sequences(upstream.directory) == {"a": [0, 2]}


def test_a_proxy_with_a_lower_limit_gets_smaller_requests(tmp_path, upstream):
    store, relay = relay_at(tmp_path / "relay", upstream, [])
    node = FakeNode("a", ahead_ns=10**18)
    for number in range(10):
        one = node.read()
        store.add(large(one, 20_000) if number == 4 else one)
    upstream.most_bytes = 10_000
    assert relay.step() == relay_module.PERIOD_SECONDS
    assert (relay.forwarded, len(refused(tmp_path / "relay"))) == (9, 1)
    relay.close()
    store.close()
    upstream.store.close()
    assert sequences(upstream.directory) == {"a": [0, 1, 2, 3, 5, 6, 7, 8, 9]}
