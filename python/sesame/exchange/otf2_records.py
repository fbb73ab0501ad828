"""Records as they grow out of the events of an OTF2 archive."""

from __future__ import annotations

from typing import Any

import numpy as np

from sesame.exchange.traced import Columns, call_order, names


class Records:
    """A table whose records begin, are filled, and end; a completion names the other record."""

    def __init__(self, defaults: dict[str, int]) -> None:
        self._defaults = defaults
        self._columns: dict[str, list[int]] = {
            name: []
            for name in (
                *("rank", "thread", "begin_ns", "duration_ns", "call", "flags", "completed_by"),
                *defaults,
            )
        }
        self._calls: dict[str, int] = {}

    def __len__(self) -> int:
        return len(self._columns["rank"])

    def add(self, rank: int, thread: int, begin_ns: int, call: str, flags: int) -> int:
        number = len(self)
        head = {
            "rank": rank,
            "thread": thread,
            "begin_ns": begin_ns,
            "duration_ns": 0,
            "call": self._calls.setdefault(call, len(self._calls)),
            "flags": flags,
            "completed_by": number,
        }
        for name, value in (*head.items(), *self._defaults.items()):
            self._columns[name].append(value)
        return number

    def fill(self, number: int, flags: int, **fields: int) -> None:
        self._columns["flags"][number] |= flags
        for name, value in fields.items():
            self._columns[name][number] = value

    def end(self, number: int, ns: int) -> None:
        self._columns["duration_ns"][number] = ns - self._columns["begin_ns"][number]

    def is_ended(self, number: int) -> bool:
        return self._columns["duration_ns"][number] > 0

    def value(self, number: int, name: str) -> int:
        return self._columns[name][number]

    def complete(self, number: int, by: int) -> None:
        self._columns["completed_by"][number] = by

    def count_by_rank(self, ranks: int) -> np.ndarray[Any, Any]:
        return np.bincount(np.array(self._columns["rank"], np.int64), minlength=ranks)

    def columns(self) -> Columns:
        """In the order of a data set; none when there are no records."""
        if len(self) == 0:
            return {}
        columns: dict[str, Any] = {
            name: np.array(values, np.int64) for name, values in self._columns.items()
        }
        # Records began in the order of time, and a call before those inside it.
        order = call_order(columns, np.arange(len(self)))
        place = np.empty(len(self), np.int64)
        place[order] = np.arange(len(self))
        columns = {name: values[order] for name, values in columns.items()}
        by = columns.pop("completed_by")
        columns["completion"] = np.maximum(place[by] - np.arange(len(self)), 0)
        columns["call"] = names(list(self._calls), columns["call"])
        return columns
