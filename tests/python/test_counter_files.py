"""Cells of MPI calls as programs leave them, written here by hand, and what is read of them."""

from __future__ import annotations

import os
import select
import subprocess
import time
import tracemalloc
from contextlib import closing
from pathlib import Path

import numpy as np
import pytest

from sesame.errors import InputError, SesameError
from sesame.measurement import counter_reader
from sesame.measurement.counter_files import CELL, FORMAT, GROUPS, MAGIC, OWN_FILES
from sesame.measurement.counters import Counters
from sesame.measurement.governor import CostTable
from sesame.measurement.mpi import MOST_NOTIFICATIONS, MpiProbes, subsystem
from sesame.measurement.probes import EVENT, Detail
from sesame.measurement.providers import everything_for
from sesame.measurement.summary import Cells, Layout
from sesame.traced.launched import is_launcher

CALLS = subsystem().classes
SEND, WAIT = CALLS.index("MPI_Send"), CALLS.index("MPI_Wait")
HEAD = np.dtype(
    [
        ("magic", "S8"),
        ("format", "u4"),
        ("pid", "u4"),
        ("began", "u8"),
        ("processes", "u8"),
        ("cpu", "u4"),
        ("calls", "u4"),
        ("charged_ns", "u8"),
        ("events", "u8", 8),
        ("unused", "u8", 2),
    ]
)
POINTS = [point.name for point in subsystem().points]


def began(pid: int) -> int:
    return int(Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[19])


class Program:
    """A file of cells, as a thread of a process writes it."""

    def __init__(self, directory: Path, pid: int, number: int = 0, **head: int) -> None:
        self.path = directory / f"{pid}.{number}"
        self.head = np.zeros(1, HEAD)
        self.cells = np.zeros((len(CALLS), GROUPS), CELL)
        known = {"magic": MAGIC, "format": FORMAT, "pid": pid, "calls": len(CALLS)}
        known["processes"] = Path("/proc/self/ns/pid").stat().st_ino
        known["began"] = head.pop("began", None) or began(pid)
        for key, value in {**known, **head}.items():
            self.head[key] = value

    def add(self, call: int, group: int, size: int, ns: int, epoch: int, times: int = 1) -> None:
        cell = self.cells[call, group]
        cell["sums"] += np.array([times, times * size, times, times * ns], np.uint64)
        if cell["epochs"][epoch % 2] != epoch:
            cell["most_ns"][epoch % 2] = 0
        cell["epochs"][epoch % 2] = epoch
        cell["most_ns"][epoch % 2] = max(cell["most_ns"][epoch % 2], ns)
        point = "message" if call == SEND else "wait"
        self.head["events"][0, POINTS.index(point)] += times
        self.head["charged_ns"] += 10 * times
        self.write()

    def write(self) -> None:
        self.path.write_bytes(self.head.tobytes() + self.cells.tobytes())


@pytest.fixture
def probes(tmp_path):
    with closing(MpiProbes(tmp_path / "counters")) as made:
        yield made


@pytest.fixture
def directory(probes, tmp_path) -> Path:
    return tmp_path / "counters"


@pytest.fixture
def ended() -> int:
    """The number of a process that is no more."""
    with subprocess.Popen(["true"]) as process:
        process.wait()
    return process.pid


def counted_since(probes: MpiProbes) -> list[tuple]:
    fields = ("point", "class", "at_least_bytes", "count", "bytes", "duration_ns")
    rows = Layout.of(probes).rows(Cells(probes.read()))
    return [tuple(row[field] for field in (*fields, "max_duration_ns")) for row in rows]


