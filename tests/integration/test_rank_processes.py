"""Ranks that are processes of their own: the same answers and records as with fibers, programs that
cannot be copied, and clean ends."""

from __future__ import annotations

import importlib.util
import os
import re
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest
from tests.command_line import SESAME, Outcome, run
from tests.integration.installations import ROOT
from tests.products import product

PROGRAMS = ROOT / "tests/programs/processes"
NOT_PIE = ("-no-pie", "-fno-pie")
ON_INFINIBAND = ("--machine", "infiniband", "--placement", "cyclic", "--compute", "none")
Simulate = Callable[..., Outcome]
Compiled = Callable[..., Path]

# Workloads and programs that compute, exchange and reduce in different ways.
WORKLOADS = [
    ("ep", 4, ("--class", "S")),
    ("is", 4, ("--class", "S")),
    ("cg", 4, ("--class", "S")),
    ("mg", 4, ("--class", "S")),
    ("ft", 4, ("--class", "S")),
    ("lu", 4, ("--class", "S", "--steps", "5")),
]
SOURCES = [
    ("tests/programs/processes/calls.c", ()),
    ("tests/programs/processes/together.c", ("operation",)),
    ("tests/programs/answers/callbacks.c", ()),
    ("tests/programs/answers/communicators.c", ()),
    ("tests/programs/answers/environment.c", ("--flag", "two words")),
    ("tests/programs/answers/own_requests.c", ("two", "words")),
    ("tests/programs/answers/ports.c", ()),
    ("tests/programs/answers/spawn.c", ()),
    ("tests/programs/answers/spawn.f90", ()),
    ("tests/programs/answers/topologies.c", ()),
    ("tests/programs/answers/wildcards.c", ()),
    ("tests/programs/answers/mpif.f90", ()),
    ("examples/nbody.cc", ("256", "3")),
    ("examples/heat.c", ("96", "100")),
]
MPIS_OF_SOURCES = ["debian", "openmpi", "wheel-abi"]
# The wheel brings no Fortran.
CASES = [
    (source, arguments, mpi)
    for source, arguments in SOURCES
    for mpi in MPIS_OF_SOURCES
    if (Path(source).suffix, mpi) != (".f90", "wheel-abi")
]


def tables_of(data_set: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in sorted(data_set.glob("*.parquet"))}


def executable(path: Path, text: str) -> Path:
    path.write_text(text)
    path.chmod(0o755)
    return path


def sorted_lines(text: str) -> list[str]:
    """What different ranks print comes in any order from processes."""
    return sorted(text.splitlines())


@pytest.fixture
def both_ways(simulate: Simulate, tmp_path: Path) -> Callable[..., None]:
    """both_ways(ranks, program, *arguments): runs it as fibers and as processes, and compares."""

    def check(
        ranks: int, program: Path, *arguments: str, options: Sequence[str] = ON_INFINIBAND
    ) -> None:
        outputs = {}
        for way in ("fibers", "processes"):
            data_set = tmp_path / f"{way}.sesame"
            outcome = simulate(
                "-n", ranks, *options, "--ranks-as", way, "-o", data_set,
                "--", program, *arguments,
            )  # fmt: skip
            assert outcome.status == 0, outcome.stderr
            outputs[way] = outcome.stdout
        assert sorted_lines(outputs["fibers"]) == sorted_lines(outputs["processes"])
        fibers = tables_of(tmp_path / "fibers.sesame")
        assert "call.parquet" in fibers
        assert fibers == tables_of(tmp_path / "processes.sesame")

    return check


@pytest.mark.few_cases(2)
@pytest.mark.parametrize(("name", "ranks", "arguments"), WORKLOADS)
def test_a_workload_as_processes_has_the_records_of_fibers(
    both_ways: Callable[..., None],
    program: Callable[[str], Path],
    name: str,
    ranks: int,
    arguments: tuple[str, ...],
) -> None:
    both_ways(ranks, program(name), *arguments)


