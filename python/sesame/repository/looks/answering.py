"""What views need of the records themselves. It is computed in a confined process (`asking`), since
Parquet files of an upload may be anything:

`python -m sesame.repository.looks.answering DATA_SET` reads requests, each a line of JSON, and
writes for each a line of JSON with names, types and shapes of arrays, or `error`, then the arrays.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np

from sesame.datasets import DataSet
from sesame.errors import InputError
from sesame.lazy import hide_pandas
from sesame.repository.looks.bins import Grid, added
from sesame.repository.looks.described import from_json
from sesame.repository.looks.pairs import Pairing, paired
from sesame.repository.looks.prepare import WRONG_RECORDS
from sesame.repository.looks.rows import element_rows, write_rows
from sesame.repository.looks.scan import Selection

Array = np.ndarray[Any, Any]
MEMORY_BYTES, PROCESSOR_S = 4 << 30, 3600


def answer(data_set: DataSet, request: Mapping[str, Any]) -> dict[str, Array]:
    """Raises InputError for records that cannot be read."""
    table = from_json(request["table"])
    try:
        if request["what"] == "bins":
            return _bins(data_set, table, request)
        if request["what"] == "pairs":
            return paired(data_set, table, Pairing.of(request), Selection.of(request["selection"]))
        return element_rows(data_set, table, request)
    except (*WRONG_RECORDS, OSError) as error:
        raise InputError(f"these records cannot be shown: {error}") from error


def _bins(data_set: DataSet, table: Any, request: Mapping[str, Any]) -> dict[str, Array]:
    fields = [table.get(request["field"], table.amounts)] if request["field"] else []
    bins = int(request["bins"])
    grid = Grid.over(request["begin"], request["end"], bins, table.nodes.count)
    adding = added(data_set, table, fields, Selection.of(request["selection"]), grid)
    if not fields:
        return {"counts": adding.counts()}
    found = adding.amounts(0)
    return {"counts": found.counts, "sums": found.sums, "most": found.most}


class OpenedDataSet(DataSet):
    """A data set whose files are opened at once, before this process may open no more."""

    def __init__(self, path: Path) -> None:
        super().__init__(path)
        self._opened: dict[str, BinaryIO] = {}
        for name in self.tables:
            if self.has(name):
                self._opened[name] = self.file(name).open("rb")

    def _stored(self, name: str) -> Any:
        return self._opened.get(name, self.file(name))


def _write_answer(out: BinaryIO, arrays: Mapping[str, Array]) -> None:
    described = [
        {"name": name, "type": one.dtype.str, "shape": list(one.shape)}
        for name, one in arrays.items()
    ]
    out.write(json.dumps({"arrays": described}).encode() + b"\n")
    for one in arrays.values():
        out.write(np.ascontiguousarray(one).tobytes())
    out.flush()


def main(path: Path) -> int:
    from sesame.repository.store.confinement import ProcessLimits, confine

    data_set = OpenedDataSet(path)
    import pyarrow.csv
    import pyarrow.parquet  # noqa: F401  before files cannot be read

    confine(ProcessLimits(MEMORY_BYTES, PROCESSOR_S, file_bytes=0), readable=[], writable=[])
    out = sys.stdout.buffer
    for line in sys.stdin.buffer:
        request = json.loads(line)
        if request["what"] == "rows":
            table, selection = from_json(request["table"]), Selection.of(request["selection"])
            write_rows(data_set, table, request["fields"], selection, out)
            return 0
        try:
            _write_answer(out, answer(data_set, request))
        except InputError as error:
            out.write(json.dumps({"error": error.reason[:300]}).encode() + b"\n")
            out.flush()
    return 0


if __name__ == "__main__":
    hide_pandas()
    sys.exit(main(Path(sys.argv[1])))
