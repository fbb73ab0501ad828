"""MPI calls under the tracer: all that is recorded, for every MPI, and what the records say."""

from __future__ import annotations

import importlib.util
import re
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import pytest
from tests.built_programs import build_program
from tests.integration.traced_mpi import (
    MPIS,
    PROGRAMS,
    ROOT,
    Bench,
    Run,
    find_compiler,
    functions_of,
    library_of,
)
from tests.products import product

EVERY_MPI = pytest.mark.parametrize("mpi", MPIS)
FORTRAN_MPI = pytest.mark.parametrize("mpi", ["mpich", "openmpi"])
# Symbols of the libraries that are no functions for C programs: predefined callbacks of Open MPI
# and its functions for Fortran's MPI_Wtime and the like.
NO_FUNCTIONS = re.compile(r"MPI_\w+_(FN|F90|IGNORE|HANDLES|EMPTY)|MPI_UNWEIGHTED")


@pytest.fixture
def bench(tmp_path: Path) -> Bench:
    return Bench(tmp_path)


def load(path: str) -> ModuleType:
    """A generator of the tracer as a module."""
    specification = importlib.util.spec_from_file_location(Path(path).stem, ROOT / path)
    assert specification is not None and specification.loader is not None
    module = importlib.util.module_from_spec(specification)
    sys.modules[specification.name] = module
    specification.loader.exec_module(module)
    return module


@pytest.fixture(scope="session")
def table() -> dict[str, tuple[bool, bool]]:
    """By symbol: whether the tracer records it, and whether its record has its name."""
    generator = load("tracer/generate_mpi_hooks.py")
    functions = generator.read_functions(ROOT / "core/mpi/functions.table")
    shapes = generator.read_shapes(ROOT / "tracer/mpi_shapes.table", functions)
    found = {}
    for function in functions:
        shape = shapes[function.name]
        recorded = not shape.reason and shape.name != "no record"
        for symbol, _ in generator.symbols_of(function, shape):
            named = recorded and shape.name != "start_exchange"
            found[symbol] = (recorded, named and symbol == function.symbol)
        if shape.reason:
            assert len(shape.reason) > 10
    return found


# --- Nothing is missed --------------------------------------------------------------------------


@EVERY_MPI
def test_every_function_of_the_library_is_recorded_or_listed(mpi, bench, table):
    functions = functions_of(
        library_of(bench.compile("mpi_plugin.c", mpi, "-shared", "-fPIC"), mpi)
    )
    assert len(functions) > 400
    unknown = {name for name in functions - set(table) if not NO_FUNCTIONS.fullmatch(name)}
    assert unknown == set()


# Two MPIs have trouble with connections, without tracer too: MPICH 4.0 may crash in
# MPI_Close_port, and MPICH 5.0 may wait for ever in MPI_Comm_accept.
CANNOT_CONNECT = ("mpich", "wheel")
CONNECTING = {"MPI_Open_port", "MPI_Comm_accept", "MPI_Comm_connect", "MPI_Close_port"}


@pytest.mark.few_cases(3)  # one of each binary interface
@EVERY_MPI
def test_every_recorded_function_makes_a_record(mpi, bench, table):
    program = bench.compile("mpi_coverage.c", mpi)
    called: dict[str, int] = {}
    for part in ("file.out", "spawn", "join", "connect", "abort"):
        if part == "connect" and mpi in CANNOT_CONNECT:
            continue
        run = bench.run(mpi, 2, program, part)
        assert (run.status != 0) == (part == "abort"), run.stderr
        for record in run.records:
            called[record.call] = called.get(record.call, 0) + 1
    functions = functions_of(library_of(program, mpi))
    wanted = {name for name in functions if table.get(name, (False, False))[1]}
    if mpi in CANNOT_CONNECT:
        wanted -= CONNECTING
    assert wanted - set(called) == set()
    assert len(wanted) > 180
    # Each of two ranks calls the large-count twin as well.
    twins = {name for name in wanted if f"{name}_c" in functions}
    assert {name for name in twins if called[name] < 4} == set()
    assert (len(twins) > 100) == (mpi != "openmpi")


