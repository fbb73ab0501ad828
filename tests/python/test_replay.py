"""`sesame replay` of runs whose operations are known, on a real file system."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import time
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path

import pytest
from click.testing import CliRunner
from tests.command_line import SESAME, Outcome
from tests.python.traced_run import CREATE, TracedRun

from sesame.cli import cli
from sesame.datasets import DataSet
from sesame.errors import SesameError

ROOT_ONLY = pytest.mark.skipif(os.geteuid() != 0, reason="needs root, to mount a file system")


@pytest.fixture
def target(tmp_path: Path) -> Path:
    directory = tmp_path / "target"
    directory.mkdir()
    return directory


@pytest.fixture
def replay(target, monkeypatch) -> Callable[..., Outcome]:
    """replay(run, *options): the data set is written and replayed in the directory `target`."""
    monkeypatch.chdir(target.parent)

    def execute(run: TracedRun | None, *options: str) -> Outcome:
        path = target.parent / "run.sesame"
        if run is not None:
            shutil.rmtree(path, ignore_errors=True)
            run.write(path)
        return in_this_process("replay", str(path), "--dir", str(target), "--json", *options)

    return execute


def in_this_process(*arguments: str) -> Outcome:
    done = CliRunner().invoke(cli, arguments, standalone_mode=False)
    said = str(done.exception) if isinstance(done.exception, SesameError) else ""
    status = done.return_value
    if isinstance(done.exception, SesameError):
        status = done.exception.exit_status
    elif done.exception is not None:
        raise done.exception
    return Outcome(status, done.stdout, done.stderr + said)


def writer(count: int = 10, gap: float = 2.0, ranks: int = 1) -> TracedRun:
    """Each rank writes its own file, with `gap` ms of computation between the calls."""
    run = TracedRun(ranks, ends=[gap * (count + 3)] * ranks)
    for rank in range(ranks):
        file = run.file(f"/data/out.{rank}")
        common = {"file": file, "handle": 4}
        run.io(rank, gap, 0.01, "open", size=CREATE, **common)
        for number in range(count):
            data = {"offset": 512 * number, "size": 512, "bytes": 512, **common}
            run.io(rank, gap * (number + 2), 0.01, "write", **data)
        run.io(rank, gap * (count + 2), 0.01, "close", **common)
    return run


def test_every_call_is_issued_once_and_nothing_stays(replay, target):
    outcome = replay(writer(), "--payload", "zero")
    assert outcome.status == 0, outcome.stderr
    answer = outcome.json
    assert answer["calls"] == {"open": 1, "write": 10, "close": 1}
    assert answer["bytes_written"] == 5120
    assert answer["complete"] is True
    assert answer["differing"] == []
    assert list(target.iterdir()) == []


def test_computation_is_waited_out(replay):
    answer = replay(writer(count=50)).json
    assert answer["recorded_time_s"] == pytest.approx(0.106)
    # How much later than scheduled is a matter of who else wants the processors.
    assert answer["scheduled_time_s"] == pytest.approx(0.106, rel=0.1)
    assert answer["replayed_time_s"] >= answer["scheduled_time_s"] * 0.99
    half = replay(writer(count=50), "--scale-compute", "0.5").json
    assert half["scheduled_time_s"] == pytest.approx(0.053, rel=0.15)
    assert half["replayed_time_s"] >= half["scheduled_time_s"] * 0.99
    assert replay(writer(count=50), "--as-fast-as-possible").json["scheduled_time_s"] < 0.05


def test_an_incomplete_replay_is_as_long_as_it_lasted(replay, tmp_path):
    run = TracedRun(2, ends=[60_000.0, 60_000.0])
    for rank in range(2):
        common = {"file": run.file("/dev/shm/absent/file", size_before=10), "handle": 1}
        run.io(rank, 1, 0.1, "open", size=os.O_RDONLY, **common)
        run.io(rank, 59_000, 0.1, "pread", offset=0, size=10, bytes=10, **common)
    run.io(0, 5, 0.1, "truncate", file=run.file("/data/large"), offset=1 << 62)  # EFBIG
    outcome = replay(run, "-o", "replayed.sesame")
    assert outcome.status == 1
    assert outcome.json["complete"] is False
    for process in DataSet(tmp_path / "replayed.sesame").table("process").to_pylist():
        assert process["end_ns"] <= outcome.json["replayed_time_s"] * 1e9 + 1000


def test_data_calls_that_fail_only_here_are_named_and_end_in_status_1(replay):
    run = writer()
    late = {"file": run.file("/data/short", size_before=10), "handle": 9}
    run.io(0, 1, 0.1, "open", size=os.O_RDONLY, **late)
    for number in range(3):  # it cannot be written
        run.io(0, 2 + number, 0.1, "pwrite", offset=0, size=4, bytes=4, flags=0, **late)
    run.io(0, 6, 0.1, "pread", offset=5000, size=4, bytes=4, **late)  # nothing is there
    run.io(0, 7, 0.1, "unlink", file=run.file("/data/absent"))  # no data: only different
    outcome = replay(run)
    assert outcome.status == 1
    answer = outcome.json
    assert answer["complete"] is True
    assert answer["failed_data_calls"] == 4
    assert {(one["call"], one["count"]) for one in answer["failed_data"]} == {
        ("pwrite", 3),
        ("pread", 1),
    }
    assert "4 calls moved data when recorded and failed here" in outcome.stderr
    assert "3 × pwrite of /data/short: 4 bytes, now Bad file descriptor" in outcome.stderr


def test_calls_that_failed_when_recorded_may_fail_again(replay):
    run = TracedRun()
    run.io(0, 1, 0.1, "open", file=run.file("/data/absent"), size=0, error=2)
    common = {"file": run.file("/data/there", size_before=10), "handle": 1}
    run.io(0, 2, 0.1, "open", size=os.O_RDONLY, **common)
    run.io(0, 3, 0.1, "write", size=4, error=9, **common)
    outcome = replay(run)
    assert outcome.status == 0, outcome.stderr
    assert outcome.json["failed_data_calls"] == 0


def test_a_run_without_io_to_repeat_is_refused(replay):
    run = TracedRun(2)
    run.mpi(0, 1, 1, "MPI_Barrier")
    outcome = replay(run)
    assert outcome.status == 2
    assert "nothing to replay: the trace holds 1 call of MPI" in outcome.stderr
    run.io(0, 5, 1, "write", file=run.file("/dev/tty", kind="device"), handle=1, size=4, bytes=4)
    outcome = replay(run)
    assert outcome.status == 2
    assert "the trace holds 1 call on files (write 1), and none on a regular file" in outcome.stderr


def test_files_that_the_run_found_are_made_with_their_sizes(replay, target):
    run = TracedRun()
    common = {"file": run.file("/input/matrix", size_before=3_000_000), "handle": 1}
    run.io(0, 1, 0.1, "open", size=os.O_RDONLY, **common)
    run.io(0, 2, 0.1, "pread", offset=2_999_000, size=4096, bytes=1000, **common)
    run.io(0, 3, 0.1, "stat", file=run.file("/input/absent"), error=2)
    outcome = replay(run, "--keep", "--cold", "--as-fast-as-possible")
    assert outcome.json["differing"] == []
    assert outcome.json["bytes_read"] == 1000
    assert (target / "input/matrix").stat().st_size == 3_000_000
    assert len(set((target / "input/matrix").read_bytes()[:4096])) > 100
    assert not (target / "input/absent").exists()


@pytest.mark.parametrize("payload", ["zero", "compressible", "random"])
def test_payload_is_as_compressible_as_asked(replay, target, payload):
    assert replay(writer(), "--keep", "--payload", payload, "--as-fast-as-possible").status == 0
    data = (target / "data/out.0").read_bytes()
    assert len(data) == 5120
    if payload == "zero":
        assert set(data) == {0}
    else:
        assert (len(set(data)) > 200) is (payload == "random")


def test_calls_of_all_kinds_do_what_they_did(replay, target):
    run = TracedRun()
    names = {name: run.file(f"/d/{name}") for name in ("log", "a", "b", "c")}
    directory = run.file("/d/sub", kind="directory")
    steps: list[tuple[str, dict]] = [
        ("mkdir", {"file": directory}),
        ("fopen", {"file": names["log"], "handle": 1, "size": CREATE}),
        ("setvbuf", {"file": names["log"], "handle": 1, "size": 1 << 16}),
        ("fprintf", {"file": names["log"], "handle": 1, "size": 60, "bytes": 60}),
        ("fputc", {"file": names["log"], "handle": 1, "size": 5, "bytes": 5, "flags": 2}),
        ("fseek", {"file": names["log"], "handle": 1, "offset": 10}),
        ("fwrite", {"file": names["log"], "handle": 1, "size": 100, "bytes": 100}),
        ("fclose", {"file": names["log"], "handle": 1}),
        ("open", {"file": names["a"], "handle": 2, "size": os.O_CREAT | os.O_RDWR}),
        ("pwritev", {"file": names["a"], "handle": 2, "offset": 100, "size": 50, "bytes": 50}),
        ("ftruncate", {"file": names["a"], "handle": 2, "offset": 4000}),
        ("lseek", {"file": names["a"], "handle": 2, "offset": 0}),
        ("readv", {"file": names["a"], "handle": 2, "offset": 0, "size": 5000, "bytes": 4000}),
        ("dup", {"file": names["a"], "handle": 2}),
        ("close", {"file": names["a"], "handle": 2}),
        ("fsync", {"file": names["a"], "handle": 2}),
        ("posix_fallocate", {"file": names["a"], "handle": 2, "offset": 0, "size": 8000}),
        ("fstat", {"file": names["a"], "handle": 2}),
        ("close", {"file": names["a"], "handle": 2}),
        ("rename", {"file": names["a"], "other_file": names["b"]}),
        ("link", {"file": names["b"], "other_file": names["c"]}),
        ("stat", {"file": names["a"], "error": 2}),
        ("unlink", {"file": names["b"]}),
        ("opendir", {"file": directory, "handle": 3}),
        ("readdir", {"file": directory, "handle": 3}),
        ("closedir", {"file": directory, "handle": 3}),
        ("sync", {}),
    ]
    for number, (call, fields) in enumerate(steps):
        run.io(0, 1 + number, 0.5, call, **fields)
    outcome = replay(run, "--keep", "--as-fast-as-possible")
    assert outcome.status == 0, outcome.stderr
    assert outcome.json["differing"] == []
    assert outcome.json["not_issued"] == {}
    assert sum(outcome.json["calls"].values()) == len(steps)
    assert (target / "d/log").stat().st_size == 110
    assert (target / "d/c").stat().st_size == 8000
    assert sorted(path.name for path in (target / "d").iterdir()) == ["c", "log", "sub"]


def test_mapped_files_and_asynchronous_transfers(replay, target):
    run = TracedRun()
    mapped = {"file": run.file("/d/mapped", size_before=1 << 16), "handle": 1}
    queued = {"file": run.file("/d/queued"), "handle": 2}
    run.io(0, 1, 0.1, "open", size=os.O_RDWR, **mapped)
    run.io(0, 2, 0.1, "mmap", offset=0, size=1 << 16, **mapped)
    run.io(0, 3, 0.1, "mapped_write", offset=4096, size=8192, bytes=8192, flags=16, **mapped)
    run.io(0, 4, 0.1, "msync", **mapped)
    run.io(0, 5, 0.1, "munmap", **mapped)
    run.io(0, 6, 0.1, "open", size=CREATE, **queued)
    data = {"offset": 0, "size": 9000, "bytes": 9000}
    run.io(0, 7, 0.1, "aio_write", completion=1, flags=4, **data, **queued)
    run.io(0, 8, 0.1, "aio_return", bytes=9000, **queued)
    outcome = replay(run, "--keep")
    assert outcome.json["differing"] == []
    assert (target / "d/queued").stat().st_size == 9000


def test_ranks_wait_for_each_other(replay):
    run = TracedRun(2)
    for rank in range(2):
        file = run.file(f"/data/{rank}")
        run.io(rank, 1, 0.01, "open", file=file, handle=1, size=CREATE)
        run.io(rank, 50 if rank else 20, 0.01, "write", file=file, handle=1, size=8, bytes=8)
    run.mpi(0, 21, 27.5, "MPI_Recv", peer=1, tag=3)
    run.mpi(1, 48, 0.1, "MPI_Send", peer=0, tag=3)
    run.io(0, 60, 0.01, "close", file=0, handle=1)
    outcomes = [replay(run).json for _ in range(3)]
    assert all(outcome["messages"] == 1 for outcome in outcomes)
    # Other work on the machine only lengthens it.
    least = min(outcome["replayed_time_s"] for outcome in outcomes)
    assert least == pytest.approx(0.1, rel=0.05)


def test_the_data_set_has_recorded_and_replayed_times(replay, tmp_path):
    assert replay(writer(ranks=2), "-o", "replayed.sesame").status == 0
    data_set = DataSet(tmp_path / "replayed.sesame")
    rows = data_set.table("replayed").to_pylist()
    assert len(rows) == 24
    writes = [row for row in rows if row["call"] == "write" and row["rank"] == 1]
    assert [row["recorded_begin_ns"] for row in writes] == [2_000_000 * n for n in range(2, 12)]
    for row in writes:
        late = row["begin_ns"] - row["lateness_ns"] - row["recorded_begin_ns"]
        assert (
            abs(late) < 3_000_000
        )  # the recorded calls took 10 µs each, these take what they take
        assert row["duration_ns"] > 0
    moved = data_set.table("io").to_pylist()
    assert [row["begin_ns"] for row in moved] == [row["begin_ns"] for row in rows]
    assert str(tmp_path / "target/data/out.1") in data_set.table("file")["path"].to_pylist()


@pytest.mark.parametrize("how", [("--scale-compute", "0.5"), ("--as-fast-as-possible",)])
def test_a_replayed_run_is_as_long_as_it_took(how, replay, tmp_path):
    outcome = replay(writer(ranks=2, count=50), *how, "-o", "replayed.sesame")
    took = outcome.json["replayed_time_s"]
    data_set = DataSet(tmp_path / "replayed.sesame")
    processes = data_set.table("process").to_pylist()
    length = (max(p["end_ns"] for p in processes) - min(p["begin_ns"] for p in processes)) * 1e-9
    assert length == pytest.approx(took, rel=0.1, abs=1e-3)
    for row in data_set.table("io").to_pylist():
        process = processes[row["rank"]]
        assert process["begin_ns"] <= row["begin_ns"]
        assert row["begin_ns"] + row["duration_ns"] <= process["end_ns"]


def test_calls_of_a_replayed_run_follow_each_other(replay, tmp_path):
    """Communication is due at its time; that the I/O in front of it was late moves it."""
    run = TracedRun(2)
    for rank in range(2):
        file = run.file(f"/data/{rank}")
        run.io(rank, 1, 0.01, "open", file=file, handle=1, size=CREATE)
        for step in range(20):
            data = {"file": file, "handle": 1, "size": 1 << 20, "bytes": 1 << 20}
            run.io(rank, 2 + step, 0.001, "write", **data)
            run.mpi(rank, 2.002 + step, 0.001, "MPI_Barrier")
    assert replay(run, "--as-fast-as-possible", "-o", "replayed.sesame").status == 0
    data_set = DataSet(tmp_path / "replayed.sesame")
    for rank in range(2):
        rows = [
            (row["begin_ns"], row["begin_ns"] + row["duration_ns"])
            for name in ("io", "mpi")
            for row in data_set.table(name).to_pylist()
            if row["rank"] == rank
        ]
        rows.sort()
        assert all(end <= begin for (_, end), (begin, _) in pairwise(rows))


def test_what_is_no_file_of_the_target_keeps_its_time(replay):
    run = TracedRun()
    for number, (path, kind) in enumerate(
        [("/dev/pts/3", "terminal"), ("pipe", "pipe"), ("/proc/self/stat", "regular")]
    ):
        file = run.file(path, kind=kind)
        run.io(0, 1 + number, 0.5, "write", file=file, handle=number, size=10, bytes=10)
    run.io(0, 10, 0.1, "stat", file=run.file("/data/absent"), error=2)
    outcome = replay(run)
    assert outcome.json["not_issued"] == {"write": 3}
    assert outcome.json["calls"] == {"stat": 1}
    assert outcome.json["scheduled_time_s"] == pytest.approx(0.1, rel=0.05)


def test_another_outcome_than_recorded_is_reported(replay):
    run = TracedRun()
    file = run.file("/data/short", size_before=100)
    run.io(0, 1, 0.1, "open", file=file, handle=1, size=os.O_RDONLY)
    run.io(0, 2, 0.1, "read", file=file, handle=1, offset=0, size=500, bytes=500)
    outcome = replay(run)
    assert outcome.status == 0
    assert outcome.json["differing"] == [
        {"call": "read", "file": "/data/short", "how": "500 bytes, now 100 bytes", "count": 1}
    ]


def test_paths_can_be_mapped(tmp_path):
    path = writer().write(tmp_path / "run.sesame")
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    outcome = in_this_process(
        "replay", str(path), "--map", f"/data={elsewhere}", "--keep", "--json"
    )
    assert outcome.status == 0, outcome.stderr
    assert (elsewhere / "out.0").stat().st_size == 5120


def test_existing_files_are_written_over_only_when_asked_to(replay, target):
    (target / "data").mkdir()
    (target / "data/out.0").write_text("precious")
    outcome = replay(writer())
    assert outcome.status == 2
    assert "already there" in outcome.stderr
    assert "--force" in outcome.stderr
    assert (target / "data/out.0").read_text() == "precious"
    assert replay(None, "--force").status == 0
    assert (target / "data/out.0").stat().st_size == 5120


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ([], "nothing says where"),
        (["--dir", "nowhere"], "no such directory"),
        (["--dir", ".", "--map", "here"], "--map here: expected OLD=NEW"),
        (["--dir", ".", "--map", "data=."], "--map data=.: expected an absolute path"),
        (["--dir", ".", "--map", "/data=no/where"], "--map /data=no/where: there is no directory"),
        (
            ["--dir", ".", "--map", "/dat=."],
            "--map: no file of the run is placed by that of /dat\nhint",
        ),
        (
            ["--dir", ".", "--map", "/data=.", "--map", "/data/out.0=a"],
            "--map: no file of the run is placed by that of /data\nhint",
        ),
        (["--dir", ".", "--scale-compute", "-1"], "expected a number"),
    ],
)
def test_wrong_options_are_refused(tmp_path, monkeypatch, options, message):
    monkeypatch.chdir(tmp_path)
    path = writer().write(tmp_path / "run.sesame")
    outcome = in_this_process("replay", str(path), *options)
    assert outcome.status == 2
    assert message in outcome.stderr


def test_a_data_set_without_a_traced_run_is_refused(run_path, tmp_path):
    outcome = in_this_process("replay", str(run_path), "--dir", str(tmp_path))
    assert outcome.status == 2
    assert "no traced run" in outcome.stderr


def test_a_call_that_is_too_large_for_memory_is_refused(replay, capfd):
    run = TracedRun()
    common = {"file": run.file("/data/sparse", size_before=8), "handle": 1}
    run.io(0, 1, 0.1, "open", size=os.O_RDONLY, **common)
    run.io(0, 2, 0.1, "pread", offset=0, size=1 << 50, bytes=8, **common)
    assert replay(run).status == 2
    assert "error: no memory for a buffer of 112589990" in capfd.readouterr().err


@ROOT_ONLY
def test_a_target_that_is_too_small_is_refused_before_the_replay(replay, small_target):
    run = TracedRun()
    file = run.file("/data/large", size_before=20_000_000)
    run.io(0, 1, 0.1, "open", file=file, handle=1, size=os.O_RDONLY)
    outcome = replay(run)
    assert outcome.status == 2
    assert "replay target too small" in outcome.stderr
    assert list(small_target.iterdir()) == []


@ROOT_ONLY
def test_a_disk_that_is_full_in_the_middle_ends_the_replay_and_says_where(replay, small_target):
    run = TracedRun(2)
    for number in range(8):  # more files than the file system can hold
        file = run.file(f"/data/{number}")
        run.io(0, 1 + number, 0.1, "open", file=file, handle=number, size=CREATE)
    run.mpi(0, 90, 0.1, "MPI_Send", peer=1, tag=0)
    run.mpi(1, 1, 89.1, "MPI_Recv", peer=0, tag=0)
    outcome = replay(run)
    assert outcome.status == 1
    assert outcome.json["complete"] is False
    assert outcome.json["calls"]["open"] < 8
    assert "rank 0: open of" in outcome.stderr.replace("\n", " ")
    assert "ENOSPC" in outcome.stderr
    assert list(small_target.iterdir()) == []


@pytest.fixture
def small_target(target: Path):
    subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=10m,nr_inodes=6", "sesame-test", target], check=True
    )
    yield target
    subprocess.run(["umount", "--lazy", target], check=True)


def test_an_interrupted_replay_leaves_no_files(tmp_path, target):
    path = writer(count=100, gap=100).write(tmp_path / "run.sesame")
    command = [*SESAME, "replay", str(path), "--dir", str(target)]
    process = subprocess.Popen(command, stderr=subprocess.PIPE, text=True)
    end = time.monotonic() + 20
    while not (target / "data/out.0").exists() and time.monotonic() < end:
        time.sleep(0.05)
    process.send_signal(signal.SIGINT)
    _, said = process.communicate(timeout=20)
    assert process.returncode == 130
    assert "interrupted" in said
    assert list(target.iterdir()) == []


def test_direct_io_goes_through_the_cache_where_it_is_not_aligned(replay, target):
    run = TracedRun()
    common = {"file": run.file("/data/direct"), "handle": 1}
    run.io(0, 1, 0.1, "open", size=CREATE, **common)
    run.io(0, 2, 0.1, "pwrite", offset=0, size=4096, bytes=4096, **common)
    run.io(0, 3, 0.1, "pwrite", offset=4096, size=100, bytes=100, **common)
    outcome = replay(run, "--direct", "--keep")
    if "EINVAL" in outcome.stderr or outcome.json["calls"].get("open") != 1:
        pytest.skip("this file system has no direct I/O")
    assert outcome.json["not_aligned"] == 1
    assert (target / "data/direct").stat().st_size == 4196


def test_a_thousand_ranks_replay_on_one_node(replay):
    ranks = 1024
    run = TracedRun(ranks)
    for rank in range(ranks):
        run.io(rank, 1, 0.01, "open", file=run.file(f"/data/{rank}"), handle=0, size=CREATE)
        run.io(rank, 20, 0.01, "write", file=rank, handle=0, size=8, bytes=8)
        run.mpi(rank, 30, 10 + 0.001 * (ranks - rank), "MPI_Barrier")
        run.io(rank, 50, 0.01, "close", file=rank, handle=0)
    outcome = replay(run)
    assert outcome.status == 0, outcome.stderr
    assert outcome.json["calls"] == {"open": ranks, "write": ranks, "close": ranks}


@pytest.mark.few_cases(1)
@pytest.mark.parametrize("mpi", ["mpich", "openmpi"])
def test_several_processes_replay_together(tmp_path, target, mpi):
    if shutil.which(f"mpiexec.{mpi}") is None:
        pytest.skip(f"mpiexec.{mpi} is not installed")
    run = TracedRun(4)
    for rank in range(4):
        file = run.file(f"/data/{rank}")
        run.io(rank, 5 + rank, 0.01, "open", file=file, handle=1, size=CREATE)
        run.mpi(rank, 10 + rank, 5, "MPI_Send", peer=(rank + 1) % 4, tag=0)
        run.mpi(rank, 20, 1, "MPI_Recv", peer=(rank - 1) % 4, tag=0)
        run.mpi(rank, 30 + rank, 40 - rank, "MPI_Barrier")
        run.io(rank, 80, 0.01, "write", file=file, handle=1, size=8, bytes=8)
    path = run.write(tmp_path / "run.sesame")
    more = ["--allow-run-as-root", "--oversubscribe"] if mpi == "openmpi" else []
    command = [f"mpiexec.{mpi}", *more, "-n", "2", *SESAME, "replay", str(path)]
    command += ["--dir", str(target), "--json"]
    environment = {**os.environ, "XDG_CACHE_HOME": str(tmp_path / "cache")}
    done = subprocess.run(
        command, capture_output=True, text=True, check=False, env=environment, timeout=60
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.count('"complete": true') == 1
    assert '"write": 4' in done.stdout
    assert '"messages": 4' in done.stdout
    assert list(target.iterdir()) == []
