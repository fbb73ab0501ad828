"""Statically linked MPI programs: the answers and records of the same program linked dynamically,
and what is refused."""

from __future__ import annotations

import shutil
import struct
import subprocess
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

import pyarrow.parquet as parquet
import pytest
from tests.command_line import Outcome

Simulate = Callable[..., Outcome]
Compiled = Callable[..., Path]

# Debian's MPICH needs libraries that have no archive. Only a real MPI_Init calls them.
STATIC = ("-static", "-Wl,--unresolved-symbols=ignore-all")
STATIC_PIE = ("-static-pie", "-fPIE", *STATIC[1:])
ON_INFINIBAND = ("--machine", "infiniband", "--placement", "cyclic", "--compute", "none")

# Point to point, collectives, one-sided, MPI-IO, functions of the program, arguments, Fortran, C++.
PROGRAMS = [
    ("tests/programs/processes/calls.c", ()),
    ("tests/programs/processes/deferred.c", ()),
    ("tests/programs/answers/mpif.f90", ()),
    ("tests/programs/files/data.c", ("file",)),
    ("tests/programs/answers/wildcards.c", ()),
    ("tests/programs/files/units.f90", ()),
    ("tests/programs/processes/together.c", ("operation",)),
    ("tests/programs/answers/callbacks.c", ()),
    ("tests/programs/answers/communicators.c", ()),
    ("tests/programs/answers/environment.c", ("--flag", "two words")),
    ("tests/programs/answers/own_requests.c", ("two", "words")),
    ("tests/programs/answers/spawn.c", ()),
    ("tests/programs/answers/topologies.c", ()),
    ("tests/programs/files/views.c", ("file",)),
    ("tests/programs/files/moved.c", ()),
    ("examples/nbody.cc", ("256", "3")),
    ("examples/heat.c", ("96", "100")),
]


def sorted_lines(text: str) -> list[str]:
    return sorted(text.splitlines())


@pytest.fixture
def each_way(
    simulate: Simulate, compiled: Compiled, tmp_path: Path
) -> Callable[..., dict[str, tuple[Outcome, dict[str, bytes]]]]:
    """each_way(source, *arguments): the outcome and the tables of "fibers", dynamically linked
    "processes", and "static" ones. Executables have one path, so that they print the same."""

    def execute(
        source: str,
        *arguments: str,
        ranks: int = 3,
        flags: Sequence[str] = STATIC,
        options: Sequence[str] = ON_INFINIBAND,
    ) -> dict[str, tuple[Outcome, dict[str, bytes]]]:
        found = {}
        place = tmp_path / "program"
        for way in ("fibers", "processes", "static"):
            is_static = way == "static"
            shutil.copy(compiled(source, flags=tuple(flags) if is_static else ()), place)
            data_set = tmp_path / f"{way}.sesame"
            ranks_as = () if is_static else ("--ranks-as", way)
            outcome = simulate(
                "-n", ranks, *options, *ranks_as, "-o", data_set, "--", place, *arguments
            )
            tables = {path.name: path.read_bytes() for path in data_set.glob("*.parquet")}
            found[way] = (outcome, tables)
        said = "each rank is a process (it is statically linked)"
        assert said in found["static"][0].stderr
        return found

    return execute


@pytest.mark.few_cases(4)
@pytest.mark.parametrize(("source", "arguments"), PROGRAMS)
def test_a_statically_linked_program_has_the_records_of_a_dynamically_linked_one(
    each_way: Callable[..., dict[str, tuple[Outcome, dict[str, bytes]]]],
    source: str,
    arguments: tuple[str, ...],
) -> None:
    found = each_way(source, *arguments)
    expected, tables = found["fibers"]
    assert expected.status == 0, expected.stderr
    assert "call.parquet" in tables
    for way in ("processes", "static"):
        outcome, own_tables = found[way]
        assert outcome.status == 0, outcome.stderr
        assert sorted_lines(outcome.stdout) == sorted_lines(expected.stdout)
        assert own_tables == tables


