"""Records under construction, filled by the events of an OTF2 archive."""

from __future__ import annotations

from collections import Counter

import numpy as np

from sesame.exchange.record_file import Cells, RecordFile, Scratch, SortedRecords
from sesame.exchange.traced import Batches, Columns, names

UNKNOWN_PLACE = -1


class Records:
    """A table of records under construction.

    `add` begins a record and returns its number, `fill` sets fields, `end` sets the duration.
    `complete` notes which record completed another. `batches` returns the sorted table.
    """

    def __init__(self, scratch: Scratch, defaults: dict[str, int]) -> None:
        # `place`: the row in the sorted table; set only for records that complete others.
        fields = ("call", "flags", "ended", "completed_by", "completes", "place")
        self._file = RecordFile(scratch, (*fields, *defaults))
        self._defaults = defaults.values()
        self._calls: dict[str, int] = {}
        self._of_rank: Counter[int] = Counter()

    def add(self, rank: int, thread: int, begin_ns: int, call: str, flags: int) -> int:
        number = len(self._file)
        name = self._calls.setdefault(call, len(self._calls))
        head = rank, thread, begin_ns, 0
        self._of_rank[rank] += 1
        return self._file.append((*head, name, flags, 0, number, 0, UNKNOWN_PLACE, *self._defaults))

    def fill(self, number: int, flags: int, **fields: int) -> None:
        if flags:
            self._file[number, "flags"] |= flags
        for name, value in fields.items():
            self._file[number, name] = value

    def end(self, number: int, ns: int) -> None:
        self._file[number, "duration_ns"] = ns - self._file[number, "begin_ns"]
        self._file[number, "ended"] = 1

    def is_ended(self, number: int) -> bool:
        return bool(self._file[number, "ended"])

    def value(self, number: int, name: str) -> int:
        return self._file[number, name]

    def complete(self, number: int, by: int) -> None:
        self._file[number, "completed_by"] = by
        self._file[by, "completes"] = 1

    def count_by_rank(self, ranks: int) -> Cells:
        return np.array([self._of_rank[rank] for rank in range(ranks)], np.int64)

    def batches(self) -> Batches:
        """All records in the order of a data set."""
        found = self._file.sorted()
        self._note_places(found)
        first = 0
        for columns in found.batches():
            place = np.arange(first, first + len(columns["number"]))
            columns["completion"] = self._completions(columns, place)
            columns["call"] = names(list(self._calls), columns["call"])
            for name in ("number", "ended", "completed_by", "completes", "place"):
                del columns[name]
            first += len(place)
            yield columns

    def _note_places(self, found: SortedRecords) -> None:
        first = 0
        for columns in found.batches():
            at = np.flatnonzero(columns["completes"])
            for number, place in zip(columns["number"][at].tolist(), at.tolist(), strict=True):
                self._file[number, "place"] = first + place
            first += len(columns["number"])

    def _completions(self, columns: Columns, place: Cells) -> Cells:
        """For each record, how many rows later the record that completed it is; 0 for none."""
        completion = np.zeros(len(place), np.int64)
        at = np.flatnonzero(columns["completed_by"] != columns["number"])
        by = [self._file[number, "place"] for number in columns["completed_by"][at].tolist()]
        completion[at] = np.maximum(np.array(by, np.int64) - place[at], 0)
        return completion
