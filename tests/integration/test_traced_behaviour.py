"""A program does the same whether it is traced or not, and no record is lost without being
counted: programs of Debian, and programs that a tracer could disturb."""

from __future__ import annotations

import os
import re
import shutil
import signal
import subprocess
import time
from collections import Counter
from pathlib import Path

import pytest
from tests.integration import raw_streams
from tests.integration.raw_records import tracing

ROOT = Path(__file__).resolve().parents[2]

# Each runs in a new directory that has a directory `tree` with files.
DEBIAN = {
    "tar": "tar cf tree.tar tree && tar tvf tree.tar | wc -l && tar xf tree.tar -C . && ls -R tree",
    # cp takes a directory's files in the order of their inode numbers, and each run has new ones.
    "cp": "cp -av tree copied | sort && diff -r tree copied && cp --reflink=auto tree/0 y "
    "&& cat y | wc",
    "sort": "seq 200000 | sort -R --random-source=/bin/ls | sort -S 1M -n --parallel=2 | tail -1",
    "python3": "/usr/bin/python3 -c 'import json, tempfile, mmap; "
    'f = open("z", "wb+"); f.write(b"x" * 9999); f.flush(); '
    'm = mmap.mmap(f.fileno(), 0); m[0:3] = b"abc"; m.close(); f.seek(0); print(f.read(5))\'',
    "git": "git init -q r && cd r && cp -r ../tree . && git add . && git -c user.name=a "
    "-c user.email=b commit -qm x --date 2020-01-01T00:00:00Z && git ls-tree -r HEAD | wc -l "
    "&& git gc -q && git fsck && git status --short",
    "sqlite3": "sqlite3 d.db 'create table t(a); with recursive c(i) as (select 1 union all select "
    "i+1 from c where i < 5000) insert into t select i from c; select sum(a) from t; "
    "pragma integrity_check'",
    "dd": "dd if=/dev/zero of=zeros bs=4k count=100 conv=fsync status=none && "
    "dd if=zeros of=more skip=3 seek=5 bs=1000 status=none && md5sum zeros more",
    "bash": "bash -c 'for i in 1 2 3; do echo $i; done | while read x; do echo got $x >> out; done;"
    " cat out; exec 7<>out; echo more >&7; cat <(sort -r out) | tee copy; exit 3'",
    "vim": "printf 'one\\ntwo\\n' > text; vim -es -u NONE +'%s/o/0/g' +wq text; cat text",
    "perl": 'perl -e \'open(F, ">p"); print F "$_\\n" for 1..999; close F; '
    'open(F, "p"); @l = <F>; print scalar(@l), "\\n"; print -s "p"; exit 4\'',
    "gcc": "printf '#include <stdio.h>\\nint main(void) { puts(\"hi\"); return 5; }' > m.c && "
    "gcc -O1 -pipe m.c -o m && ./m",
    "find": "find tree -type f -print0 | sort -z | xargs -0 -n 5 wc -c | sort | tail -3; "
    "find /nowhere",
}


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> Path:
    built = tmp_path_factory.mktemp("behaviour") / "behaviour"
    source = ROOT / "tests/programs/trace/behaviour.c"
    subprocess.run(["gcc", "-O1", "-pthread", "-o", str(built), str(source)], check=True)
    return built


def run_in(
    directory: Path, command: list[str], environment: dict[str, str] | None = None
) -> tuple[int, str, str]:
    shutil.rmtree(directory, ignore_errors=True)
    (directory / "tree").mkdir(parents=True)
    for i in range(20):
        (directory / "tree" / str(i)).write_bytes(bytes([i]) * i * 1000)
        os.utime(directory / "tree" / str(i), (1, 1))
    os.utime(directory / "tree", (1, 1))
    done = subprocess.run(
        command,
        cwd=directory,
        capture_output=True,
        text=True,
        stdin=subprocess.DEVNULL,
        env=environment,
        check=False,
        timeout=120,
    )
    return done.returncode, done.stdout, done.stderr


