"""A raw trace of a test made a data set."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from tests.python.raw_trace import RawTrace

from sesame.datasets import DataSet, DataSetWriter
from sesame.tracing import collate

REGULAR = 0o100644
CREATE = 0o100


class Collated:
    def __init__(self, trace: RawTrace, tmp_path: Path, **options: Any) -> None:
        raw = tmp_path / "raw"
        if not raw.exists():
            trace.write(raw)
        with DataSetWriter(tmp_path / "run.sesame", force=True) as writer:
            info = collate(raw, writer, **options)
            writer.finish(info)
        self.result = info["result"]
        self.data = DataSet(tmp_path / "run.sesame")

    def rows(self, name: str, *columns: str) -> list[Any]:
        table = self.data.table(name, list(columns)).to_pydict()
        values = list(zip(*(table[column] for column in columns), strict=True))
        return [row[0] for row in values] if len(columns) == 1 else values


def open_file(process: Any, path: str = "data", **values: Any) -> None:
    values = {"file": 3, "directory": -100, "flags": CREATE, "mode": REGULAR, **values}
    process.put("open", "open", path=path, block_size=4096, **values)
