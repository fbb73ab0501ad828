"""Every function of the C library that does I/O on files leaves a record, or is listed with the
reason why not; and none behaves otherwise when it is traced."""

from __future__ import annotations

import fnmatch
import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest
from tests.integration import raw_streams

from sesame.installed import find_installed

ROOT = Path(__file__).resolve().parents[2]
PROGRAMS = ROOT / "tests/programs/trace"
# Their descriptors are recorded when they are used; the calls themselves are in the table.
# fmt: off
UNRECORDED = [
    "pipe", "pipe2", "__pipe", "socket", "socketpair", "accept", "accept4", "eventfd",
    "epoll_create", "epoll_create1", "timerfd_create", "signalfd", "inotify_init",
    "inotify_init1", "fanotify_init", "pidfd_open", "pidfd_getfd", "mprotect",
]
# fmt: on


@pytest.fixture(scope="module")
def library() -> Path:
    return find_installed("libsesame-trace.so")


def exported(path: Path) -> set[str]:
    """The functions that a library exports for programs, without those for its own kin."""
    lines = subprocess.run(
        ["nm", "-D", "--with-symbol-versions", str(path)],
        check=True,
        capture_output=True,
        text=True,
    ).stdout.splitlines()
    functions = [line.split()[-1] for line in lines if line.split()[-2] in "TWi"]
    return {name.split("@")[0] for name in functions if not name.endswith("GLIBC_PRIVATE")}


def c_library() -> Path:
    maps = Path("/proc/self/maps").read_text()
    return Path(re.search(r"(/\S*/libc\.so\.6)", maps).group(1))  # type: ignore[union-attr]


def patterns_not_recorded() -> list[str]:
    page = (ROOT / "docs/formats/traced-calls.md").read_text()
    return re.findall(r"`([^`]+)`", page.split("## Not recorded")[1])


def patterns_not_files() -> list[str]:
    lines = (PROGRAMS / "not_files.txt").read_text().splitlines()
    return [word for line in lines if not line.startswith("#") for word in line.split()]


# Shapes of records that tell of the process and its processor, whenever that happens to be.
OF_NO_CALL = ("descriptor", "process", "preempted", "counted")


def matches(name: str, patterns: list[str]) -> bool:
    return any(fnmatch.fnmatchcase(name, pattern) for pattern in patterns)


def run_coverage(tmp_path: Path, library: Path | None) -> tuple[list[str], Path]:
    """What the coverage program reported, and where its trace is."""
    program = tmp_path / "coverage"
    if not program.exists():
        sources = sorted(map(str, PROGRAMS.glob("coverage*.c")))
        subprocess.run(["gcc", "-O1", "-w", "-o", str(program), *sources], check=True)
    directory, trace = tmp_path / "files", tmp_path / "trace"
    shutil.rmtree(directory, ignore_errors=True)
    directory.mkdir()
    trace.mkdir(exist_ok=True)
    extra = {"LD_PRELOAD": str(library), "SESAME_TRACE_DIRECTORY": str(trace)} if library else {}
    done = subprocess.run(
        [str(program), str(directory)],
        env=dict(os.environ, **extra),
        capture_output=True,
        text=True,
        check=False,
        stdin=subprocess.DEVNULL,
    )
    assert (done.returncode, done.stderr) == (0, "")
    return done.stdout.splitlines(), trace


def records_by_function(trace: Path) -> dict[str, list[raw_streams.Record]]:
    """The records that stand behind the mark of each function, in the same process."""
    found: dict[str, list[raw_streams.Record]] = {}
    for process in raw_streams.read(trace):
        function = ""
        for record in process.records:
            path = str(record.fields.get("path", ""))
            if record.call == "access" and path.startswith("/mark/"):
                function = path.removeprefix("/mark/")
                found.setdefault(function, [])
            elif function and record.shape not in OF_NO_CALL:
                found[function].append(record)
    return found


@pytest.fixture(scope="module")
def covered(
    library: Path, tmp_path_factory: pytest.TempPathFactory
) -> tuple[list[str], list[str], dict[str, list[raw_streams.Record]]]:
    directory = tmp_path_factory.mktemp("coverage")
    plain, _ = run_coverage(directory, None)
    traced, trace = run_coverage(directory, library)
    return plain, traced, records_by_function(trace)


