"""Imports of Darshan logs, checked against pydarshan and against logs made for the purpose."""

from __future__ import annotations

import importlib.util
import json
import random
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from tests.python.darshan_writer import LogContents, Record, Trace, write_log

from sesame.analysis.study import study_run
from sesame.datasets import DataSet
from sesame.errors import InputError, SesameError
from sesame.exchange import import_trace

PACKAGE = Path(importlib.util.find_spec("darshan").submodule_search_locations[0])
LOGS = sorted(
    {log.name: log for log in [*PACKAGE.rglob("*.darshan")]}.values(), key=lambda log: log.name
)
TRACED = [log for log in LOGS if log.name in ("dxt.darshan", "ior_hdf5_example.darshan")]
NONE = np.zeros((0, 4))
# What pydarshan, the tool's own reader, says of a log.
PEER = """
import json, sys, warnings
warnings.simplefilter("ignore")
import darshan
found = {}
for path in sys.argv[1:]:
    report = darshan.DarshanReport(path, read_all=False)
    log = found.setdefault(path, {})
    for module in ("POSIX", "MPI-IO", "STDIO"):
        if module in report.modules:
            report.mod_read_all_records(module)
            frames = report.records[module].to_df()
            log[module] = {key: value for part in ("counters", "fcounters")
                           for key, value in frames[part].drop(columns=["id", "rank"])
                           .clip(lower=0).sum().to_dict().items()}
            log[module]["rows"] = len(frames["counters"])
    for module in ("DXT_POSIX", "DXT_MPIIO"):
        if module in report.modules:
            report.mod_read_all_dxt_records(module, dtype="numpy")
            log[module] = sorted(
                (record["rank"], kind, *(segment[k] for k in
                 ("offset", "length", "start_time", "end_time")))
                for record in report.records[module]
                for kind in ("read", "write") for segment in record[f"{kind}_segments"])
print(json.dumps(found, default=float))
"""


@pytest.fixture(scope="module")
def peer():
    command = [sys.executable, "-c", PEER, *map(str, LOGS)]
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    return json.loads(done.stdout)


def imported(log: Path, tmp_path: Path) -> DataSet:
    import_trace(log, tmp_path / "run.sesame")
    return DataSet(tmp_path / "run.sesame")


def rows(data_set: DataSet, name: str) -> list[dict]:
    return data_set.table(name).to_pylist()


def test_there_are_logs_to_check():
    assert len(LOGS) > 10
    assert len(TRACED) == 2


@pytest.mark.few_cases(3)
@pytest.mark.parametrize("log", LOGS, ids=lambda log: log.name[:24])
def test_totals_are_what_pydarshan_reads(log, peer, tmp_path):
    totals = rows(imported(log, tmp_path), "file_total")
    for layer, prefix in (("POSIX", "POSIX"), ("MPI-IO", "MPIIO"), ("STDIO", "STDIO")):
        ours = [row for row in totals if row["layer"] == layer]
        theirs = peer[str(log)].get(layer)
        assert len(ours) == (theirs["rows"] if theirs else 0)
        if not theirs:
            continue
        for name, counter in (
            ("bytes_read", "BYTES_READ"),
            ("bytes_written", "BYTES_WRITTEN"),
            ("read_s", "F_READ_TIME"),
            ("write_s", "F_WRITE_TIME"),
            ("meta_s", "F_META_TIME"),
        ):
            total = sum(row[name] for row in ours)
            assert total == pytest.approx(theirs[f"{prefix}_{counter}"]), name
        if layer == "POSIX":
            assert sum(row["reads"] for row in ours) == theirs["POSIX_READS"]
            assert sum(row["writes_to_1m"] for row in ours) == theirs["POSIX_SIZE_WRITE_100K_1M"]
            assert sum(row["unaligned"] for row in ours) == theirs["POSIX_FILE_NOT_ALIGNED"]


@pytest.mark.parametrize("log", TRACED, ids=lambda log: log.name)
def test_every_segment_becomes_a_record(log, peer, tmp_path):
    ours = {"DXT_POSIX": [], "DXT_MPIIO": []}
    for row in rows(imported(log, tmp_path), "io"):
        module = "DXT_MPIIO" if row["call"].startswith("MPI_") else "DXT_POSIX"
        kind = "read" if "read" in row["call"] else "write"
        end = row["begin_ns"] + row["duration_ns"]
        ours[module].append((row["rank"], kind, row["offset"], row["bytes"], row["begin_ns"], end))
    for module, found in ours.items():
        theirs = [
            (*segment[:4], round(segment[4] * 1e9), round(segment[5] * 1e9))
            for segment in peer[str(log)].get(module, ())
        ]
        assert sorted(found) == sorted(theirs)


