"""The collector writes readings of many nodes as data sets, each reading once and none torn."""

from __future__ import annotations

import dataclasses
import errno
import os
import resource
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from datetime import datetime
from pathlib import Path

import pytest
from starlette.testclient import TestClient
from test_daemon_events import Kernel
from tests.python.fake_probes import all_probes

from sesame.datasets import DataSet
from sesame.datasets.frames import run_sql
from sesame.errors import InputError, OutputError
from sesame.measurement.clocks import Offset
from sesame.measurement.collector.fetcher import Fetcher
from sesame.measurement.collector.intake import Intake
from sesame.measurement.collector.journal import Journal, stored_readings
from sesame.measurement.collector.segment import write_data_set
from sesame.measurement.collector.server import make_collector_app
from sesame.measurement.collector.store import Store
from sesame.measurement.control import Nodes, Recording
from sesame.measurement.daemon.node import Node
from sesame.measurement.feed import Feed
from sesame.measurement.readings import Reading
from sesame.web.server.access import FixedTokens
from sesame.web.server.roles import Client, Role

TOKEN = "r" * 32
NODE_TOKEN = "n" * 32
TOKENS = [
    FixedTokens({TOKEN: Client("hub", Role.RELAY), NODE_TOKEN: Client("a", Role.NODE)}),
]


class FakeNode:
    """A node whose clock is `ahead_ns` behind the collector's."""

    def __init__(self, name: str, ahead_ns: int = 0) -> None:
        self.probes = all_probes()
        self.node = Node(name, self.probes, {})
        self.node.offset = Offset(ahead_ns, 10)

    def read(self, events: int = 1) -> Reading:
        for _ in range(events):
            self.probes["fs"].count(point=0, class_=0, group=1, size=1000, duration=5)
        return self.node.read()


def data_sets(directory) -> list[DataSet]:
    return [DataSet(path) for path in sorted(directory.glob("*.sesame"))]


def rows(data_set: DataSet, name: str) -> list[dict]:
    return data_set.table(name).to_pylist()


def intake_of(store: Store, directory: Path) -> Intake:
    return Intake(store, directory, lambda _: None)


@pytest.fixture
def directory(tmp_path):
    return tmp_path / "received"


def test_segments_have_all_readings_of_all_nodes_with_their_clocks_made_one(directory):
    a, b = FakeNode("a", ahead_ns=1_000_000_000), FakeNode("b")
    store = Store(directory, 600)
    first = a.read(events=2)
    for reading in (first, b.read(), a.read()):
        assert store.add(reading)
    assert list(directory.glob("*.sesame")) == []
    store.close()
    [data_set] = data_sets(directory)
    assert data_set.info["nodes"] == ["a", "b"]
    counted = [
        (row["node"], row["count"], row["bytes"]) for row in rows(data_set, "kernel_summary")
    ]
    assert sorted(counted) == [("a", 1, 1000), ("a", 2, 2000), ("b", 1, 1000)]
    times = {(r["node"], r["sequence"]): r["begin_ns"] for r in rows(data_set, "kernel_reading")}
    assert min(times.values()) == 0
    # b's clock is a second behind that of the collector's as the node was given it, a's is not.
    begins = times["a", 0] - times["b", 0] - 1_000_000_000
    assert begins == first.begin_ns - b.node.history[0].begin_ns


def test_data_sets_of_format_3_which_call_readings_pulls_are_read(directory):
    store = Store(directory, 600)
    store.add(FakeNode("a").read())
    store.close()
    [written] = data_sets(directory)
    (written.path / "kernel_reading.parquet").rename(written.path / "kernel_pull.parquet")
    info = written.path / "info.json"
    text = info.read_text().replace('"format_version": 4', '"format_version": 3')
    info.write_text(text.replace("kernel_reading", "kernel_pull"))
    old = DataSet(written.path)
    assert "kernel_reading" in old.tables
    assert "kernel_pull" not in old.tables
    assert [row["sequence"] for row in rows(old, "kernel_reading")] == [0]
    assert run_sql(old, "select sequence from kernel_reading", exact=True).fetchall() == [(0,)]


def test_a_reading_that_sent_twice_is_stored_once_even_after_a_restart(directory):
    node = FakeNode("a")
    readings = [node.read(), node.read()]
    store = Store(directory, 600)
    assert [store.add(reading) for reading in (*readings, *readings)] == [True, True, False, False]
    store.close()
    again = Store(directory, 600)
    assert not again.add(readings[1])
    assert again.add(node.read())
    again.close()