# --- What the records say -----------------------------------------------------------------------


@pytest.fixture(scope="module", params=MPIS)
def values(request, tmp_path_factory) -> tuple[str, Run]:
    """The program with known values, under each MPI."""
    bench = Bench(tmp_path_factory.mktemp("values"))
    run = bench.run(request.param, 2, bench.compile("mpi_values.c", request.param))
    assert run.status == 0, run.stderr
    return request.param, run


def test_the_world_is_known(values):
    mpi, run = values
    joined = [r for r in run.records if r.shape == "joined"]
    assert sorted((r.rank, r.size) for r in joined) == [(0, 2), (1, 2)]
    assert {r.interface for r in joined} == {MPIS[mpi].interface}


def test_sends_and_receives_say_what_came(values):
    _, run = values
    sends = [(r.comm, r.peer, r.tag, r.bytes) for r in run.shaped("send", 0)]
    assert sends[:3] == [(0, 1, 11, 24), (0, -2, 12, 4), (0, 1, 100000, 1)]
    receives = [(r.peer, r.tag, r.bytes, r.asked) for r in run.of("MPI_Recv", 1)]
    assert receives[0] == (0, 11, 72, 3)
    assert (receives[1][0], receives[1][2], receives[1][3]) == (-2, 4, 0)
    assert receives[2] == (0, 100000, 1, 2)


def test_a_call_that_sends_and_receives_has_two_records(values):
    _, run = values
    send, receive = run.of("MPI_Sendrecv", 1)
    assert (send.shape, send.peer, send.tag, send.bytes) == ("send", 0, 13, 8)
    assert (receive.shape, receive.peer, receive.bytes) == ("receive", 0, 12)
    assert receive.asked == 4


def test_both_records_of_a_call_have_its_time_when_the_clock_is_renewed_between_them(bench):
    run = bench.run("mpich", 2, bench.compile("mpi_renewed_clock.c", "mpich"))
    assert run.status == 0, run.stderr
    for rank in range(2):
        records = run.of("MPI_Sendrecv", rank)
        assert len(records) == 2 * 150
        for send, receive in zip(records[::2], records[1::2], strict=True):
            assert send.duration == receive.duration


def test_requests_lead_from_start_to_completion(values):
    _, run = values
    for rank in (0, 1):
        starts = run.of("MPI_Irecv", rank)[:35]
        assert [(r.peer, r.tag) for r in starts] == [(-1, tag) for tag in range(35)]
        waits = [(r.count, r.done) for r in run.of("MPI_Waitall", rank)]
        assert waits == [(70, 70), (70, 0)]
        assert [(r.count, r.done) for r in run.of("MPI_Waitany", rank)] == [(70, 0)]
        completed = {r.request: r for r in run.shaped("completed", rank)[:70]}
        came = [completed[start.request] for start in starts]
        assert [(r.peer, r.tag) for r in came] == [(1 - rank, tag) for tag in range(35)]
        assert {r.request for r in run.of("MPI_Isend", rank)} <= set(completed)
        cancelled = [r for r in run.shaped("completed", rank) if r.flags & 1]
        assert [r.request for r in cancelled] == [run.of("MPI_Irecv", rank)[35].request]


def test_collectives_say_what_the_rank_gives(values):
    _, run = values
    given = {
        "MPI_Bcast": ([0, 0], [24, 40]),
        "MPI_Gatherv": ([8], [20]),
        "MPI_Scatter": ([32], [0]),
        "MPI_Alltoall": ([6], [6]),
        "MPI_Alltoallv": ([28], [28]),
        "MPI_Allgather": ([6], [6]),
        "MPI_Reduce_scatter": ([56], [56]),
    }
    for rank in (0, 1):
        found = {name: [r.bytes for r in run.of(name, rank) if r.comm == 0] for name in given}
        assert found == {name: expected[rank] for name, expected in given.items()}


