"""What a program reads and writes past the tracer is counted by the kernel: then the run is not
called complete, and it says how much is missing."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest
from tests.command_line import SESAME, run

from sesame.datasets import DataSet

PROGRAMS = Path(__file__).resolve().parents[1] / "programs/trace"
BYTES = 1_000_000
OTHERS = {"operations": 0, "mapped_bytes": 0, "processes": 1}


def build(name: str, directory: Path, *flags: str) -> str:
    built = directory / name
    source = PROGRAMS / f"{name}.c"
    subprocess.run(["gcc", "-O1", "-w", "-o", str(built), str(source), *flags], check=True)
    return str(built)


def traced(directory: Path, *command: str, status: int = 0) -> tuple[dict, str]:
    """The result of a traced run, and its messages."""
    outcome = run([*SESAME, "trace", "-o", "run.sesame", "--", *command], directory)
    assert outcome.status == status, outcome.stderr
    return DataSet(directory / "run.sesame").info["result"], outcome.stderr


@pytest.mark.parametrize(("how", "other"), [("read", "written"), ("write", "read")])
def test_a_run_that_moves_data_past_the_tracer_is_not_complete(tmp_path, how, other):
    result, said = traced(tmp_path, build("past", tmp_path), how, str(BYTES), status=7)
    verb = "read" if how == "read" else "written"
    assert result["outcome"] == "incomplete"
    assert result["unseen"] == {f"{verb}_bytes": BYTES, f"{other}_bytes": 0} | OTHERS
    assert [doubt["reason"] for doubt in result["doubts"]] == ["incomplete input"]
    assert f"incomplete input: the kernel counted 1,000,000 bytes {verb} by 1 process" in said
    facts = run([*SESAME, "info", "run.sesame"], tmp_path).stdout
    assert "incomplete input" in facts
    assert run([*SESAME, "report", "run.sesame"], tmp_path).status == 0
    assert "incomplete input" in (tmp_path / "run.html").read_text()


@pytest.mark.parametrize("how", ["unmapped", "left", "later"])
def test_a_run_whose_mapped_writes_are_not_known_is_not_complete(tmp_path, how):
    """`later`: mapped to be read only, and then mprotect allowed to write."""
    result, said = traced(tmp_path, build("mapped", tmp_path), "shared", how)
    assert result["outcome"] == "incomplete"
    assert result["unseen"]["mapped_bytes"] == 1 << 20
    assert "incomplete input: 1,048,576 bytes of files that 1 process mapped shared" in said
    assert moved(tmp_path, "mapped_access") == (1, 1 << 20)
    assert moved(tmp_path, "mapped_read") == (0, 0)
    assert "cannot tell which of them were written" in run(
        [*SESAME, "info", "run.sesame"], tmp_path
    ).stdout.replace("\n", " ")


def test_a_run_that_writes_only_copies_of_mapped_pages_is_complete(tmp_path):
    result, _ = traced(tmp_path, build("mapped", tmp_path), "private", "unmapped")
    assert result["outcome"] == "complete"
    assert moved(tmp_path, "mapped_write") == (1, 1 << 20)


def test_a_few_bytes_past_the_tracer_are_counted(tmp_path):
    result, _ = traced(tmp_path, build("past", tmp_path), "write", "100", status=7)
    assert result["unseen"]["written_bytes"] == 100
    assert result["outcome"] == "complete"


def test_what_streams_read_and_write_themselves_is_not_missing(tmp_path):
    result, _ = traced(tmp_path, build("streams", tmp_path))
    assert result["outcome"] == "complete"
    assert result["unseen"] == {
        "read_bytes": 0,
        "written_bytes": 0,
        "operations": 0,
        "mapped_bytes": 0,
        "processes": 0,
    }


ORDINARY = {
    "tar": "tar cf t.tar /etc/apt && tar xf t.tar",
    "sort": "seq 100000 | sort -rn | cut -c1-3 | uniq -c | awk '{print $2}' > sorted",
    "dd": "dd if=/dev/zero of=z bs=4k count=100 && cp --reflink=never z y && cat y z | gzip > c.gz",
    "sqlite3": "sqlite3 d.db 'create table t(a); insert into t values (1), (2); select * from t'",
    "python": '/usr/bin/python3 -c \'import json, ctypes, threading; open("f", "w").write("x")\'',
    "children": "for i in 1 2 3; do bash -c 'cat /bin/ls | wc -c; perl -e \"print 1\"'; done",
    "libraries": "git init -q r && cd r && date > a && git add a && ps aux > b && id",
}


@pytest.mark.parametrize("name", ORDINARY)
def test_ordinary_programs_are_complete(tmp_path, name):
    result, _ = traced(tmp_path, "sh", "-c", ORDINARY[name])
    assert result["outcome"] == "complete"
    assert result["unseen"]["written_bytes"] < 200  # messages of the C library
    assert result["unseen"]["read_bytes"] < 10_000 * result["processes"]


def test_a_run_lasts_from_the_start_of_its_program_to_its_end(tmp_path):
    result, _ = traced(tmp_path, "sleep", "0.5")
    assert 0.5 <= result["duration_s"] < 60


def moved(directory: Path, name: str) -> tuple[int, int]:
    """How many calls of this name there are, and the bytes that they moved together."""
    table = DataSet(directory / "run.sesame").table("io", ["call", "bytes"])
    rows = zip(table["call"].to_pylist(), table["bytes"].to_pylist(), strict=True)
    sizes = [size for call, size in rows if call == name]
    return len(sizes), sum(sizes)


def needs(*programs: str) -> None:
    for program in programs:
        if shutil.which(program) is None:
            pytest.skip(f"{program} is not installed")


@pytest.mark.parametrize("how", ["wait", "nowait"])
def test_a_list_of_requests_has_its_bytes_though_they_are_never_fetched(tmp_path, how):
    result, _ = traced(tmp_path, build("list", tmp_path), how)
    assert moved(tmp_path, "aio_write") == (2, 10_000)
    assert moved(tmp_path, "aio_read") == (1, 5_000)
    assert result["outcome"] == "complete"


def test_each_request_of_libaio_is_recorded(tmp_path):
    needs("fio")
    words = "--name=job --rw=write --bs=4k --size=1m --iodepth=8 --end_fsync=0 --thread=0"
    traced(tmp_path, "fio", "--ioengine=libaio", *words.split(), "--output=log")
    assert moved(tmp_path, "aio_write") == (256, 1 << 20)


def test_operations_on_a_ring_past_the_tracer_are_counted(tmp_path):
    """fio makes the system calls of io_uring itself."""
    needs("fio")
    words = "--name=job --rw=write --bs=4k --size=1m --iodepth=8"
    result, said = traced(tmp_path, "fio", "--ioengine=io_uring", *words.split(), "--output=log")
    assert result["outcome"] == "incomplete"
    assert result["unseen"]["operations"] == 256
    assert "256 operations of io_uring" in said
    assert result["unseen"]["mapped_bytes"] == 0  # the ring's memory is no file


def test_operations_are_counted_on_any_number_of_rings(tmp_path):
    program = build("rings", tmp_path)
    if subprocess.run([program], cwd=tmp_path).returncode == 77:
        pytest.skip("io_uring is switched off here")
    result, said = traced(tmp_path, program)
    assert result["outcome"] == "incomplete"
    assert result["unseen"]["operations"] == 1
    assert "counted 1 operation of io_uring" in said


@pytest.fixture
def uring(tmp_path: Path) -> str:
    if not Path("/usr/include/liburing.h").exists():
        pytest.skip("liburing-dev is not installed")
    program = build("uring", tmp_path, "-luring")
    if subprocess.run([program], cwd=tmp_path).returncode == 77:
        pytest.skip("io_uring is switched off here")
    return program


def test_requests_of_liburing_are_recorded(tmp_path, uring):
    result, _ = traced(tmp_path, uring)
    assert moved(tmp_path, "aio_write") == (32, 32 * 4096)
    assert moved(tmp_path, "aio_read") == (32, 32 * 4096)
    assert result["outcome"] == "complete"
    table = DataSet(tmp_path / "run.sesame").table("io", ["call", "offset"])
    rows = zip(table["call"].to_pylist(), table["offset"].to_pylist(), strict=True)
    assert sorted(at for call, at in rows if call == "aio_read") == [4096 * i for i in range(32)]


def test_an_operation_of_liburing_without_a_record_is_counted(tmp_path, uring):
    result, _ = traced(tmp_path, uring, "names")
    assert result["unseen"]["operations"] == 1
    assert result["outcome"] == "incomplete"


RAW_CALLS = """
import ctypes, os
library = ctypes.CDLL(None)
file = os.open("raw", os.O_RDWR | os.O_CREAT)
for _ in range(10):
    library.syscall(1 if os.uname().machine == "x86_64" else 64, file, b"x" * 1000, 1000)