@pytest.mark.few_cases(6)
@pytest.mark.parametrize(("source", "arguments", "mpi"), product(CASES, "{0}-{2}".format))
def test_a_program_as_processes_has_the_records_of_fibers(
    both_ways: Callable[..., None],
    compiled: Compiled,
    source: str,
    arguments: tuple[str, ...],
    mpi: str,
) -> None:
    both_ways(3, compiled(source, mpi), *arguments)


@pytest.mark.parametrize("mpi", MPIS_OF_SOURCES)
@pytest.mark.parametrize("compute", ["none", "fixed:1us"])
def test_deferred_calls_have_the_records_of_fibers(
    both_ways: Callable[..., None], compiled: Compiled, mpi: str, compute: str
) -> None:
    # Messages of 900 bytes wait for their receive.
    options = (
        "--machine", "infiniband", "--placement", "cyclic",
        "--compute", compute, "--set", "network.eager_limit=512B",
    )  # fmt: skip
    both_ways(3, compiled("tests/programs/processes/deferred.c", mpi), options=options)


@pytest.mark.parametrize(("limit", "printed"), [("512B", []), ("1kB", ["sent", "sent"])])
def test_a_program_does_not_continue_after_a_send_that_waits_for_ever(
    simulate: Simulate, compiled: Compiled, limit: str, printed: list[str]
) -> None:
    options = (*ON_INFINIBAND, "--ranks-as", "processes", "--set", f"network.eager_limit={limit}")
    outcome = simulate("-n", 2, *options, "--", compiled(f"{PROGRAMS}/send_deadlock.c"))
    assert outcome.stdout.splitlines() == printed
    assert ("deadlock" in outcome.stderr) == (not printed)


def test_a_type_that_does_not_exist_is_an_error_of_the_call(
    both_ways: Callable[..., None], compiled: Compiled
) -> None:
    both_ways(2, compiled("tests/programs/processes/wrong_type.c"))


@pytest.mark.parametrize("mpi", MPIS_OF_SOURCES)
def test_an_executable_at_a_fixed_address_runs_as_processes(
    simulate: Simulate, compiled: Compiled, mpi: str
) -> None:
    movable = compiled("tests/programs/processes/calls.c", mpi)
    fixed = compiled("tests/programs/processes/calls.c", mpi, NOT_PIE)
    expected = simulate("-n", 4, *ON_INFINIBAND, "--", movable)
    outcome = simulate("-n", 4, *ON_INFINIBAND, "--", fixed)
    assert outcome.status == 0, outcome.stderr
    assert sorted_lines(outcome.stdout) == sorted_lines(expected.stdout)
    assert "each rank is a process (it is not position-independent)" in outcome.stderr
    assert "each rank" not in expected.stderr


def test_a_program_may_have_the_name_of_one_that_starts_programs(
    simulate: Simulate, compiled: Compiled, tmp_path: Path
) -> None:
    program = tmp_path / "time2"
    shutil.copy(compiled("tests/programs/processes/calls.c"), program)
    outcome = simulate("--explain", program)
    assert "ranks are fibers, copies of the program" in outcome.stdout, outcome.stderr


def test_a_program_with_its_own_malloc_runs_as_processes(
    simulate: Simulate, compiled: Compiled
) -> None:
    program = compiled("tests/programs/processes/own_malloc.c")
    expected = simulate("-n", 4, *ON_INFINIBAND, "--", compiled(SOURCES[0][0]))
    outcome = simulate("-n", 4, *ON_INFINIBAND, "--", program)
    assert outcome.status == 0, outcome.stderr
    assert sorted_lines(outcome.stdout) == sorted_lines(expected.stdout)
    assert "each rank is a process (it brings its own malloc)" in outcome.stderr