def test_communicators_have_numbers_and_members(values):
    _, run = values
    turned, half, *rest = run.of("MPI_Comm_split", 0)
    assert (turned.parent, turned.comm, turned.members) == (0, 2, [1, 2, -1])
    assert (half.parent, half.members) == (2, [0, 1, 1])
    assert [r.comm for r in run.of("MPI_Comm_split", 1)][2] == -1
    assert rest[0].members == [0, 1, 1]
    between = run.of("MPI_Intercomm_create", 0)[0]
    assert (between.members, between.remote) == ([0, 1, 1], [1, 1, 1])
    assert [(r.peer, r.bytes) for r in run.of("MPI_Bcast", 0) if r.comm == between.comm] == [
        (-3, 4)
    ]
    copy = run.of("MPI_Comm_idup", 0)[0]
    assert (copy.parent, copy.members) == (turned.comm, [1, 2, -1])
    assert run.of("MPI_Barrier", 0)[-1].comm == copy.comm
    assert [(r.comm, r.name) for r in run.shaped("named", 0)] == [(turned.comm, "turned")]
    assert [r.comm for r in run.of("MPI_Comm_free", 0)] == [between.comm, half.comm]


def test_a_call_that_fails_is_a_plain_record(values):
    _, run = values
    assert [r.shape for r in run.of("MPI_Send", 1)] == ["plain"]
    assert run.of("MPI_Send", 1)[0].error == 6  # MPI_ERR_RANK everywhere


# --- Programs of other kinds --------------------------------------------------------------------


@FORTRAN_MPI
@pytest.mark.parametrize("source", ["mpi_old.f90", "mpi_module.f90", "mpi_new.f90"])
def test_calls_from_fortran_are_recorded_once(source, mpi, bench):
    run = bench.run(mpi, 2, bench.compile(source, mpi))
    assert run.status == 0 and "done" in run.stdout, run.stderr
    for rank in (0, 1):
        calls = [r.call for r in run.records if run.rank_of(r) == rank and r.call[:4] == "MPI_"]
        assert calls == [
            "MPI_Init", "MPI_Irecv", "MPI_Send", "MPI_Wait", "MPI_Sendrecv", "MPI_Sendrecv",
            "MPI_Allreduce", "MPI_Comm_dup", "MPI_Barrier", "MPI_File_open", "MPI_File_write_at",
            "MPI_File_close", "MPI_Comm_free", "MPI_Finalize",
        ]  # fmt: skip
        assert [r.bytes for r in run.of("MPI_Send", rank)] == [32]
        assert [r.offset for r in run.of("MPI_File_write_at", rank)] == [32 * rank]


@pytest.mark.parametrize("mpi", ["mpich", "openmpi", "wheel-abi"])
def test_files_are_seen_below_calls_on_files_only(mpi, bench):
    run = bench.run(mpi, 2, bench.compile("mpi_coverage.c", mpi), "file.out")
    below = [r for r in run.records if r.shape in ("data_at", "partial", "data")]
    opened = {r.path for r in run.records if r.shape == "open" and "file.out" in r.path}
    assert below
    assert opened


@pytest.mark.few_cases(1)
@EVERY_MPI
def test_threads_are_recorded_apart(mpi, bench):
    run = bench.run(mpi, 2, bench.compile("mpi_threads.c", mpi, "-pthread"))
    assert run.status == 0, run.stderr
    assert int(run.stdout) == 4 * sum(i + 1 for i in range(15))
    for rank in (0, 1):
        threads = {r.thread for r in run.of("MPI_Send", rank)}
        assert len(threads) == 4
        dups = run.of("MPI_Comm_dup", rank)
        assert len(dups) == len({r.comm for r in dups}) == 64
        assert [r.peer for r in run.shaped("completed", rank)] == [1 - rank] * 60
        for thread in threads:
            made = [r.comm for r in dups if r.thread == thread]
            freed = [r.comm for r in run.of("MPI_Comm_free", rank) if r.thread == thread]
            assert made == freed


