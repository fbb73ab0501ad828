"""A collector does not depend on what nodes send or on what its disk returns: each wrong item costs
itself, and is kept aside."""

from __future__ import annotations

import dataclasses
import gc
import json
import os
import random
import tracemalloc
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from io import BytesIO
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from test_collector import FakeNode, data_sets, rows
from test_daemon_events import Kernel

from sesame.errors import InputError, SesameError
from sesame.measurement.bounds import MOST_ITEM_BYTES
from sesame.measurement.clocks import Offset
from sesame.measurement.collector import segment
from sesame.measurement.collector.intake import REFUSED, Intake
from sesame.measurement.collector.store import Store
from sesame.measurement.events import Block
from sesame.measurement.feed import Feed
from sesame.measurement.frames import SEARCHED_BYTES, Frame, decode, frames
from sesame.measurement.readings import Phase, Reading
from sesame.measurement.summary import Cells

FAR = 2**62


def readings(count: int = 3, node: str = "a") -> list[Reading]:
    made = FakeNode(node, ahead_ns=10**18)
    made.node.add_phase(Phase("warm-up", 5, 7, 1))
    return [made.read() for _ in range(count)]


def block() -> Block:
    kernel = Kernel()
    kernel.see(10)
    [made] = kernel.stream.after(-1)
    return made


def wrong_readings(one: Reading) -> dict[str, Reading]:
    """Readings that no daemon sends, by what is wrong. The first is the one that ended collectors
    for good: valid if the data set began with it, but not if another began later."""
    offset = dataclasses.replace(one.offset, offset_ns=-FAR)
    cells = {"fs": Cells(bytes([255]) * 48)}
    layout = one.layouts["fs"]
    other: dict[str, dict[str, Any]] = {
        "far back": {"begin_ns": -FAR, "end_ns": 0, "offset": offset},
        "long before 1970": {"offset": offset},
        "far ahead": {"offset": Offset(FAR - 1, 0)},
        "ends before it begins": {"end_ns": one.begin_ns - 1},
        "negative number": {"sequence": -1},
        "large number": {"sequence": FAR},
        "no integer": {"sequence": True},
        "control character": {"node": "a\nb"},
        "no name": {"node": ""},
        "long name": {"node": "a" * 300},
        "cell beyond the layout": {"cells": one.cells | cells},
        "incomplete cell": {"cells": {"fs": Cells(one.cells["fs"].packed[:-1])}},
        "cells without a layout": {"layouts": {}},
        "no groups": {"layouts": {"fs": dataclasses.replace(layout, groups=0)}},
        "too few details": {"details": one.details | {"fs": []}},
        "no activity": {"active_ns": {}},
        "uneven columns": {"processors": one.processors | {"cpu": [1] * 9}},
        "large processor": {"processors": {name: [1 << 16] for name in one.processors}},
        "phase far ahead": {"phases": [Phase("p", 0, FAR - 1, 1)]},
    }
    return {name: dataclasses.replace(one, **changes) for name, changes in other.items()}


@pytest.fixture
def said() -> list[str]:
    return []


@pytest.fixture
def store(tmp_path, said) -> Store:
    return Store(tmp_path, 600, said.append)


@pytest.fixture
def intake(store, tmp_path, said) -> Intake:
    return Intake(store, tmp_path, said.append)


def anyone(_node: str) -> None:
    """Permits items of all nodes."""


