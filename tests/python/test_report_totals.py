"""Totals, patterns, times and waits of traced runs, against counting by hand."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from tests.python.traced_runs import (
    COLLECTIVE,
    MPI_NESTED,
    MS,
    NESTED,
    NONBLOCKING,
    US,
    MadeRun,
    collective_writer,
    rank_zero_writer,
)
from tests.some_info import some_info

from sesame.analysis.messages import match_messages
from sesame.analysis.report.traced_tables import file_columns
from sesame.analysis.study import study_run
from sesame.analysis.traced.intervals import Union
from sesame.analysis.traced.load import load_run
from sesame.analysis.traced.timeline import READING, WRITING, bin_calls, calls_of, rate_over_time
from sesame.datasets import DataSet, DataSetWriter, record_type
from sesame.errors import InputError
from sesame.traced import io_calls

MIB = 1 << 20
ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture
def study(tmp_path):
    return lambda run: study_run(run.write(tmp_path / "run.sesame"))


@pytest.mark.parametrize(
    ("name", "kind", "layer"),
    [
        ("pwrite", io_calls.WRITE, io_calls.POSIX),
        ("preadv2", io_calls.READ, io_calls.POSIX),
        ("__fxstat64", io_calls.QUERY, io_calls.POSIX),
        ("fstatat", io_calls.QUERY, io_calls.POSIX),
        ("openat", io_calls.OPEN, io_calls.POSIX),
        ("fdatasync", io_calls.SYNC, io_calls.POSIX),
        ("unlink", io_calls.CHANGE, io_calls.POSIX),
        ("mmap", io_calls.OTHER, io_calls.POSIX),
        ("lseek", io_calls.SEEK, io_calls.POSIX),
        ("__printf_chk", io_calls.WRITE, io_calls.STDIO),
        ("fputs_unlocked", io_calls.WRITE, io_calls.STDIO),
        ("fflush", io_calls.OTHER, io_calls.STDIO),
        ("MPI_File_iwrite_at_all", io_calls.WRITE, io_calls.MPI_IO),
        ("MPI_File_write_all_begin", io_calls.WRITE, io_calls.MPI_IO),
        ("MPI_File_write_all_end", io_calls.OTHER, io_calls.MPI_IO),
        ("MPI_File_get_size", io_calls.QUERY, io_calls.MPI_IO),
        ("MPI_File_set_view", io_calls.CHANGE, io_calls.MPI_IO),
        ("of the future", io_calls.OTHER, io_calls.POSIX),
    ],
)
def test_calls_are_known_by_what_they_are_for(name, kind, layer):
    assert (io_calls.io_kind(name), io_calls.io_layer(name)) == (kind, layer)


NEITHER_DATA_NOR_NAMES = {
    *("ioctl", "tee", "vmsplice", "eventfd_read", "eventfd_write", "chdir", "fchdir", "chroot"),
    *("fflush", "aio_return", "aio_suspend", "aio_cancel"),
    *("mmap", "munmap", "mremap", "madvise", "posix_fadvise", "readahead"),
    *("fcntl", "dup", "dup2", "dup3", "flock", "lockf", "umask"),
}


def test_every_call_that_is_recorded_is_known():
    text = (ROOT / "tracer/posix_calls.def").read_text()
    names = set(re.findall(r"SESAME_CALL\((\w+)\)", text))
    assert len(names) > 80
    unknown = {name for name in names if io_calls.io_kind(name) == io_calls.OTHER}
    assert unknown - NEITHER_DATA_NOR_NAMES == set()


def test_starting_a_program_is_no_io(study):
    run = MadeRun(1)
    run.io(0, "execve", duration=5 * MS, file=run.file("/bin/ls"))
    run.compute(0, 5 * MS)
    found = study(run)
    assert found.activity.io == pytest.approx([0])
    assert found.headline["files"] == 0


def covered_by_hand(group, begin, end, groups, length):
    cells = np.zeros((groups, length), bool)
    for g, b, e in zip(group, begin, end, strict=True):
        cells[g, b : max(b, e)] = True
    return cells


@pytest.mark.parametrize("count", [0, 1, 60])
def test_unions_of_intervals_are_as_counted_cell_by_cell(count):
    random = np.random.default_rng(11)
    group = random.integers(0, 4, count)
    begin = random.integers(0, 90, count)
    end = begin + random.integers(0, 10, count)
    cells = covered_by_hand(group, begin, end, 4, 100)
    union = Union(group, begin, end)
    assert union.lengths(4).tolist() == cells.sum(axis=1).tolist()
    low = random.integers(0, 100, 50)
    high = low + random.integers(0, 40, 50)
    of = random.integers(0, 4, 50)
    expected = [cells[g, a:b].sum() for g, a, b in zip(of, low, high, strict=True)]
    assert union.covered(of, low, high).tolist() == expected


def test_unions_bear_offsets_of_exabytes():
    group = np.arange(1000)
    begin = np.full(1000, 1 << 60)
    begin[0] = 0
    union = Union(group, begin, begin + MIB)
    assert union.lengths(1000) == pytest.approx(np.full(1000, MIB), rel=0.01)


def test_calls_inside_others_are_not_counted_twice(study):
    found = study(collective_writer(ranks=4, steps=10))
    assert found.headline["bytes_written"] == 40 * MIB
    assert found.headline["writes"] == 40
    assert found.totals.bottom.sum("bytes_written") == 40 * MIB
    assert found.totals.bottom.sum("writes") == 10
    # 1 ms to open and ten times 2 ms to write, whatever happens inside
    assert found.activity.io == pytest.approx([0.021] * 4)


def test_time_goes_to_io_then_to_mpi_then_to_the_rest(study):
    run = MadeRun(1)
    run.compute(0, 3 * MS)
    run.mpi(0, "MPI_Barrier", duration=2 * MS)
    run.io(0, "write", file=run.file("/f"), duration=5 * MS, bytes=1)
    activity = study(run).activity
    assert activity.span == pytest.approx([0.010])
    assert activity.mpi == pytest.approx([0.002])
    assert activity.io == pytest.approx([0.005])
    assert activity.rest == pytest.approx([0.003])


def test_moments_of_several_threads_count_once(study):
    run = MadeRun(1)
    file = run.file("/f")
    run.io(0, "write", duration=4 * MS, file=file, bytes=1, thread=0)
    run.clock[0] = 2 * MS
    run.io(0, "write", duration=4 * MS, file=file, bytes=1, thread=1)
    run.clock[0] = 3 * MS
    run.mpi(0, "MPI_Send", duration=4 * MS, peer=0, thread=2)
    activity = study(run).activity
    assert activity.io == pytest.approx([0.006])
    assert activity.mpi == pytest.approx([0.001])


def test_patterns_are_those_of_the_definition(study):
    run = MadeRun(1)
    file = run.file("/f")
    #         first consecutive x2  on   strided  strided  back  same place  on
    offsets = [0, 10, 20, 100, 180, 260, 50, 50, 1000]
    run.io(0, "pread", file=file, offset=np.array(offsets), bytes=10)
    total = study(run).totals
    names = ("first", "consecutive", "strided", "sequential", "random")
    assert [total.sum(f"read_{name}") for name in names] == [1, 2, 2, 2, 2]


def test_patterns_are_of_each_rank_file_and_direction(study):
    run = MadeRun(2)
    a, b = run.file("/a"), run.file("/b")
    for i in range(10):
        for rank in range(2):
            run.io(rank, "pwrite", file=a, offset=1000 * rank + 10 * i, bytes=10)
            run.io(rank, "pread", file=a, offset=5000 + 10 * i, bytes=10)
            run.io(rank, "pwrite", file=b, offset=10 * i, bytes=10)
    total = study(run).totals
    assert total.sum("write_consecutive") == 36
    assert total.sum("read_consecutive") == 18
    assert total.sum("write_first", "read_first") == 6


def test_sizes_are_counted_in_darshans_classes(study):
    run = MadeRun(1)
    file = run.file("/f")
    for size in (0, 100, 101, 1024, 1025, MIB, MIB + 1, 4 * MIB, (1 << 30) + 1):
        run.io(0, "pread", file=file, offset=0, bytes=size)
    total = study(run).totals
    counts = [total.sum(f"read_size_{i}") for i in range(10)]
    assert counts == [2, 2, 1, 0, 1, 2, 0, 0, 0, 1]


def test_bytes_read_again_and_written_over_are_of_one_rank(study):
    run = MadeRun(2)
    file = run.file("/f")
    for rank in range(2):
        run.io(rank, "pread", file=file, offset=np.array([0, 50, 200]), bytes=100)
        run.io(rank, "pwrite", file=file, offset=np.array([0, 0, 10]), bytes=100)
    total = study(run).totals
    assert total.by_rank("read_again").tolist() == [50, 50]
    assert total.by_rank("written_over").tolist() == [190, 190]


def test_failed_requests_move_nothing(study):
    run = MadeRun(1)
    file = run.file("/f")
    run.io(0, "read", file=file, offset=0, bytes=0, size=100, error=5)
    run.io(0, "read", file=file, offset=0, bytes=100)
    found = study(run)
    assert found.headline["reads"] == 1
    assert found.totals.sum("failed") == 1


def test_a_copy_reads_one_file_and_writes_the_other(study):
    run = MadeRun(1)
    source, target = run.file("/from"), run.file("/to")
    run.io(0, "copy_file_range", file=source, other_file=target, offset=0, bytes=MIB)
    total = study(run).totals
    assert total.by_file("bytes_read").tolist() == [MIB, 0]
    assert total.by_file("bytes_written").tolist() == [0, MIB]
    assert total.sum("io_s") == pytest.approx(10e-6)


def test_block_sharing_is_as_counted_block_by_block(study):
    random = np.random.default_rng(2)
    run = MadeRun(3, block_size=100)
    file = run.file("/f")
    touched: dict[int, set[int]] = {}
    taken = np.cumsum(random.integers(1, 400, 60))
    for low, high in zip(taken[:-1].tolist(), taken[1:].tolist(), strict=True):
        rank = int(random.integers(0, 3))
        run.io(rank, "pwrite", file=file, offset=low, bytes=high - low)
        for block in range(low // 100, (high - 1) // 100 + 1):
            touched.setdefault(block, set()).add(rank)
    sharing = study(run).sharing
    assert sharing.blocks_written[0] == len(touched)
    assert sharing.blocks_contended[0] == sum(len(ranks) > 1 for ranks in touched.values())


# messages and waits


def random_messages(run: MadeRun, count: int) -> list[tuple[int, int, int, int]]:
    """Sends in an order, receives in another that keeps that of each envelope; bytes tell which."""
    random = np.random.default_rng(8)
    envelopes = random.integers(0, [3, 3, 2, 2], (count, 4))
    for i, (source, to, tag, comm) in enumerate(envelopes.tolist()):
        run.mpi(source, "MPI_Isend", peer=to, tag=tag, comm=comm, bytes=i)
    for i in np.argsort(random.random(3**2 * 4)[envelopes @ [12, 4, 2, 1]], kind="stable").tolist():
        source, to, tag, comm = envelopes[i].tolist()
        run.mpi(to, "MPI_Recv", peer=source, tag=tag, comm=comm, bytes=i)
    return envelopes.tolist()


def test_messages_are_matched_in_the_order_of_their_envelope(tmp_path):
    run = MadeRun(3)
    random_messages(run, 500)
    records = load_run(run.write(tmp_path / "r.sesame")).mpi
    found = match_messages(records)
    assert len(found.send) == 500
    assert (records.bytes[found.send] == records.bytes[found.receive]).all()
    assert (found.unmatched_sends, found.unmatched_receives) == (0, 0)


def test_messages_without_another_end_are_counted(study):
    run = MadeRun(2)
    run.mpi(0, "MPI_Send", peer=1, tag=1)
    run.mpi(0, "MPI_Send", peer=1, tag=1)
    run.mpi(1, "MPI_Recv", peer=0, tag=1)
    run.mpi(1, "MPI_Recv", peer=0, tag=2)
    found = study(run)
    assert (found.waits.unmatched_sends, found.waits.unmatched_receives) == (1, 1)
    assert any("1 sends have no receive" in line for line in found.damage)


def test_messages_to_no_rank_are_not_missed(study):
    run = MadeRun(1)
    run.mpi(0, "MPI_Send", peer=-2, tag=1)
    assert study(run).damage == []


def test_a_receive_waits_from_its_wait_to_the_send(study):
    """Posted at 0, waited for from 4 ms on; sent at 10 ms, after 3 ms of I/O."""
    run = MadeRun(2)
    run.mpi(1, "MPI_Irecv", duration=1 * US, peer=0, tag=3, completion=1, flags=NONBLOCKING)
    run.clock[1] = 4 * MS
    run.mpi(1, "MPI_Wait", duration=8 * MS)
    run.clock[0] = 7 * MS
    run.io(0, "write", duration=3 * MS, file=run.file("/f"), bytes=1)
    run.mpi(0, "MPI_Send", peer=1, tag=3)
    waits = study(run).waits
    assert (waits.waiter.tolist(), waits.culprit.tolist()) == ([1], [0])
    assert waits.seconds == pytest.approx(0.006)
    assert waits.behind_io == pytest.approx(0.003)


def test_a_call_that_completes_several_receives_waits_for_the_last(study):
    run = MadeRun(3)
    for source, completion in ((1, 2), (2, 1)):
        receive = {"peer": source, "tag": 3, "completion": completion, "flags": NONBLOCKING}
        run.mpi(0, "MPI_Irecv", duration=1 * US, **receive)
    run.mpi(0, "MPI_Waitall", duration=10 * MS)
    for source in (1, 2):
        run.clock[source] = source * 4 * MS
        run.mpi(source, "MPI_Send", peer=0, tag=3)
    waits = study(run).waits
    assert (waits.waiter.tolist(), waits.culprit.tolist()) == ([0], [2])
    assert waits.seconds == pytest.approx(0.008 - 2e-6)


@pytest.mark.parametrize(
    ("call", "root", "expected"),
    [
        ("MPI_Allreduce", -1, {(0, 2): 2 * MS, (1, 2): 1 * MS}),
        ("MPI_Reduce_scatter", -1, {(0, 2): 2 * MS, (1, 2): 1 * MS}),
        ("MPI_Bcast", 1, {(0, 1): 1 * MS}),
        ("MPI_Reduce", 0, {(0, 2): 2 * MS}),
        ("MPI_Scan", -1, {}),
    ],
)
def test_collective_calls_wait_for_whom_they_must(study, call, root, expected):
    """Ranks come at 0, 1 and 2 ms, twice over."""
    run = MadeRun(3)
    for start in (0, 10 * MS):
        for rank in range(3):
            run.clock[rank] = start + rank * MS
            run.mpi(rank, call, duration=5 * MS, peer=root)
    waits = study(run).waits
    found: dict[tuple[int, int], int] = {}
    for who, whom, begin, until in zip(
        waits.waiter, waits.culprit, waits.begin, waits.until, strict=True
    ):
        found[int(who), int(whom)] = found.get((int(who), int(whom)), 0) + int(until - begin)
    assert found == {pair: 2 * time for pair, time in expected.items()}


def test_calls_made_inside_others_are_no_time_of_their_own(study):
    run = MadeRun(1)
    run.mpi(0, "MPI_Sendrecv", duration=4 * MS, peer=-2)
    run.clock[0] = 0
    run.mpi(0, "MPI_Recv", duration=2 * MS, peer=-2, flags=MPI_NESTED)
    run.clock[0] = 4 * MS
    assert study(run).activity.mpi == pytest.approx([0.004])


def test_the_longest_waits_come_first(study):
    waits = study(rank_zero_writer(ranks=4)).waits
    top = waits.longest(2)
    length = (waits.until - waits.begin)[top]
    assert len(top) == 2
    assert length[0] >= length[1] > 0


# time lines


def test_cells_show_calls_that_fill_a_tenth_of_them(tmp_path):
    run = MadeRun(2)
    file = run.file("/f")
    run.io(0, "read", duration=MS, file=file, bytes=1)
    run.compute(0, 8 * MS)
    run.io(0, "write", duration=MS, file=file, bytes=1)
    run.compute(1, 10 * MS)
    traced = load_run(run.write(tmp_path / "r.sesame"))
    cells = bin_calls(traced, calls_of(traced), columns=5)
    assert cells.states.tolist() == [[READING, 0, 0, 0, WRITING], [0, 0, 0, 0, 0]]


def test_rates_add_up_to_the_bytes(tmp_path):
    random = np.random.default_rng(4)
    run = MadeRun(3)
    file = run.file("/f")
    for rank in range(3):
        for _ in range(40):
            run.compute(rank, int(random.integers(0, 3 * MS)))
            duration = int(random.integers(0, MS)) * int(random.integers(0, 2))
            size = int(random.integers(0, MIB))
            run.io(rank, "write", duration=duration, file=file, bytes=size)
    traced = load_run(run.write(tmp_path / "r.sesame"))
    rate, cell = rate_over_time(traced, io_calls.WRITE, 50)
    assert (rate * cell).sum() == pytest.approx(traced.io.bytes.sum())


def test_a_steady_writer_has_a_steady_rate(tmp_path):
    run = MadeRun(1)
    run.io(0, "write", duration=MS, file=run.file("/f"), offset=np.arange(100), bytes=1000)
    rate, _ = rate_over_time(load_run(run.write(tmp_path / "r.sesame")), io_calls.WRITE, 37)
    assert rate == pytest.approx(np.full(37, 1e6))


# data sets that are not as they should be


def test_records_of_a_process_that_is_not_there_are_an_error(tmp_path):
    run = MadeRun(2)
    run.mpi(1, "MPI_Barrier")
    data_set = run.write(tmp_path / "r.sesame")
    table = data_set.table("process").slice(0, 1)
    pa.parquet.write_table(table, data_set.path / "process.parquet")
    with pytest.raises(InputError, match=r"mpi\.parquet: some records are of rank 1, but the"):
        study_run(data_set)


def test_a_file_that_is_not_there_is_an_error(tmp_path):
    run = MadeRun(1)
    run.io(0, "write", file=3, bytes=1)
    with pytest.raises(InputError, match="name file 3, and there are 0"):
        study_run(run.write(tmp_path / "r.sesame"))


def test_processes_come_from_records_when_they_are_not_listed(tmp_path):
    run = MadeRun(3)
    run.compute(2, MS)
    run.io(2, "write", duration=MS, file=run.file("/f"), bytes=1)
    run.mpi(0, "MPI_Barrier", duration=MS)
    found = study_run(run.write(tmp_path / "r.sesame", without=("process",)))
    assert found.headline["processes"] == 2
    assert found.run.seconds == pytest.approx(0.002)


@pytest.mark.parametrize("without", [("io",), ("mpi",), ("io", "file"), ("io", "mpi")])
def test_a_data_set_of_some_types_only_is_read(tmp_path, without):
    run = MadeRun(2)
    run.io(0, "write", file=run.file("/f"), bytes=1)
    run.mpi(1, "MPI_Barrier")
    assert study_run(run.write(tmp_path / "r.sesame", without=without)).headline["processes"] == 2


# totals of another tool


def counters(path, rows: list[dict], ranks: int, run: MadeRun | None = None) -> DataSet:
    """A data set of file totals; what a row does not say was not counted."""
    described = record_type("file_total")
    with DataSetWriter(path) as writer:
        empty = {"layer": "POSIX", "processes": 1}
        columns = {
            f.name: [{**empty, **row}.get(f.name, -1) for row in rows] for f in described.fields
        }
        writer.write_records("file_total", columns)
        made = run or MadeRun(ranks)
        if run is None:
            made.file("/data/out")
            made.compute(None, 100 * MS)
        else:
            writer.write_table("io", made._table("io"))
        writer.write_records("file", made._files())
        writer.write_records("process", made._processes())
        instrument = {"name": "darshan", "version": "3"}
        writer.finish(some_info("imported", ranks=ranks, instrument=instrument))
    return DataSet(path)


def written(rank: int, **more) -> dict:
    sizes = {"writes_to_100": 2000}
    moved = {"writes": 2000, "reads": 0, "bytes_written": 104_000, "bytes_read": 0, "opens": 1}
    times = {"write_s": 0.02, "read_s": 0, "meta_s": 0.001}
    return {"rank": rank, "file": 0, **sizes, **moved, **times, **more}


def test_counters_alone_give_tables_and_findings(tmp_path):
    found = study_run(counters(tmp_path / "c.sesame", [written(0)], ranks=4))
    assert found.headline["bytes_written"] == 104_000
    assert found.activity.io == pytest.approx([0.021, 0, 0, 0])
    assert found.sharing is None
    assert {"small requests", "one rank does the I/O"} <= {f.topic for f in found.findings}


def test_counters_below_mpi_io_are_not_added(tmp_path):
    rows = [written(0, layer="MPI-IO"), written(0, layer="POSIX")]
    found = study_run(counters(tmp_path / "c.sesame", rows, ranks=1))
    assert found.headline["bytes_written"] == 104_000
    assert found.totals.bottom.sum("writes") == 2000


def test_counters_of_all_processes_together_are_divided_evenly(tmp_path):
    rows = [written(-1, processes=4, write_s=0.2, meta_s=0)]
    found = study_run(counters(tmp_path / "c.sesame", rows, ranks=4))
    assert found.activity.even
    assert found.activity.io == pytest.approx([0.05] * 4)
    topics = {f.topic for f in found.findings}
    assert "small requests" in topics
    assert not {"imbalance", "one rank does the I/O"} & topics


def test_records_and_counters_of_the_same_calls_are_counted_once(tmp_path):
    """Records of requests only, as Darshan's extended tracing has them, and counters of all."""
    run = MadeRun(1)
    file = run.file("/data/out")
    run.io(0, "pwrite", file=file, offset=52 * np.arange(2000), bytes=52)
    run.compute(0, 50 * MS)
    rows = [written(0, stats=7)]
    found = study_run(counters(tmp_path / "c.sesame", rows, ranks=1, run=run))
    assert found.headline["bytes_written"] == 104_000
    assert found.headline["writes"] == 2000
    assert found.totals.own.sum("opens", "queries") == 8
    assert found.totals.own.sum("write_consecutive") == 1999


