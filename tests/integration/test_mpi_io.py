"""Programs that use MPI-IO find in their files under the simulator what they find under mpiexec."""

from __future__ import annotations

import re

import pytest
from tests.products import product

from sesame.datasets import DataSet

DIRECTORY = "tests/programs/files"
PROGRAMS = ("data.c", "views.c", "whole.c", "forms.c")
FORTRAN = ("mpif.f90", "f08.f90", "module.f90")
CASES = [(name, mpi) for name in PROGRAMS for mpi in ("debian", "wheel-abi", "openmpi")]
CASES += [(name, mpi) for name in FORTRAN for mpi in ("debian", "openmpi")]
CASES.remove(("whole.c", "wheel-abi"))  # the wheel's own library crashes in it under mpiexec
CASES.remove(("forms.c", "openmpi"))  # functions of MPI 4 with large counts


def said(text: str) -> list[str]:
    """What the ranks say, in an order that does not depend on theirs."""
    return sorted(line for line in text.splitlines() if line.startswith("rank "))


@pytest.mark.few_cases(6)
@pytest.mark.parametrize(("name", "mpi"), product(CASES, "{}-{}".format))
def test_a_program_on_files_says_the_same_as_under_mpiexec(
    name, mpi, compiled, mpiexec, simulate, tmp_path
):
    program = compiled(f"{DIRECTORY}/{name}", mpi)
    # Open MPI 4.1.4's own MPI-IO crashes in some of these calls, and accepts others that are wrong.
    true_mpi = "debian" if mpi == "openmpi" else mpi
    true_program = compiled(f"{DIRECTORY}/{name}", true_mpi)
    for ranks in (1, 4):
        real = mpiexec(ranks, true_program, str(tmp_path / "real"), mpi=true_mpi)
        ours = simulate("-n", ranks, "--machine", "infiniband", "--", program, tmp_path / "ours")
        assert real.status == 0, real.stdout + real.stderr
        assert ours.status == 0, ours.stdout + ours.stderr
        assert said(ours.stdout) == said(real.stdout) != []


@pytest.mark.parametrize("strategy", ["barrier", "grouping", "two-phase", "disk-directed"])
@pytest.mark.parametrize("name", ["data.c", "views.c"])
def test_the_strategy_changes_nothing_in_the_files(name, strategy, compiled, simulate, tmp_path):
    program = compiled(f"{DIRECTORY}/{name}")
    machine = ("--machine", "infiniband")
    plain = simulate("-n", 4, *machine, "--", program, tmp_path / "host")
    chosen = ("--collective", strategy)
    ours = simulate("-n", 4, *machine, *chosen, "--", program, "simulated")
    assert ours.status == 0, ours.stdout + ours.stderr
    assert said(ours.stdout) == said(plain.stdout) != []


@pytest.mark.parametrize("ranks", ["fibers", "processes"])
@pytest.mark.parametrize("mpi", ["debian", "wheel-abi", "openmpi"])
def test_representations_convert_as_the_standard_says(mpi, ranks, compiled, simulate, tmp_path):
    program = compiled(f"{DIRECTORY}/representations.c", mpi)
    options = ("-n", 2, "--machine", "infiniband", "--ranks-as", ranks)
    run = simulate(*options, "--", program, tmp_path / "file")
    assert run.status == 0, run.stdout + run.stderr
    assert said(run.stdout) == sorted(
        f"rank 0: {line}"
        for line in (
            "the same name again: dup datarep",
            "extent of a vector in the file: 24",
            "byte offset of item 3: 24",
            "turned: count 6 elements 6",
            "it is turned back: 1",
            "bytes are turned: 1",
            "conversions: 2",
            "external32 longs: count 6 elements 6",
            "size with longs of four bytes: 36",
            "external32 longs over the end: count 6 elements 6",
            "they are read back: 1",
        )
    )


def test_collective_calls_go_by_the_strategy_where_the_machine_or_the_user_says_so(
    compiled, simulate
):
    """Each rank has a part of its own: on its own it writes that, together one rank writes all."""
    program = compiled(f"{DIRECTORY}/parts.c")

    def requests(*options: str) -> int:
        done = simulate("-n", 4, "--machine", "infiniband", *options, "--", program, "f")
        assert done.status == 0, done.stderr
        counted = re.search(r"^shared +\d+ +(\d+)", done.stderr, re.M)
        assert counted is not None, done.stderr
        return int(counted[1])

    assert requests() == 4
    assert requests("--set", "storage.collective.cb_write=disable") == 4
    assert requests("--set", "storage.collective.cb_write=enable") == 1
    assert requests("--collective", "two-phase") == 1


def test_collective_calls_that_do_not_match_are_named(compiled, simulate, tmp_path):
    program = compiled(f"{DIRECTORY}/mismatch.c")
    run = simulate("-n", 2, "--machine", "infiniband", "--", program, tmp_path / "file")
    assert run.status == 1
    for name in ("MPI_File_read_at_all", "MPI_File_write_at_all", "do not match"):
        assert name in run.stderr


def test_files_of_the_host_take_no_time(compiled, simulate, tmp_path, tmp_path_factory):
    elsewhere = tmp_path_factory.mktemp("host") / "elsewhere"
    program = compiled(f"{DIRECTORY}/mismatch.c")
    run = simulate("-n", 1, "--machine", "infiniband", "--", program, elsewhere)
    assert run.status == 0, run.stderr
    assert f"no file system for {elsewhere}" in run.stderr


def test_a_new_file_lies_as_its_hints_say(compiled, simulate, tmp_path):
    program = compiled(f"{DIRECTORY}/hints.c", "debian")
    run = simulate(
        "-n",
        2,
        "--machine",
        "infiniband",
        "-o",
        tmp_path / "a.sesame",
        "--",
        program,
        "/lustre/new",
    )
    assert run.status == 0, run.stdout + run.stderr
    assert run.stdout.splitlines() == [
        "made striping_factor=2",
        "made striping_unit=131072",
        "made start_iodevice=3",
        "again striping_factor=2",  # it has data
    ]
    written = DataSet(tmp_path / "a.sesame").table("storage_ionode").column("bytes_written")
    assert written.to_pylist() == [0, 0, 0, 1 << 20, 1 << 20, *([0] * 11)]


def test_a_rank_that_leaves_out_a_collective_write_is_named(compiled, simulate):
    program = compiled(f"{DIRECTORY}/absent.c", "debian")
    run = simulate("-n", 2, "--machine", "infiniband", "--", program)
    assert run.status == 1
    assert (
        "rank 0 in MPI_File_write_all waits for a message from rank 1 in the collective on the "
        "file file; rank 1 has ended"
    ) in run.stderr


def test_ordered_and_split_accesses_have_their_offsets(compiled, simulate, tmp_path):
    program = compiled(f"{DIRECTORY}/split_offsets.c")
    run = simulate("-n", 2, "--machine", "infiniband", "-o", "run.sesame", "--", program)
    assert run.status == 0, run.stdout + run.stderr
    rows = DataSet(tmp_path / "run.sesame").table("io").to_pylist()

    def offsets(call: str) -> list[int]:
        return sorted(row["offset"] for row in rows if row["call"] == call)

    # The view begins at byte 100; integers have 4 bytes, each rank writes 10.
    assert offsets("MPI_File_write_at_all_begin") == [120, 160]
    assert offsets("MPI_File_write_all_begin") == [300, 340]
    assert offsets("MPI_File_write_ordered") == [100, 140]
