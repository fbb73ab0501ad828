"""POSIX and stdio I/O of programs on the file systems of a machine."""

from __future__ import annotations

import re

import pytest
from tests.integration.small_machine import small_machine

PROGRAMS = ("posix.c", "walks.c", "moved.c", "streams.c", "iostream.cc", "units.f90")


def said(text: str) -> list[str]:
    return sorted(line for line in text.splitlines() if re.match(r"rank +\d+:", line))


@pytest.fixture
def machine(tmp_path):
    def write(more: str = "", cores: int = 1):
        path = tmp_path / "machine.toml"
        path.write_text(small_machine(cores, more))
        return path

    return write


@pytest.mark.few_cases(3)
@pytest.mark.parametrize("source", PROGRAMS)
def test_a_program_finds_in_its_files_what_it_finds_in_a_real_run(
    source, compiled, mpiexec, simulate, machine, tmp_path
):
    program = compiled(f"tests/programs/files/{source}")
    work = tmp_path / "work"
    work.mkdir()
    ours = simulate("-n", 2, "--machine", machine(), "--files", "../b", "--", program, cwd=work)
    assert ours.status == 0, ours.stdout + ours.stderr
    assert list(work.glob("*-[01]")) == []
    real = mpiexec(2, program)
    assert real.status == 0, real.stdout + real.stderr
    assert said(ours.stdout) == said(real.stdout) != []


def values(text: str) -> dict[str, float]:
    return {name: float(value) for name, value in re.findall(r"^(\w+) ([-\d.e]+)$", text, re.M)}


def test_times_are_those_of_the_analytic_model(compiled, simulate, machine):
    program = compiled("tests/programs/files/times.c")
    run = ("-n", 1, "--machine", machine(), "--compute", "none", "--", program)
    for size in (0, 1 << 10, 1 << 20, 5 << 20):
        ours = simulate(*run, size)
        assert ours.status == 0, ours.stdout + ours.stderr
        seen = values(ours.stdout)
        expected = 1e-3 + size / 100e6 if size else 0.0
        # Each is between two readings of the clock, 25 ns.
        for call in ("write", "pread", "map"):
            assert seen[call] == pytest.approx(expected, abs=30e-9), call
        # A stream's data go in one write: the C library writes whole blocks past its buffer.
        whole = size // 4096 * 4096
        in_one = 1e-3 + whole / 100e6 if whole else 0.0
        assert seen["stream"] == pytest.approx(in_one, abs=30e-9)
        assert seen["later"] == pytest.approx(max(expected, 0.5), abs=1e-6)
        assert seen["nothing"] == pytest.approx(0, abs=30e-9)


def test_computation_between_polls_overlaps_an_asynchronous_write(compiled, simulate, machine):
    program = compiled("tests/programs/files/poll.c")
    ours = simulate("-n", 1, "--machine", machine(), "--", program, 20_000_000, 0.005)
    assert ours.status == 0, ours.stdout + ours.stderr
    seen = values(ours.stdout)
    # The write takes 0.2 s, in which about 40 slices of 5 ms fit.
    assert 0.2 <= seen["elapsed"] < 0.4
    assert 10 <= seen["slices"] <= 80


def test_a_wait_for_asynchronous_writes_ends_with_the_first_or_at_its_limit(
    compiled, simulate, machine
):
    program = compiled("tests/programs/files/suspend.c")
    run = ("-n", 1, "--machine", machine(), "--compute", "none", "--", program)
    ours = simulate(*run, 1_000_000, 5_000_000)  # 11 ms and 51 ms
    assert ours.status == 0, ours.stdout + ours.stderr
    seen = values(ours.stdout)
    assert seen["limited"] == pytest.approx(5e-3, abs=1e-6)
    assert (seen["limited_status"], seen["limited_again"]) == (-1, 1)
    assert seen["first"] == pytest.approx(6e-3, abs=1e-6)
    assert seen["first_status"] == 0
    assert (seen["short_ended"], seen["long_ended"]) == (1, 0)
    assert seen["last"] == pytest.approx(51e-3, abs=1e-6)  # one I/O node: they go one by one


def test_each_part_of_a_mapping_is_written_when_it_is_unmapped(compiled, simulate, machine):
    program = compiled("tests/programs/files/unmapped.c")
    ours = simulate("-n", 1, "--machine", machine(), "--compute", "none", "--", program)
    assert ours.status == 0, ours.stdout + ours.stderr
    seen = values(ours.stdout)
    for part, pages in (("middle", 1), ("end", 2), ("begin", 2)):
        assert seen[part] == pytest.approx(1e-3 + pages * 4096 / 100e6, abs=30e-9), part
    assert seen["other"] == pytest.approx(0, abs=30e-9)


