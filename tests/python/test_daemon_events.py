"""Events of traces on their way: each is stored once, or counted in the end."""

from __future__ import annotations

import os
import random
from io import BytesIO
from pathlib import Path

import numpy as np
import pytest
from tests.python.fake_probes import all_probes

from sesame.datasets import DataSet
from sesame.errors import SesameError
from sesame.measurement.clocks import Offset, own_offset
from sesame.measurement.collector.store import Store
from sesame.measurement.daemon import undelivered
from sesame.measurement.daemon.delivery import Delivery, Items
from sesame.measurement.daemon.node import Node
from sesame.measurement.daemon.service import Service
from sesame.measurement.daemon.settings import Settings
from sesame.measurement.daemon.stream import EventStream
from sesame.measurement.events import Block
from sesame.measurement.frames import decode_blocks
from sesame.measurement.probes import EVENT
from sesame.measurement.trace import names_here


class Kernel:
    """Has seen events: some were taken, some were lost."""

    def __init__(self, buffer: int = 10, capacity: int = 1000) -> None:
        self.lost = self.taken = 0
        offset = Offset(10**18, 5)
        self.stream = EventStream(
            "n",
            "s",
            offset,
            lambda: self.lost,
            lambda: names_here({}),
            buffer=buffer,
            capacity=capacity,
        )

    def see(self, taken: int, lost: int = 0) -> None:
        events = np.zeros(taken, EVENT)
        events["where"] = np.arange(self.taken, self.taken + taken)
        self.taken += taken
        self.lost += lost
        self.stream.write(events)


class Way:
    """To a store; the receipt may be lost, and the store may begin again."""

    def __init__(self, directory: Path, chance: random.Random | None = None) -> None:
        self.directory, self.chance = directory, chance
        self.store = Store(directory, 600)
        self.is_open = True

    def deliver(self, items: Items) -> None:
        what = self.chance.choice(("away", "killed", "receipt lost", *["stored"] * 5))
        if not self.is_open or what == "away":
            raise SesameError("away")
        for item in items:
            self.store.add(item)
        if what == "killed":
            self.store._journal.close()
            os.close(self.store._lock)
            self.store = Store(self.directory, 600)
        if what in ("killed", "receipt lost"):
            raise SesameError(what)

    def close(self) -> None: ...


def stored(directory: Path) -> tuple[list[dict], list[int]]:
    """The accounts, and the numbers of all events."""
    data_sets = [DataSet(path) for path in sorted(directory.glob("*.sesame"))]
    accounts = [row for one in data_sets for row in one.table("kernel_trace").to_pylist()]
    numbers = [
        number for one in data_sets for number in one.table("kernel_event")["where"].to_pylist()
    ]
    return accounts, numbers


@pytest.mark.parametrize("seed", range(5))
def test_each_event_is_stored_once_or_counted_whatever_happens_on_its_way(tmp_path, seed):
    chance = random.Random(seed)
    kernel = Kernel(capacity=400)
    way = Way(tmp_path, chance)
    delivery = Delivery(way, lambda _: None, kernel.stream)
    for number in range(200):
        way.is_open = number % 50 < 25
        kernel.see(chance.randrange(30), chance.choice((0, 0, 0, 7)))
        if chance.random() < 0.3:
            kernel.stream.flush()
            delivery._wake()  # as a reading does
    kernel.stream.flush()
    way.is_open, way.chance = True, random.Random(0)
    way.chance.choice = lambda _: "stored"
    delivery.close()
    way.store.close()
    accounts, numbers = stored(tmp_path)
    assert len(numbers) == len(set(numbers)) == sum(row["written"] for row in accounts)
    discarded = sum(row["discarded"] for row in accounts)
    assert discarded >= kernel.lost
    assert len(numbers) + discarded == kernel.taken + kernel.lost


def test_a_block_is_made_when_its_buffer_is_full_and_when_it_is_asked_for():
    kernel = Kernel(buffer=10)
    kernel.see(9)
    assert kernel.stream.after(-1) == []
    kernel.see(15)
    assert [len(block.events) for block in kernel.stream.after(-1, 1000)] == [10, 10]
    kernel.stream.flush()
    kernel.stream.flush()
    assert [block.seen for block in kernel.stream.after(10, 1000)] == [20, 24]


def test_loss_alone_makes_a_block_too():
    kernel = Kernel()
    kernel.see(0, lost=3)
    kernel.stream.flush()
    [block] = kernel.stream.after(-1)
    assert (block.before, block.seen, len(block.events)) == (0, 3, 0)
    assert block.after(-1).discarded == 3


def test_the_oldest_blocks_are_dropped_and_are_counted_by_the_receiver():
    kernel = Kernel(buffer=100, capacity=500)
    kernel.see(1000)
    first = kernel.stream.after(-1)[0]
    assert first.before == 700  # three of 164 fit into 500
    assert first.after(-1).discarded == 700
    assert first.after(200).discarded == 500


def test_a_block_survives_its_way_and_nonsense_is_refused():
    kernel = Kernel()
    kernel.see(10)
    [block] = kernel.stream.after(-1)
    text = block.encode()
    [again] = decode_blocks(BytesIO(text + text[:-1]))  # the second one is torn
    assert (again.events == block.events).all()
    assert vars(again) | {"events": 0} == vars(block) | {"events": 0, "names": again.names}
    line, _, records = text.partition(b"\n")
    for wrong in (
        line.replace(b'"seen": 10', b'"seen": 9'),
        line.replace(b'"seen": 10', b'"seen": "10"'),
        line.replace(b'"node": "n"', b'"node": 5'),
        line.replace(b'"time_ns"', b'"time_us"'),
        line.replace(b'"before"', b'"after"'),
    ):
        assert wrong != line
        with pytest.raises(ValueError, match=r"."):
            Block.decode(wrong, records)
    events = block.events.copy()
    events["point"][3] = 99
    with pytest.raises(ValueError, match="names: expected one for each"):
        Block.decode(line, events.tobytes())