def test_every_function_of_the_c_library_is_recorded_or_listed(library):
    hooked = exported(library)
    listed = patterns_not_recorded() + patterns_not_files()
    unknown = {name for name in exported(c_library()) - hooked if not matches(name, listed)}
    assert unknown == set()


def test_what_is_listed_as_recorded_is_not_listed_as_not_recorded(library):
    tells_processes = [
        "_exit",
        "_Exit",
        "quick_exit",
        "daemon",
        "vfork",
        "__vfork",
        "_Fork",
        "clone",
    ]
    both = {name for name in exported(library) if matches(name, patterns_not_recorded())}
    assert both - set(UNRECORDED) - set(tells_processes) == set()


def test_the_coverage_program_calls_every_hook(library, covered):
    called = {line.split()[0] for line in covered[1]}
    there = exported(library) & exported(c_library())
    for_threads = {"pthread_create"}  # watched for the sake of MPI
    assert there - called - set(UNRECORDED) - for_threads == set()
    assert len(called) > 350


def test_every_call_leaves_a_record(covered):
    _, traced, records = covered
    forks = {"fork", "_Fork", "vfork", "__vfork", "clone"}
    called = {line.split()[0] for line in traced} - forks
    assert {name for name in called if not records.get(name)} == set()
    assert all(records.get(f"in_{name}") for name in ("fork", "_Fork", "clone", "daemon"))


def test_the_child_of_vfork_leaves_none(covered):
    assert {"in_vfork", "in___vfork", "in_clone_vfork"} & set(covered[2]) == set()


def test_results_and_errors_are_the_same_as_without_the_tracer(covered):
    plain, traced, _ = covered
    assert traced == plain


def test_the_page_of_calls_names_all_that_is_recorded():
    page = (ROOT / "docs/formats/traced-calls.md").read_text().split("## Not recorded")[0]
    names = re.findall(r"SESAME_CALL\((\w+)\)", (ROOT / "tracer/posix_calls.def").read_text())
    assert [name for name in names if f"`{name}`" not in page] == []
    assert len(names) > 200


def test_records_say_what_the_calls_did(covered):
    records = covered[2]

    def only(name: str) -> dict[str, object]:
        record = records[name][0]
        return {"shape": record.shape, **record.fields}

    def holds(name: str, **expected: object) -> None:
        fields = only(name)
        assert {key: fields[key] for key in expected} == expected, name

    holds("read", shape="data", call="read", bytes=10)
    holds("__read", shape="partial", size=100, bytes=30, offset=-1, error=0)
    holds("pread64", shape="partial", size=10, bytes=0, offset=5_000_000_000)
    holds("__pread64", shape="partial", error=22, offset=-1)
    holds("__write", shape="partial", file=-1, error=9)
    holds("__pwrite64", shape="partial", size=8, bytes=0, offset=100, error=14)
    holds("writev", shape="data", bytes=12)
    holds("sendfile", shape="copy", size=9, bytes=9, offset=3, other_offset=-1)
    holds("copy_file_range", shape="copy", offset=12, other_offset=5, bytes=9)
    holds("lseek64", shape="position", offset=-1, error=22)
    holds("fallocate", shape="position", offset=0, size=4096)
    holds("posix_fadvise", shape="advice", advice=os.POSIX_FADV_SEQUENTIAL, offset=0, error=0)
    holds("posix_fadvise64", shape="advice", advice=99, offset=-1, error=22)
    holds("open", shape="open", path="new", size=0, error=0)
    holds("__open", shape="open", path="", error=14, file=-1)
    holds("mkdirat", shape="path", path="x" * 5999, error=36)
    holds("syscall", shape="data_at", call="pread", bytes=7, offset=1)
    holds("truncate", shape="path", path="a", size=5)
    holds("renameat2", shape="two_paths", path="l3", other_path="l4")
    holds("fgets", shape="data", bytes=2)
    holds("fgets_unlocked", shape="data", bytes=12)
    holds("fputs", shape="data", bytes=4)
    holds("fprintf", shape="data", bytes=4)
    holds("fscanf", shape="data", bytes=2)
    holds("fgetc", shape="merged", bytes=1)
    holds("fputws", shape="data", bytes=4)
    holds("aio_read", shape="request", size=6, offset=2)
    holds("aio_return", shape="request_done", error=0)