def test_a_reading_is_what_came_since_the_one_before(probes, directory):
    program, other = Program(directory, os.getpid()), Program(directory, os.getpid(), 1)
    program.add(SEND, 1, 600, 50, epoch=0)
    other.add(SEND, 1, 1000, 70, epoch=0)
    other.add(WAIT, 0, 0, 9, epoch=0)
    assert counted_since(probes) == [
        ("message", "MPI_Send", 512, 2, 1600, 120, 70),
        ("wait", "MPI_Wait", 0, 1, 0, 9, 9),
    ]
    assert counted_since(probes) == []
    program.add(SEND, 1, 600, 20, epoch=2)
    assert counted_since(probes) == [("message", "MPI_Send", 512, 1, 600, 20, 20)]
    sums = Counters([probes]).read()
    assert sums[:, 0].sum() == 40
    assert sums[:, 1].sum() == 4
    assert sums[:, 2 + POINTS.index("message")].sum() == 3
    assert probes.cells["bytes"].sum() == 2200


def test_what_was_there_before_is_not_of_the_measurement(tmp_path):
    directory = tmp_path / "counters"
    MpiProbes(directory).close()
    program = Program(directory, os.getpid())
    program.add(SEND, 0, 1, 1, epoch=0, times=100)
    with closing(MpiProbes(directory)) as again:
        assert counted_since(again) == []
        program.add(SEND, 0, 1, 1, epoch=0, times=3)
        assert counted_since(again)[0][3] == 3


def test_who_comes_when_no_reader_was_there_for_long_is_counted(probes, directory):
    os.utime(directory, (0, 0))
    assert counted_since(probes) == []
    program = Program(directory, os.getpid())
    program.add(SEND, 0, 8, 5, epoch=0)  # it stays as long as no daemon counts
    assert counted_since(probes) == [("message", "MPI_Send", 0, 1, 8, 5, 5)]
    program.path.unlink()
    os.utime(directory, (0, 0))
    assert counted_since(probes) == []
    assert Counters([probes]).read()[:, :2].sum(axis=0).tolist() == [10, 1]


def test_what_an_ended_process_has_counted_is_taken_once(probes, directory, ended):
    gone = Program(directory, ended, began=1)
    gone.add(SEND, 0, 8, 5, epoch=0)
    probes.read()
    gone.add(SEND, 0, 8, 5, epoch=1)
    assert counted_since(probes) == [("message", "MPI_Send", 0, 1, 8, 5, 5)]
    assert counted_since(probes) == []
    assert gone.path.exists()
    gone.add(SEND, 0, 8, 5, epoch=3)  # as if it had still counted until now
    assert counted_since(probes) == [("message", "MPI_Send", 0, 1, 8, 5, 5)]
    assert not gone.path.exists()
    assert counted_since(probes) == []
    assert probes.cells["count"].sum() == 3
    # The number comes again.
    Program(directory, ended, began=2).add(SEND, 0, 8, 5, epoch=5)
    assert counted_since(probes)[0][3] == 1
    assert probes.cells["count"].sum() == 4


def test_a_number_that_has_come_again_is_another_process(probes, directory):
    before = Program(directory, os.getpid(), 0, began=1)
    before.add(SEND, 0, 8, 5, epoch=0)
    now = Program(directory, os.getpid(), 1)
    now.add(SEND, 0, 8, 5, epoch=0)
    for _ in range(3):
        probes.read()
    assert not before.path.exists()
    assert now.path.exists()


def test_a_process_of_another_namespace_is_never_taken_for_ended(probes, directory, ended):
    elsewhere = Program(directory, ended, began=1, processes=1)
    elsewhere.add(SEND, 0, 8, 5, epoch=0)
    for _ in range(3):
        probes.read()
    assert elsewhere.path.exists()


def test_counters_that_go_back_or_too_far_are_not_believed(probes, directory):
    program = Program(directory, os.getpid())
    program.add(SEND, 0, 8, 5, epoch=0, times=10)
    probes.read()
    program.cells["sums"][SEND, 0] = 0
    program.head["events"][:] = 0
    program.head["charged_ns"] = 2**63
    program.add(WAIT, 0, 0, 3, epoch=1)
    assert counted_since(probes) == [("wait", "MPI_Wait", 0, 1, 0, 3, 3)]
    assert Counters([probes]).read()[:, 0].sum() < 2**62


