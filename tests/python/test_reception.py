"""The reception: pulls of many nodes become data sets, none of them half-written or twice there."""

from __future__ import annotations

import dataclasses
import errno

import pytest
from fake_probes import all_probes
from fastapi.testclient import TestClient

from sesame.datasets import DataSet
from sesame.measurement.clocks import Offset
from sesame.measurement.daemon.node import Node
from sesame.measurement.pulls import Pull
from sesame.measurement.reception.server import make_reception_app
from sesame.measurement.reception.store import Store, write_data_set

TOKEN = "r" * 32


class FakeNode:
    """A node whose clock is `ahead_ns` behind the reception's."""

    def __init__(self, name: str, ahead_ns: int = 0) -> None:
        self.probes = all_probes()
        self.node = Node(name, self.probes, {})
        self.node.offset = Offset(ahead_ns, 10)

    def pull(self, events: int = 1) -> Pull:
        for _ in range(events):
            self.probes["fs"].count(point=0, class_=0, group=1, size=1000, duration=5)
        return self.node.pull()


def data_sets(folder) -> list[DataSet]:
    return [DataSet(path) for path in sorted(folder.glob("*.sesame"))]


def rows(data_set: DataSet, name: str) -> list[dict]:
    return data_set.table(name).to_pylist()


@pytest.fixture
def folder(tmp_path):
    return tmp_path / "received"


def test_segments_have_all_pulls_of_all_nodes_with_their_clocks_made_one(folder):
    a, b = FakeNode("a", ahead_ns=1_000_000_000), FakeNode("b")
    store = Store(folder, 600)
    first = a.pull(events=2)
    for pull in (first, b.pull(), a.pull()):
        assert store.add(pull)
    assert list(folder.glob("*.sesame")) == []
    store.close()
    [data_set] = data_sets(folder)
    assert data_set.info["nodes"] == ["a", "b"]
    counted = [
        (row["node"], row["count"], row["bytes"]) for row in rows(data_set, "kernel_summary")
    ]
    assert sorted(counted) == [("a", 1, 1000), ("a", 2, 2000), ("b", 1, 1000)]
    times = {(r["node"], r["sequence"]): r["begin_ns"] for r in rows(data_set, "kernel_pull")}
    assert min(times.values()) == 0
    # b's clock is a second behind that of the reception's as it has been told, a's is not.
    begins = times["a", 0] - times["b", 0] - 1_000_000_000
    assert begins == first.begin_ns - b.node.history[0].begin_ns


def test_a_pull_that_is_sent_twice_is_stored_once_even_after_the_reception_began_again(folder):
    node = FakeNode("a")
    pulls = [node.pull(), node.pull()]
    store = Store(folder, 600)
    assert [store.add(pull) for pull in (*pulls, *pulls)] == [True, True, False, False]
    store.close()
    again = Store(folder, 600)
    assert not again.add(pulls[1])
    assert again.add(node.pull())
    again.close()


def test_a_reception_that_was_killed_leaves_a_journal_that_becomes_a_data_set(folder):
    node = FakeNode("a")
    store = Store(folder, 600)
    first, second = node.pull(), node.pull()
    store.add(first)
    [journal] = folder.glob(".journal-*")
    with journal.open("a") as file:
        file.write(second.to_json()[:100])  # torn
    store._journal.close()  # as the end of its process would
    again = Store(folder, 600)
    [data_set] = data_sets(folder)
    assert [row["sequence"] for row in rows(data_set, "kernel_pull")] == [0]
    assert not again.add(first)
    assert again.add(second)
    again.close()
    assert len(data_sets(folder)) == 2
    assert list(folder.glob(".journal-*")) == []


def test_a_full_disk_loses_nothing_that_was_acknowledged(folder, monkeypatch):
    node, store = FakeNode("a"), Store(folder, 600)
    assert store.add(node.pull())
    pull = node.pull()
    full = OSError(errno.ENOSPC, "No space left on device")
    real = store._journal

    class Full:
        name = real.name

        def tell(self):
            return real.tell()

        def write(self, text):
            real.write(text[:50])
            real.flush()

        def flush(self):
            raise full

        def close(self):
            real.close()

    monkeypatch.setattr(store, "_journal", Full())
    with pytest.raises(OSError, match="No space"):
        store.add(pull)
    assert store.add(pull)
    store.close()
    [data_set] = data_sets(folder)
    assert [row["sequence"] for row in rows(data_set, "kernel_pull")] == [0, 1]


def test_a_segment_ends_after_its_time(folder):
    node, store = FakeNode("a"), Store(folder, 0)
    store.add(node.pull())
    assert store.is_segment_over()
    store.end_segment()
    store.make_segments()
    store.add(node.pull())
    store.close()
    assert len(data_sets(folder)) == 2


def test_over_http_a_pull_is_taken_once_and_nonsense_is_refused(folder):
    store = Store(folder, 600)
    client = TestClient(make_reception_app(store, TOKEN))
    body = FakeNode("a").pull().to_json()
    assert client.post("/v1/pulls", content=body).status_code == 401
    client.headers["Authorization"] = f"Bearer {TOKEN}"
    assert client.post("/v1/pulls", content=body).json() == {"new": True}
    assert client.post("/v1/pulls", content=body).json() == {"new": False}
    for nonsense in ("", "[]", "{}", body[:-1], body.replace('"places":[1]', '"places":[99999]')):
        answer = client.post("/v1/pulls", content=nonsense)
        assert (answer.status_code, answer.json()["error"]) == (400, "this is no pull")
    store.close()


def test_a_reception_that_cannot_write_says_so(folder, monkeypatch):
    store = Store(folder, 600)
    client = TestClient(
        make_reception_app(store, TOKEN), headers={"Authorization": f"Bearer {TOKEN}"}
    )

    def full(_: Pull) -> bool:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(store, "add", full)
    answer = client.post("/v1/pulls", content=FakeNode("a").pull().to_json())
    assert answer.status_code == 507
    assert "No space left on device" in answer.json()["error"]


def test_a_recording_is_one_data_set_with_the_uncertainty_of_each_clock(tmp_path):
    pulls = [
        dataclasses.replace(FakeNode(name).pull(), offset=Offset(10**18 + shift, shift))
        for name, shift in (("a", 5), ("b", 7))
    ]
    assert write_data_set(tmp_path / "x.sesame", lambda: iter(pulls)) == ["a", "b"]
    stored = rows(DataSet(tmp_path / "x.sesame"), "kernel_pull")
    assert {row["node"]: row["uncertainty_ns"] for row in stored} == {"a": 5, "b": 7}