"""


def test_what_syscall_writes_is_recorded(tmp_path):
    result, _ = traced(tmp_path, "/usr/bin/python3", "-c", RAW_CALLS)
    assert (tmp_path / "raw").stat().st_size == 10_000
    count, size = moved(tmp_path, "write")
    assert size >= 10_000
    assert count >= 10
    assert result["unseen"]["written_bytes"] == 0


SYNCED = """
import mmap
with open("mapped", "w+b") as file:
    file.truncate(16 * 4096)
    with mmap.mmap(file.fileno(), 0) as memory:
        for again in range(3):
            memory[:] = bytes([again]) * len(memory)
            memory.flush()
"""


def test_a_page_of_a_mapped_file_is_counted_once(tmp_path):
    traced(tmp_path, "/usr/bin/python3", "-c", SYNCED)
    data_set = DataSet(tmp_path / "run.sesame")
    paths = data_set.table("file", ["path"])["path"].to_pylist()
    mapped = paths.index(str(tmp_path / "mapped"))
    table = data_set.table("io", ["call", "file", "bytes"]).to_pylist()
    own = [row for row in table if row["file"] == mapped]
    assert sum(row["bytes"] for row in own if row["call"].startswith("mapped_")) == 16 * 4096
    assert sum(row["call"] == "msync" for row in own) == 3


def test_a_program_that_is_looked_for_has_the_path_where_it_was_found(tmp_path):
    spawn = 'import os; os.waitpid(os.posix_spawnp("true", ["true"], os.environ), 0)'
    traced(tmp_path, "/usr/bin/python3", "-c", spawn)
    data_set = DataSet(tmp_path / "run.sesame")
    paths = data_set.table("file", ["path"])["path"].to_pylist()
    rows = data_set.table("io", ["call", "file"]).to_pylist()
    spawned = [paths[row["file"]] for row in rows if row["call"] == "posix_spawnp"]
    assert spawned == [shutil.which("true")]


def test_want_of_memory_loses_records_and_not_the_program(tmp_path):
    needs("mpicc.mpich", "mpiexec.mpich")
    program = tmp_path / "mpi_no_memory"
    source = PROGRAMS / "mpi_no_memory.c"
    subprocess.run(["mpicc.mpich", "-O1", "-o", program, source], check=True)
    result, _ = traced(tmp_path, "mpiexec.mpich", "-n", "1", str(program))
    assert result["outcome"] == "records lost"
    assert result["discarded"] >= 200


# A library that is loaded so that it finds the C library first, and a function asked of it by name.
PAST_THE_NAMES = {
    "deep binding": """
