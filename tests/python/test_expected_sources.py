"""The order of an earlier run, as `--sources` expects it."""

from __future__ import annotations

import pyarrow as pa

from sesame.simulation.sources import runs_in_order

NAMES = ("source", "send_ps", "arrival_ps", "protocol", "destination", "tag", "flags")
DEFAULTS = (0, 7, 0)


def runs(*messages: tuple) -> list[list[int]]:
    """Of messages of context 2, as NAMES: destination, tag, source, count and whether tied."""
    rows = [dict(zip(NAMES, (*row, *DEFAULTS[len(row) - 4 :]), strict=True)) for row in messages]
    found = runs_in_order(pa.Table.from_pylist([row | {"context": 2} for row in rows]), 4)
    assert found[:, 1].tolist() == [2] * len(found)
    return [[row[0], *row[2:]] for row in found.tolist()]


def test_messages_are_in_the_order_of_their_arrival():
    first = [(1, 0, 10, "eager"), (1, 0, 20, "eager"), (2, 5, 30, "eager"), (1, 0, 40, "eager")]
    assert runs(*first) == [[0, 7, 1, 2, 0], [0, 7, 2, 1, 0], [0, 7, 1, 1, 0]]
    assert runs(*reversed(first)) == runs(*first)


def test_messages_of_the_same_time_are_tied():
    tied = [(1, 0, 20, "eager"), (2, 0, 20, "eager")]
    around = [(1, 0, 10, "eager"), *tied, (2, 0, 30, "eager")]
    expected = [[0, 7, 1, 1, 0], [0, 7, 1, 1, 0], [0, 7, 2, 1, 1], [0, 7, 2, 1, 0]]
    assert runs(*around) == expected
    assert runs((1, 0, 20, "eager"), (1, 0, 20, "eager")) == [[0, 7, 1, 2, 0]]


def test_announced_messages_are_tied_with_all_that_come_until_their_data_do():
    large = (1, 0, 100, "rendezvous")
    assert runs(large, (2, 5, 50, "eager"), (3, 0, 101, "eager")) == [
        *([0, 7, 1, 1, 0], [0, 7, 2, 1, 1]),
        [0, 7, 3, 1, 0],
    ]
    # The second is not tied with the third, but the first is tied with both.
    assert runs(large, (2, 5, 50, "eager"), (3, 70, 130, "rendezvous")) == [
        *([0, 7, 1, 1, 0], [0, 7, 2, 1, 1], [0, 7, 3, 1, 1]),
    ]
    assert runs(large, (1, 100, 200, "rendezvous")) == [[0, 7, 1, 2, 0]]


def test_each_receiver_and_tag_has_an_order_of_its_own():
    late, early = (1, 0, 20, "eager", 3), (2, 0, 10, "eager", 0, 8)
    assert runs((3, 0, 20, "eager"), late, early) == [
        *([0, 7, 3, 1, 0], [0, 8, 2, 1, 0], [3, 7, 1, 1, 0]),
    ]


def test_collectives_other_protocols_and_spawned_ranks_are_left_out():
    left_out = [
        (1, 0, 10, "eager", 0, 7, 2),
        (1, 0, 10, "one-sided"),
        (4, 0, 10, "eager"),
        (1, 0, 10, "eager", 4),
    ]
    assert runs(*left_out, (2, 0, 30, "eager")) == [[0, 7, 2, 1, 0]]