@pytest.mark.parametrize("mpi", ["debian", "openmpi"])
def test_a_script_starts_the_program_of_each_rank(
    simulate: Simulate, compiled: Compiled, tmp_path: Path, mpi: str
) -> None:
    program = compiled("tests/programs/processes/calls.c", mpi, NOT_PIE)
    alone = simulate("-n", 2, *ON_INFINIBAND, "--", program)
    script = executable(
        tmp_path / "start.sh",
        '#!/bin/sh\necho "the script with $# words"\n"$1"\necho "ended: $?"\n',
    )
    outcome = simulate("-n", 2, *ON_INFINIBAND, "--", script, program, "x")
    assert outcome.status == 0, outcome.stderr
    added = ["the script with 2 words", "ended: 0"] * 2
    assert sorted_lines(outcome.stdout) == sorted([*alone.stdout.splitlines(), *added])
    assert "each rank is a process (it is a script)" in outcome.stderr


def test_python_with_mpi4py(simulate: Simulate) -> None:
    if importlib.util.find_spec("mpi4py") is None:
        pytest.skip("mpi4py is not installed: pip install mpi4py")
    outcome = simulate("-n", 4, *ON_INFINIBAND, "--", sys.executable, PROGRAMS / "app.py")
    assert outcome.status == 0, outcome.stderr
    lines = sorted_lines(outcome.stdout)
    assert lines == sorted(
        line
        for rank in range(4)
        for line in (
            f"{rank}: [1, 2.5, None] and 5000 letters from {(rank - 1) % 4}",
            f"{rank}: 10.0 [3, 9, 7] 0123 {[0, 1, 4, 9] if rank == 0 else None}",
            f"{rank}: half of 2, slept [2.0, 2.0], on infiniband-{rank}",
            f"{rank}: True",
        )
    )
    assert "predicted time 2.00 s on 4 ranks" in outcome.stderr


def test_a_script_is_checked_and_makes_a_series(
    simulate: Simulate, compiled: Compiled, tmp_path: Path
) -> None:
    program = compiled("tests/programs/processes/calls.c")
    script = executable(tmp_path / "start.sh", f"#!/bin/sh\nexec {program}\n")
    machine = ("--machine", "infiniband", "--compute", "none")
    made = run(
        [
            *SESAME,
            "check",
            "--baseline",
            "base.sesame",
            "--update",
            "-n",
            "3",
            *machine,
            "--",
            str(script),
        ],
        tmp_path,
    )
    assert made.status == 0, made.stderr
    checked = run([*SESAME, "check", "--baseline", "base.sesame"], tmp_path)
    assert checked.status == 0, checked.stderr
    assert "passed" in checked.stdout + checked.stderr
    series = simulate("-n", "3,4", *machine, "--json", "--", script)
    assert series.status == 0, series.stderr
    alone = simulate("-n", 3, *machine, "--json", "--", script)
    times = [point["predicted_time_s"] for point in series.json["runs"]]
    assert times[0] == alone.json["predicted_time_s"] < times[1]


def test_ranks_compute_at_once(simulate: Simulate, compiled: Compiled, tmp_path: Path) -> None:
    if len(os.sched_getaffinity(0)) < 2:
        pytest.skip("one processor: ranks compute one after another")
    program = compiled("tests/programs/processes/together.c", "debian", NOT_PIE)
    outcome = simulate("-n", 2, *ON_INFINIBAND, "--cwd", tmp_path, "--", program, "wait")
    assert outcome.status == 0, outcome.stderr
    assert sorted_lines(outcome.stdout) == [f"{rank}: the other computes" for rank in (0, 1)]


@pytest.mark.few_cases(1)
@pytest.mark.parametrize("kind", ["openmp", "pthreads"])
def test_a_rank_computes_as_long_as_its_threads_do_on_the_cores_that_it_has(
    simulate: Simulate, compiled: Compiled, kind: str
) -> None:
    program = compiled("tests/programs/processes/threads.c", "debian", ("-fopenmp", "-pthread"))

    def predicted_s(threads: int, *options: str) -> float:
        outcome = simulate(
            "-n", 2, "--machine", "infiniband", "--placement", "cyclic", "--ranks-as", "processes",
            *options, "--json", "--", program, kind, threads,
        )  # fmt: skip
        assert outcome.status == 0, outcome.stderr
        return float(outcome.json["predicted_time_s"])

    alone = predicted_s(1)
    # The host has fewer processors than the target cores. Its threads may slow each other down.
    assert alone / 12 < predicted_s(8) < alone / 3
    assert alone / 1.5 < predicted_s(8, "--set", "node.cores=1") < alone * 2.5