def test_one_sided_communication(
    each_way: Callable[..., dict[str, tuple[Outcome, dict[str, bytes]]]],
) -> None:
    options = ("--machine", "infiniband", "--placement", "block", "--compute", "none")
    found = each_way("tests/programs/answers/one_sided.c", ranks=4, options=options)
    assert found["static"][0].status == 0, found["static"][0].stderr
    assert sorted_lines(found["static"][0].stdout) == sorted_lines(found["fibers"][0].stdout)
    assert found["static"][1] == found["fibers"][1]


@pytest.mark.every_case
@pytest.mark.parametrize("name", ["callbacks.c", "topologies.c"])
def test_a_program_that_is_statically_linked_at_no_fixed_address(
    each_way: Callable[..., dict[str, tuple[Outcome, dict[str, bytes]]]], name: str
) -> None:
    found = each_way(f"tests/programs/answers/{name}", flags=STATIC_PIE)
    assert found["static"][0].status == 0, found["static"][0].stderr
    assert sorted_lines(found["static"][0].stdout) == sorted_lines(found["fibers"][0].stdout)
    assert found["static"][1] == found["fibers"][1]


def written(data_set: Path) -> int:
    """Bytes that were written to simulated files."""
    rows = parquet.read_table(data_set / "io.parquet").to_pylist()
    return sum(row["bytes"] for row in rows if "write" in row["call"])


@pytest.mark.parametrize("name", ["posix.c", "walks.c", "streams.c", "iostream.cc"])
def test_files_that_the_c_library_of_the_program_opens_are_simulated(
    each_way: Callable[..., dict[str, tuple[Outcome, dict[str, bytes]]]],
    tmp_path: Path,
    name: str,
) -> None:
    """Its streams are its own, so calls have other names and sizes, but the same bytes."""
    found = each_way(f"tests/programs/files/{name}", ranks=2)
    assert found["static"][0].status == 0, found["static"][0].stderr
    assert sorted_lines(found["static"][0].stdout) == sorted_lines(found["fibers"][0].stdout)
    assert written(tmp_path / "static.sesame") == written(tmp_path / "fibers.sesame")
    if name != "walks.c":
        assert written(tmp_path / "static.sesame") > 0


def test_clocks_show_simulated_time(
    each_way: Callable[..., dict[str, tuple[Outcome, dict[str, bytes]]]],
) -> None:
    options = ("--machine", "infiniband", "--compute", "fixed:30ms")
    found = each_way("tests/programs/loader/clocks.c", ranks=2, options=options)
    assert found["static"][0].status == 0, found["static"][0].stderr
    said = sorted_lines(found["static"][0].stdout)
    assert said == sorted_lines(found["fibers"][0].stdout)
    assert all(" cpu 0.0600 0.0600 0.0600 ticks " in line for line in said)


@pytest.mark.every_case
@pytest.mark.parametrize("flags", [STATIC, STATIC_PIE])
def test_what_a_program_has_once_is_its_own(
    simulate: Simulate, compiled: Compiled, flags: tuple[str, ...]
) -> None:
    program = compiled("tests/programs/processes/static_own.c", flags=flags)
    outcome = simulate("-n", 2, *ON_INFINIBAND, "--", program)
    assert outcome.status == 0, outcome.stderr
    assert sorted_lines(outcome.stdout) == ["0: all looked at", "1: all looked at"]


def test_signal_handlers_may_make_calls_at_any_instruction_of_a_call(
    simulate: Simulate, compiled: Compiled
) -> None:
    program = compiled("tests/programs/processes/signal_steps.c", flags=STATIC)
    outcome = simulate("-n", 1, *ON_INFINIBAND, "--", program)
    assert outcome.status == 0, outcome.stderr
    assert outcome.stdout == "many steps, 0 wrong answers\n"


