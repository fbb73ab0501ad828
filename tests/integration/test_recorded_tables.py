"""The tables that the simulator writes hold what the raw streams of the same run hold, which are
read here by their layout (docs/formats/records.md)."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as pq
import pytest

from sesame import native
from sesame.datasets import record_type

PACKET_BYTES, EVENT_BYTES = 60, 9  # heads
TYPES = {described["id"]: described for described in native.record_types()}
DTYPES = {
    id: np.dtype([(field["name"], field["dtype"]) for field in described["fields"]])
    for id, described in TYPES.items()
}
PROTOCOLS = ["eager", "rendezvous", "put", "get"]


def read_stream(path: Path) -> dict[str, list[tuple[int, ...]]]:
    """By type, in the order of the stream."""
    data, at = path.read_bytes(), 0
    found: dict[str, list[tuple[int, ...]]] = {d["name"]: [] for d in TYPES.values()}
    while at < len(data):
        end = at + int.from_bytes(data[at + 28 : at + 36], "little") // 8
        at += PACKET_BYTES
        while at < end:
            kind = DTYPES[data[at]]
            record = np.frombuffer(data, kind, 1, at + EVENT_BYTES)[0]
            found[TYPES[data[at]]["name"]].append(record.item())
            at += EVENT_BYTES + kind.itemsize
    return found


def io_rows(rank: int, records: list[tuple[int, ...]], names: list[str]) -> list[tuple[Any, ...]]:
    rows = []
    order = sorted(range(len(records)), key=lambda i: (records[i][0], -records[i][1], -i))
    for begin, end, offset, size, moved, file, handle, call, error, flags in map(
        records.__getitem__, order
    ):
        times = (begin // 1000, end // 1000 - begin // 1000)
        where = (names[call], file, -1, handle, offset)
        rows.append((rank, 0, *times, *where, size, moved, -1, 0, error, flags))
    return rows


def expected_rows(raw: Path) -> dict[str, list[tuple[Any, ...]]]:
    text = (raw / "metadata").read_text()
    listed = re.search(r"enum : uint16_t \{(.*?)\}", text, re.S)
    assert listed is not None
    names = re.findall(r'"([^"]*)" = ', listed[1])
    rows: dict[str, list[tuple[Any, ...]]] = {"call": [], "message": [], "io": []}
    for path in sorted(raw.glob("rank_*")):
        rank, found = int(path.name.removeprefix("rank_")), read_stream(path)
        for *numbers, call, flags in found["call"]:
            rows["call"].append((rank, *numbers, names[call], flags))
        order = (2, 1, 0, 4, 7, 6, 3)  # of fields, as the recorder compares them
        arrivals = sorted(found["message"], key=lambda m: [m[field] for field in order])
        for *numbers, protocol, flags in arrivals:
            rows["message"].append((*numbers, PROTOCOLS[protocol], flags))
        rows["io"] += io_rows(rank, found["file_call"], names)
    return rows


def check_tables(run: Path) -> dict[str, int]:
    """The number of rows by table."""
    rows = expected_rows(run / "raw")
    for name, expected in rows.items():
        if name == "io" and not expected:
            assert not (run / "io.parquet").exists()
            continue
        table = pq.read_table(run / f"{name}.parquet")
        schema = record_type(name).arrow_schema()
        assert table.schema.equals(schema, check_metadata=True)
        columns = [column.to_pylist() for column in table.columns]
        assert list(zip(*columns, strict=True)) == expected
    return {name: len(expected) for name, expected in rows.items()}


@pytest.mark.few_cases(2)
@pytest.mark.parametrize(("ranks", "rounds"), [(1, 1), (2, 3000), (9, 40), (64, 10)])
def test_tables_hold_what_streams_hold(ranks, rounds, compiled, simulate, tmp_path):
    """Fewer calls than a buffer holds, and many more than a page."""
    program = compiled("bench/programs/halo.c")
    machine = ("--machine", "infiniband", "-n", ranks, "--compute", "fixed:1us")
    command = ("-o", tmp_path / "run.sesame", "--keep-raw", "--", program, rounds)
    done = simulate(*machine, *command)
    assert done.status == 0, done.stderr
    rows = check_tables(tmp_path / "run.sesame")
    assert rows["call"] >= ranks * rounds


def test_columns_of_times_and_ranks_have_their_range(compiled, simulate, tmp_path):
    program = compiled("bench/programs/halo.c")
    done = simulate(
        *("--machine", "infiniband", "-n", 8, "--compute", "none", "-o", tmp_path / "run.sesame"),
        *("--", program, 500),
    )
    assert done.status == 0, done.stderr
    for name in ("call", "message"):
        file = pq.ParquetFile(tmp_path / "run.sesame" / f"{name}.parquet")
        table = file.read()
        for index, column in enumerate(table.column_names):
            unit = table.schema.field(column).metadata[b"unit"]
            statistics = file.metadata.row_group(0).column(index).statistics
            assert (statistics is not None) == (unit in (b"ps", b"rank"))
            if statistics is not None:
                values = table[column].to_numpy()
                assert (statistics.min, statistics.max) == (values.min(), values.max())


@pytest.mark.parametrize("source", ["whole", "data", "posix"])
def test_tables_of_calls_on_files_hold_what_streams_hold(source, compiled, simulate, tmp_path):
    program = compiled(f"tests/programs/files/{source}.c")
    machine = ("--machine", "paragon", "-n", 4, "--compute", "fixed:1us")
    simulate(*machine, "-o", tmp_path / "run.sesame", "--keep-raw", "--", program, "file")
    assert check_tables(tmp_path / "run.sesame")["io"] > 20


def test_full_disk_ends_the_run_and_leaves_nothing(compiled, simulate, small_disk):
    program = compiled("bench/programs/halo.c")
    machine = ("--machine", "infiniband", "-n", 16, "--compute", "fixed:1us")
    done = simulate(*machine, "-o", small_disk / "run.sesame", "--", program, 20_000)
    done.assert_refused("cannot write: No space left on device")
    assert "the disk is full" in done.stderr
    assert list(small_disk.iterdir()) == []
