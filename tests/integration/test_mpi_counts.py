"""MPI calls counted by the programs that make them: numbers and sizes in closed form, beside what
the tracer records, while points are switched, when programs are killed, and through a daemon."""

from __future__ import annotations

import os
import shlex
import signal
import subprocess
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from io import BytesIO
from pathlib import Path

import pytest
from click.testing import CliRunner
from starlette.testclient import TestClient
from tests.command_line import SESAME, run
from tests.integration.traced_mpi import AS_ROOT, MPIS, Bench

from sesame.cli import cli
from sesame.datasets import DataSet
from sesame.errors import InputError
from sesame.measurement.counters import Counters
from sesame.measurement.daemon.api import make_daemon_app
from sesame.measurement.daemon.node import Node
from sesame.measurement.daemon.service import Service
from sesame.measurement.daemon.settings import Settings
from sesame.measurement.frames import decode_readings
from sesame.measurement.mpi import MpiProbes
from sesame.measurement.probes import QUOTA_REACHED, Detail
from sesame.measurement.summary import Cells, Layout
from sesame.web.server.access import FixedTokens
from sesame.web.server.roles import Client, Role

EVERY_MPI = pytest.mark.parametrize("mpi", MPIS)
RANKS = 2
Counted = dict[tuple[str, str, int], tuple[int, int]]  # point, call, sizes from: events, bytes

# What `mpi_counts calls` does on two ranks. A limit of groups belongs to the group above it.
KNOWN: Counted = {
    ("message", "MPI_Irecv", 0): (10, 10 * 16),
    ("message", "MPI_Isend", 0): (10, 10 * 8),
    ("message", "MPI_Send", 512): (1, 1000),
    ("message", "MPI_Send", 65536): (1, 100000),
    ("message", "MPI_Recv", 512): (1, 1000),
    ("message", "MPI_Recv", 65536): (1, 100000),
    ("message", "MPI_Sendrecv", 0): (2, 2 * 24),
    ("message", "MPI_Ssend", 0): (4, 2 * (12 + 20)),
    ("message", "MPI_Rsend", 0): (2, 0),  # they fail
    ("wait", "MPI_Waitall", 0): (10, 0),
    ("wait", "MPI_Iprobe", 0): (22, 0),
    ("collective", "MPI_Allreduce", 512): (6, 6 * 512),
    ("collective", "MPI_Bcast", 0): (2, 160),  # by its root
    ("collective", "MPI_Barrier", 0): (14, 0),
    ("collective", "MPI_Alltoall", 0): (4, 2 * 16 + 2 * 32),
    ("one-sided", "MPI_Win_create", 0): (2, 0),
    ("one-sided", "MPI_Win_fence", 0): (4, 0),
    ("one-sided", "MPI_Put", 0): (2, 2 * 80),
    ("one-sided", "MPI_Win_free", 0): (2, 0),
    ("file", "MPI_File_open", 0): (2, 0),
    ("file", "MPI_File_write_at_all", 4096): (2, 2 * 5000),
    ("file", "MPI_File_close", 0): (2, 0),
    ("other", "MPI_Init_thread", 0): (2, 0),
    ("other", "MPI_Comm_split", 0): (4, 0),
    ("other", "MPI_Comm_free", 0): (4, 0),
    ("other", "MPI_Finalize", 0): (2, 0),
}


@pytest.fixture
def bench(tmp_path: Path) -> Bench:
    return Bench(tmp_path)


@contextmanager
def counting(detail: Detail = Detail.DURATION) -> Iterator[MpiProbes]:
    with closing(MpiProbes()) as probes:
        set_all(probes, detail)
        yield probes


def set_all(probes: MpiProbes, detail: Detail) -> None:
    for point in range(len(probes.subsystem.points)):
        probes.set(point, detail)


def rows_of(probes: MpiProbes) -> list[dict]:
    return list(Layout.of(probes).rows(Cells(probes.read())))


def counted_since(probes: MpiProbes) -> Counted:
    return {
        (row["point"], row["class"], row["at_least_bytes"]): (row["count"], row["bytes"])
        for row in rows_of(probes)
    }


def calls_of(counted: Counted) -> dict[str, int]:
    calls: Counter[str] = Counter()
    for (_, call, _), (count, _) in counted.items():
        calls[call] += count
    return dict(calls)


def environment(probes: MpiProbes, **more: str) -> dict[str, str]:
    return {**os.environ, **AS_ROOT, **probes.environment, **more}