@pytest.mark.parametrize(
    ("options", "program", "words"),
    [
        (
            (),
            "calls.c",
            "ranks are fibers, copies of the program in one process (it can be",
        ),
        (("--ranks-as", "processes"), "calls.c", "each rank is a process (you asked for it)"),
        ((), "script.sh", "each rank is a process (it is a script); its MPI is known when it"),
        ((), sys.executable, "loads MPI while it runs); its MPI is known when it"),
    ],
)
def test_explain_says_how_a_program_will_be_run_and_runs_nothing(
    simulate: Simulate,
    compiled: Compiled,
    tmp_path: Path,
    options: tuple[str, ...],
    program: str,
    words: str,
) -> None:
    paths = {
        "calls.c": compiled("tests/programs/processes/calls.c", "openmpi"),
        "script.sh": executable(tmp_path / "script.sh", "#!/bin/sh\necho it ran\n"),
    }
    outcome = simulate("--explain", *options, paths.get(program, program))
    assert outcome.status == 0, outcome.stderr
    assert words in outcome.stdout
    assert "it ran" not in outcome.stdout
    assert ("Open MPI" in outcome.stdout) == (program == "calls.c")


@pytest.mark.parametrize("mpi", MPIS_OF_SOURCES)
def test_one_sided_communication_has_the_records_of_fibers(
    both_ways: Callable[..., None], compiled: Compiled, mpi: str
) -> None:
    one_node = ("--machine", "infiniband", "--placement", "block", "--compute", "none")
    both_ways(4, compiled("tests/programs/answers/one_sided.c", mpi), options=one_node)


@pytest.mark.parametrize("mpi", MPIS_OF_SOURCES)
@pytest.mark.parametrize("name", ["data.c", "views.c", "whole.c"])
@pytest.mark.parametrize("machine", ["infiniband", "paragon --collective two-phase"])
def test_files_of_mpi_have_the_records_of_fibers(
    both_ways: Callable[..., None], compiled: Compiled, machine: str, name: str, mpi: str
) -> None:
    options = ("--machine", *machine.split(), "--compute", "none")
    both_ways(4, compiled(f"tests/programs/files/{name}", mpi), "file", options=options)


def of_each(ranks: int, *texts: str) -> list[str]:
    return sorted(f"{rank}: {text}" for rank in range(ranks) for text in texts)


def python_program(
    simulate: Simulate, name: str, *arguments: str, options: Sequence[str]
) -> Outcome:
    if importlib.util.find_spec("mpi4py") is None:
        pytest.skip("mpi4py is not installed: pip install mpi4py")
    program = (sys.executable, PROGRAMS / name, *arguments)
    outcome = simulate("-n", 4, *options, "--compute", "none", "--", *program)
    assert outcome.status == 0, outcome.stderr
    return outcome


def test_mpi4py_reads_and_writes_simulated_files(simulate: Simulate, tmp_path: Path) -> None:
    options = ("--machine", "infiniband", "--files", "kept")
    outcome = python_program(simulate, "files.py", "data", options=options)
    external = "".join(f"{rank:08x}ffffffff" for rank in range(4))
    assert sorted_lines(outcome.stdout) == of_each(
        4,
        f"blocks {[rank * factor for rank in range(4) for factor in (1, 10, 100)]}",
        "view of 2: [0, 2, 4, 6, 1] True",
        "view of 5000: [0, 5000, 10000, 15000, 1] True",
        "nonblocking [7, 8, 9, 10] of 80000 bytes",
        f"external32 {external}",
        "True",
    )
    assert (tmp_path / "kept/data").read_bytes().startswith(bytes.fromhex(external))
    assert not (tmp_path / "data").exists()
    assert "file systems" in outcome.stderr