def test_a_function_of_the_program_with_a_name_of_the_c_library_is_its_own(
    simulate: Simulate, compiled: Compiled, tmp_path: Path
) -> None:
    source = tmp_path / "names.c"
    source.write_text(
        "#include <mpi.h>\n#include <stdio.h>\n"
        "__attribute__((noipa)) int link(int a, int b) { return 100 * a + b; }\n"
        "__attribute__((noipa)) int msync(int a) { return a + 1; }\n"
        "int main(int count, char** words) {\n"
        '  MPI_Init(&count, &words);\n  printf("%d %d\\n", link(3, 4), msync(5));\n'
        "  MPI_Finalize();\n  return 0;\n}\n"
    )
    program = compiled(source, flags=(*STATIC, "-fno-builtin", "-w"))
    outcome = simulate("-n", 1, *ON_INFINIBAND, "--", program)
    assert outcome.status == 0, outcome.stderr
    assert outcome.stdout == "304 6\n"


def test_starting_the_program_is_not_its_computation(
    simulate: Simulate, compiled: Compiled, tmp_path: Path
) -> None:
    """It takes some times as long as that of a dynamic one, and took 30 times when the search of
    the symbol table counted. The least of several: other programs can only make it longer."""
    source = "tests/programs/processes/own_tool.c"
    programs = list(enumerate((compiled(source, flags=STATIC), compiled(source))))
    times = [
        [first_call_ps(simulate, one, tmp_path / f"{i}-{attempt}.sesame") for i, one in programs]
        for attempt in range(3)
    ]
    static, dynamic = (min(column) for column in zip(*times, strict=True))
    assert static < 15 * dynamic


def first_call_ps(simulate: Simulate, program: Path, data_set: Path) -> int:
    options = ("-n", 1, "--machine", "infiniband", "--ranks-as", "processes")
    outcome = simulate(*options, "-o", data_set, "--", program)
    assert outcome.status == 0, outcome.stderr
    return min(row["begin_ps"] for row in parquet.read_table(data_set / "call.parquet").to_pylist())


def test_a_tool_that_is_linked_in_sees_the_calls(simulate: Simulate, compiled: Compiled) -> None:
    program = compiled("tests/programs/processes/own_tool.c", flags=STATIC)
    outcome = simulate("-n", 2, *ON_INFINIBAND, "--", program)
    assert outcome.status == 0, outcome.stderr
    expected = [f"{rank}: the tool has seen 3 calls, the sum is 1" for rank in (0, 1)]
    assert sorted_lines(outcome.stdout) == expected


@pytest.mark.parametrize(
    ("way", "status", "message"),
    [
        ("killed", 137, "rank 1 ended by signal 9 (Killed)"),
        ("receives", 139, "rank 1 ended by signal 11 (Segmentation fault)"),
        ("exit", 1, "rank 1 has ended without calling MPI_Finalize"),
        ("pointer", 139, "rank 1: the simulator cannot read its buffer at 0x10: Bad address"),
    ],
)
def test_the_way_a_rank_ended_is_reported(
    simulate: Simulate, compiled: Compiled, way: str, status: int, message: str
) -> None:
    program = compiled("tests/programs/processes/ends.c", flags=STATIC)
    outcome = simulate("-n", 3, *ON_INFINIBAND, "--", program, way)
    assert outcome.status == status
    assert message in outcome.stderr


def test_exit_handlers_and_the_exit_status(
    each_way: Callable[..., dict[str, tuple[Outcome, dict[str, bytes]]]],
) -> None:
    found = each_way("tests/programs/loader/exits.c", ranks=2)
    assert found["static"][0].status == found["processes"][0].status
    assert sorted_lines(found["static"][0].stdout) == sorted_lines(found["processes"][0].stdout)


def test_explain_says_that_it_will_be_processes(simulate: Simulate, compiled: Compiled) -> None:
    program = compiled("tests/programs/processes/calls.c", flags=STATIC)
    outcome = simulate("--explain", program)
    assert outcome.status == 0, outcome.stderr
    assert "each rank is a process (it is statically linked)" in outcome.stdout
    assert "MPICH" in outcome.stdout


def refused(simulate: Simulate, program: Path, *options: str) -> str:
    outcome = simulate("-n", 2, "--machine", "infiniband", *options, "--", program)
    assert outcome.status == 2
    return outcome.stderr