@pytest.mark.parametrize("key", ["magic", "format", "calls"])
def test_files_of_another_version_are_left_alone(probes, directory, key):
    program = Program(directory, os.getpid(), **{key: 77 if key != "magic" else b"x"})
    program.add(SEND, 0, 8, 5, epoch=0)
    assert counted_since(probes) == []


def test_costs_are_of_the_processor_where_a_thread_was_seen(probes, directory):
    if len(Counters([probes]).read()) < 2:
        pytest.skip("there is one processor")
    Program(directory, os.getpid(), cpu=1).add(SEND, 0, 8, 5, epoch=0, times=7)
    assert Counters([probes]).read()[1, :2].tolist() == [70, 7]
    assert Counters([probes]).read()[0].sum() == 0
    Program(directory, os.getpid(), 1, cpu=2**31).add(SEND, 0, 8, 5, epoch=0)
    assert Counters([probes]).read()[0, :2].tolist() == [10, 1]


def test_its_points_write_no_trace(probes):
    with pytest.raises(SesameError, match=r"mpi.message writes no trace: `sesame trace"):
        probes.set(0, Detail.DURATION, tracing=True)
    assert probes.detail(0) == Detail.OFF


def test_a_directory_is_measured_with_once(probes, directory, tmp_path):
    with pytest.raises(InputError, match="another process uses this directory"):
        MpiProbes(directory)
    (tmp_path / "link").symlink_to(directory)
    with pytest.raises(SesameError, match="cannot be used for counters"):
        MpiProbes(tmp_path / "link")


@pytest.mark.skipif(os.geteuid() != 0, reason="takes root, to give a directory away")
def test_a_directory_of_another_is_not_taken(tmp_path):
    (tmp_path / "counters").mkdir()
    os.chown(tmp_path / "counters", 65534, 65534)
    with pytest.raises(InputError, match="belongs to another user"):
        MpiProbes(tmp_path / "counters")


def test_everything_has_mpi_where_mpi_is_started():
    for command in (["mpiexec", "-n", "2"], ["/opt/x/bin/mpirun.openmpi", "a"], ["srun"]):
        assert is_launcher(command)
        assert ("mpi", 0) in everything_for(command)
    for command in (["make"], ["./mpiexec-like"], []):
        assert ("mpi", 0) not in everything_for(command)
        assert ("fs", 0) in everything_for(command)


def test_costs_are_its_own_guess_until_they_are_calibrated():
    costs = CostTable([])
    assert costs.run_ns("mpi", Detail.DURATION) == 400
    costs.expect(subsystem())
    assert costs.run_ns("mpi", Detail.DURATION) == subsystem().guessed_ns[Detail.DURATION] < 100


# ---- What users may do to the directory ----


@pytest.fixture
def later(monkeypatch) -> list[int]:
    """Stops the monotonic clock, its number of ns after now: how busy the machine is, is nothing
    to these tests."""
    added, begin = [0], time.monotonic_ns()
    monkeypatch.setattr(counter_reader.time, "monotonic_ns", lambda: begin + added[0])
    return added


def counter_files(directory: Path) -> set[str]:
    return {path.name for path in directory.iterdir()} - OWN_FILES


def test_a_user_has_a_quota_of_files_and_known_ones_stay(probes, directory, monkeypatch):
    monkeypatch.setattr(counter_reader, "most_files_of_user", lambda: 3)
    programs = [Program(directory, os.getpid(), number) for number in range(3)]
    for one in programs:
        one.add(SEND, 0, 8, 50, epoch=0)
    assert counted_since(probes) == [("message", "MPI_Send", 0, 3, 24, 150, 50)]
    further = [Program(directory, os.getpid(), number) for number in range(3, 50)]
    for one in further:
        one.add(SEND, 0, 1000, 50, epoch=1)
    assert counted_since(probes) == []
    assert counter_files(directory) == {one.path.name for one in programs}
    programs[0].add(SEND, 0, 8, 50, epoch=2)
    assert counted_since(probes) == [("message", "MPI_Send", 0, 1, 8, 50, 50)]


