"""Reads what `prepare` has made. The process that made it may have been controlled by the author of
the data, so nothing in it is believed: sizes are checked before they are used."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np

from sesame.errors import InputError
from sesame.repository.looks.bins import Amounts, Grid
from sesame.repository.looks.described import MOST_NODES, Table, from_json
from sesame.repository.looks.prepare import INDEX, MOST_BINS, MOST_TABLES, VERSION, WRONG_RECORDS

LARGEST_INDEX = 32 << 20
BYTES = 8  # of a number


@dataclass(frozen=True)
class Prepared:
    """A record type, and where its sums are; `grid` is None if its records have no time."""

    table: Table
    file: Path
    grid: Grid | None
    blocks: Mapping[tuple[str, str], tuple[int, int]]

    def has(self, field: str) -> bool:
        return self.grid is not None and (not field or (field, "sums") in self.blocks)

    def amounts(self, field: str) -> Amounts:
        """Of a field; of "" the numbers of records. REQUIRES: has(field)."""
        counts = self._read("", "counts")
        if not field:
            return Amounts.of_records(counts)
        return Amounts(counts, self._read(field, "sums"), self._read(field, "most"))

    def _read(self, field: str, kind: str) -> np.ndarray[Any, Any]:
        import pyarrow as pa

        assert self.grid is not None
        offset, size = self.blocks[field, kind]
        whole = self.grid.nodes * self.grid.bins * BYTES
        with self.file.open("rb") as stream:
            stream.seek(offset)
            packed = stream.read(min(size, 2 * whole + 1024))
        try:
            raw = pa.decompress(packed, decompressed_size=whole, codec="zstd", asbytes=True)
            return np.frombuffer(raw, "<f8").reshape(self.grid.shape)
        except (OSError, ValueError) as error:
            raise InputError("the sums of these records are damaged") from error


@lru_cache(maxsize=8)  # hostile ones take several times LARGEST_INDEX of memory
def read_prepared(directory: Path) -> dict[str, Prepared]:
    """The record types by name. Raises InputError. The directories never change."""
    try:
        with (directory / INDEX).open("rb") as stream:
            found = json.loads(stream.read(LARGEST_INDEX))
        if found["version"] != VERSION:
            raise InputError("the sums of these records are of another version")
        tables = [_prepared(directory, one) for one in found["tables"][:MOST_TABLES]]
    except FileNotFoundError:
        raise
    except (*WRONG_RECORDS, OSError, RecursionError) as error:
        raise InputError("the sums of these records are damaged") from error
    return {one.table.name: one for one in tables}


def _prepared(directory: Path, one: Mapping[str, Any]) -> Prepared:
    table = from_json(one["table"])
    if not 1 <= table.nodes.count <= MOST_NODES:
        raise ValueError("nodes")
    grid = None
    if table.when:
        bins = int(one["bins"])
        if not 1 <= bins <= MOST_BINS or not table.begin < table.end:
            raise ValueError("bins")
        grid = Grid.over(table.begin, table.end, bins, table.nodes.count)
    file = directory / Path(str(one["file"]) or "none").name
    blocks = {
        (str(each["field"]), str(each["kind"])): (int(each["offset"]), int(each["size"]))
        for each in one["blocks"]
    }
    return Prepared(table, file, grid, blocks)
