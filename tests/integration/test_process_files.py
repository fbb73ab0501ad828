"""Files of ranks that are processes, by POSIX and what uses it: Python, threads, children."""

from __future__ import annotations

import importlib.util
import sys
from collections.abc import Callable
from pathlib import Path

import pyarrow.parquet as parquet
import pytest
from tests.command_line import Outcome
from tests.integration.installations import ROOT

PROGRAMS = ROOT / "tests/programs/processes"
Simulate = Callable[..., Outcome]
Compiled = Callable[..., Path]
OPTIONS = ("--machine", "infiniband", "--placement", "cyclic", "--compute", "none")


def lines(outcome: Outcome) -> list[str]:
    assert outcome.status == 0, outcome.stdout + outcome.stderr
    return sorted(outcome.stdout.splitlines())


def python(name: str, *modules: str) -> tuple[str, Path]:
    for module in ("mpi4py", *modules):
        if importlib.util.find_spec(module) is None:
            pytest.skip(f"{module} is not installed: pip install {module}")
    return sys.executable, PROGRAMS / name


def calls(data_set: Path) -> list[dict[str, object]]:
    """What the records have of each call on a file; the files of mpi4py itself are left out."""
    files = parquet.read_table(data_set / "file.parquet").to_pylist()
    paths = {file["index"]: Path(file["path"]).name for file in files}
    found = []
    for call in parquet.read_table(data_set / "io.parquet").to_pylist():
        name = paths.get(call["file"])
        if name is not None and name.startswith(("own-", "dir-", "moved")):
            found.append({**call, "file": name, "handle": None, "begin_ns": None})
    return found


@pytest.mark.parametrize("mpi", ["debian", "openmpi", "wheel-abi"])
@pytest.mark.parametrize("name", ["posix.c", "walks.c", "moved.c", "streams.c", "iostream.cc"])
def test_files_of_posix_have_the_records_of_fibers(
    simulate: Simulate, compiled: Compiled, tmp_path: Path, name: str, mpi: str
) -> None:
    program = compiled(f"tests/programs/files/{name}", mpi)
    said, tables = [], []
    for way in ("fibers", "processes"):
        data_set = tmp_path / f"{way}.sesame"
        options = ("--machine", "infiniband", "--compute", "none", "--ranks-as", way)
        said.append(lines(simulate("-n", 2, *options, "-o", data_set, "--", program)))
        tables.append({path.name: path.read_bytes() for path in data_set.glob("*.parquet")})
    assert said[0] == said[1]
    assert "io.parquet" in tables[0]
    assert tables[0] == tables[1]
    if name == "posix.c":
        found = [line for line in said[0] if ": no name " in line or ": no directory " in line]
        assert len(found) == 8
        assert all(line.endswith(" -1 1") for line in found)


def test_python_takes_the_time_of_a_c_program_with_the_same_calls(
    simulate: Simulate, compiled: Compiled, tmp_path: Path
) -> None:
    programs = {
        "fibers": ((compiled("tests/programs/processes/same_calls.c"),), "fibers"),
        "processes": ((compiled("tests/programs/processes/same_calls.c"),), "processes"),
        "python": (python("same_calls.py"), "processes"),
    }
    said, found = {}, {}
    for name, (program, way) in programs.items():
        data_set = tmp_path / f"{name}.sesame"
        options = (*OPTIONS, "--ranks-as", way, "-o", data_set)
        said[name] = lines(simulate("-n", 2, *options, "--", *program))
        found[name] = calls(data_set)
    expected = [
        f"{rank}: 199995 5 {other} 200000 0 time passed" for rank, other in ((0, "b"), (1, "a"))
    ]
    assert said["fibers"] == said["processes"] == said["python"] == expected
    assert found["fibers"] == found["processes"] == found["python"]
    # Of two ranks, each as same_calls.c says.
    assert sum(int(str(call["duration_ns"])) for call in found["python"]) > 200_000


def test_python_programs_use_simulated_files(simulate: Simulate, tmp_path: Path) -> None:
    program = python("open_files.py", "numpy")
    outcome = simulate("-n", 2, *OPTIONS, "--files", "kept", "--", *program)
    said = [
        "text 8890", "loaded True", "mapped {0}", "raw True", "gone True", "threads 120000",
        "names [('copy', False), ('er', True)] []", "in in-{1} 1", "child", "time passed",
    ]  # fmt: skip
    expected = [f"{rank}: {text.format(5.0 + rank, rank)}" for rank in (0, 1) for text in said]
    assert lines(outcome) == sorted(expected)
    assert (tmp_path / "kept/array-1.npy").exists()
    assert not (tmp_path / "array-1.npy").exists()
    assert "children that were" not in outcome.stderr


@pytest.mark.parametrize("inherits", ["kept", "closed"])
def test_a_child_finds_the_bytes_of_a_file_and_the_run_says_that_it_takes_no_time(
    simulate: Simulate, compiled: Compiled, inherits: str
) -> None:
    program = compiled("tests/programs/processes/heirs.c")
    options = (*OPTIONS, "--ranks-as", "processes")
    outcome = simulate("-n", 1, *options, "--", program, inherits)
    found = "rankchild|by stream" if inherits == "kept" else "rank|"
    assert outcome.stdout.splitlines() == [found, "no time"]
    note = "note: what children that were started while files were open (rank 0) do to "
    assert (note in outcome.stderr) == (inherits == "kept")


def test_no_data_are_kept_when_they_are_discarded(simulate: Simulate, compiled: Compiled) -> None:
    program = compiled("tests/programs/processes/same_calls.c")
    said = {}
    for way in ("fibers", "processes"):
        options = (*OPTIONS, "--discard-data", "--ranks-as", way)
        said[way] = lines(simulate("-n", 2, *options, "--", program))
    assert said["fibers"] == said["processes"]