@pytest.mark.parametrize(
    "starter", ["bash", "here", "python", "spawnp", "sh", "env", "spawn", "execl"]
)
def test_a_script_starts_the_program_of_each_rank(
    simulate: Simulate, compiled: Compiled, tmp_path: Path, starter: str
) -> None:
    program = compiled("tests/programs/processes/calls.c", flags=STATIC)
    dynamic = compiled("tests/programs/processes/calls.c")
    expected = simulate("-n", 2, *ON_INFINIBAND, "--", dynamic)
    started = {
        "sh": f"#!/bin/sh\nexec {program}\n",
        "bash": f'#!/bin/bash\n{program}\necho "ended: $?"\n',
        "env": f"#!/bin/sh\nexport PATH={program.parent}:$PATH\nexec env A=b {program.name}\n",
        "here": f"#!/bin/sh\ncd {program.parent}\nPATH=:$PATH\nexec env A=b {program.name}\n",
        "python": f"#!{sys.executable}\nimport subprocess\nsubprocess.run(['{program}'])\n",
        "spawn": f"#!{sys.executable}\nimport os\n"
        f"os.waitpid(os.posix_spawn('{program}', ['a'], os.environ), 0)\n",
        "spawnp": f"#!{sys.executable}\nimport os\nos.environ['PATH'] = '{program.parent}'\n"
        f"os.waitpid(os.posix_spawnp('{program.name}', ['a'], os.environ), 0)\n",
        "execl": f"#!{sys.executable}\nimport ctypes\n"
        f"ctypes.CDLL(None).execl(b'{program}', b'a', None)\n",
    }
    script = tmp_path / "script"
    script.write_text(started[starter])
    script.chmod(0o755)
    outcome = simulate("-n", 2, *ON_INFINIBAND, "--", script)
    assert outcome.status == 0, outcome.stderr
    added = ["ended: 0"] * 2 if starter == "bash" else []
    assert sorted_lines(outcome.stdout) == sorted([*expected.stdout.splitlines(), *added])


def test_a_script_may_start_statically_linked_programs_without_mpi(
    simulate: Simulate, compiled: Compiled, tmp_path: Path
) -> None:
    (tmp_path / "words.c").write_text(
        '#include <stdio.h>\nint main(int c, char** v) { printf("%d %s\\n", c, v[1]); return 3; }\n'
    )
    subprocess.run(["cc", "-static", "-o", tmp_path / "words", tmp_path / "words.c"], check=True)
    program = compiled("tests/programs/processes/calls.c", flags=STATIC)
    script = tmp_path / "script"
    script.write_text(f'#!/bin/sh\n./words "two words"\necho "ended: $?"\nexec {program}\n')
    script.chmod(0o755)
    outcome = simulate("-n", 1, *ON_INFINIBAND, "--", script)
    assert outcome.status == 0, outcome.stderr
    assert "2 two words\nended: 3\n" in outcome.stdout


def test_it_cannot_be_copied(simulate: Simulate, compiled: Compiled) -> None:
    program = compiled("tests/programs/processes/calls.c", flags=STATIC)
    said = refused(simulate, program, "--ranks-as", "fibers")
    assert "is statically linked, so it cannot be copied" in said
    assert "hint: " in said


def test_a_stripped_program_is_refused(
    simulate: Simulate, compiled: Compiled, tmp_path: Path
) -> None:
    stripped = tmp_path / "stripped"
    program = compiled("tests/programs/processes/calls.c", flags=STATIC)
    subprocess.run(["strip", "-o", stripped, program], check=True)
    assert "is statically linked and has no symbol table" in refused(simulate, stripped)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("int main() {}", "is statically linked and not an MPI program"),
        ("int ompi_mpi_comm_world; void PMPI_Init() {} int main() {}", "with Open MPI"),
        ("void PMPI_Init() {} int main() {}", "with an MPI that is not known"),
    ],
)
def test_programs_without_the_right_mpi_are_refused(
    simulate: Simulate, tmp_path: Path, text: str, message: str
) -> None:
    (tmp_path / "program.c").write_text(text)
    command = ["cc", "-static", "-w", "-o", tmp_path / "program", tmp_path / "program.c"]
    subprocess.run(command, check=True)
    assert message in refused(simulate, tmp_path / "program")