def test_a_program_opens_what_mpi_io_wrote_with_files_in_its_directory(
    simulate: Simulate, tmp_path: Path
) -> None:
    options = ("--machine", "infiniband", "--files", ".")
    python_program(simulate, "files.py", "data", options=options)
    assert (tmp_path / "data").stat().st_size == 80000


def test_one_sided_communication_with_mpi4py(simulate: Simulate) -> None:
    options = ("--machine", "infiniband", "--placement", "block")
    outcome = python_program(simulate, "windows.py", options=options)
    expected = of_each(
        4,
        "counted [100, 101, 102, 103], then [104, 10]",
        "swapped [7, 7, 7, 104]",
        "the neighbour has added one: True",
    )
    for rank in range(4):
        after, before = (rank + 1) % 4, (rank - 1) % 4
        expected += [
            *(f"{rank}: {count} put {{{before}}} got {{{rank}}}" for count in (3, 20000)),
            f"{rank}: posted {before + 0.5}",
            f"{rank}: neighbour on the node has {after * 11}, in units of 8",
            f"{rank}: attached [{rank}, {before + 1}]",
        ]
    assert sorted_lines(outcome.stdout) == sorted(expected)


def test_labels_and_standard_input_are_those_of_ranks(simulate: Simulate) -> None:
    script = "read line; echo got $line"
    outcome = simulate(
        "-n", 2, *ON_INFINIBAND, "--ranks-as", "processes", "--label", "--", "/bin/sh", "-c",
        f"{script}; exit 3", stdin="words\n",
    )  # fmt: skip
    assert outcome.status == 3
    assert sorted_lines(outcome.stdout) == ["[0] got words", "[1] got"]


WAYS = [
    ("killed", 137, "rank 1 ended by signal 9 (Killed)"),
    ("receives", 139, "rank 1 ended by signal 11 (Segmentation fault)"),
    ("exit", 1, "rank 1 has ended without calling MPI_Finalize"),
    ("spawn killed", 137, "(rank 0 of those spawned as "),
    ("spawn killed", 137, ") ended by signal 9 (Killed)"),
    ("files", 2, "rank 1 cannot map the 4096 bytes of a window: Too many open files"),
    ("pointer", 139, "rank 1: the simulator cannot read its buffer at 0x10: Bad address"),
    ("window", 139, "rank 1: the simulator cannot write its buffer at 0x10: Bad address"),
]


@pytest.mark.parametrize(("way", "status", "message"), WAYS)
def test_the_way_a_rank_ended_is_reported(
    simulate: Simulate, compiled: Compiled, way: str, status: int, message: str
) -> None:
    program = compiled("tests/programs/processes/ends.c", "debian", NOT_PIE)
    outcome = simulate("-n", 3, *ON_INFINIBAND, "--", program, *way.split())
    assert outcome.status == status
    assert message in outcome.stderr


def test_a_rank_that_ends_has_made_its_deferred_calls(
    simulate: Simulate, compiled: Compiled
) -> None:
    program = compiled("tests/programs/processes/ends.c", "debian", NOT_PIE)
    outcome = simulate("-n", 2, *ON_INFINIBAND, "--", program, "sends")
    assert outcome.status == 1
    assert "0: received 7" in outcome.stdout
    assert "rank 1 has ended without calling MPI_Finalize" in outcome.stderr