def test_a_collector_that_was_killed_leaves_a_journal_that_becomes_a_data_set(directory):
    node = FakeNode("a")
    store = Store(directory, 600)
    first, second = node.read(), node.read()
    store.add(first)
    [journal] = directory.glob(".journal-*")
    with journal.open("a") as file:
        file.write(second.encode().decode()[:100])  # torn
    store._journal.close()  # as the end of its process would
    os.close(store._lock)
    (directory / ".measured-20260101T000000.sesame.part").mkdir()
    again = Store(directory, 600)
    [data_set] = data_sets(directory)
    assert [row["sequence"] for row in rows(data_set, "kernel_reading")] == [0]
    assert not again.add(first)
    assert again.add(second)
    again.close()
    assert len(data_sets(directory)) == 2
    assert [path.name for path in directory.glob(".*")] == [".received.json"]


def test_a_journal_that_has_become_a_data_set_does_not_become_another(directory):
    def killed(_: str) -> None:
        raise KeyboardInterrupt

    kernel, node, store = Kernel(), FakeNode("a"), Store(directory, 600, killed)
    store.add(node.read())
    kernel.see(20)
    for block in kernel.stream.after(-1, 1000):
        store.add(block)
    with pytest.raises(KeyboardInterrupt):
        store.close()
    os.close(store._lock)
    again = Store(directory, 600)
    assert len(data_sets(directory)) == 1
    assert not again.add(node.node.history[0])
    kernel.see(10)
    again.add(kernel.stream.after(20)[0])
    again.close()
    accounts = [row for one in data_sets(directory) for row in rows(one, "kernel_trace")]
    assert [(row["written"], row["discarded"]) for row in accounts] == [(10, 0)] * 3


def test_a_store_that_could_not_begin_can_be_created_again(directory, monkeypatch):
    def full(_: Store) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    with monkeypatch.context() as patch, pytest.raises(OutputError, match="No space left"):
        patch.setattr(Store, "_clear", full)
        Store(directory, 600)
    Store(directory, 600).close()


def test_what_a_journal_could_not_take_whole_is_not_in_it(tmp_path, monkeypatch):
    def away(*_: object) -> None:
        raise OSError(errno.EIO, "Input/output error")

    node, journal = FakeNode("a"), Journal(tmp_path / "journal")
    first, second, third = node.read(), node.read(), node.read()
    journal.append(first)
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (len(first.encode()) + 100, before[1]))
    try:
        with monkeypatch.context() as patch, pytest.raises(OSError):
            patch.setattr(Path, "open", away)
            journal.append(second)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
    assert journal.path.read_bytes() == first.encode()
    journal.append(third)
    journal.close()
    assert list(stored_readings(journal.path)) == [first, third]


class SlowDaemon:
    """As a connection to it."""

    address = "n"

    def __init__(self, *readings: Reading) -> None:
        self.readings, self.at_once, self.most = readings, 0, 0

    def ask(self, _method: str, path: str) -> bytes:
        self.at_once += 1
        self.most = max(self.most, self.at_once)
        time.sleep(0.01)
        self.at_once -= 1
        return (
            b"".join(reading.encode() for reading in self.readings) if "readings" in path else b""
        )

    def ask_clock(self) -> int:
        return time.monotonic_ns()


def test_one_node_is_asked_by_one_at_a_time(directory):
    slow, store = SlowDaemon(), Store(directory, 600)
    fetcher = Fetcher(slow, intake_of(store, directory), print)
    with ThreadPoolExecutor(4) as threads:
        for _ in range(4):
            threads.submit(fetcher.fetch)
    store.close()
    assert slow.most == 1