def refused(directory: Path) -> list[dict]:
    path = directory / REFUSED
    return [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []


@pytest.mark.parametrize("name", list(wrong_readings(readings(1)[0])))
def test_a_wrong_reading_costs_itself_and_is_kept_aside(name, intake, store, tmp_path, said):
    first, second, third = readings()
    wrong = wrong_readings(second)[name]
    body = first.encode() + wrong.encode() + third.encode()
    done = intake.take(body, "token a", anyone)
    assert (done.readings, done.refused) == (2, 1)
    [entry] = refused(tmp_path)
    assert entry["sender"] == "token a"
    assert entry["reason"] and entry["bytes"] == len(wrong.encode())
    assert sum("is refused" in line for line in said) == 1
    store.close()
    [data_set] = data_sets(tmp_path)
    assert [row["sequence"] for row in rows(data_set, "kernel_reading")] == [0, 2]


def wrong_blocks(one: Block) -> dict[str, Block]:
    late = one.events.copy()
    late["time_ns"][3] = 2**63
    unnamed = one.events.copy()
    unnamed["subsystem"][3] = 99
    other: dict[str, dict[str, Any]] = {
        "events far ahead": {"events": late},
        "events without names": {"events": unnamed},
        "more events than seen": {"seen": 3},
        "since after seen": {"since": 11},
        "far ahead": {"offset": Offset(FAR - 1, 0)},
        "names are no lists": {"names": [["fs", 5, []]]},
        "text as a number": {"before": "0"},
    }
    return {name: dataclasses.replace(one, **changes) for name, changes in other.items()}


@pytest.mark.parametrize("name", list(wrong_blocks(block())))
def test_a_wrong_block_costs_itself(name, intake, store, tmp_path):
    good = block()
    wrong = wrong_blocks(good)[name]
    done = intake.take(wrong.encode() + good.encode(), "token a", anyone)
    assert (done.blocks, done.refused) == (1, 1)
    store.close()
    [data_set] = data_sets(tmp_path)
    assert data_set.table("kernel_event").num_rows == 10


def test_what_overlaps_the_block_before_is_not_counted_as_less_than_nothing_discarded(store):
    one = block()
    assert store.add(one)
    assert store.add(dataclasses.replace(one, seen=11))
    [*_, last] = store._journal.path.read_bytes().split(b"events ")
    assert json.loads(last.split(b"\n")[0])["discarded"] == 0
    store.close()


@pytest.mark.parametrize(
    "body",
    [
        b"events []\n",
        b'events {"bytes":"a"}\n',
        b'events {"bytes":-1}\n',
        b'events {"bytes":' + b"[" * 100_000 + b"\n",
        b'{"a":' + b"[" * 100_000 + b"\n",
        b"events null\n",
        b"\xff\xfe\n",
        b'{"node":"\\ud800"}\n',
        b'{"node":NaN}\n',
    ],
)
def test_what_is_no_item_is_refused_as_a_request(body, intake, tmp_path):
    with pytest.raises(InputError, match="expected readings or events of this version"):
        intake.take(body, "token a", anyone)
    assert refused(tmp_path) == []


@contextmanager
def memory_within(most: float, after: float = float("inf")) -> Iterator[None]:
    """Checks how many bytes are allocated meanwhile at most, and how many are still at the end."""
    tracemalloc.start()
    try:
        yield
        gc.collect()
        left, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak < most
    assert left < after


@pytest.mark.few_cases(1)
@pytest.mark.parametrize("line", [b'{"\n', b"events \n"])
def test_a_request_of_too_many_items_is_refused_before_all_are_read(line, intake):
    """2.8 million wrong lines fit into a request."""
    text = readings(1)[0].encode()
    with (
        memory_within(5e6),
        pytest.raises(InputError, match="expected at most 1024 readings or blocks"),
    ):
        intake.take(text + line * 100_000, "token a", anyone)


def test_lines_that_are_no_items_need_no_memory_each(intake):
    """4.2 million of them fit into a request."""
    with memory_within(5e6), pytest.raises(InputError, match="expected readings or events"):
        intake.take(b"x\n" * 500_000, "token a", anyone)


def test_what_refused_items_claim_is_neither_kept_nor_printed(intake, said, tmp_path):
    one = readings(1)[0]
    nodes = [str(number) + "n" * 1_000_000 for number in range(10)]
    bodies = [dataclasses.replace(one, node=node).encode() for node in nodes]
    with memory_within(50e6, after=1e6):
        for body in bodies:
            intake.take(body, "token a", anyone)
    unprintable = dataclasses.replace(one, cells={"c\n" * 1_000_000: Cells(b"")})
    intake.take(unprintable.encode(), "token b", anyone)
    assert [line.partition(": ")[0] for line in said] == ["'token a'", "'token b'"]
    assert all(len(line) < 1000 and "\n" not in line for line in said)
    assert (tmp_path / REFUSED).stat().st_size < 100_000


def test_large_layouts_of_a_node_are_not_kept(intake, store):
    parts = json.loads(readings(1)[0].encode())
    bodies = []
    for number in range(5):
        parts["sequence"] = number
        parts["layouts"]["fs"]["classes"] = [f"{number} {name}" for name in range(10_000)]
        bodies.append(json.dumps(parts).encode() + b"\n")
    with memory_within(10e6, after=1e6):
        for body in bodies:
            assert intake.take(body, "token a", anyone).readings == 1
    store.close()


def test_a_data_set_is_written_from_a_bounded_number_of_bytes_at_a_time(
    monkeypatch, intake, store, tmp_path
):
    """A journal may have a thousand readings of 4 MiB."""
    made = readings(20)
    sizes: list[int] = []
    batch_of = segment.Readings
    monkeypatch.setattr(segment, "BATCH_BYTES", 3 * len(made[0].encode()))
    monkeypatch.setattr(
        segment, "Readings", lambda all_, begin: sizes.append(len(all_)) or batch_of(all_, begin)
    )
    intake.take(b"".join(one.encode() for one in made), "token a", anyone)
    store.close()
    assert max(sizes) <= 4
    [data_set] = data_sets(tmp_path)
    assert [row["sequence"] for row in rows(data_set, "kernel_reading")] == list(range(20))


@pytest.mark.parametrize("more", range(-12, 4))
def test_an_item_after_damage_is_found_wherever_it_begins(more):
    """Also across two parts of the file that are searched."""
    damage = b"y\n" + b"x" * (SEARCHED_BYTES + more) + b"\n"
    one = readings(1)[0].encode()
    file = BytesIO(damage + one + damage + b"incomplete")
    assert [line for line, _, _ in frames(file)] == [damage, one, damage]


def test_a_reading_that_a_relay_could_not_forward_is_refused_alone(intake, store, tmp_path):
    """It would be longer than a request once the relay has replaced the offset."""
    first, second = readings(2)
    island = Phase("\N{DESERT ISLAND}" * 200, second.begin_ns, second.end_ns, 1)
    large = dataclasses.replace(second, phases=[island] * 5000)
    assert len(large.encode()) > MOST_ITEM_BYTES
    done = intake.take(first.encode() + large.encode(), "token a", anyone)
    assert (done.readings, done.refused) == (1, 1)
    [entry] = refused(tmp_path)
    assert entry["reason"].startswith(f"expected at most {MOST_ITEM_BYTES} bytes, got ")
    store.close()


def mutant(text: bytes, chance: random.Random) -> bytes:
    """Some bytes changed, removed, repeated or inserted; or a number replaced by a large one."""
    changed = bytearray(text)
    for _ in range(chance.choice((1, 1, 2, 8))):
        at, length = chance.randrange(len(changed)), chance.choice((1, 1, 4, 200))
        kind = chance.randrange(5)
        if kind == 0:
            changed[at] = chance.randrange(256)
        elif kind == 1:
            del changed[at : at + length]
        elif kind == 2:
            changed[at:at] = changed[at : at + length]
        elif kind == 3:
            changed[at:at] = chance.choice((b"\n", b'{"', b"events ", b"-", b"9" * 25, b"null"))
        else:
            digits = [i for i, byte in enumerate(changed) if 48 <= byte < 58]
            if digits:
                at = chance.choice(digits)
                changed[at : at + 1] = chance.choice(
                    (b"99999999999999999999", b"-9", b"0.5", b"1e9")
                )
        if not changed:
            return b"\n"
    return bytes(changed)


@pytest.mark.parametrize("seed", range(4))
def test_mutants_of_valid_requests_end_no_collector(seed, intake, store, tmp_path):
    chance = random.Random(seed)
    good = readings(4) + readings(2, "b")
    whole = b"".join(one.encode() for one in good[:3]) + block().encode()
    for _ in range(150):
        with suppress(InputError):
            intake.take(mutant(whole, chance), "token a", anyone)
    done = intake.take(good[-1].encode(), "token b", anyone)
    assert done.readings == 1
    store.close()
    [data_set] = data_sets(tmp_path)
    nodes = {row["node"] for row in rows(data_set, "kernel_reading")}
    assert "b" in nodes
    assert not list(tmp_path.glob("damaged-*"))


def journal_of(directory: Path, *items: Reading | Block) -> bytes:
    (directory / ".journal-1").write_bytes(text := b"".join(one.encode() for one in items))
    return text


@pytest.mark.few_cases(2)
@pytest.mark.parametrize("seed", range(4))
def test_mutants_of_journals_cost_what_is_damaged_only(seed, tmp_path):
    """What is before and after the damage is in the data set; the rest is in a file."""
    chance = random.Random(seed)
    good = readings(6)
    for number in range(12):
        directory = tmp_path / str(number)
        directory.mkdir()
        whole = journal_of(directory, *good[:2], block(), *good[2:])
        at = len(good[0].encode())
        until = len(whole) - len(good[-1].encode())
        damaged = whole[:at] + mutant(whole[at:until], chance) + b"\n" + whole[until:]
        (directory / ".journal-1").write_bytes(damaged)
        lines: list[str] = []
        store = Store(directory, 600, lines.append)
        [data_set] = data_sets(directory)
        found = [row["sequence"] for row in rows(data_set, "kernel_reading")]
        assert found[0] == 0 and found[-1] == 5, (number, found)
        asides = list(directory.glob("damaged-*"))
        assert len(asides) == sum("damaged; what cannot be read is in" in line for line in lines)
        new = FakeNode("a").read()
        assert store.add(new)
        store.close()
        assert len(data_sets(directory)) == 2
        kept = sum(path.stat().st_size for path in asides)
        assert kept < len(damaged)


def test_a_journal_that_was_poisoned_earlier_does_not_keep_a_collector_from_starting(tmp_path):
    """Collectors of before accepted such a reading, and could not be started again."""
    first, second = readings(2)
    wrong = wrong_readings(second)["far back"]
    journal_of(tmp_path, first, wrong)
    lines: list[str] = []
    Store(tmp_path, 600, lines.append).close()
    [data_set] = data_sets(tmp_path)
    assert [row["sequence"] for row in rows(data_set, "kernel_reading")] == [0]
    [aside] = tmp_path.glob("damaged-*")
    assert aside.read_bytes() == wrong.encode()
    assert any(str(aside) in line for line in lines)


def test_zeros_as_a_power_failure_leaves_them_are_cut_off(tmp_path):
    first, second = readings(2)
    text = journal_of(tmp_path, first, second)
    (tmp_path / ".journal-1").write_bytes(text + bytes(4096))
    Store(tmp_path, 600).close()
    [data_set] = data_sets(tmp_path)
    assert len(rows(data_set, "kernel_reading")) == 2
    assert not list(tmp_path.glob("damaged-*"))


def test_a_damaged_list_of_received_items_is_made_again_from_the_data_sets(tmp_path, said):
    first, second = readings(2)
    store = Store(tmp_path, 600)
    store.add(first)
    store.add(block())
    store.close()
    for damage in (b"{", b"[]", b'{"a": "b"}', b'{"a": [1, 2, 3]}', b"[" * 100_000, b'{"a": -9}'):
        (tmp_path / ".received.json").write_bytes(damage)
        again = Store(tmp_path, 600, said.append)
        assert not again.add(first)
        assert not again.add(block())
        os.close(again._lock)
    assert sum("damaged, kept as" in line for line in said) == 6
    last = Store(tmp_path, 600)
    assert last.add(second)
    last.close()


def test_a_journal_that_cannot_become_a_data_set_is_set_aside(tmp_path, monkeypatch, said):
    def broken(*_: object) -> list[str]:
        raise OverflowError("Python int too large to convert to C long")

    store = Store(tmp_path, 600, said.append)
    first, second = readings(2)
    store.add(first)
    with monkeypatch.context() as patch:
        patch.setattr(segment, "write_data_set", broken)
        store.end_segment()
        store.make_segments()
    [aside] = tmp_path.glob("damaged-journal-*")
    assert aside.read_bytes() == first.encode()
    assert any("too large" in line for line in said)
    store.add(second)
    store.close()
    [data_set] = data_sets(tmp_path)
    assert [row["sequence"] for row in rows(data_set, "kernel_reading")] == [1]


class WrongDaemon:
    """As a connection to it: it has a clock of another time."""

    address = "n"

    def __init__(self, clock_ns: int, *items: bytes) -> None:
        self.clock_ns, self.items = clock_ns, items

    def ask(self, _method: str, path: str) -> bytes:
        return b"".join(self.items) if "readings" in path else b""

    def ask_clock(self) -> int:
        return self.clock_ns


def test_a_daemon_whose_clock_is_wrong_has_its_readings_refused_when_they_are_fetched():
    one = readings(1)[0]
    found: list[Frame] = []
    daemon = WrongDaemon(FAR - 1, one.encode(), b"{}\n")
    assert list(Feed(daemon, found.append).new()) == []
    assert [frame.node for frame in found] == ["a", ""]


def test_a_reply_of_too_many_items_is_not_read_to_its_end():
    found: list[Frame] = []
    with pytest.raises(SesameError, match="n: expected at most 4096 readings or blocks"):
        list(Feed(WrongDaemon(0, b'{"a":1}\n' * 5000), found.append).new())
    assert len(found) == 4096


def test_a_reply_is_decoded_one_item_at_a_time(monkeypatch):
    """Decoded, its items need several times the memory of the reply."""
    decoded: list[bytes] = []
    decode_one = Frame.decoded
    monkeypatch.setattr(
        Frame, "decoded", lambda line, more: decoded.append(line) or decode_one(line, more)
    )
    daemon = WrongDaemon(0, *(one.encode() for one in readings()))
    assert next(Feed(daemon).new()).sequence == 0
    assert len(decoded) == 1


def test_items_are_decoded_as_they_were_encoded():
    """Also names with other letters; and events between readings."""
    one = dataclasses.replace(readings(1)[0], node="knöten-β")
    both = one.encode() + block().encode() + one.encode()
    found = [frame.item for frame in decode(BytesIO(both))]
    assert found[0] == found[2] == one
    assert np.array_equal(found[1].events, block().events)
