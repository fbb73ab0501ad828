"""Whatever happens to a workload's files: one clear message, its status, nothing left behind."""

from __future__ import annotations

import signal
import subprocess
import time

import pytest
from tests.integration.installations import MPIS


@pytest.fixture(scope="session")
def troubles(kit_program):
    return kit_program("troubles")


@pytest.mark.few_cases(1)
@pytest.mark.parametrize("ranks", [1, 4])
def test_temporary_files_are_removed_at_the_end(ranks, troubles, mpiexec, tmp_path):
    outcome = mpiexec(ranks, troubles)
    assert outcome.status == 0, outcome.stderr
    assert list(tmp_path.iterdir()) == []


def test_temporary_files_are_removed_in_the_simulator(troubles, simulate, tmp_path):
    options = ["-n", 16, "--machine", "infiniband", "--compute", "none"]
    outcome = simulate(*options, "--", troubles)
    assert outcome.status == 0, outcome.stderr
    assert list(tmp_path.iterdir()) == []


def test_wrong_usage_removes_temporary_files(troubles, mpiexec, tmp_path):
    outcome = mpiexec(4, troubles, "--trouble", "usage")
    assert outcome.status == 2
    assert outcome.stderr.count("error: ") == 1
    assert list(tmp_path.iterdir()) == []


@pytest.mark.few_cases(1)
@pytest.mark.parametrize("trouble", ["write", "write-all"])
def test_failing_write_ends_all_ranks(trouble, troubles, mpiexec, small_files, tmp_path):
    outcome = mpiexec(4, troubles, "--trouble", trouble, "--megabytes", "16")
    assert outcome.status == 1
    assert outcome.stderr.count("error: troubles: rank ") == 1
    assert "cannot write 1048576 bytes at byte 16777216: File too large" in outcome.stderr
    assert list(tmp_path.iterdir()) == []


def test_short_file_is_reported(troubles, mpiexec, tmp_path):
    outcome = mpiexec(4, troubles, "--trouble", "read")
    assert outcome.status == 1
    assert "data.2: cannot read 1048576 bytes at byte 1000: the file ends at byte" in outcome.stderr
    assert list(tmp_path.iterdir()) == []


def test_short_file_ends_the_simulation(troubles, simulate, tmp_path):
    options = ["-n", 4, "--machine", "infiniband", "--compute", "none"]
    outcome = simulate(*options, "--", troubles, "--trouble", "read")
    assert outcome.status == 1
    assert outcome.stderr.count("error: troubles: rank 2: ") == 1
    assert list(tmp_path.iterdir()) == []


def test_full_disk_is_reported_once(troubles, mpiexec, small_disk):
    outcome = mpiexec(4, troubles, "--dir", "disk", "--trouble", "write-all", "--megabytes", "3")
    assert outcome.status == 1
    assert outcome.stderr.count("error: ") == 1
    assert "No space left on device" in outcome.stderr
    assert list(small_disk.iterdir()) == []


def test_too_little_space_is_reported_before_the_run(troubles, mpiexec, small_disk):
    outcome = mpiexec(4, troubles, "--dir", "disk", "--space", "1e7")
    assert outcome.status == 2
    message = "error: --dir disk: 6.29 MB are free, the run needs 10 MB"
    assert outcome.stderr.count(message) == 1
    assert list(small_disk.iterdir()) == []


def test_directory_that_cannot_be_written_is_wrong_usage(troubles, mpiexec, tmp_path):
    (tmp_path / "file").write_text("precious")
    for name, reason in [("nowhere", "No such file or directory"), ("file", "Not a directory")]:
        outcome = mpiexec(2, troubles, "--dir", name)
        assert outcome.status == 2
        assert outcome.stderr.count("error: ") == 1
        assert f"--dir {name}: cannot write there: {reason}" in outcome.stderr
    assert [path.name for path in tmp_path.iterdir()] == ["file"]


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_interruption_removes_temporary_files(number, troubles, tmp_path):
    command = [MPIS["debian"].mpiexec, "-n", "2", str(troubles), "--trouble", "wait"]
    with subprocess.Popen(command, cwd=tmp_path, stderr=subprocess.PIPE) as process:
        ready = tmp_path / "ready"
        end = time.monotonic() + 60
        while not ready.exists() and time.monotonic() < end:
            time.sleep(0.02)
        process.send_signal(number)
        process.communicate(timeout=60)
    assert [path.name for path in tmp_path.iterdir()] == ["ready"]