def test_many_sparse_files_take_little_memory_and_time(probes, directory, later):
    """With 4,000 files the daemon had grown by 520 MB, and a request took 1.7 s."""
    one = Program(directory, os.getpid())
    one.add(SEND, 0, 8, 50, epoch=0)
    for number in range(1, 4000):
        path = directory / f"{os.getpid()}.{number}"
        path.write_bytes(one.head.tobytes())
        os.truncate(path, one.path.stat().st_size)
    tracemalloc.start()
    for _ in range(4):
        probes.read()
        later[0] += 100 * 10**9
    most = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert most < 10e6
    assert len(counter_files(directory)) == counter_reader.most_files_of_user()


@pytest.mark.skipif(os.geteuid() != 0, reason="makes a file of another user")
def test_a_directory_that_a_user_fills_is_looked_through_rarely(
    probes, directory, later, monkeypatch
):
    """With 20,000 directories, which only their owner can remove, a reading took 44 ms."""
    scans, scandir = [], os.scandir
    monkeypatch.setattr(os, "scandir", lambda place: scans.append(place) or scandir(place))
    monkeypatch.setattr(counter_reader, "most_files_of_user", lambda: 3)
    known = Program(directory, os.getpid())
    known.add(SEND, 0, 8, 50, epoch=0)
    assert len(counted_since(probes)) == 1
    for number in range(2000):
        (directory / f"{number}/in").mkdir(parents=True)
    for _ in range(200):
        probes._reader.update(None)
    assert len(scans) < 100
    known.add(SEND, 0, 8, 50, epoch=1)
    late = Program(directory, os.getpid(), 1)
    late.add(SEND, 0, 8, 50, epoch=1)
    os.chown(late.path, 65534, -1)
    assert counted_since(probes)[0][3] == 1  # the known one is read
    later[0] += 100 * 10**9
    assert counted_since(probes)[0][3] == 1  # now the late one, too


def test_a_user_who_writes_to_the_pipe_wakes_the_reader_a_few_times(probes, directory, later):
    """Each write had woken it: 0.2 of a processor."""
    pipe = os.open(directory / "quota-reached", os.O_WRONLY | os.O_NONBLOCK)
    source, buffer, taken = probes.source, np.empty(1, EVENT), 0
    for number in range(100):
        for _ in range(3):
            os.write(pipe, b"x")
            messages, _ = source.take(buffer)
            taken += len(messages)
        probes.set_quota(1000 + number)
    assert 5 < taken <= MOST_NOTIFICATIONS + 1
    assert select.select([source], [], [], 0) == ([], [], [])
    later[0] += 10**10
    probes.set_quota(2000)
    os.write(pipe, b"x")
    assert select.select([source], [], [], 10)[0] == [source]
    os.close(pipe)


def test_files_that_are_no_counter_files_are_removed_after_a_minute(probes, directory, later):
    (directory / "12.0").write_bytes(b"junk")
    (directory / "junk").write_bytes(b"")
    (directory / "13.0").symlink_to("/etc/passwd")
    os.mkfifo(directory / "14.0")
    (directory / "15.0").mkdir()
    program = Program(directory, os.getpid())
    probes.read()
    assert len(counter_files(directory)) == 5
    later[0] = 61 * 10**9
    program.add(SEND, 0, 8, 50, epoch=1)
    probes.read()
    assert counter_files(directory) == {program.path.name}


def test_a_file_of_a_container_is_removed_after_a_day_without_a_count(
    probes, directory, ended, later
):
    program = Program(directory, ended, began=1, processes=1)
    program.add(SEND, 0, 8, 50, epoch=0)
    for _ in range(3):
        probes.read()
    assert counter_files(directory) == {program.path.name}
    later[0] = 86_401 * 10**9
    probes.read()
    assert counter_files(directory) == set()