def test_counters_are_taken_where_records_are_fewer(tmp_path):
    run = MadeRun(1)
    file = run.file("/data/out")
    run.io(0, "pwrite", file=file, offset=52 * np.arange(1000), bytes=52)
    found = study_run(counters(tmp_path / "c.sesame", [written(0)], ranks=1, run=run))
    assert found.headline["writes"] == 2000


def test_totals_of_records_and_of_counters_are_the_same(tmp_path):
    """The same calls, counted here from records and by another tool."""
    run = MadeRun(1)
    file = run.file("/data/out")
    run.io(0, "open", file=file)
    offsets = np.array([0, 100, 200, 5000, 10000, 300])
    run.io(0, "pwrite", file=file, offset=offsets, bytes=100)
    ours = study_run(run.write(tmp_path / "r.sesame")).totals
    row = {
        "rank": 0,
        "file": 0,
        "opens": 1,
        "writes": 6,
        "bytes_written": 600,
        "write_s": 60e-6,
        "meta_s": 10e-6,
        "sequential_writes": 4,  # of them two consecutive
        "consecutive_writes": 2,
        "writes_to_100": 6,
    }
    theirs = study_run(counters(tmp_path / "c.sesame", [row], ranks=1)).totals
    names = "opens writes bytes_written write_s meta_s io_s write_consecutive write_sequential "
    for name in (names + "write_random write_size_0 write_size_1").split():
        assert ours.sum(name) == pytest.approx(theirs.sum(name)), name