@EVERY_MPI
def test_threads_of_the_library_leave_no_records(mpi, bench):
    run = bench.run(mpi, 2, bench.compile("mpi_values.c", mpi))
    assert run.records
    assert {r.thread for r in run.records} == {0}


@EVERY_MPI
def test_mpi_that_is_loaded_late_is_recorded(mpi, bench):
    plugin = bench.compile("mpi_plugin.c", mpi, "-shared", "-fPIC")
    source = PROGRAMS / "mpi_late.c"
    program = build_program("late", source, "cc", "-w", str(source), "-ldl")
    run = bench.run(mpi, 2, program, plugin)
    assert (run.status, run.stdout.split()) == (0, ["2", "2"]), run.stderr
    assert [r.bytes for r in run.of("MPI_Allreduce")] == [4, 4]


@EVERY_MPI
@pytest.mark.parametrize("order", ["before", "behind"])
def test_a_profiling_library_still_profiles(mpi, order, bench):
    profiler = bench.compile("mpi_profiler.c", mpi, "-shared", "-fPIC")
    program = bench.compile("mpi_values.c", mpi)
    tracer = tracing_library()
    preload = f"{profiler}:{tracer}" if order == "before" else f"{tracer}:{profiler}"
    run = bench.run(mpi, 2, program, LD_PRELOAD=preload)
    assert run.status == 0, run.stderr
    assert sorted(run.stdout.splitlines()) == ["rank 0 sent 4", "rank 1 sent 1"]
    assert [len(run.of("MPI_Send", rank)) for rank in (0, 1)] == [4, 1]
    # Its own calls are the program's only where it stands between the program and the tracer.
    expected = 3 if order == "before" else 2
    assert len(run.of("MPI_Barrier", 0)) == expected


def tracing_library() -> Path:
    from sesame.installed import find_installed

    return find_installed("libsesame-trace.so")


@pytest.mark.parametrize("name", ["libmpi.so.99", "libvendor.so"])
def test_an_unknown_mpi_is_reported_and_left_alone(name, bench):
    source, library = PROGRAMS / "mpi_unknown.c", bench.directory / name
    program = bench.directory / "unknown"
    make_library = ["-DLIBRARY", "-shared", "-fPIC", f"-Wl,-soname,{name}", "-o", library]
    subprocess.run(["cc", "-w", source, *make_library], check=True)
    use_library = [library, f"-Wl,-rpath,{bench.directory}", "-o", program]
    subprocess.run(["cc", "-w", source, *use_library], check=True)
    run = bench.start([program])
    assert (run.status, run.stdout) == (0, "sent 1099511627776 2.50 3.25\n")
    lines = [line for line in run.stderr.splitlines() if "MPI calls are not recorded" in line]
    assert len(lines) == 1
    assert name in lines[0]
    assert not [r for r in run.records if r.call.startswith("MPI_")]


@pytest.mark.parametrize("mpi", ["mpich", "openmpi"])
def test_only_io_hides_what_mpi_does_with_files(mpi, bench):
    run = bench.run(mpi, 2, bench.compile("mpi_values.c", mpi), SESAME_TRACE_ONLY="io")
    assert run.status == 0, run.stderr
    assert not [r for r in run.records if r.call.startswith("MPI_")]
    assert not [r for r in run.records if r.shape == "open"]


# --- Answers ------------------------------------------------------------------------------------

ANSWERS = ["callbacks.c", "communicators.c", "environment.c", "topologies.c", "mpif.f90"]
# Debian's Open MPI is of MPI 3.1, and the wheel brings no Fortran.
MISSING = [("callbacks.c", "openmpi"), ("mpif.f90", "wheel"), ("mpif.f90", "wheel-abi")]
ANSWER_CASES = [(source, mpi) for source in ANSWERS for mpi in MPIS if (source, mpi) not in MISSING]
TIMES = re.compile(r"[0-9.e+-]+ s$", re.M)