def made_and_kept(trace: Path) -> Counter[str]:
    """Calls in all streams; checks that what was made is there, or counted as lost."""
    return kept_of(raw_streams.read(trace))


def kept_of(processes: list[raw_streams.Process]) -> Counter[str]:
    calls: Counter[str] = Counter()
    for process in processes:
        assert len(process.records) + process.discarded == process.made, process.name
        assert process.ended in (1, 2)
        calls.update(record.call or record.shape for record in process.records)
    return calls


@pytest.mark.few_cases(2)
@pytest.mark.parametrize("name", DEBIAN)
def test_a_program_of_debian_does_the_same_when_it_is_traced(name, debian_program, tmp_path):
    debian_program(name, name)
    trace = tmp_path / "trace"
    trace.mkdir()
    command = ["sh", "-c", DEBIAN[name]]
    plain = run_in(tmp_path / "work", command)
    traced = run_in(tmp_path / "work", command, tracing(trace))
    assert traced == plain
    assert sum(made_and_kept(trace).values()) > 10


@pytest.fixture
def traced(program, tmp_path):
    """Runs a part of the behaviour program with the tracer; also compares with a plain run."""
    trace = tmp_path / "trace"
    trace.mkdir()

    def run(part: str, same_output: bool = True, same_stderr: bool = True) -> tuple[str, str]:
        plain = run_in(tmp_path / "work", [str(program), part])
        done = run_in(tmp_path / "work", [str(program), part], tracing(trace))
        assert done[0] == plain[0] == 0
        assert not same_output or done[1] == plain[1]
        assert not same_stderr or done[2] == plain[2] == ""
        return done[1], done[2]

    return run


def test_each_thread_has_its_own_stream_and_streams_are_used_again(traced, tmp_path):
    traced("threads")
    (process,) = raw_streams.read(tmp_path / "trace")
    assert kept_of([process])["pwrite"] == 128_000
    assert 2 <= len(process.threads) <= 65


def test_threads_that_are_busy_when_the_program_ends_are_recorded_so_far(traced, tmp_path):
    """Of each thread the record that is being made at the very end may be missing."""
    for _ in range(10):
        traced("busy_at_the_end")
    processes = raw_streams.read(tmp_path / "trace")
    assert len(processes) == 10
    for process in processes:
        assert process.ended == 1
        assert 0 <= process.made - process.discarded - len(process.records) <= 4
        assert Counter(record.call for record in process.records)["pwrite"] > 100


def test_a_thread_can_be_cancelled_in_a_call(traced, tmp_path):
    assert traced("cancelled")[0] == "cancelled\n"
    assert made_and_kept(tmp_path / "trace")["puts"] == 1


def test_calls_of_signal_handlers_are_recorded_or_counted(traced, tmp_path):
    calls, wrong = map(int, re.findall(r"\d+", traced("storm", same_output=False)[0]))
    (process,) = raw_streams.read(tmp_path / "trace")
    kept = kept_of([process])
    assert wrong == 0
    assert kept["pwrite"] + kept["write"] + process.discarded == calls
    assert kept["write"] > 100
    assert process.discarded < calls / 100


def test_a_killed_process_loses_at_most_its_last_buffer(program, tmp_path):
    trace = tmp_path / "trace"
    trace.mkdir()
    with subprocess.Popen(
        [str(program), "endless"],
        cwd=tmp_path,
        env=tracing(trace),
        stdout=subprocess.PIPE,
        text=True,
    ) as process:
        assert process.stdout
        assert process.stdout.readline() == "ready\n"
        # A stream's file is there before its first buffer is: wait for one that is whole.
        while not any(stream.stat().st_size > 128 * 1024 for stream in trace.glob("*.stream")):
            time.sleep(0.01)
        process.send_signal(signal.SIGKILL)
    (recorded,) = raw_streams.read(trace)
    kept = len(recorded.records)
    assert recorded.ended == 0 and recorded.discarded == 0
    assert kept > 1000
    assert 0 <= recorded.made - kept <= 128 * 1024 / 15