@pytest.mark.every_case
@pytest.mark.parametrize("prefix", [(), ("taskset", "-c", "0")])
@pytest.mark.parametrize(
    ("way", "what"),
    [("computes", "computes"), ("sleeps", "waits for something outside of MPI")],
)
def test_a_rank_without_a_call_for_long_is_named(
    compiled: Compiled, tmp_path: Path, prefix: Sequence[str], way: str, what: str
) -> None:
    program = compiled("tests/programs/processes/ends.c", "debian", NOT_PIE)
    command = [
        *prefix, *SESAME, "simulate", "-n", "3", *ON_INFINIBAND, "--", str(program), way,
    ]  # fmt: skip
    environment = {**os.environ, "SESAME_REPORT_SILENCE_S": "0.2"}
    outcome = run(command, tmp_path, env=environment)
    assert outcome.status == 0, outcome.stderr
    reports = re.findall(r"sesame: no call of a rank for (\S+) s: (.+)", outcome.stderr)
    # On a busy machine other ranks may need as long before their first call.
    assert any(f"rank 1 {what} since simulated time" in who for _, who in reports)
    assert min(float(seconds) for seconds, _ in reports) >= 0.2


@pytest.mark.parametrize("value", ["often", "", "-1", "nan", "10 s"])
def test_the_time_without_a_call_is_checked(compiled: Compiled, tmp_path: Path, value: str) -> None:
    program = compiled("tests/programs/processes/ends.c", "debian", NOT_PIE)
    command = [*SESAME, "simulate", "-n", "2", *ON_INFINIBAND, "--", str(program), "sends"]
    outcome = run(command, tmp_path, env={**os.environ, "SESAME_REPORT_SILENCE_S": value})
    assert outcome.status == 2
    assert f"SESAME_REPORT_SILENCE_S is '{value}', expected seconds" in outcome.stderr


def test_no_report_of_time_without_a_call_is_asked_for(compiled: Compiled, tmp_path: Path) -> None:
    program = compiled("tests/programs/processes/ends.c", "debian", NOT_PIE)
    command = [*SESAME, "simulate", "-n", "3", *ON_INFINIBAND, "--", str(program), "sleeps"]
    outcome = run(command, tmp_path, env={**os.environ, "SESAME_REPORT_SILENCE_S": "inf"})
    assert outcome.status == 0, outcome.stderr
    assert "no call of a rank" not in outcome.stderr


def processes_with(word: str) -> list[int]:
    """The processes that have this word among theirs."""
    found = []
    for entry in Path("/proc").iterdir():
        try:
            words = (entry / "cmdline").read_bytes().split(b"\0") if entry.name.isdigit() else []
        except OSError:
            continue
        if word.encode() in words:
            found.append(int(entry.name))
    return found


def none_left(word: str) -> bool:
    for _ in range(100):
        if not processes_with(word):
            return True
        time.sleep(0.1)
    return False


def test_a_child_of_a_rank_ends_with_the_run(simulate: Simulate, compiled: Compiled) -> None:
    program = compiled("tests/programs/processes/ends.c", "debian", NOT_PIE)
    seconds = str(100_000 + os.getpid())
    outcome = simulate("-n", 2, *ON_INFINIBAND, "--", program, "child", seconds)
    assert outcome.status == 0, outcome.stderr
    assert none_left(seconds)


def test_a_child_that_a_rank_forks_is_no_rank(simulate: Simulate, compiled: Compiled) -> None:
    program = compiled("tests/programs/processes/ends.c", "debian", NOT_PIE)
    outcome = simulate("-n", 3, *ON_INFINIBAND, "--", program, "fork")
    assert outcome.status == 0, outcome.stderr
    assert "the child's clock is the host's" in outcome.stdout
    assert "the child ended with 2 of 3 ranks, the clock is simulated" in outcome.stdout
    assert "a process that is no rank of the simulation called MPI" in outcome.stderr