def run_counted(
    bench: Bench, probes: MpiProbes, mpi: str, part: str, ranks: int = RANKS
) -> subprocess.CompletedProcess[str]:
    program = bench.compile("mpi_counts.c", mpi, "-pthread")
    done = subprocess.run(
        [*MPIS[mpi].starter, "-n", str(ranks), str(program), part],
        env=environment(probes),
        cwd=bench.directory,
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert done.returncode == 0, done.stderr
    return done


# ---- What is counted ----


@EVERY_MPI
def test_counts_and_sizes_are_those_of_the_program(mpi, bench):
    with counting() as probes:
        done = run_counted(bench, probes, mpi, "calls")
        rows = rows_of(probes)
    counted = {
        (row["point"], row["class"], row["at_least_bytes"]): (row["count"], row["bytes"])
        for row in rows
    }
    assert counted == KNOWN
    assert all(row["timed"] == row["count"] for row in rows)
    assert all(0 < row["max_duration_ns"] <= row["duration_ns"] for row in rows)
    assert "sesame" not in done.stderr


@EVERY_MPI
def test_counts_are_those_of_the_records_of_the_same_run(mpi, bench):
    with counting() as probes:
        variables = {k: v for k, v in probes.environment.items() if k.startswith("SESAME_")}
        traced = bench.run(
            mpi, RANKS, bench.compile("mpi_counts.c", mpi, "-pthread"), "calls", **variables
        )
        assert traced.status == 0, traced.stderr
        counted = counted_since(probes)
    records = [r for r in traced.records if r.call.startswith("MPI_")]
    number = Counter[str]()
    for record in records:
        number[record.call] += record.fields.get("calls", 1)
    sizes = Counter[str]()
    for record in records:
        if record.shape != "receive" or record.call != "MPI_Sendrecv":
            sizes[record.call] += record.fields.get("bytes", 0)
    number["MPI_Sendrecv"] //= 2  # it has two records
    assert calls_of(counted) == dict(number)
    for call in number:
        assert sum(b for (_, c, _), (_, b) in counted.items() if c == call) == sizes[call], call
    assert counted == KNOWN


@pytest.mark.parametrize("mpi", ["mpich", "openmpi"])
def test_calls_of_fortran_programs_are_counted(mpi, bench):
    with counting() as probes:
        program = bench.compile("mpi_new.f90", mpi)
        subprocess.run(
            [*MPIS[mpi].starter, "-n", "2", str(program)],
            env=environment(probes),
            cwd=bench.directory,
            check=True,
            capture_output=True,
            timeout=60,
        )
        counted = counted_since(probes)
    assert counted["message", "MPI_Send", 0] == (2, 2 * 32)
    assert counted["collective", "MPI_Allreduce", 0] == (2, 2 * 16)
    assert sum(count for count, _ in counted.values()) == 2 * 13


@pytest.mark.parametrize(("detail", "timed"), [(Detail.COUNT, 0), (Detail.SAMPLED, 250)])
def test_as_closely_as_points_look(detail, timed, bench):
    with counting(detail) as probes, stepping(bench, probes) as step:
        probes.read()
        step(4000)
        (row,) = rows_of(probes)
    assert (row["count"], row["timed"]) == (4000, timed)
    assert (row["duration_ns"] > 0) == (timed > 0)


def test_other_size_groups(bench):
    with counting() as probes:
        probes.set_limits((8, 9, 50000))
        run_counted(bench, probes, "mpich", "calls")
        counted = counted_since(probes)
    sends = {k[2]: v for k, v in counted.items() if k[1] in ("MPI_Isend", "MPI_Send")}
    assert sends == {8: (10, 80), 9: (1, 1000), 50000: (1, 100000)}


def test_threads_have_cells_of_their_own_which_later_ones_take_over(bench, tmp_path):
    with closing(MpiProbes(tmp_path / "counters")) as probes:
        set_all(probes, Detail.DURATION)
        run_counted(bench, probes, "mpich", "threads", ranks=1)
        files = [path.name for path in (tmp_path / "counters").iterdir() if path.name[0].isdigit()]
        counted = calls_of(counted_since(probes))
    assert counted["MPI_Iprobe"] == 12000
    assert 2 <= len(files) <= 5  # the first thread's, and those of four


# ---- Switching, and programs that end ----


@contextmanager
def stepping(bench: Bench, probes: MpiProbes) -> Iterator[Callable[[int], None]]:
    """A running program that makes as many calls as requested."""
    program = bench.compile("mpi_counts.c", "mpich", "-pthread")
    process = subprocess.Popen(
        [str(program), "steps"],
        env=environment(probes),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        bufsize=1,
    )
    assert process.stdin is not None and process.stdout is not None

    def step(times: int) -> None:
        print(times, file=process.stdin, flush=True)
        if times < 0:
            assert process.wait(10) == -signal.SIGKILL
        else:
            assert process.stdout.readline() == "done\n"

    try:
        step(0)  # it has started
        yield step
    finally:
        process.kill()
        process.communicate()


def test_points_are_switched_in_a_running_program(bench):
    with counting() as probes, stepping(bench, probes) as step:
        wait = [point.name for point in probes.subsystem.points].index("wait")
        probes.read()
        step(10)
        probes.set(wait, Detail.OFF)
        step(100)
        probes.set(wait, Detail.DURATION)
        step(1000)
        assert counted_since(probes) == {("wait", "MPI_Iprobe", 0): (1010, 0)}
        probes.pause(paused=True)
        step(10000)
        assert counted_since(probes) == {}


def test_what_a_killed_program_has_counted_stays_and_its_file_goes(bench, tmp_path):
    cells = tmp_path / "counters"
    with closing(MpiProbes(cells)) as probes:
        set_all(probes, Detail.DURATION)
        with stepping(bench, probes) as step:
            step(300)
            step(-1)
        assert len([one for one in cells.iterdir() if one.name[0].isdigit()]) == 1
        assert calls_of(counted_since(probes))["MPI_Iprobe"] == 300
        for _ in range(2):
            assert counted_since(probes) == {}
        assert not [one for one in cells.iterdir() if one.name[0].isdigit()]
        point = probes.subsystem.classes.index("MPI_Iprobe")
        assert probes.cells["count"][:, :, point].sum() == 300
        assert Counters([probes]).read()[:, 2:].sum() == 301  # and MPI_Init_thread


def test_who_measures_next_counts_from_then_on(bench, tmp_path):
    cells = tmp_path / "counters"
    with closing(MpiProbes(cells)) as first:
        set_all(first, Detail.COUNT)
        with stepping(bench, first) as step:
            step(10)
            first.close = lambda: None  # as if it were killed: its points stay on
            first._directory.close()
            step(100)
            with closing(MpiProbes(cells)) as second:
                step(1000)  # nothing is on yet
                set_all(second, Detail.COUNT)
                step(10000)
                assert calls_of(counted_since(second)) == {"MPI_Iprobe": 10000}


# ---- Where it cannot count ----


def run_without_daemon(bench: Bench, **variables: str) -> subprocess.CompletedProcess[str]:
    program = bench.compile("mpi_counts.c", "mpich", "-pthread")
    with closing(MpiProbes()) as probes:
        changed = environment(probes, **variables)
    return subprocess.run(
        [str(program), "threads"], env=changed, capture_output=True, text=True, timeout=60
    )


def test_without_the_directory_the_program_runs_and_says_so_once(bench, tmp_path):
    done = run_without_daemon(bench, SESAME_COUNTERS_DIRECTORY=str(tmp_path / "nowhere"))
    assert done.returncode == 0
    (line,) = done.stderr.splitlines()
    assert line.startswith("sesame measure: MPI calls are not counted: ")
    assert "No such file or directory" in line


def test_on_a_full_disk_the_program_runs_and_says_so_once(bench, small_disk):
    with closing(MpiProbes(small_disk)) as probes:
        set_all(probes, Detail.DURATION)
        with (small_disk / "rest").open("wb", 0) as rest, pytest.raises(OSError, match="space"):
            while rest.write(bytes(1 << 12)):
                pass
        done = run_without_daemon(bench, SESAME_COUNTERS_DIRECTORY=str(small_disk))
        assert counted_since(probes) == {}
    assert done.returncode == 0
    (line,) = done.stderr.splitlines()
    assert "MPI calls are not counted" in line
    assert "No space left on device" in line


def test_files_of_others_are_looked_at_with_care(bench, tmp_path):
    """A link, a pipe, a file that is too short, and one whose counters go back."""
    cells = tmp_path / "counters"
    with closing(MpiProbes(cells)) as probes:
        set_all(probes, Detail.COUNT)
        (cells / "1.0").symlink_to("/etc/passwd")
        os.mkfifo(cells / "1.1")
        (cells / "1.2").write_bytes(b"sesamMPI")
        with stepping(bench, probes) as step:
            step(50)
            assert calls_of(counted_since(probes))["MPI_Iprobe"] == 50
            (file,) = [one for one in cells.iterdir() if one.stat().st_size > 1 << 16]
            with file.open("r+b") as opened:
                opened.seek(128)
                opened.write(bytes(file.stat().st_size - 128))
                opened.truncate(1 << 10)
            assert counted_since(probes) == {}


# ---- Quotas ----


def test_a_program_says_when_it_has_spent_what_it_may(bench):
    with counting(Detail.COUNT) as probes, stepping(bench, probes) as step:
        probes.set_run_cost(10)
        probes.set_quota(5000)
        step(400)
        source = probes.source
        assert source.take(probes.accounts)[0] == set()
        assert not (probes.accounts["charged_ns"] >= probes.accounts["quota_ns"]).any()
        step(400)
        assert source.take(probes.accounts)[0] == {(QUOTA_REACHED, "mpi")}
        assert source.take(probes.accounts)[0] == set()  # reported once
        assert (probes.accounts["charged_ns"] >= probes.accounts["quota_ns"]).any()
        assert probes.accounts["charged_ns"].sum() == 8000
        probes.set_quota(5000)
        assert not (probes.accounts["charged_ns"] >= probes.accounts["quota_ns"]).any()
        step(600)
        assert source.take(probes.accounts)[0] == {(QUOTA_REACHED, "mpi")}


# ---- Command line and daemon ----


def test_mpi_is_measured_without_rights(bench):
    program = bench.compile("mpi_counts.c", "mpich", "-pthread")
    command = [*MPIS["mpich"].starter, "-n", "2", str(program), "calls"]
    output = ("--only", "mpi", "--budget", "none", "-o", "mpi.sesame")
    outcome = run([*SESAME, "measure", "run", *output, "--", *command], bench.directory)
    assert outcome.status == 0, outcome.stderr
    rows = DataSet(bench.directory / "mpi.sesame").table("kernel_summary").to_pylist()
    counted = {
        (row["point"], row["class"], row["at_least_bytes"]): (row["count"], row["bytes"])
        for row in rows
    }
    assert counted == KNOWN
    assert {row["subsystem"] for row in rows} == {"mpi"}
    assert "mpi.message" in outcome.stderr


@pytest.mark.parametrize("points", ["mpi.message", "fs,mpi"])
def test_a_trace_of_mpi_calls_is_another_command(points):
    command = ["measure", "run", "--trace", points, "--", "true"]
    done = CliRunner().invoke(cli, command, standalone_mode=False)
    assert isinstance(done.exception, InputError)
    assert "mpi writes no trace" in done.exception.message
    assert "sesame trace" in str(done.exception.hint)


def test_the_environment_of_a_job_is_that_of_the_daemons_directory(tmp_path):
    with closing(MpiProbes(tmp_path / "counters")) as probes:
        printed = CliRunner().invoke(
            cli, ["measure", "environment", "--counters", str(tmp_path / "counters")]
        )
        lines = printed.output.splitlines()
        exports = dict(line.removeprefix("export ").split("=", 1) for line in lines)
        assert exports.keys() == probes.environment.keys()
        assert {k: shlex.split(v) for k, v in exports.items()} == {
            k: [v] for k, v in probes.environment.items()
        }
    away = CliRunner().invoke(
        cli, ["measure", "environment", "--counters", str(tmp_path / "nowhere")]
    )
    assert "no daemon uses it now" in away.output


def test_a_daemon_serves_the_calls_of_any_program(bench):
    with counting() as probes:
        service = Service(Node("n1", {"mpi": probes}, {}, budget=None), Settings(), print)
        token = "t" * 32
        tokens = FixedTokens({token: Client("test", Role.ADMINISTRATOR)})
        client = TestClient(make_daemon_app(service, [tokens]))
        client.headers["Authorization"] = f"Bearer {token}"
        assert client.put("/v1/level", json={"level": "summary"}).json() == {"refused": {}}
        run_counted(bench, probes, "mpich", "calls")
        lines = client.get("/metrics").text.splitlines()
        labels = '{class="MPI_Send",point="message",subsystem="mpi"}'
        assert f"sesame_events_total{labels} 2.0" in lines
        assert f"sesame_bytes_total{labels} 101000.0" in lines
        (rows,) = [client.post("/v1/read").json()["summaries"]]
        assert {
            (row["point"], row["class"], row["at_least_bytes"]): (row["count"], row["bytes"])
            for row in rows
        } == KNOWN
        # It passes as a reading of any subsystem does.
        (reading,) = decode_readings(BytesIO(client.get("/v1/raw-readings").content))
        assert sum(row["count"] for row in reading.rows()) == sum(n for n, _ in KNOWN.values())
        for place in ("/subsystems/mpi", "/subsystems/mpi/points/wait"):
            answer = client.put(f"/v1{place}/level", json={"level": "trace"})
            assert answer.status_code == 400
            assert "it writes no trace: `sesame trace" in answer.json()["error"]
        # Everything traced is everything as closely as it can be.
        assert client.put("/v1/level", json={"level": "trace"}).json() == {"refused": {}}
        levels = client.get("/v1/state").json()["subsystems"]["mpi"]["points"].values()
        assert {one["level"] for one in levels} == {"summary"}