import ctypes, os
writer = ctypes.CDLL("./writer.so", mode=getattr(os, "RTLD_DEEPBIND"))
""",
    "dlsym": """
import ctypes, os
writer = ctypes.CDLL("libc.so.6")
""",
}
WRITES = """
file = os.open("data", os.O_WRONLY | os.O_CREAT)
for _ in range(100):
    writer.write_now(file, b"x" * 1000, 1000) if {deep} else writer.write(file, b"x" * 1000, 1000)
"""


WRITER = """
#include <unistd.h>
long write_now(int file, void* data, long size) { return write(file, data, size); }
"""


@pytest.mark.parametrize("name", PAST_THE_NAMES)
def test_what_a_library_writes_past_the_names_of_functions_is_counted(tmp_path, name):
    (tmp_path / "writer.c").write_text(WRITER)
    command = ["gcc", "-shared", "-fPIC", "-o", "writer.so", "writer.c"]
    subprocess.run(command, cwd=tmp_path, check=True)
    program = PAST_THE_NAMES[name] + WRITES.format(deep=name == "deep binding")
    result, _ = traced(tmp_path, "/usr/bin/python3", "-c", program)
    _, recorded = moved(tmp_path, "write")
    assert (tmp_path / "data").stat().st_size == 100_000
    assert recorded + result["unseen"]["written_bytes"] == 100_000
    assert result["outcome"] == ("complete" if recorded == 100_000 else "incomplete")