@pytest.mark.parametrize(("source", "mpi"), product(ANSWER_CASES, "{}-{}".format))
def test_a_program_gives_the_same_answer(source, mpi, bench):
    program = bench.compile(f"tests/programs/answers/{source}", mpi)
    plain = bench.run(mpi, 2, program, traced=False)
    traced = bench.run(mpi, 2, program)
    assert traced.status == plain.status == 0, traced.stderr
    lines = [sorted(TIMES.sub("", run.stdout).splitlines()) for run in (plain, traced)]
    assert lines[0] == lines[1] != []
    assert traced.of("MPI_Init") or traced.of("MPI_Init_thread")


def test_a_program_of_debian_measures_as_ever(bench, debian_program):
    program = debian_program("netpipe-mpich2", "NPmpich2")
    command = [program, "-u", "8", "-n", "20", "-p", "0"]
    plain, traced = (bench.run("mpich", 2, *command, traced=traced) for traced in (False, True))
    assert traced.status == plain.status == 0, traced.stderr
    sizes = [re.findall(r"(\d+) bytes +(\d+) times", r.stderr + r.stdout) for r in (plain, traced)]
    assert sizes[0] == sizes[1] != []
    # It sends each size 20 times in each of three trials, and a warning shot before.
    times = len(sizes[0]) * 20 * 3
    assert times <= len(traced.shaped("send", 0)) == len(traced.shaped("receive", 1))


# --- The interfaces -----------------------------------------------------------------------------

CONSTANT = re.compile(r"^#define ([A-Z][A-Z_]+) (.*)$", re.M)
# Of Open MPI predefined handles are variables, and sessions came later.
# WHENCE_SET is MPI_SEEK_SET; stdio.h has a SEEK_SET of its own.
NOT_COMPARED = re.compile(r"INTERFACE.*|KEY|REQUEST_(ID|EMPTY)|WHENCE_SET")


def constants_of(header: str, mpi: str) -> list[str]:
    text = (ROOT / "tracer" / header).read_text()
    return [
        name
        for name, value in CONSTANT.findall(text)
        if not NOT_COMPARED.fullmatch(name)
        and "sesame_" not in value
        and not (mpi == "openmpi" and name == "SESSION_NULL")
    ]


def values_by(compiler: str, header: str, prefix: str, names: list[str], directory: Path) -> str:
    """What a program prints of the constants and of the layout of a status."""
    source = directory / f"constants{prefix}.c"
    status = f"{prefix}Status"
    lines = [f'  printf("{name} %lld\\n", (long long)({prefix}{name}));' for name in names]
    lines += [
        f'  printf("{field} %zu\\n", offsetof({status}, MPI_{field}));'
        for field in ("SOURCE", "TAG", "ERROR")
    ]
    lines += [f'  printf("size %zu\\n", sizeof({status}));']
    whence = f"{prefix}SEEK_SET" if prefix else "WHENCE_SET"
    lines += [f'  printf("whence %d\\n", {whence});']
    source.write_text(
        f"#include <stddef.h>\n#include <stdio.h>\n#include {header}\nint main(void) {{\n"
        + "\n".join(lines)
        + "\n  return 0;\n}\n"
    )
    program = source.with_suffix("")
    subprocess.run([compiler, "-w", source, "-o", program], check=True)
    return subprocess.run([program], capture_output=True, text=True, check=True).stdout


@pytest.mark.parametrize(
    ("mpi", "header"),
    [
        ("mpich", "mpi_mpich.h"),
        ("wheel", "mpi_mpich.h"),
        ("wheel-abi", "mpi_mpiabi.h"),
        ("openmpi", "mpi_openmpi.h"),
    ],
)
def test_our_constants_are_those_of_the_library(mpi, header, tmp_path):
    names = constants_of(header, mpi)
    theirs = values_by(find_compiler(mpi), "<mpi.h>", "MPI_", names, tmp_path)
    ours = values_by("cc", f'"{ROOT}/tracer/{header}"', "", names, tmp_path)
    assert ours == theirs
    assert len(names) > 15
