"""Records of a program and of the system that are uploaded together become one data set."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from tests.python.served_repository import Served
from tests.python.test_repository_uploads import upload
from tests.python.traced_run import TracedRun
from tests.some_info import some_info

from sesame.datasets import DataSet, DataSetWriter, record_type

BEGIN_NS = 1_700_000_000_000_000_000
LATER_NS = 5_000_000  # the run began so much after the measurement
MS = 1_000_000


@pytest.fixture
def served(tmp_path):
    with Served(tmp_path / "repository") as made:
        yield made


def write_program(path: Path, begin_ns: int | None = BEGIN_NS + LATER_NS) -> Path:
    """Two ranks with the processes 100 and 101."""
    run = TracedRun(ranks=2)
    run.io(0, 1.0, 4.0, "write", bytes=512)
    run.mpi(0, 6.0, 1.0, "MPI_Barrier")
    run.io(1, 2.0, 1.0, "read", bytes=64)
    run.write(path)
    if begin_ns is not None:
        info = json.loads((path / "info.json").read_text())
        (path / "info.json").write_text(json.dumps({**info, "begin_realtime_ns": begin_ns}))
    return path


EVENTS = [  # end in ms of the measurement's clock, its duration, point, process, bytes
    (6.5, 0.25, "write", 101, 64),  # 1.25 ms of the run's clock
    (9.0, 2.0, "write", 100, 512),  # 2 ms
    (11.5, 0.0, "open", 999, 0),  # 6.5 ms
]


def write_system(path: Path) -> Path:
    rows = [
        {"time_ns": int(end * MS), "duration_ns": int(duration * MS), "point": point}
        | {"process": process, "pid": process, "bytes": size, "node": "here", "subsystem": "fs"}
        | {"class": "ext4", "where": 0, "what": 0, "cpu": 0, "command": "app"}
        for end, duration, point, process, size in EVENTS
    ]
    with DataSetWriter(path) as writer:
        names = record_type("kernel_event").arrow_schema().names
        writer.write_records("kernel_event", {name: [row[name] for row in rows] for name in names})
        begin = {"begin_realtime_ns": BEGIN_NS}
        writer.finish(some_info("measured", title="the kernel meanwhile", **begin))
    return path


def test_calls_and_events_are_one_data_set_in_order_of_time(served, tmp_path):
    both = tmp_path / "both"
    both.mkdir()
    write_program(both / "app.sesame")
    write_system(both / "kernel.sesame")
    ada = served.client("ada", trusted=True)
    state = upload(served, ada, both, title="a sort, and the kernel meanwhile")
    assert state["state"] == "done", state
    merged = served.repository.data_set(state["thing"])
    assert merged.kind == "traced"
    found = [
        (row["begin_ns"] / MS, row["level"], row["what"], row["rank"], row["bytes"])
        for row in merged.table("sequence").to_pylist()
    ]
    assert found == [
        (1.0, "program", "write", 0, 512),
        (1.25, "system", "fs.write", 1, 64),
        (2.0, "program", "read", 1, 64),
        (2.0, "system", "fs.write", 0, 512),
        (6.0, "program", "MPI_Barrier", 0, 0),
        (6.5, "system", "fs.open", -1, 0),
    ]
    ends = merged.table("kernel_event").column("time_ns").to_pylist()
    assert ends == [int(one[0] * MS) - LATER_NS for one in EVENTS]
    # The tables of the program are as they were.
    assert merged.table("io") == DataSet(both / "app.sesame").table("io")
    page = ada.get(state["address"]).text
    assert {"io", "kernel_event", "sequence"} <= set(re.findall(r'href="/records/(\w+)"', page))
    assert "the kernel meanwhile" in page


def test_other_pairs_are_refused(served, tmp_path):
    ada = served.client("ada", trusted=True)
    for name, second in (("two programs", write_program), ("no begin", write_system)):
        both = tmp_path / name
        both.mkdir()
        begin = None if name == "no begin" else BEGIN_NS
        write_program(both / "app.sesame", begin)
        second(both / "other.sesame")
        state = upload(served, ada, both)
        assert state["state"] == "failed"
        expected = "a run of one program" if name == "two programs" else "time of its begin"
        assert expected in state["error"]


def test_a_data_set_in_a_directory_of_its_own_is_that_data_set(served, tmp_path):
    (tmp_path / "up").mkdir()
    write_program(tmp_path / "up" / "app.sesame")
    (tmp_path / "up" / "read.me").write_text("x")
    state = upload(served, served.client("ada", trusted=True), tmp_path / "up")
    assert state["state"] == "done", state
    assert "sequence" not in served.repository.data_set(state["thing"]).tables
