"""What cannot be simulated, and what goes wrong in a run: a clear message, the right status."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import time
from pathlib import Path

import pytest
from tests.command_line import SESAME, run

ON = ("-n", 2, "--machine", "infiniband")


def shared_memory() -> set[Path]:
    """Without the objects of real MPI jobs, which may stay when a test ends such a job."""
    objects = set(Path("/dev/shm").iterdir())
    return {one for one in objects if not one.name.startswith(("mpich", "ucx", "vader_segment"))}


def in_use(place: Path) -> bool:
    """A process has it open or mapped: PostgreSQL or a browser, of a test beside this one."""
    for process in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):  # it has ended
            files = [str(file.resolve()) for file in (process / "fd").iterdir()]
            if str(place) in "\n".join([*files, (process / "maps").read_text()]):
                return True
    return False


@pytest.fixture(autouse=True)
def nothing_stays_in_shared_memory():
    before = shared_memory()
    yield
    deadline = time.monotonic() + 10
    while left := {one for one in shared_memory() - before if not in_use(one)}:
        assert time.monotonic() < deadline, left
        time.sleep(0.05)  # one that another test is just making or removing


def build(tmp_path: Path, text: str, *flags: str, compiler: str = "mpicc.mpich") -> Path:
    source = tmp_path / "program.c"
    source.write_text("#include <stdlib.h>\n#include <stdio.h>\n" + text)
    program = tmp_path / "program"
    subprocess.run([compiler, "-w", *flags, str(source), "-o", str(program)], check=True)
    return program


MAIN = (
    "#include <mpi.h>\nint main(int c, char **v) { int rank; MPI_Init(&c, &v);"
    "MPI_Comm_rank(MPI_COMM_WORLD, &rank); %s MPI_Finalize(); return 0; }"
)


@pytest.mark.parametrize(
    ("text", "flags", "compiler", "options", "said"),
    [
        ("int main(void) { return 0; }", (), "cc", (), "MPI"),
        (MAIN % "", ("-no-pie",), "mpicc.mpich", ("--ranks-as", "fibers"), "position"),
        ("int main(void) { return 0; }", ("-static",), "cc", (), "static"),
    ],
    ids=["no MPI", "not position independent", "static"],
)
def test_a_program_that_cannot_run_is_refused_with_a_hint(
    text, flags, compiler, options, said, tmp_path, simulate
):
    program = build(tmp_path, text, *flags, compiler=compiler)
    outcome = simulate(*ON, *options, "--", program)
    assert outcome.status == 2
    assert said in outcome.stderr
    assert outcome.stdout == ""


def test_what_the_simulator_refuses_is_an_error_as_any_other(compiled, simulate):
    outcome = simulate("-n", 2000, "--machine", "paragon", "--", compiled("examples/samplesort.c"))
    outcome.assert_refused("2000 ranks do not fit on paragon")
    assert outcome.stderr.startswith("error: ")


def test_a_program_that_is_not_there_is_named(simulate):
    outcome = simulate(*ON, "--", "no-such-program")
    assert outcome.status == 2
    assert "no-such-program" in outcome.stderr


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ('latency = "5 parsecs"', "parsecs"),
        ('bandwidth = "-3 GB/s"', "-3 GB/s"),
        ('latencie = "5 us"', "latencie"),
    ],
)
def test_a_wrong_machine_file_is_answered_with_file_and_line(
    line, said, tmp_path, compiled, simulate
):
    machine = tmp_path / "mine.toml"
    machine.write_text(
        'name = "mine"\nnodes = 4\n[network]\nlatency = "1 us"\nbandwidth = "1 GB/s"\n'
    )
    key = line.split(" ")[0]
    kept = [old for old in machine.read_text().splitlines() if not old.startswith(key + " ")]
    machine.write_text("\n".join([*kept, line]) + "\n")
    number = len(kept) + 1
    outcome = simulate("-n", 2, "--machine", machine, "--", compiled("examples/samplesort.c"))
    assert outcome.status == 2
    assert f"mine.toml:{number}:" in outcome.stderr
    assert said in outcome.stderr


@pytest.mark.parametrize(
    ("body", "status", "said"),
    [
        ("if (rank == 1) *(volatile int *)8 = 1;", 128 + signal.SIGSEGV, "rank 1"),
        ("if (rank == 1) abort();", 128 + signal.SIGABRT, "rank 1"),
        ("if (rank == 1) exit(7);", 7, "rank 1"),
        ("if (rank == 1) MPI_Abort(MPI_COMM_WORLD, 9);", 9, "rank 1 called MPI_Abort"),
        ("if (rank == 1) exit(0);", 1, "MPI_Finalize"),
        ("int x; MPI_Send(&x, 1, MPI_INT, 5, 0, MPI_COMM_WORLD);", None, "rank 5"),
        (
            'MPI_Close_port("no port");',
            1,
            "MPI_Close_port",
        ),
    ],
    ids=["crash", "abort", "exit status", "MPI_Abort", "no finalize", "wrong rank", "missing call"],
)
def test_what_goes_wrong_in_a_rank_is_reported_with_its_number(
    body, status, said, tmp_path, simulate
):
    outcome = simulate(*ON, "--", build(tmp_path, MAIN % body))
    assert outcome.status == status if status is not None else outcome.status != 0
    assert said in outcome.stderr


def test_the_status_of_a_rank_counts_although_another_waits_for_it(tmp_path, simulate):
    body = "if (rank == 1) exit(7); MPI_Barrier(MPI_COMM_WORLD);"
    outcome = simulate(*ON, "--", build(tmp_path, MAIN % body))
    assert outcome.status == 7
    assert "rank 1 ended with exit status 7" in outcome.stderr
    assert "rank 0 in MPI_Barrier waits for a message from rank 1" in outcome.stderr


def test_a_rank_that_left_out_finalize_is_named(tmp_path, simulate):
    body = "if (rank == 1) return 0; MPI_Barrier(MPI_COMM_WORLD);"
    outcome = simulate(*ON, "--", build(tmp_path, MAIN % body))
    assert outcome.status == 1
    assert "rank 0 in MPI_Barrier waits for a message from rank 1" in outcome.stderr
    assert "; rank 1 has ended without calling MPI_Finalize" in outcome.stderr


def test_the_text_of_a_file_error_has_its_reason(tmp_path, simulate):
    body = (
        "MPI_File f; char t[MPI_MAX_ERROR_STRING]; int n;"
        'int e = MPI_File_open(MPI_COMM_SELF, "no/such", MPI_MODE_RDONLY, MPI_INFO_NULL, &f);'
        "MPI_Error_string(e, t, &n); if (rank == 0) puts(t);"
        "MPI_Error_string(MPI_ERR_READ_ONLY, t, &n); if (rank == 0) puts(t);"
    )
    outcome = simulate(*ON, "--", build(tmp_path, MAIN % body))
    assert outcome.status == 0, outcome.stderr
    first, second = outcome.stdout.splitlines()
    assert first == "no such file: cannot open no/such: No such file or directory"
    assert ":" not in second  # another error, which nothing has matched


@pytest.mark.parametrize(
    ("call", "arguments"),
    [
        ("Recv", "&x, 1, MPI_INT, 1 - rank, 3, MPI_COMM_WORLD, MPI_STATUS_IGNORE"),
        ("Probe", "1 - rank, 3, MPI_COMM_WORLD, MPI_STATUS_IGNORE"),
        ("Mprobe", "1 - rank, 3, MPI_COMM_WORLD, &m, MPI_STATUS_IGNORE"),
    ],
)
def test_a_deadlock_is_explained(tmp_path, simulate, call, arguments):
    body = f"int x = 0; MPI_Message m; (void)x; (void)m; MPI_{call}({arguments});"
    outcome = simulate(*ON, "--", build(tmp_path, MAIN % body))
    assert outcome.status == 1
    assert "deadlock" in outcome.stderr
    assert f"rank 0 in MPI_{call} waits for a message from rank 1 with tag 3" in outcome.stderr
    assert "0 -> 1 -> 0" in outcome.stderr


def test_more_ranks_than_the_kernel_can_map_are_refused_with_the_limit(compiled, simulate):
    limit = int(Path("/proc/sys/vm/max_map_count").read_text())
    program = compiled("examples/samplesort.c")
    outcome = simulate(
        "-n",
        limit,
        "--machine",
        "infiniband",
        "--set",
        "topology.arity=[1000,1000]",
        "--set",
        "nodes=1000000",
        "--",
        program,
    )
    assert outcome.status == 2
    assert "max_map_count" in outcome.stderr


def test_ctrl_c_ends_a_run_at_once_and_leaves_nothing(tmp_path):
    program = build(tmp_path, MAIN % 'puts("started"); fflush(stdout); for (;;) rank ^= 1;')
    before = {path.name for path in tmp_path.iterdir()}
    process = subprocess.Popen(
        [
            *SESAME,
            "simulate",
            "-n",
            "2",
            "--machine",
            "infiniband",
            "-o",
            "run.sesame",
            "--",
            str(program),
        ],
        cwd=tmp_path,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        start_new_session=True,
        text=True,
    )
    assert process.stdout.readline() == "started\n"
    os.killpg(process.pid, signal.SIGINT)
    begin = time.monotonic()
    process.communicate(timeout=30)
    assert process.returncode == 130
    assert time.monotonic() - begin < 10
    assert {path.name for path in tmp_path.iterdir()} == before


@pytest.mark.parametrize(
    ("verb", "arguments"),
    [
        ("trace", ["-o", "{}", "--", "cat", "/dev/null"]),
        ("trace", ["--from-raw", "{}", "-o", "run.sesame"]),
        ("info", ["{}"]),
        ("report", ["{}"]),
        ("replay", ["{}", "--dir", "."]),
        ("import", ["{}", "-o", "run.sesame"]),
        ("export", ["{}", "--to", "csv", "--file", "run-csv"]),
        ("simulate", ["-n", "2", "--machine", "{}", "--", "true"]),
    ],
)
def test_a_path_that_the_system_refuses_gives_no_stack_trace(verb, arguments, tmp_path):
    """As one behind a directory that may not be searched, which root always may."""
    refused = "long" * 100
    outcome = run([*SESAME, verb, *(part.format(refused) for part in arguments)], tmp_path)
    assert outcome.status == 2
    assert "File name too long" in outcome.stderr
    assert "Traceback" not in outcome.stderr
    assert list(tmp_path.iterdir()) == []


def test_a_full_disk_is_reported_and_leaves_no_data_set(tmp_path, compiled, simulate):
    if os.geteuid() != 0:
        pytest.skip("mounting a small file system needs root")
    small = tmp_path / "small"
    small.mkdir()
    mounted = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=64k", "none", str(small)],
        capture_output=True,
        check=False,
    )
    if mounted.returncode != 0:
        pytest.skip("this container may not mount")
    try:
        program = compiled("tests/programs/answers/wildcards.c")
        outcome = simulate(
            "-n", 32, "--machine", "infiniband", "-o", small / "run.sesame", "--", program
        )
        assert outcome.status == 2
        assert "space" in outcome.stderr.lower()
        assert list(small.iterdir()) == []
    finally:
        subprocess.run(["umount", str(small)], check=True)