def test_a_recording_that_cannot_be_written_says_so(tmp_path, monkeypatch):
    def full(*_: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    daemon, nodes = SlowDaemon(FakeNode("a").read()), Nodes(["a"], TOKEN)
    nodes._all = [daemon]
    monkeypatch.setattr(Journal, "append", full)
    with closing(Journal(tmp_path / "journal")) as journal:
        recording = Recording(nodes, journal)
        recording._feeds["n"] = Feed(daemon)
        recording._feeds["n"].start = daemon.readings[0].start
        [outcome] = recording.fetch()
    assert "No space left on device" in str(outcome.error)


def test_a_segment_ends_after_its_time(directory):
    node, store = FakeNode("a"), Store(directory, 0)
    store.add(node.read())
    assert store.is_segment_over()
    store.end_segment()
    store.make_segments()
    store.add(node.read())
    store.close()
    assert len(data_sets(directory)) == 2


def test_a_segment_ends_after_its_time_even_if_the_clock_is_set_back(directory, monkeypatch):
    store, now_ns = Store(directory, 0.001), time.time_ns()
    store.add(FakeNode("a").read())
    monkeypatch.setattr(time, "time_ns", lambda: now_ns - 86_400 * 10**9)
    end = time.monotonic() + 10
    while not store.is_segment_over():
        assert time.monotonic() < end
    store.close()


def test_over_http_a_reading_is_taken_once_and_nonsense_is_refused(directory):
    store = Store(directory, 600)
    client = TestClient(make_collector_app(store, intake_of(store, directory), TOKENS))
    reading = FakeNode("a").read()
    body = reading.encode()
    assert client.post("/v1/readings", content=body).status_code == 401
    client.headers["Authorization"] = f"Bearer {TOKEN}"
    new, repeated = ({"new": is_new, "refused": 0} for is_new in (True, False))
    assert client.post("/v1/readings", content=body).json() == new
    assert client.post("/v1/readings", content=body).json() == repeated
    later = dataclasses.replace(reading, sequence=reading.sequence + 1).encode()
    assert client.post("/v1/readings", content=body + later).json() == new
    assert client.post("/v1/readings", content=body + later).json() == repeated
    cut = (body[:-1], body[:-2] + b"\n", body + body[:-1])
    for nonsense in (b"", b"[]\n", b"{}\n", *cut):
        answer = client.post("/v1/readings", content=nonsense)
        assert answer.status_code == 400
        assert "expected readings or events" in answer.json()["error"]
    store.close()


def test_a_node_delivers_its_own_readings_only(directory):
    store = Store(directory, 600)
    client = TestClient(make_collector_app(store, intake_of(store, directory), TOKENS))
    client.headers["Authorization"] = f"Bearer {NODE_TOKEN}"
    own, other = (FakeNode(name).read().encode() for name in ("a", "b"))
    assert client.post("/v1/readings", content=own).status_code == 200
    for body in (other, own + other):
        answer = client.post("/v1/readings", content=body)
        assert (answer.status_code, answer.json()["error"]) == (
            403,
            "a may not deliver readings of b",
        )
    client.headers["Authorization"] = f"Bearer {TOKEN}"
    assert client.post("/v1/readings", content=other).json()["new"]
    store.close()


def test_a_collector_that_cannot_write_says_so(directory, monkeypatch):
    store = Store(directory, 600)
    with pytest.raises(InputError, match="another collector or daemon writes to it"):
        Store(directory, 600)
    app = make_collector_app(store, intake_of(store, directory), TOKENS)
    client = TestClient(app, headers={"Authorization": f"Bearer {TOKEN}"})

    def full(_: object) -> int:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(store, "add_all", full)
    answer = client.post("/v1/readings", content=FakeNode("a").read().encode())
    assert answer.status_code == 507
    assert "No space left on device" in answer.json()["error"]


def test_a_recording_is_one_data_set_with_the_uncertainty_of_each_clock(tmp_path):
    journal = Journal(tmp_path / "journal")
    begins_ns = []
    for name, shift in (("a", 5), ("b", 7)):
        reading = dataclasses.replace(FakeNode(name).read(), offset=Offset(10**18 + shift, shift))
        begins_ns.append(reading.begin_ns + 10**18 + shift)
        journal.append(reading)
    journal.close()
    made = write_data_set(
        tmp_path / "x.sesame",
        journal.path,
        journal.contents,
        instrument="sesame measure record",
    )
    assert made == ["a", "b"]
    info = DataSet(tmp_path / "x.sesame").info
    assert (info.kind, info.instrument.name) == ("measured", "sesame measure record")
    assert info.host.name == "a and 1 more"
    begin_s = datetime.fromisoformat(str(info.begin_time)).timestamp()
    assert begin_s == pytest.approx(min(begins_ns) / 1e9)
    stored = rows(DataSet(tmp_path / "x.sesame"), "kernel_reading")
    assert {row["node"]: row["uncertainty_ns"] for row in stored} == {"a": 5, "b": 7}
