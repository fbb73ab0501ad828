"""OTF2 archives: what goes out comes back, and other readers take it."""

from __future__ import annotations

import importlib
import re
import shutil
import subprocess
from pathlib import Path

import pytest
from tests.python.traced_run import TracedRun
from tests.some_info import some_info

from sesame.datasets import DataSet, DataSetWriter
from sesame.datasets.traced import IoFlag, MpiFlag
from sesame.errors import InputError, SesameError
from sesame.exchange import export_data_set, import_trace, record_file
from sesame.exchange.otf2_records import Records

NONBLOCKING = int(MpiFlag.NONBLOCKING)
IO_FIELDS = (
    "rank thread begin_ns duration_ns call file handle offset size bytes completion error flags"
)
MPI_FIELDS = "rank thread begin_ns duration_ns call comm peer tag bytes completion flags"


def traced(path: Path) -> Path:
    """Two ranks, two threads in one, every kind of call."""
    run = TracedRun(ranks=3)
    data, log = run.file("/data/a b.bin"), run.file("/data/log", size_before=7)
    run.communicator(1, "2,0", 2)
    run.mpi(0, 1, 1, "MPI_Send", peer=1, tag=5, bytes=100)
    run.mpi(1, 0.5, 2, "MPI_Recv", peer=0, tag=5, bytes=100)
    run.mpi(
        0, 3, 0.1, "MPI_Isend", peer=2, tag=6, bytes=50, comm=1, completion=2, flags=NONBLOCKING
    )
    run.mpi(0, 4, 0.1, "MPI_Irecv", peer=1, tag=7, bytes=8, completion=1, flags=NONBLOCKING)
    run.mpi(0, 5, 3, "MPI_Waitall", comm=-1)
    run.mpi(1, 6, 0.5, "MPI_Send", peer=0, tag=7, bytes=8)
    run.mpi(2, 6, 0.5, "MPI_Recv", peer=0, tag=6, bytes=50, comm=1)
    for rank in range(3):
        run.mpi(rank, 10, 1, "MPI_Bcast", peer=2, bytes=400 if rank == 2 else 0)
        run.mpi(rank, 12, 1, "MPI_Barrier")
    run.io(0, 19, 1, "open", file=log, error=13)
    run.io(0, 20, 1, "open", file=data, handle=0, size=0o2003102)
    run.io(0, 22, 2, "pwrite", file=data, handle=0, offset=4096, size=512, bytes=512)
    run.io(0, 25, 1, "lseek", file=data, handle=0, offset=64)
    run.io(0, 27, 1, "read", file=data, handle=0, offset=64, size=100, bytes=36)
    run.io(0, 28, 1, "fsync", file=data, handle=0)
    run.io(0, 30, 1, "close", file=data, handle=0)
    run.io(1, 22, 2, "write", file=log, offset=9, size=5, bytes=0, error=28)
    run.io(2, 20, 8, "MPI_File_write_at_all", file=data, offset=0, size=9, bytes=9, flags=8)
    run.io(2, 21, 6, "pwrite", file=data, offset=0, size=9, bytes=9, flags=int(IoFlag.NESTED))
    run.io(2, 40, 1, "stat", file=log)
    run.io(2, 42, 1, "fprintf", file=log, handle=0, offset=4, size=7, bytes=7)
    run.io(2, 15, 1, "fwrite", file=log, offset=0, size=3, bytes=3, thread=1)
    return run.write(path)


def columns(data_set: DataSet, name: str, fields: str) -> list[dict]:
    return data_set.table(name, fields.split()).to_pylist()


@pytest.fixture
def round_trip(tmp_path):
    export_data_set(traced(tmp_path / "run.sesame"), "otf2", tmp_path / "archive")
    import_trace(tmp_path / "archive", tmp_path / "back.sesame")
    return DataSet(tmp_path / "run.sesame"), DataSet(tmp_path / "back.sesame")


def test_messages_and_collectives_come_back(round_trip):
    there, back = round_trip
    assert columns(back, "mpi", MPI_FIELDS) == columns(there, "mpi", MPI_FIELDS)
    (world, pair) = back.table("communicator").to_pylist()
    assert (world["members"], world["size"]) == ("0-2", 3)
    assert (pair["members"], pair["size"]) == ("2,0", 2)


def test_a_process_without_a_trace_has_no_place_in_an_archive(tmp_path):
    run = TracedRun(ranks=3)
    run.communicator(1, "2,-1,0", 3)
    for rank in (0, 2):
        run.mpi(rank, 1, 1, "MPI_Barrier", comm=1)
    export_data_set(run.write(tmp_path / "run.sesame"), "otf2", tmp_path / "archive")
    import_trace(tmp_path / "archive", tmp_path / "back.sesame")
    rows = DataSet(tmp_path / "back.sesame").table("communicator").to_pylist()
    assert "2,0" in [row["members"] for row in rows]