def test_ranks_on_other_nodes_see_shared_files_and_no_local_ones(compiled, simulate, machine):
    program = compiled("tests/programs/files/shared.c")
    ours = simulate("-n", 2, "--machine", machine(), "--", program)
    assert ours.status == 0, ours.stdout + ours.stderr
    assert values(ours.stdout) == {"shared": 1, "local": 0}
    together = simulate("-n", 2, "--machine", machine(cores=2), "--", program)
    assert values(together.stdout) == {"shared": 1, "local": 1}


def test_a_full_file_system_says_so(compiled, simulate, machine):
    program = compiled("tests/programs/files/full.c")
    ours = simulate("-n", 1, "--machine", machine('capacity = "1 MB"'), "--", program)
    assert ours.status == 0, ours.stdout + ours.stderr
    assert values(ours.stdout) == {"first": 600000, "second": -1, "full": 1, "again": 600000}
    assert "note: a simulated file system was full" in ours.stderr


def test_an_open_file_keeps_its_space_after_its_name_is_gone(compiled, simulate, machine):
    program = compiled("tests/programs/files/unlinked.c")
    ours = simulate("-n", 1, "--machine", machine('capacity = "1 MB"'), "--", program)
    assert ours.status == 0, ours.stdout + ours.stderr
    assert values(ours.stdout) == {
        "mpi_open": -1,
        "mpi_closed": 600000,
        "posix_open": -1,
        "posix_closed": 600000,
    }


def test_a_full_disk_of_the_host_is_not_taken_for_a_simulated_one(
    compiled, simulate, machine, small_disk
):
    (small_disk / "other").write_bytes(bytes(5_500_000))
    program = compiled("tests/programs/files/full.c")
    kept = small_disk / "kept"
    run = simulate("-n", 1, "--machine", machine(""), "--files", kept, "--", program)
    assert run.status == 2, run.stderr
    assert "cannot keep the bytes of this simulated file: No space left on device" in run.stderr
    assert f"sesame: {kept}" in run.stderr
    assert "hint: free space there" in run.stderr


def test_real_files_are_seen_and_stay_as_they_are(compiled, simulate, machine, tmp_path):
    program = compiled("tests/programs/files/overlay.c")
    work = tmp_path / "work"
    work.mkdir()
    (work / "input").write_text("as it was")
    (work / "gone").write_text("still here")
    run = ("-n", 1, "--machine", machine(), "--files", tmp_path / "b", "--", program)
    ours = simulate(*run, cwd=work)
    assert ours.status == 0, ours.stdout + ours.stderr
    assert values(ours.stdout) == {"read": 9, "wrote": 3, "removed": 0, "listed": 1}
    assert (work / "input").read_text() == "as it was"
    assert (work / "gone").read_text() == "still here"
    assert (tmp_path / "b/input").read_text() == "NEWit was"
    assert not (tmp_path / "b/gone").exists()


def test_files_of_the_directory_itself_are_changed_when_asked_for(
    compiled, simulate, machine, tmp_path
):
    program = compiled("tests/programs/files/overlay.c")
    work = tmp_path / "work"
    work.mkdir()
    (work / "input").write_text("as it was")
    (work / "gone").write_text("")
    ours = simulate("-n", 1, "--machine", machine(), "--files", ".", "--", program, cwd=work)
    assert ours.status == 0, ours.stdout + ours.stderr
    assert (work / "input").read_text() == "NEWit was"
    assert not (work / "gone").exists()


def test_discarded_data_keep_their_size(compiled, simulate, machine, tmp_path):
    program = compiled("tests/programs/files/times.c")
    run = ("-n", 1, "--machine", machine(), "--files", tmp_path / "b", "--discard-data")
    ours = simulate(*run, "--", program, 5000)
    assert ours.status == 0, ours.stdout + ours.stderr
    assert (tmp_path / "b/written").read_bytes() == bytes(5000)


def test_time_in_file_systems_is_reported_for_each_rank(compiled, simulate, machine):
    program = compiled("tests/programs/files/times.c")
    run = ("-n", 1, "--machine", machine(), "--compute", "none", "--", program, 100_000_000)
    ours = simulate(*run)
    assert ours.status == 0, ours.stderr
    assert "file systems" in ours.stderr
