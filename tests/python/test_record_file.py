"""Records in a file come back in order, whatever part of them was in memory."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest

from sesame.exchange import record_file
from sesame.exchange.record_file import RecordFile, Scratch

FIELDS = ("rank", "thread", "begin_ns", "duration_ns", "value", "number")


@pytest.fixture
def scratch(tmp_path) -> Iterator[Scratch]:
    with Scratch(tmp_path) as scratch:
        yield scratch


def in_little_memory(monkeypatch) -> None:
    """Files and merges for a few hundred records."""
    monkeypatch.setattr(record_file, "RECENT_RECORDS", 16)
    monkeypatch.setattr(record_file, "SORTED_RECORDS", 64)
    monkeypatch.setattr(record_file, "BLOCK_RECORDS", 4)


def random_records(count: int) -> np.ndarray:
    """Few ranks and times, so that many are equal."""
    chance = np.random.default_rng(1)
    columns = [chance.integers(0, most, count) for most in (5, 3, 40, 4, 1000)]
    return np.column_stack([*columns, np.arange(count)])


def filled(scratch: Scratch, cells: np.ndarray) -> RecordFile:
    records = RecordFile(scratch, ("value",))
    for row in cells.tolist():
        assert records.append(row[:-1]) == row[-1]
    return records


def in_order(records: RecordFile) -> tuple[np.ndarray, list[int]]:
    """All, and how many each batch had."""
    batches = list(records.sorted().batches())
    rows = [np.column_stack([batch[name] for name in FIELDS]) for batch in batches]
    return np.concatenate([np.empty((0, len(FIELDS)), int), *rows]), [len(part) for part in rows]


@pytest.mark.parametrize("count", [0, 1, 31, 32, 33, 1000])
def test_they_come_sorted_in_small_batches(count, scratch, monkeypatch):
    in_little_memory(monkeypatch)
    cells = random_records(count)
    rank, thread, begin, duration, _, number = cells.T
    expected = cells[np.lexsort((number, -duration, begin, thread, rank))]
    found, sizes = in_order(filled(scratch, cells))
    assert found.tolist() == expected.tolist()
    # What waits is at most a block of each part beside what is sorted at once.
    assert max(sizes, default=0) <= 64 + 4 * (1 + count // 64)


def test_those_that_already_are_in_order_come_through_as_they_are(scratch, monkeypatch):
    in_little_memory(monkeypatch)
    cells = np.column_stack([np.zeros((500, 2), int), np.arange(500), *[np.arange(500)] * 3])
    found, sizes = in_order(filled(scratch, cells))
    assert found.tolist() == cells.tolist()
    assert len(sizes) >= 500 // (64 + 4)


def test_late_and_early_records_can_be_changed(scratch, monkeypatch):
    in_little_memory(monkeypatch)
    cells = random_records(200)
    records = filled(scratch, cells)
    for number in (0, 7, 15, 16, 100, 199):
        records[number, "value"] += 5000 + number
        assert records[number, "value"] == cells[number, 4] + 5000 + number
        cells[number, 4] += 5000 + number
    found, _ = in_order(records)
    assert found[np.argsort(found[:, 5])].tolist() == cells.tolist()


def test_a_number_that_is_too_large_is_an_error(scratch):
    records = RecordFile(scratch, ("value",))
    with pytest.raises(OverflowError):
        records.append((0, 0, 1 << 63, 0, 0))


def test_nothing_stays_in_the_directory(tmp_path, monkeypatch):
    in_little_memory(monkeypatch)
    with Scratch(tmp_path) as scratch:
        in_order(filled(scratch, random_records(100)))
        assert list(tmp_path.iterdir()) == []
