"""Names that a run gives itself, and what stands in for them before a replay."""

from __future__ import annotations

import os
from pathlib import Path

from tests.python.traced_run import CREATE, TracedRun

from sesame.replaying.records import read_trace
from sesame.replaying.schedule import Style, make_schedule
from sesame.replaying.targets import Needed, Target

READ_ONLY = os.O_RDONLY


def needed(run: TracedRun, tmp_path: Path) -> Needed:
    trace = read_trace(run.write(tmp_path / "run.sesame"))
    return make_schedule(trace, Target(Path("/new")), Style()).needed


def reads(run: TracedRun, begin: float, path: str, size: int, handle: int) -> None:
    file = run.file(path, size_before=size)
    run.io(0, begin, 0.1, "open", file=file, handle=handle, size=READ_ONLY)
    run.io(0, begin + 1, 0.1, "read", file=file, handle=handle, offset=0, size=size, bytes=size)


def test_what_is_written_and_renamed_is_not_made_beforehand(tmp_path):
    run = TracedRun()
    directory, locked = run.file("/r", kind="directory"), run.file("/r/c.lock")
    run.io(0, 1, 0.1, "mkdir", file=directory)
    run.io(0, 2, 0.1, "open", file=locked, handle=0, size=CREATE | os.O_EXCL)
    final = run.file("/r/c", size_before=2)
    run.io(0, 4, 0.1, "rename", file=locked, other_file=final)
    run.io(0, 5, 0.1, "link", file=final, other_file=run.file("/hard", size_before=2))
    run.io(0, 6, 0.1, "symlink", file=final, other_file=run.file("/soft", size_before=2))
    found = needed(run, tmp_path)
    assert (found.files, found.directories) == ({}, set())
    assert {Path("/new/r"), Path("/new/r/c"), Path("/new/hard")} <= found.made


def test_a_file_that_is_renamed_is_made_under_its_first_name_with_its_size(tmp_path):
    run = TracedRun()
    run.io(0, 1, 0.1, "rename", file=run.file("/old"), other_file=run.file("/new", 700))
    run.io(0, 2, 0.1, "open", file=1, handle=0, size=READ_ONLY)
    assert needed(run, tmp_path).files == {Path("/new/old"): 700}


def test_files_move_with_the_directory_that_they_are_in(tmp_path):
    run = TracedRun()
    reads(run, 1, "/one/before", 10, 0)
    run.io(0, 5, 0.1, "rename", file=run.file("/one"), other_file=run.file("/two"))
    reads(run, 6, "/two/after", 20, 1)
    found = needed(run, tmp_path)
    assert found.files == {Path("/new/one/before"): 10, Path("/new/one/after"): 20}
    assert Path("/new/one") in found.directories
    assert Path("/new/two/before") in found.touched  # and removed in the end


def test_what_is_in_a_directory_that_the_run_made_and_renamed_is_not_made(tmp_path):
    run = TracedRun()
    run.io(0, 1, 0.1, "mkdir", file=run.file("/one", kind="directory"))
    run.io(0, 2, 0.1, "rename", file=0, other_file=run.file("/two"))
    reads(run, 3, "/two/after", 20, 1)
    assert needed(run, tmp_path).files == {}


def test_what_a_process_inherits_of_a_file_that_the_run_made_is_opened_late(tmp_path):
    run = TracedRun(2)
    file, kept = run.file("/made"), run.file("/found", size_before=5)
    run.io(0, 1, 0.1, "open", file=file, handle=0, size=CREATE)
    run.io(1, 2, 0.1, "write", file=file, handle=0, offset=0, size=8, bytes=8)
    run.io(1, 3, 0.1, "write", file=kept, handle=1, offset=0, size=8, bytes=8)
    found = needed(run, tmp_path)
    assert found.late == {"/new/made"}
    assert found.files == {Path("/new/found"): 5}