@pytest.mark.every_case
@pytest.mark.parametrize(
    ("field", "message"),
    [("entry point", "its entry point is not loaded"), ("address", "an impossible size")],
)
def test_damaged_files_are_refused(
    simulate: Simulate, compiled: Compiled, tmp_path: Path, field: str, message: str
) -> None:
    whole = compiled("tests/programs/processes/calls.c", flags=STATIC).read_bytes()
    # Of the ELF header: e_entry, and e_phoff; of the first segment there: p_vaddr.
    at = 24 if field == "entry point" else struct.unpack_from("<Q", whole, 32)[0] + 16
    program = tmp_path / "program"
    program.write_bytes(whole[:at] + struct.pack("<Q", 1 << 60) + whole[at + 8 :])
    program.chmod(0o755)
    said = refused(simulate, program)
    assert "is a damaged ELF file: " in said
    assert message in said


def with_symbol_at(whole: bytes, symbol: bytes, address: int) -> bytes:
    changed = bytearray(whole)
    # elf.h: e_shoff, then sh_type, sh_offset, sh_size and sh_link of each section of 64 bytes.
    begin, count = struct.unpack_from("<Q", whole, 40)[0], struct.unpack_from("<H", whole, 60)[0]
    sections = [struct.unpack_from("<IIQQQQI", whole, begin + 64 * i) for i in range(count)]
    symbols = next(section for section in sections if section[1] == 2)  # SHT_SYMTAB
    names = sections[symbols[6]][4]
    for at in range(symbols[4], symbols[4] + symbols[5], 24):
        name = names + struct.unpack_from("<I", whole, at)[0]
        if whole[name : name + len(symbol) + 1] == symbol + b"\0":
            struct.pack_into("<Q", changed, at + 8, address)  # st_value
    return bytes(changed)


def loaded_at(whole: bytes, flags: int) -> int:
    """Where the segment with these flags (PF_X 1, PF_W 2, PF_R 4) begins, in memory."""
    begin, count = struct.unpack_from("<Q", whole, 32)[0], struct.unpack_from("<H", whole, 56)[0]
    segments = [struct.unpack_from("<IIQQ", whole, begin + 56 * i) for i in range(count)]
    return next(segment[3] for segment in segments if segment[:2] == (1, flags)) + 64  # PT_LOAD


@pytest.mark.parametrize(
    ("symbol", "flags", "message"),
    [
        ("__curbrk", None, "has no __curbrk"),
        ("__curbrk", 5, "has no __curbrk"),
        ("malloc", 6, "has no malloc"),
        ("PMPI_Init", 6, "is not in its code"),
        ("MPI_UNWEIGHTED", 4, "has a constant of MPI that cannot be set"),
        (None, 6, "its entry point is not code"),
    ],
)
def test_a_symbol_where_it_cannot_be_is_refused(
    simulate: Simulate,
    compiled: Compiled,
    tmp_path: Path,
    symbol: str | None,
    flags: int | None,
    message: str,
) -> None:
    whole = compiled("tests/programs/answers/topologies.c", flags=STATIC).read_bytes()
    address = 1 << 60 if flags is None else loaded_at(whole, flags)
    program = tmp_path / "program"
    if symbol is None:
        program.write_bytes(whole[:24] + struct.pack("<Q", address) + whole[32:])  # e_entry
    else:
        moved = with_symbol_at(whole, symbol.encode(), address)
        if symbol == "PMPI_Init":
            moved = with_symbol_at(moved, b"MPI_Init", address)
        program.write_bytes(moved)
    program.chmod(0o755)
    outcome = simulate("-n", 1, "--machine", "infiniband", "--", program)
    assert outcome.status == 2
    assert message in outcome.stderr


def test_threads_are_refused(simulate: Simulate, compiled: Compiled) -> None:
    program = compiled("tests/programs/processes/threads.c", flags=(*STATIC, "-fopenmp"))
    for kind in ("openmp", "pthreads"):
        outcome = simulate("-n", 2, *ON_INFINIBAND, "--", program, kind, "2")
        assert outcome.status == 2
        assert "starts a thread, which statically linked programs cannot do here" in outcome.stderr