def test_the_calls_below_mpi_io_are_marked(tmp_path):
    outer = np.array([[0, 100, 1.0, 2.0], [100, 100, 3.0, 4.0]])
    inner = np.array([[0, 50, 1.1, 1.4], [50, 50, 1.5, 2.0], [100, 100, 3.0, 4.0]])
    alone = np.array([[500, 10, 2.5, 2.75]])
    contents = LogContents(
        processes=2,
        names={5: "/scratch/a.bin", 3: "/home/b.bin"},
        records=[
            Record("POSIX", 5, 0, {"FILE_ALIGNMENT": 4096}),
            Record("MPI-IO", 5, 0, {"INDEP_WRITES": 2}),
        ],
        traces=[
            Trace("DXT_POSIX", 5, 1, inner, NONE, host="node1"),
            Trace("DXT_POSIX", 3, 0, NONE, alone),
            Trace("DXT_MPIIO", 5, 1, outer, NONE, host="node1"),
        ],
    )
    write_log(tmp_path / "log", contents)
    data_set = imported(tmp_path / "log", tmp_path)
    found = [
        (row["rank"], row["call"], row["begin_ns"], row["offset"], row["flags"])
        for row in rows(data_set, "io")
    ]
    assert found == [
        (0, "pread", 2_500_000_000, 500, 0),
        (1, "MPI_File_write_at", 1_000_000_000, 0, 0),
        (1, "pwrite", 1_100_000_000, 0, 1),
        (1, "pwrite", 1_500_000_000, 50, 1),
        (1, "MPI_File_write_at", 3_000_000_000, 100, 0),
        (1, "pwrite", 3_000_000_000, 100, 1),
    ]
    files = rows(data_set, "file")
    assert [(f["path"], f["filesystem"], f["block_size"]) for f in files] == [
        ("/home/b.bin", "ext4", 0),
        ("/scratch/a.bin", "lustre", 4096),
    ]
    assert {row["file"] for row in rows(data_set, "io") if row["rank"] == 1} == {1}
    assert [p["host"] for p in rows(data_set, "process")] == ["node0", "node1"]
    assert data_set.info["begin_time"] == "2023-11-14T22:13:20+00:00"
    assert data_set.info["command"] == ["./program", "-x", "1"]


@pytest.mark.parametrize(
    ("counters", "call", "flags"),
    [
        ({"COLL_WRITES": 1}, "MPI_File_write_at_all", 8),
        ({"COLL_WRITES": 1, "INDEP_WRITES": 1}, "MPI_File_write_at", 0),
    ],
)
def test_calls_are_collective_if_the_counters_know_no_others(counters, call, flags, tmp_path):
    contents = LogContents(
        1,
        {1: "/a"},
        [Record("MPI-IO", 1, -1, counters)],
        [Trace("DXT_MPIIO", 1, 0, np.array([[0, 1, 0.5, 0.6]]), NONE)],
    )
    write_log(tmp_path / "log", contents)
    (row,) = rows(imported(tmp_path / "log", tmp_path), "io")
    assert (row["call"], row["flags"]) == (call, flags)


def test_a_shared_file_keeps_its_fastest_and_slowest_rank(tmp_path):
    counters = {
        **{"OPENS": 6, "DUPS": 2, "BYTES_WRITTEN": 900, "MAX_BYTE_WRITTEN": 899},
        **{"ACCESS1_ACCESS": 10, "ACCESS1_COUNT": 3, "ACCESS2_ACCESS": 52, "ACCESS2_COUNT": 9},
        **{"SLOWEST_RANK": 3, "SLOWEST_RANK_BYTES": 700, "F_SLOWEST_RANK_TIME": 1.5},
        **{"F_OPEN_START_TIMESTAMP": 0.25, "F_CLOSE_END_TIMESTAMP": 9.5},
    }
    contents = LogContents(4, {1: "/a"}, [Record("POSIX", 1, -1, counters)])
    write_log(tmp_path / "log", contents)
    (row,) = rows(imported(tmp_path / "log", tmp_path), "file_total")
    assert (row["rank"], row["processes"], row["opens"]) == (-1, 4, 4)
    assert (row["usual_size"], row["usual_size_count"]) == (52, 9)
    assert (row["slowest_rank"], row["slowest_rank_bytes"], row["slowest_rank_s"]) == (3, 700, 1.5)
    assert (row["first_s"], row["last_s"]) == (0.25, 9.5)
    assert (row["max_offset_written"], row["max_offset_read"]) == (899, -1)


def test_what_darshan_lost_is_reported(tmp_path):
    contents = LogContents(1, {1: "/a"}, [Record("POSIX", 1, 0, {})], partial=1 << 1)
    write_log(tmp_path / "log", contents)
    data_set = imported(tmp_path / "log", tmp_path)
    assert data_set.info["raw"]["damage"] == [
        "module POSIX: Darshan ran out of memory, records are missing"
    ]


