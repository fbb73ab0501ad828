"""Ranks that are processes: calls on files at the edges of a program's life, by several threads,
and by rare names."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pyarrow.parquet as parquet
import pytest
from tests.built_programs import build_program
from tests.command_line import Outcome
from tests.integration.installations import ROOT
from tests.integration.small_machine import small_machine

PROGRAMS = ROOT / "tests/programs/processes"
PROCESSES = ("--compute", "none", "--ranks-as", "processes")
Simulate = Callable[..., Outcome]
Compiled = Callable[..., Path]


@pytest.fixture
def machine(tmp_path: Path) -> Path:
    path = tmp_path / "machine.toml"
    path.write_text(small_machine(more='capacity = "1100 kB"'))
    return path


@pytest.fixture
def run(simulate: Simulate, machine: Path, tmp_path: Path) -> Callable[..., list[str]]:
    """run(program, *arguments, options=()): one rank, in a directory of its own; what it prints."""

    def run_in_work(program: Path, *arguments: object, options: tuple[str, ...] = PROCESSES):
        work = tmp_path / "work"
        work.mkdir(exist_ok=True)
        command = ("-n", 1, "--machine", machine, *options, "--", program, *arguments)
        outcome = simulate(*command, cwd=work)
        assert outcome.status == 0, outcome.stdout + outcome.stderr
        return outcome.stdout.splitlines()

    return run_in_work


def script_of(directory: Path, *commands: str) -> Path:
    script = directory / "script.sh"
    script.write_text("\n".join(("#!/bin/sh", *commands, "")))
    script.chmod(0o755)
    return script


def test_a_rank_that_damages_the_memory_of_its_calls_is_reported(
    simulate: Simulate, compiled: Compiled
) -> None:
    program = compiled("tests/programs/processes/wild.c")
    options = ("--machine", "infiniband", "--placement", "cyclic", *PROCESSES)
    outcome = simulate("-n", 2, *options, "--", program)
    assert outcome.status == 139, outcome.stdout + outcome.stderr
    assert "rank 1 has damaged the memory of its calls: " in outcome.stderr
    assert "crashed" not in outcome.stderr


@pytest.mark.parametrize("end", ["exits", "killed"])
def test_the_second_program_of_a_script_begins_anew(
    run: Callable[..., list[str]], compiled: Compiled, tmp_path: Path, end: str
) -> None:
    program = compiled("tests/programs/processes/one_of_two.c")
    script = script_of(tmp_path, f"{program} first {end}", f"{program} second")
    # The file system has no space for both files.
    assert run(script) == ["left 600000", "other 600000", "here 1"]


def test_files_are_used_after_main_has_ended(run: Callable[..., list[str]], tmp_path: Path) -> None:
    source = PROGRAMS / "late_library.cc"
    library = build_program("late_library.so", source, "c++", "-shared", "-fPIC", str(source))
    source = PROGRAMS / "late.cc"
    flags = (str(source), str(library), f"-Wl,-rpath,{library.parent}", "-ldl")
    program = build_program("late", source, "c++", "-O2", *flags)
    script = script_of(tmp_path, f"{program} libmpich.so.12")
    # Memory that has been freed is overwritten: nothing may use it by then.
    tunables = "GLIBC_TUNABLES=glibc.malloc.tcache_count=0:glibc.malloc.perturb=165"
    options = (*PROCESSES, "--env", tunables, "--files", "kept", "-o", "run.sesame")
    assert run(script, options=options) == []
    kept, data_set = tmp_path / "work/kept", tmp_path / "work/run.sesame"
    expected = "handler\nobject\nlibrary\n"
    assert (kept / "late-descriptor").read_text() == expected
    assert (kept / "late-stream").read_text() == expected
    files = parquet.read_table(data_set / "file.parquet").to_pylist()
    numbers = {Path(file["path"]).name: file["index"] for file in files}
    calls = parquet.read_table(data_set / "io.parquet").to_pylist()
    moved = {
        name: sum(call["bytes"] for call in calls if call["file"] == numbers[name])
        for name in ("late-descriptor", "late-stream")
    }
    assert moved == {"late-descriptor": len(expected), "late-stream": len(expected)}


def test_calls_that_succeed_keep_errno(run: Callable[..., list[str]], compiled: Compiled) -> None:
    program = compiled("tests/programs/processes/errno_kept.c")
    assert run(program) == ["changed 0 failed 0"]


@pytest.mark.parametrize("way", ["fibers", "processes"])
def test_names_are_relative_to_a_simulated_directory(
    run: Callable[..., list[str]], compiled: Compiled, tmp_path: Path, way: str
) -> None:
    program = compiled("tests/programs/processes/other_names.c")
    host = tmp_path / "host"
    host.mkdir()
    (host / "text").write_text("text")
    said = run(program, host, options=("--compute", "none", "--ranks-as", way))
    assert said == [
        "here: scandir 1 scandirat 1 ftw 0 nftw 0 seen 2",
        "host: scandir 1 scandirat 1 ftw 0 nftw 0 seen 2",
        "readdir_r: 1 1",
        "lutimes: 0 2000 1",
        "futimesat: 0 2000",
        "freopen: t",
    ]


def test_a_name_of_the_host_may_begin_to_lead_to_a_mount(
    run: Callable[..., list[str]], compiled: Compiled, tmp_path: Path
) -> None:
    program = compiled("tests/programs/processes/changed_names.c")
    host = tmp_path / "host"
    host.mkdir()
    assert run(program, host) == ["directory 0", "link 1", "again 0"]
    assert list((tmp_path / "work").iterdir()) == []  # the link has led to the run's files
    assert (host / "name/again").exists()


def test_a_thread_that_closes_a_file_at_its_end_keeps_no_slot(
    run: Callable[..., list[str]], compiled: Compiled
) -> None:
    program = compiled("tests/programs/processes/last_calls.cc", "debian", ("-pthread",))
    # More than all ranks may have at once (kSlotsOfThreads in core/remote/launch.cc).
    assert run(program, 1100) == ["closed 1100"]


def test_a_thread_waits_for_a_transfer_that_another_has_started(
    run: Callable[..., list[str]], compiled: Compiled
) -> None:
    program = compiled("tests/programs/processes/shared_files.c", "debian", ("-pthread",))
    # 1 MB: 1 ms and 10 ms, less the time of opening the file.
    assert run(program, "others") == ["suspended 0", "moved 1000000", "waited 0.0110"]


def test_a_descriptor_may_be_closed_while_another_thread_uses_it(
    run: Callable[..., list[str]], compiled: Compiled
) -> None:
    program = compiled("tests/programs/processes/shared_files.c", "debian", ("-pthread",))
    assert run(program, "closing") == ["wrong 0"]


def test_several_threads_wait_for_one_transfer(
    run: Callable[..., list[str]], compiled: Compiled
) -> None:
    program = compiled("tests/programs/processes/shared_transfers.c", "debian", ("-pthread",))
    assert run(program, "suspend") == ["suspended 0 for 0.0110"] * 3 + ["moved 1000000"]


def test_a_transfer_that_another_thread_waits_for_is_in_progress(
    run: Callable[..., list[str]], compiled: Compiled
) -> None:
    program = compiled("tests/programs/processes/shared_transfers.c", "debian", ("-pthread",))
    assert run(program, "list") == [
        "in progress 1",
        "then 0",
        "listed 0 for 0.0110",
        "moved 1000000",
    ]
