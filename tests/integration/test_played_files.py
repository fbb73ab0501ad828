"""The calls of a traced run on files go through the file systems of the machine."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from tests.command_line import SESAME, Outcome, run

from sesame.datasets import DataSet

MACHINES = ["infiniband", "ethernet", "sp2", "paragon"]
ROUNDS = 5


def trace_real_run(ranks: int, command: list[object], directory: Path) -> Path:
    if shutil.which("mpiexec.mpich") is None:
        pytest.skip("mpiexec.mpich is not installed")
    launch = map(str, ["mpiexec.mpich", "-n", ranks, *command])
    traced = run([*SESAME, "trace", "-o", "real.sesame", "--", *launch], directory)
    assert traced.status == 0, traced.stderr
    return directory / "real.sesame"


def played(outcome: Outcome) -> dict:
    assert outcome.status == 0, outcome.stderr
    return outcome.json


def notes_of_io(result: dict) -> list[str]:
    return [note for note in result.get("notes", []) if note.startswith("I/O")]


@pytest.fixture
def ring(compiled, tmp_path: Path) -> Path:
    """Two ranks that write and sync 4 KiB in turns, in /…/data."""
    (tmp_path / "data").mkdir()
    program = compiled("bench/programs/token_ring.c")
    return trace_real_run(2, [program, ROUNDS, 100, tmp_path / "data"], tmp_path)


@pytest.mark.few_cases(2)
@pytest.mark.parametrize("machine", MACHINES)
def test_posix_calls_take_the_time_of_the_machine(machine, ring, simulate, tmp_path: Path):
    options = ("--machine", machine, "--map", f"{tmp_path}/data=.", "--json")
    result = played(simulate(ring, *options, "-o", "played.sesame"))
    assert result["file_bytes_written"] == 2 * ROUNDS * 4096
    assert result["device_writes"] > 0
    assert notes_of_io(result) == []
    files = DataSet(tmp_path / "played.sesame").table("storage_file").to_pylist()
    written = {Path(row["name"]).name: row["bytes_written"] for row in files if row["writes"]}
    assert written == {f"ring.{rank}": ROUNDS * 4096 for rank in range(2)}
    calls = DataSet(tmp_path / "played.sesame").table("call_total").column("name").to_pylist()
    assert "MPI_Comm_rank" not in calls  # the player's own
    slow = played(simulate(ring, *options, "--set", "storage.server_overhead=50ms"))
    waits = 2 * ROUNDS * 0.05  # each write, one after the other; a sync waits at least as often
    assert slow["predicted_time_s"] > result["predicted_time_s"] + waits


def test_keys_of_storage_can_be_swept(ring, simulate, tmp_path: Path):
    where = ("--map", f"{tmp_path}/data=.")
    sweep = ("--sweep", "storage.device.write_latency=1ms,10ms,100ms")
    # What was computed between a write and its sync, as measured, hides some of the latency.
    options = (*where, *sweep, "--compute", "none", "--json")
    outcome = simulate(ring, "--machine", "infiniband", *options)
    times = [one["predicted_time_s"] for one in played(outcome)["runs"]]
    syncs = 2 * ROUNDS
    assert times[1] - times[0] == pytest.approx(syncs * 9e-3, rel=0.01)
    assert times[2] - times[1] == pytest.approx(syncs * 90e-3, rel=0.01)


def test_files_elsewhere_take_the_time_that_they_took(ring, simulate, tmp_path: Path):
    (tmp_path / "another").mkdir()  # "." of the machine
    result = played(simulate(ring, "--machine", "ethernet", "--json", cwd=tmp_path / "another"))
    assert result["predicted_time_s"] > 0
    assert "file_bytes_written" not in result or result["file_bytes_written"] == 0
    (note,) = notes_of_io(result)
    assert note.endswith(f"to have it predicted: --map {tmp_path}/data=/nfs")
    mapped = played(simulate(ring, "--machine", "ethernet", "--json", *note.split()[-2:]))
    assert mapped["file_bytes_written"] == 2 * ROUNDS * 4096


def test_what_is_not_predicted_is_reported_before_the_prediction(ring, simulate, tmp_path: Path):
    (tmp_path / "another").mkdir()
    outcome = simulate(ring, "--machine", "ethernet", cwd=tmp_path / "another")
    assert outcome.status == 0
    first = outcome.stderr.index("note: I/O takes the time it took")
    assert first < outcome.stderr.index("predicted time")


def test_files_of_the_working_directory_are_on_its_mount(ring, simulate, tmp_path: Path):
    """What lies there now is not seen: the traced run made its files."""
    (tmp_path / "data" / "ring.0").write_bytes(b"of today")
    options = ("--machine", "ethernet", "-o", "played.sesame", "--json")
    result = played(simulate(ring, *options))
    assert result["file_bytes_written"] == 2 * ROUNDS * 4096
    assert (tmp_path / "data" / "ring.0").read_bytes() == b"of today"


@pytest.mark.few_cases(2)
@pytest.mark.parametrize("io", ["full", "posix", "simple"])
def test_a_program_with_mpi_io_writes_as_many_bytes_as_in_the_simulator(
    io, program, simulate, tmp_path: Path
):
    ranks = 1 if io == "posix" else 4
    command = [program("bt"), "--class", "S", "--io", io, "--io-file", tmp_path / "bt.out"]
    trace = trace_real_run(ranks, command, tmp_path)
    result = played(simulate(trace, "--machine", "sp2", "--json"))
    expected = played(simulate("-n", ranks, "--machine", "sp2", "--json", "--", *command))
    assert result["file_bytes_written"] == expected["file_bytes_written"] > 0
    if ranks == 1:  # no strategy and no waiting: the same calls on the same file system
        assert result["io_time_s"] == pytest.approx(expected["io_time_s"], rel=1e-3)


def test_copies_read_one_file_and_write_the_other(compiled, simulate, tmp_path: Path):
    directory = tmp_path / "data"
    directory.mkdir()
    trace = trace_real_run(1, [compiled("tests/programs/trace/copies.c"), directory], tmp_path)
    options = ("--machine", "sp2", "--map", f"{directory}=.", "--json")
    result = played(simulate(trace, *options, "-o", "played.sesame"))
    assert notes_of_io(result) == []
    files = {
        Path(row["name"]).name: row
        for row in DataSet(tmp_path / "played.sesame").table("storage_file").to_pylist()
    }
    assert files["from"]["bytes_written"] == files["from"]["bytes_read"] == 200_000
    assert files["to"]["bytes_written"] == 200_000
    assert files["to"]["write_s"] > 0


def test_a_cache_that_was_emptied_is_empty_in_the_played_run(program, simulate, tmp_path: Path):
    options = ["--mode", "both", "--size", "64KiB", "--operations", 20, "--repeat", 1, "--clear"]
    command = [program("iow"), *options, "--dir", tmp_path]
    trace = trace_real_run(1, command, tmp_path)
    machine = ("--machine", "infiniband", "--set", "storage.cache.ionode.size=0", "--json")
    result = played(simulate(trace, *machine, "--map", f"{tmp_path}=."))
    expected = played(simulate("-n", 1, *machine, "--", *command))
    assert result["device_reads"] == expected["device_reads"] > 0


def test_wrong_mappings_are_refused(ring, simulate):
    directory_first = "expected a directory from the root first"
    expected = {
        "data=.": directory_first,
        "/data": "expected OLD=NEW",
        "/data=": "expected OLD=NEW",
    }
    for mapping, message in expected.items():
        outcome = simulate(ring, "--machine", "ethernet", "--map", mapping)
        outcome.assert_refused(f"--map {mapping}: {message}")
    simulate("--machine", "ethernet", "--map", "/a=.", "--", "/bin/true").assert_refused(
        "--map is for traced runs"
    )
    simulate(ring, "--machine", "ethernet", "--files", "kept").assert_refused("--files is for")