def test_accesses_of_files_come_back(round_trip):
    paths = [dict(enumerate(d.table("file").column("path").to_pylist())) for d in round_trip]
    found = []
    for data_set, names in zip(round_trip, paths, strict=True):
        rows = columns(data_set, "io", IO_FIELDS)
        found.append([{**row, "file": names.get(row["file"])} for row in rows])
    assert found[0] == found[1]


def test_the_run_keeps_its_length_and_its_hosts(round_trip):
    back = round_trip[1]
    for name in ("rank", "host", "end_ns"):
        values = [data_set.table("process").column(name).to_pylist() for data_set in round_trip]
        assert values[0] == values[1]
    assert back.table("process").column("threads").to_pylist() == [1, 1, 2]


def test_an_archive_larger_than_memory_comes_back(tmp_path, monkeypatch):
    """Non-blocking calls that end long after their records have left memory."""
    run = TracedRun(ranks=2)
    file = run.file("/data/f")
    for rank in range(2):
        for n in range(60):
            run.mpi(rank, n, 0.1, "MPI_Isend", peer=1 - rank, tag=n, flags=NONBLOCKING)
            run.io(rank, n + 0.5, 0.2, "pwrite", file=file, offset=n, size=1, bytes=1)
        run.mpi(rank, 70, 1, "MPI_Waitall", comm=-1)
    for record in run._mpi:
        if record["call"] == "MPI_Isend":
            record["completion"] = 60 - record["tag"]
    export_data_set(run.write(tmp_path / "run.sesame"), "otf2", tmp_path / "archive")
    for name, most in (("RECENT", 8), ("SORTED", 16), ("BLOCK", 2)):
        monkeypatch.setattr(record_file, f"{name}_RECORDS", most)
    import_trace(tmp_path / "archive", tmp_path / "back.sesame")
    there, back = DataSet(tmp_path / "run.sesame"), DataSet(tmp_path / "back.sesame")
    assert columns(back, "mpi", MPI_FIELDS) == columns(there, "mpi", MPI_FIELDS)
    wanted = IO_FIELDS.replace("handle ", "")
    assert columns(back, "io", wanted) == columns(there, "io", wanted)


@pytest.mark.skipif(shutil.which("otf2-print") is None, reason="otf2-tools is not installed")
def test_the_tools_of_otf2_read_it(tmp_path):
    export_data_set(traced(tmp_path / "run.sesame"), "otf2", tmp_path / "archive")
    command = ["otf2-print", str(tmp_path / "archive" / "traces.otf2")]
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    assert "warning" not in done.stdout + done.stderr
    text = done.stdout
    kinds = {
        kind: len(re.findall(rf"^{kind} ", text, re.M))
        for kind in (
            *("MPI_SEND", "MPI_ISEND", "MPI_RECV", "MPI_IRECV", "MPI_COLLECTIVE_END"),
            *("IO_CREATE_HANDLE", "IO_OPERATION_BEGIN", "IO_OPERATION_COMPLETE", "ENTER", "LEAVE"),
        )
    }
    assert kinds == {
        **{"MPI_SEND": 2, "MPI_ISEND": 1, "MPI_RECV": 2, "MPI_IRECV": 1, "MPI_COLLECTIVE_END": 6},
        **{"IO_CREATE_HANDLE": 1, "IO_OPERATION_BEGIN": 8, "IO_OPERATION_COMPLETE": 8},
        **{"ENTER": 26, "LEAVE": 26},
    }


def simulated(path: Path) -> Path:
    with DataSetWriter(path) as writer:
        calls = [
            (0, 10_000, 500_000, 64, 1, 3, 2, "MPI_Send"),
            (1, 0, 900_001, 64, 0, 3, 2, "MPI_Recv"),
            (0, 1_000_000, 1_500_000, 8, -1, -1, 4, "MPI_Allreduce"),
            (1, 1_000_000, 1_500_000, 8, -1, -1, 4, "MPI_Allreduce"),
        ]
        names = ("rank", "begin_ps", "end_ps", "bytes", "peer", "tag", "context", "call")
        fields = dict(zip(names, map(list, zip(*calls, strict=True)), strict=True))
        zeros = {"compute_before_ps": [0] * 4, "flags": [0] * 4}
        writer.write_records("call", fields | zeros)
        messages = {"send_ps": [10_000, 1_000_000], "arrival_ps": [800_000, 1_200_000]}
        messages |= {
            "receive_complete_ps": [850_123, 1_400_000],
            "bytes": [64, 8],
            "source": [0, 1],
        }
        messages |= {"destination": [1, 0], "tag": [3, -1], "context": [2, 4]}
        messages |= {"protocol": ["eager"] * 2, "flags": [0, 2]}
        writer.write_records("message", messages)
        writer.finish(some_info("simulated", title="simulated", ranks=2, command=["a.out"]))
    return path