def test_another_destination_is_given_of_what_the_first_one_was_not(tmp_path):
    kernel = Kernel()
    first, second = Way(tmp_path / "a"), Way(tmp_path / "b")
    for way in (first, second):
        way.chance = random.Random(0)
        way.chance.choice = lambda _: "stored"
    delivery = Delivery(first, lambda _: None, kernel.stream)
    kernel.see(20)
    kernel.stream.flush()
    delivery.close()
    kernel.see(30)
    delivery = Delivery(second, lambda _: None, kernel.stream, sent=delivery.sent)
    kernel.stream.flush()
    delivery.close()
    for way, count in ((first, 20), (second, 30)):
        way.store.close()
        accounts, numbers = stored(way.directory)
        assert len(numbers) == count
        assert sum(row["discarded"] for row in accounts) == 0


class Restarted:
    """A daemon that begins again and again in one directory."""

    def __init__(self, directory: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self.way = Way(directory / "received", random.Random(0))
        self.way.chance.choice = lambda _: "stored"
        self.undelivered = directory / "undelivered"
        self.said: list[str] = []
        sink = "sesame.measurement.daemon.service.open_sink"
        monkeypatch.setattr(sink, lambda *_: self.way)

    def live(self, events: int, *, is_open: bool) -> str:
        """From one start to its end, with two readings; gives its name."""
        self.way.is_open = is_open
        node = Node("n", all_probes(), {})
        settings = Settings(destination="http://there")
        service = Service(node, settings, self.said.append, undelivered=self.undelivered)
        node.stream.write(np.zeros(events, EVENT))
        node.stream.flush()
        service.read()
        service.end()
        return node.start

    def stored(self) -> tuple[list[tuple], list[tuple]]:
        """Of each start, in their order: what was written and discarded; its readings."""
        self.way.store.close()
        [data_set] = [DataSet(path) for path in self.way.directory.glob("*.sesame")]
        accounts = data_set.table("kernel_trace").to_pylist()
        readings = data_set.table("kernel_reading").to_pylist()
        assert min(row["begin_ns"] for row in (*accounts, *readings)) == 0
        return (
            [(row["start"], row["written"], row["discarded"]) for row in accounts],
            [(row["start"], row["sequence"]) for row in readings],
        )


def test_what_found_no_way_before_the_end_is_given_by_a_later_start(tmp_path, monkeypatch):
    daemon = Restarted(tmp_path, monkeypatch)
    first = daemon.live(20, is_open=False)
    second = daemon.live(0, is_open=False)
    third = daemon.live(7, is_open=True)
    assert "2 readings and 20 events could not be delivered to http://there" in daemon.said[1]
    assert not daemon.undelivered.exists()
    accounts, readings = daemon.stored()
    assert accounts == [(first, 0, 20), (third, 7, 0)]
    assert readings == [(start, number) for start in (first, second, third) for number in (0, 1)]


def test_what_is_given_twice_since_a_daemon_was_killed_is_stored_once(tmp_path, monkeypatch):
    daemon = Restarted(tmp_path, monkeypatch)
    first = daemon.live(20, is_open=False)
    kept = daemon.undelivered.read_bytes()
    daemon.live(0, is_open=True)
    daemon.undelivered.write_bytes(kept)
    daemon.live(0, is_open=True)
    accounts, readings = daemon.stored()
    assert accounts == [(first, 0, 20)]
    assert len(readings) == len(set(readings)) == 6


def test_readings_of_before_the_machine_was_booted_are_lost_and_events_still_counted(
    tmp_path, monkeypatch
):
    daemon = Restarted(tmp_path, monkeypatch)
    first = daemon.live(20, is_open=False)
    kept = daemon.undelivered.read_bytes()
    daemon.undelivered.write_bytes(b"another" + kept[7:])
    second = daemon.live(0, is_open=True)
    assert "2 readings from before the machine was rebooted are lost" in daemon.said
    accounts, readings = daemon.stored()
    assert accounts == [(first, 0, 20)]
    assert {start for start, _ in readings} == {second}


def test_what_an_earlier_start_has_left_and_is_unreadable_is_reported(tmp_path, monkeypatch):
    daemon = Restarted(tmp_path, monkeypatch)
    daemon.undelivered.write_bytes(b"boot\n{}\n")
    daemon.live(0, is_open=True)
    assert "readings of an earlier start cannot be read" in daemon.said[0]
    assert not daemon.undelivered.exists()
    daemon.way.store.close()


def parcels_in(path: Path) -> set[tuple[str, str, int]]:
    items = undelivered.kept(path, own_offset(), pytest.fail)
    return {(type(one).__name__, one.start, one.number) for one in items}


def test_without_a_destination_it_stays_for_a_later_start(tmp_path, monkeypatch):
    daemon = Restarted(tmp_path, monkeypatch)
    daemon.live(20, is_open=False)
    left = parcels_in(daemon.undelivered)
    assert len(left) > 1
    monkeypatch.setattr("sesame.measurement.daemon.service.open_sink", lambda *_: None)
    daemon.live(0, is_open=True)
    assert parcels_in(daemon.undelivered) == left
    daemon.way.store.close()