def test_the_format_is_found_from_the_contents(sesame, tmp_path):
    write_log(tmp_path / "anything.txt", LogContents(3, {1: "/a"}, [Record("STDIO", 1, 2, {})]))
    outcome = sesame("import", "anything.txt", "-o", "run.sesame", "--json")
    assert outcome.status == 0, outcome.stderr
    assert outcome.json["processes"] == 3
    assert outcome.json["duration_s"] == pytest.approx(10, abs=1e-6)


def cut(data: bytes) -> bytes:
    return data[: len(data) // 2]


def newer(data: bytes) -> bytes:
    return b"9.99\0\0\0\0" + data[8:]


@pytest.mark.parametrize("damage", [cut, newer, lambda data: data[:1000]])
def test_a_log_that_cannot_be_read_leaves_nothing(damage, sesame, tmp_path):
    contents = LogContents(2, {1: "/a"}, [Record("POSIX", 1, r, {"READS": r}) for r in range(2)])
    write_log(tmp_path / "good", contents)
    (tmp_path / "bad.darshan").write_bytes(damage((tmp_path / "good").read_bytes()))
    outcome = sesame("import", "bad.darshan", "-o", "run.sesame")
    assert outcome.status == 2
    assert "bad.darshan: Darshan's library cannot read this log" in outcome.stderr
    assert sorted(path.name for path in tmp_path.iterdir()) == ["bad.darshan", "good"]


@pytest.mark.parametrize("text", ["", "hello\n", "{}\n", "\x1f\x8b\x08 not compressed"])
def test_a_file_of_another_kind_is_refused(text, sesame, tmp_path):
    (tmp_path / "file").write_text(text)
    outcome = sesame("import", "file", "-o", "run.sesame")
    assert outcome.status == 2
    assert "file: this is in none of the formats darshan, dftracer, otf2, sddf" in outcome.stderr
    assert not (tmp_path / "run.sesame").exists()


def test_a_file_that_is_not_there_is_named(sesame):
    outcome = sesame("import", "nowhere", "-o", "run.sesame")
    assert (outcome.status, "nowhere: there is no such file" in outcome.stderr) == (2, True)


def test_without_the_library_it_says_what_to_install(monkeypatch, tmp_path):
    write_log(tmp_path / "log", LogContents(1, {1: "/a"}))
    monkeypatch.setattr("sesame.extras.find_spec", lambda name: None)
    with pytest.raises(InputError, match=r"needs the Python package darshan\nhint: pip install"):
        import_trace(tmp_path / "log", tmp_path / "run.sesame")


@pytest.mark.few_cases(1)
@pytest.mark.parametrize("seed", range(4))
def test_damaged_logs_are_read_or_refused(tmp_path, seed):
    """Never a crash, never half a data set: the library runs in a process of its own."""
    chance = random.Random(seed)
    sources = [log.read_bytes() for log in TRACED]
    refused = 0
    for _ in range(10):
        data = bytearray(chance.choice(sources))
        for _ in range(chance.choice([1, 20])):
            data[chance.randrange(chance.choice([2000, len(data)]))] = chance.randrange(256)
        (tmp_path / "log").write_bytes(data)
        try:
            import_trace(
                tmp_path / "log", tmp_path / "run.sesame", format_name="darshan", force=True
            )
        except SesameError:
            refused += 1
        assert {path.name for path in tmp_path.iterdir()} <= {"log", "run.sesame"}
    assert 0 < refused <= 10


def test_numbers_that_no_run_has_are_refused(tmp_path):
    for contents in (
        LogContents(0, {1: "/a"}),
        LogContents(1 << 40, {1: "/a"}),
        LogContents(2, {1: "/a"}, [Record("POSIX", 1, 2, {})]),
        LogContents(2, {1: "/a"}, (), [Trace("DXT_POSIX", 1, 5, NONE, np.zeros((1, 4)))]),
        LogContents(
            1, {1: "/a"}, (), [Trace("DXT_POSIX", 1, 0, NONE, np.array([[0, 1, np.nan, np.inf]]))]
        ),
    ):
        write_log(tmp_path / "log", contents)
        with pytest.raises(InputError):
            import_trace(tmp_path / "log", tmp_path / "run.sesame")
        (tmp_path / "log").unlink()


def test_a_process_has_one_opening_of_each_file_and_layer(tmp_path):
    segment = np.array([[0, 100, 1.0, 2.0]])
    traces = [Trace("DXT_POSIX", file, rank, segment, NONE) for file in (1, 2) for rank in (0, 1)]
    traces.append(Trace("DXT_MPIIO", 2, 1, segment, NONE))
    contents = LogContents(2, {1: "/a", 2: "/b"}, traces=traces)
    write_log(tmp_path / "log.darshan", contents)
    found = [
        (row["rank"], row["file"], row["call"], row["handle"])
        for row in rows(imported(tmp_path / "log.darshan", tmp_path), "io")
    ]
    assert {handle for rank, _, _, handle in found if rank == 0} == {0, 1}
    assert {handle for rank, _, _, handle in found if rank == 1} == {0, 1, 2}
    assert len({one[:1] + one[3:] for one in found}) == len(found)


def test_a_log_of_darshan_with_its_accesses_is_replayed(sesame, tmp_path):
    """DXT does not record opens: each process has the files open from the beginning."""
    written = np.array([[0, 4096, 0.01, 0.02], [4096, 4096, 0.03, 0.04]])
    read = np.array([[0, 8192, 0.05, 0.06]])
    later = np.array([[0, 8192, 0.07, 0.08]])
    traces = [
        Trace("DXT_POSIX", 1, 0, written, NONE),
        Trace("DXT_POSIX", 1, 1, NONE, read),
        Trace("DXT_POSIX", 2, 1, NONE, later),
    ]
    names = {1: "/scratch/out", 2: "/scratch/in"}
    write_log(tmp_path / "job.darshan", LogContents(2, names, traces=traces, run_time_s=0.1))
    import_trace(tmp_path / "job.darshan", tmp_path / "job.sesame")
    (tmp_path / "there").mkdir()
    done = sesame("replay", "job.sesame", "--dir", "there", "--json")
    assert done.status == 0, done.stderr
    found = json.loads(done.stdout)
    assert found["calls"] == {"pread": 2, "pwrite": 2}
    assert (found["bytes_read"], found["bytes_written"]) == (16384, 8192)
    assert found["differing"] == []


def test_a_log_of_counters_alone_has_nothing_to_replay_and_says_what_would(sesame, tmp_path):
    record = Record("POSIX", 1, 0, {"OPENS": 1, "WRITES": 10, "BYTES_WRITTEN": 520})
    write_log(tmp_path / "job.darshan", LogContents(1, {1: "/a"}, [record]))
    import_trace(tmp_path / "job.darshan", tmp_path / "job.sesame")
    (tmp_path / "there").mkdir()
    done = sesame("replay", "job.sesame", "--dir", "there")
    assert done.status == 2
    assert "counters of files and no single calls" in done.stderr
    assert "DXT_ENABLE_IO_TRACE=1" in done.stderr


def findings_of_counters(tmp_path: Path, rank: int, counters: dict[str, float]) -> dict[str, str]:
    """Of a log of 64 processes that says nothing but these of one file."""
    times = {"F_READ_TIME": 5.0, "F_META_TIME": 3.0}
    record = Record("POSIX", 1, rank, counters | times)
    write_log(tmp_path / "job.darshan", LogContents(64, {1: "/a"}, [record]))
    study = study_run(imported(tmp_path / "job.darshan", tmp_path))
    return {finding.topic: finding.sentence for finding in study.findings}


@pytest.mark.parametrize(("each", "is_found"), [(1, False), (9, False), (16, True)])
def test_opens_that_all_processes_made_count_for_each(each, is_found, tmp_path):
    counters = {"OPENS": 64 * each, "READS": 64 * each, "BYTES_READ": 1 << 20}
    found = findings_of_counters(tmp_path, -1, counters)
    assert ("re-opening" in found) == is_found
    if is_found:
        assert found["re-opening"].startswith("/a is opened 1,024 times by 64 ranks")


def test_counters_know_no_regular_distance(tmp_path):
    reads = {"READS": 9000, "SEQ_READS": 200, "CONSEC_READS": 100, "BYTES_READ": 9000 * 512}
    found = findings_of_counters(tmp_path, 3, reads)
    assert "begin before the end of the one before, all" in found["random access"]


def test_counters_know_the_size_of_requests_on_average(tmp_path):
    reads = {"READS": 9000, "BYTES_READ": 9000 << 13, "SEQ_READS": 8999}
    reads |= {"FILE_ALIGNMENT": 4096, "FILE_NOT_ALIGNED": 8000}
    found = findings_of_counters(tmp_path, 3, reads)
    assert (
        "of the 9,000 requests of a block or more on average begin" in found["unaligned requests"]
    )


def test_of_times_that_are_known_together_no_rank_is_named(tmp_path):
    found = findings_of_counters(tmp_path, -1, {"OPENS": 64, "READS": 64, "BYTES_READ": 64})
    assert "rank" not in found["little I/O"]