def test_a_simulated_run_keeps_its_picoseconds(tmp_path):
    export_data_set(simulated(tmp_path / "run.sesame"), "otf2", tmp_path / "archive")
    otf2 = importlib.import_module("otf2")
    with otf2.reader.open(str(tmp_path / "archive" / "traces.otf2")) as archive:
        assert archive.timer_resolution == 10**12
        found = [
            (location.group.name, type(event).__name__, event.time)
            for location, event in archive.events
            if type(event).__name__ not in ("Enter", "Leave")
        ]
    assert sorted(found) == sorted(
        [
            ("rank 0", "MpiSend", 10_000),
            ("rank 1", "MpiRecv", 850_123),
            *((f"rank {r}", "MpiCollectiveBegin", 1_000_000) for r in range(2)),
            *((f"rank {r}", "MpiCollectiveEnd", 1_500_000) for r in range(2)),
        ]
    )


def damaged(archive: Path, part: str) -> None:
    file = archive / part
    file.write_bytes(file.read_bytes()[: file.stat().st_size // 2])


@pytest.mark.parametrize("part", ["traces.otf2", "traces.def"])
def test_an_archive_that_is_cut_off_is_refused(part, sesame, tmp_path):
    export_data_set(traced(tmp_path / "run.sesame"), "otf2", tmp_path / "archive")
    damaged(tmp_path / "archive", part)
    outcome = sesame("import", "archive", "--from", "otf2", "-o", "back.sesame")
    assert outcome.status == 2, outcome.stderr
    assert "the OTF2 library cannot read this archive" in outcome.stderr
    assert not (tmp_path / "back.sesame").exists()


def test_a_region_left_that_was_not_entered_is_refused(tmp_path):
    otf2 = importlib.import_module("otf2")
    with otf2.writer.open(str(tmp_path / "archive"), timer_resolution=10**9) as archive:
        d = archive.definitions
        group = d.location_group("p", system_tree_parent=d.system_tree_node("machine"))
        writer = archive.event_writer("thread", group=group)
        writer.leave(5, d.region("MPI_Send"))
    with pytest.raises(InputError, match="rank 0 leaves the region MPI_Send without being in it"):
        import_trace(tmp_path / "archive", tmp_path / "run.sesame")


def test_a_size_that_no_record_can_hold_is_refused(tmp_path):
    otf2 = importlib.import_module("otf2")
    importlib.import_module("otf2.events")
    with otf2.writer.open(str(tmp_path / "archive"), timer_resolution=10**9) as archive:
        d, kinds = archive.definitions, otf2.enums
        group = d.location_group("p", system_tree_parent=d.system_tree_node("machine"))
        writer = archive.event_writer("thread", group=group)
        world = d.groups.create(
            "world",
            group_type=kinds.GroupType.COMM_LOCATIONS,
            paradigm=kinds.Paradigm.MPI,
            members=tuple(d.locations),
        )
        comm = d.comms.create("world", group=world, _type=otf2.definitions.Comm)
        writer(otf2.events.MpiSend(1, 0, comm, 0, 1 << 63))
    with pytest.raises(InputError, match="an event MpiSend has a number of more than 63 bits"):
        import_trace(tmp_path / "archive", tmp_path / "run.sesame")
    assert not (tmp_path / "run.sesame").exists()


def test_without_the_library_it_says_what_to_install(monkeypatch, tmp_path):
    path = traced(tmp_path / "run.sesame")
    monkeypatch.setattr("sesame.extras.find_spec", lambda name: None)
    with pytest.raises(InputError, match=r"needs the Python package otf2\nhint: pip install"):
        export_data_set(path, "otf2", tmp_path / "archive")
    assert not (tmp_path / "archive").exists()


def test_a_data_set_without_calls_is_refused(tmp_path):
    with DataSetWriter(tmp_path / "bench.sesame") as writer:
        writer.write_records("figure", {"name": ["x"], "value": [1.0], "unit": ["s"]})
        writer.finish(some_info("bench", title="a workload"))
    for format_name in ("otf2", "chrome"):
        with pytest.raises(SesameError, match="there are no records of calls in it"):
            export_data_set(tmp_path / "bench.sesame", format_name, tmp_path / "out")
    assert list(tmp_path.iterdir()) == [tmp_path / "bench.sesame"]


def test_a_call_of_length_0_has_ended(tmp_path):
    with record_file.Scratch(tmp_path) as scratch:
        records = Records(scratch, {})
        number = records.add(0, 0, 5, "read", 0)
        assert not records.is_ended(number)
        records.end(number, 5)
        assert records.is_ended(number)
        (batch,) = records.batches()
        assert "ended" not in batch