def test_flags_are_those_of_the_format():
    from sesame.datasets.traced import IoFlag, MpiFlag

    assert (NESTED, COLLECTIVE) == (IoFlag.NESTED, IoFlag.COLLECTIVE)
    assert (MPI_NESTED, NONBLOCKING) == (MpiFlag.NESTED, MpiFlag.NONBLOCKING)


def test_launchers_are_no_ranks(study):
    """A process without a rank waits for the others as long as they run; its time counts not."""
    run = MadeRun(3)
    run.mpi_rank[2] = -1
    file = run.file("/f")
    for rank in range(2):
        run.io(rank, "write", duration=10 * MS, file=file, bytes=1)
    run.compute(2, 100 * MS)
    head = study(run).headline
    assert (head["processes"], head["ranks_of_mpi"]) == (3, 2)
    assert head["io_share"] == pytest.approx(1)


def test_reading_a_pipe_is_waiting_and_no_io(study):
    run = MadeRun(1)
    run.io(0, "read", duration=90 * MS, file=run.file("pipe", kind="pipe"), bytes=10)
    run.io(0, "sync", duration=10 * MS)
    head = study(run).headline
    assert head["io_share"] == pytest.approx(0.1)
    assert head["bytes_read"] == 0


def test_a_file_is_of_the_layers_that_its_data_move_through(study):
    run = MadeRun(1)
    a, b = run.file("/a"), run.file("/b")
    run.io(0, "MPI_File_write", file=a, offset=0, bytes=1)
    run.io(0, "unlink", file=a)
    run.io(0, "stat", file=b)
    assert file_columns(study(run))["layer"] == ["MPI-IO", "POSIX"]


def test_a_rank_that_uses_a_file_through_two_layers_is_one_user(study):
    run = MadeRun(2)
    file = run.file("/f")
    for rank in range(2):
        run.io(rank, "MPI_File_open", file=file)
        run.io(rank, "unlink", file=file)
    assert study(run).totals.own.users().tolist() == [2]