def test_a_child_of_vfork_reads_the_clock_of_the_host(
    simulate: Simulate, compiled: Compiled
) -> None:
    program = compiled("tests/programs/processes/ends.c", "debian", NOT_PIE)
    outcome = simulate("-n", 2, *ON_INFINIBAND, "--", program, "vfork")
    assert outcome.status == 0, outcome.stderr
    assert outcome.stdout == "the child's clock is the host's, the parent's is simulated\n"


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGKILL])
def test_an_interrupted_run_leaves_no_process(
    compiled: Compiled, tmp_path: Path, number: signal.Signals
) -> None:
    program = compiled("tests/programs/processes/ends.c", "debian", NOT_PIE)
    word = f"unique-{os.getpid()}-{number}"
    command = [*SESAME, "simulate", "-n", "3", *ON_INFINIBAND, "--", str(program), "loop", word]
    started = subprocess.Popen(command, cwd=tmp_path, stderr=subprocess.DEVNULL)
    while len(processes_with(word)) < 4:  # the command and the ranks
        assert started.poll() is None
        time.sleep(0.05)
    started.send_signal(number)
    assert started.wait(30) == (130 if number == signal.SIGINT else -signal.SIGKILL)
    assert none_left(word)


def test_an_interrupted_run_leaves_no_spawned_process(compiled: Compiled, tmp_path: Path) -> None:
    program = compiled("tests/programs/processes/ends.c", "debian", NOT_PIE)
    word = f"spawned-{os.getpid()}"
    ranks = ["-n", "3", *ON_INFINIBAND, "--", str(program), "spawn", "loop", word]
    started = subprocess.Popen(
        [*SESAME, "simulate", *ranks], cwd=tmp_path, stderr=subprocess.DEVNULL
    )
    while len(processes_with(word)) < 5:  # the command, the ranks and the one that is spawned
        assert started.poll() is None
        time.sleep(0.05)
    started.send_signal(signal.SIGINT)
    assert started.wait(30) == 130
    assert none_left(word)


def test_what_is_no_mpi_program_is_refused(simulate: Simulate, tmp_path: Path) -> None:
    script = executable(tmp_path / "script.sh", "#!/bin/sh\ntrue\n")
    outcome = simulate("-n", 2, *ON_INFINIBAND, "--", script)
    outcome.assert_refused("is not an MPI program: none of its processes loaded MPI")
    outcome = simulate("-n", 2, *ON_INFINIBAND, "--ranks-as", "fibers", "--", script)
    outcome.assert_refused("is a script (#!/bin/sh), expected an MPI program in binary form")
    assert "hint: leave --ranks-as out: its ranks can be processes" in outcome.stderr


def test_ends_are_seen_where_the_caller_ignores_their_signal(compiled, tmp_path: Path) -> None:
    command = [*SESAME, "simulate", "-n", "2", *ON_INFINIBAND, "--ranks-as", "processes", "--"]
    heat = str(compiled("examples/heat.c"))
    ignoring = ["env", "--ignore-signal=CHLD", *command, heat, "48", "5"]
    done = subprocess.run(ignoring, cwd=tmp_path, capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr


def test_sensitivity_is_refused(simulate: Simulate, tmp_path: Path) -> None:
    script = executable(tmp_path / "script.sh", "#!/bin/sh\ntrue\n")
    outcome = simulate("-n", 2, *ON_INFINIBAND, "--sensitivity", "--", script)
    outcome.assert_refused("--sensitivity is not for ranks that are processes, and this program's")


def test_a_traced_run_has_no_ranks_that_are_processes(simulate: Simulate) -> None:
    outcome = simulate(*ON_INFINIBAND, "--ranks-as", "processes", "run.sesame")
    outcome.assert_refused("--ranks-as is for programs, and run.sesame is a traced run")


def test_a_program_of_another_mpi_than_its_ranks_before_is_refused(
    simulate: Simulate, compiled: Compiled, tmp_path: Path
) -> None:
    programs = [compiled("tests/programs/processes/calls.c", mpi) for mpi in ("debian", "openmpi")]
    script = executable(
        tmp_path / "script.sh",
        "#!/bin/sh\ncase $SESAME_RANK_SLOT in\n"
        f"*:0) exec {programs[0]} ;;\n*) exec {programs[1]} ;;\nesac\n",
    )
    outcome = simulate("-n", 2, *ON_INFINIBAND, "--", script)
    assert outcome.status == 2
    assert "uses another MPI" in outcome.stderr