def test_a_limit_of_file_sizes_ends_the_recording_not_the_program(traced, tmp_path):
    _, stderr = traced("small_files", same_stderr=False)
    assert "records are lost, and counted" in stderr and "File too large" in stderr
    (process,) = raw_streams.read(tmp_path / "trace")
    assert process.discarded + len(process.records) == process.made > 100_000


def test_without_a_free_descriptor_records_are_lost_and_counted(traced, tmp_path):
    _, stderr = traced("few_descriptors", same_stderr=False)
    assert stderr.count("\n") == 1 and "Too many open files" in stderr
    (process,) = raw_streams.read(tmp_path / "trace")
    assert process.discarded + len(process.records) == process.made > 20_000


@pytest.mark.skipif(os.geteuid() != 0, reason="chroot is for root")
def test_after_a_chroot_records_are_lost_and_counted(traced, tmp_path):
    _, stderr = traced("in_a_chroot", same_stderr=False)
    assert stderr.count("\n") == 1 and "No such file or directory" in stderr
    (process,) = raw_streams.read(tmp_path / "trace")
    assert process.discarded + len(process.records) == process.made > 20_000


def test_files_in_the_place_of_standard_output_hold_only_data(traced, tmp_path):
    traced("without_output")
    assert (tmp_path / "work/first").read_text() == "first " * 10_000
    assert (tmp_path / "work/second").read_text() == "second " * 10_000
    assert made_and_kept(tmp_path / "trace")["write"] == 20_000


def test_messages_of_the_tracer_do_not_get_into_files_of_data(program, tmp_path):
    environment = tracing(tmp_path / "not there")
    assert run_in(tmp_path / "work", [str(program), "without_output"], environment)[0] == 0
    assert (tmp_path / "work/second").read_text() == "second " * 10_000


def test_a_directory_that_cannot_be_written_is_reported_and_the_program_runs(tmp_path):
    environment = tracing(tmp_path / "not there")
    status, stdout, stderr = run_in(tmp_path / "work", ["cat", "tree/0"], environment)
    assert (status, stdout) == (0, "")
    assert re.fullmatch(
        r"sesame trace: nothing is recorded, cannot write in: \S* there: No such file.*\n", stderr
    )


def test_a_daemon_that_closes_all_descriptors_is_recorded(traced, tmp_path):
    traced("daemonise")
    calls = made_and_kept(tmp_path / "trace")
    assert calls["write"] == 5000 and calls["close"] == 256


def test_children_by_fork_and_vfork_have_streams_of_their_own(traced, tmp_path):
    traced("forks")
    calls = made_and_kept(tmp_path / "trace")
    assert calls["pwrite"] == 400
    processes = raw_streams.read(tmp_path / "trace")
    assert len(processes) == len({process.pid for process in processes}) == 6


def test_a_child_of_vfork_shares_memory_but_not_descriptors(traced, tmp_path):
    assert traced("borrows")[0] == f"{7 << 8} 2 3\n"
    calls = made_and_kept(tmp_path / "trace")
    assert calls["write"] == 1 and calls["close"] == 0 and calls["descriptor"] == 1


@pytest.mark.skipif(os.geteuid() != 0, reason="mount is for root")
@pytest.mark.parametrize("size", ["32k", "256k"])
def test_a_full_disk_ends_the_recording_not_the_program(size, program, tmp_path):
    trace = tmp_path / "trace"
    trace.mkdir()
    if subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={size}", "x", str(trace)]).returncode:
        pytest.skip("mount is not permitted")
    try:
        done = run_in(tmp_path / "work", [str(program), "without_output"], tracing(trace))
        assert done[:2] == (0, "")
        assert size != "32k" or ("nothing is recorded" in done[2] and "No space left" in done[2])
        processes = raw_streams.read(trace)
        for process in processes:
            assert process.discarded + len(process.records) == process.made
            assert process.discarded > 1000
        assert len(processes) == (1 if size == "256k" else 0)
    finally:
        subprocess.run(["umount", str(trace)], check=True)
