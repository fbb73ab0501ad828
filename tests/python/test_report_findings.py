"""Each rule of the findings, with a run on either side of its threshold."""

from __future__ import annotations

import numpy as np
import pytest
from tests.python.traced_runs import (
    COLLECTIVE,
    MERGED,
    MS,
    SCATTERED,
    US,
    MadeRun,
    collective_writer,
    random_reader,
    rank_zero_writer,
    strided_shared,
)

from sesame.analysis.findings_io.found import percent
from sesame.analysis.study import study_run

MIB = 1 << 20


@pytest.fixture
def findings(tmp_path):
    """The findings of a made-up run, by topic."""

    def of(run: MadeRun):
        return {f.topic: f for f in study_run(run.write(tmp_path / "run.sesame")).findings}

    return of


def writer(count: int, size: int, *, ranks: int = 1, call: str = "pwrite", **fields) -> MadeRun:
    """Each rank writes its own file from front to back."""
    run = MadeRun(ranks)
    for rank in range(ranks):
        file = run.file(f"/data/part.{rank}")
        run.io(rank, "open", file=file)
        offset = size * np.arange(count, dtype=np.int64)
        run.io(rank, call, file=file, offset=offset, bytes=size, **fields)
    return run


# small requests


def test_a_thousand_small_requests_are_found(findings):
    found = findings(writer(1000, 4096))["small requests"]
    assert "100 % of the 1,000 writes are of 1 MiB or less, 4.10 kB on average" in found.sentence
    assert "all of them in /data/part.0" in found.sentence
    assert found.evidence["mean size"] == 4096


def test_fewer_small_requests_are_no_evidence(findings):
    assert "small requests" not in findings(writer(999, 4096))


def test_requests_of_1_mib_and_a_byte_are_not_small(findings):
    assert "small requests" not in findings(writer(1500, MIB + 1))


@pytest.mark.parametrize(("large", "is_found"), [(8999, True), (9000, False)])
def test_a_tenth_of_the_requests_may_be_small(findings, large, is_found):
    run = writer(1000, 100)
    run.io(0, "pwrite", file=0, offset=2 * MIB * (1 + np.arange(large)), bytes=2 * MIB)
    assert ("small requests" in findings(run)) == is_found


def test_small_requests_are_those_below_collective_calls(findings):
    """The application's calls are small, and what MPI-IO makes of them is large."""
    run = MadeRun(1)
    file = run.file("/data/out")
    for i in range(1200):
        run.within(0, "pwrite", duration=US, file=file, offset=2 * MIB * i, bytes=2 * MIB)
        run.io(0, "MPI_File_write_all", file=file, offset=i, bytes=40, flags=COLLECTIVE)
    assert "small requests" not in findings(run)


def test_small_requests_made_by_mpi_io_are_called_so(findings):
    run = MadeRun(1)
    file = run.file("/data/out")
    for i in range(1000):
        run.within(0, "pwrite", duration=US, file=file, offset=40 * i, bytes=40)
        run.io(0, "MPI_File_write", file=file, offset=40 * i, bytes=40)
    assert "1,000 writes that MPI-IO makes" in findings(run)["small requests"].sentence


# stdio


@pytest.mark.parametrize(("size", "is_found"), [(1023, True), (1024, False)])
def test_tiny_stdio_calls_have_less_than_1_kib_on_average(findings, size, is_found):
    found = findings(writer(1000, size, call="fwrite"))
    assert ("tiny stdio calls" in found) == is_found
    assert "small requests" not in found  # stdio gathers them


def test_merged_calls_of_one_byte_count_as_so_many(findings):
    found = findings(writer(2, 600, call="fputc", flags=MERGED))
    assert "1,200 writes go through stdio with 1 B" in found["tiny stdio calls"].sentence


# one rank does all, imbalance


def test_rank_zero_that_writes_all_in_small_requests_is_named(findings):
    found = findings(rank_zero_writer())["one rank does the I/O"]
    assert found.sentence.startswith("Rank 0 of 4 writes 100 % of the bytes in 52-byte requests")
    assert "The others wait 60.1 ms for it" in found.sentence


@pytest.mark.parametrize(("others", "is_found"), [(11, True), (12, False)])
def test_one_rank_does_nearly_all_from_nine_tenths(findings, others, is_found):
    run = MadeRun(2)
    for rank, count in ((0, 100), (1, others)):
        file = run.file(f"/data/part.{rank}")
        run.io(rank, "write", file=file, offset=MIB * np.arange(count), bytes=MIB)
    assert ("one rank does the I/O" in findings(run)) == is_found


def test_one_of_several_programs_without_mpi_is_no_rank(findings):
    run = rank_zero_writer()
    run.mpi_rank = [-1] * 4
    assert "one rank does the I/O" not in findings(run)


def test_one_rank_of_one_is_not_remarkable(findings):
    assert "one rank does the I/O" not in findings(writer(200, MIB))


@pytest.mark.parametrize(("longest", "is_found"), [(20, True), (14, False)])
def test_imbalance_is_found_from_three_tenths_of_the_slowest_rank(findings, longest, is_found):
    """Percent imbalance of times 10, 10, 10, x: (x - mean) / x * 4 / 3."""
    run = MadeRun(4)
    for rank, count in enumerate((10, 10, 10, longest)):
        file = run.file(f"/data/part.{rank}")
        run.io(rank, "write", duration=MS, file=file, offset=MIB * np.arange(count), bytes=MIB)
    found = findings(run)
    assert ("imbalance" in found) == is_found
    if is_found:
        assert "Rank 3 spends 20.0 ms in I/O, 1.6 times the mean" in found["imbalance"].sentence
        assert found["imbalance"].evidence["max over mean, time"] == pytest.approx(1.6)


# alignment


@pytest.mark.parametrize(("odd", "is_found"), [(13, True), (12, False)])
def test_a_tenth_of_the_requests_may_be_unaligned(findings, odd, is_found):
    run = writer(108, 8192)
    run.io(0, "pwrite", file=0, offset=100 * MIB + 1 + 8192 * np.arange(odd), bytes=8192)
    found = findings(run)
    assert ("unaligned requests" in found) == is_found
    if is_found:
        assert "whose blocks have 4 KiB" in found["unaligned requests"].sentence


def test_requests_smaller_than_a_block_cannot_be_aligned(findings):
    assert "unaligned requests" not in findings(writer(500, 4095))


# random access


@pytest.mark.parametrize(("requests", "is_found"), [(3000, True), (900, False)])
def test_random_access_needs_a_thousand_random_requests(findings, requests, is_found):
    found = findings(random_reader(ranks=2, requests=requests))
    assert ("random access" in found) == is_found
    if is_found:
        # Of uniformly random places half lie before the one before.
        assert found["random access"].evidence["random"] == pytest.approx(3000, rel=0.05)


def test_strides_are_not_random(findings):
    assert "random access" not in findings(strided_shared(ranks=2, requests=3000))


# metadata


def opener(opens: int, writes: int, *, meta: int, data: int) -> MadeRun:
    """Many files, each opened, asked for and written to."""
    run = MadeRun(1)
    for i in range(opens):
        file = run.file(f"/data/small.{i}")
        run.io(0, "open", duration=meta // 2, file=file)
        run.io(0, "stat", duration=meta // 2, file=file)
        run.io(0, "write", duration=data, file=file, offset=np.arange(writes), bytes=1)
    return run


@pytest.mark.parametrize(("meta", "is_found"), [(11 * US, True), (9 * US, False)])
def test_a_metadata_storm_takes_a_tenth_of_the_io_time(findings, meta, is_found):
    found = findings(opener(500, 1, meta=meta, data=90 * US))
    assert ("metadata storm" in found) == is_found
    if is_found:
        assert "500 opens, 500 stat and the like" in found["metadata storm"].sentence


def test_a_few_opens_are_no_storm(findings):
    assert "metadata storm" not in findings(opener(499, 1, meta=MS, data=US))


@pytest.mark.parametrize(
    ("share", "compute", "is_found"),
    [(51, 0, True), (49, 0, False), (51, 900, True), (51, 940, False)],
)
def test_few_calls_that_take_longer_than_the_data_are_found(findings, share, compute, is_found):
    """Of 100 ms in I/O so many in one opening; then the rest of the run."""
    run = MadeRun(1)
    file = run.file("/data/out")
    run.io(0, "MPI_File_open", duration=share * MS, file=file)
    run.io(0, "MPI_File_write", duration=(100 - share) * MS, file=file, offset=0, bytes=1)
    run.compute(0, compute * MS)
    found = findings(run)
    assert ("slow metadata calls" in found) == is_found
    if is_found:
        text = found["slow metadata calls"].sentence
        assert "51 % of the time in I/O in only 1 call of 51.0 ms" in text


@pytest.mark.parametrize(("failed", "is_found"), [(100, True), (99, False)])
def test_a_hundred_failing_calls_are_a_search(findings, failed, is_found):
    run = MadeRun(1)
    file = run.file("/lib/libx.so", kind="unknown")
    run.io(0, "openat", file=file, error=np.full(failed, 2))
    run.io(0, "openat", file=file, error=np.zeros(100, int))
    assert ("failing calls" in findings(run)) == is_found


@pytest.mark.parametrize(
    ("times", "each", "is_found"), [(10, 2, True), (9, 2, False), (10, 3, False)]
)
def test_opening_a_file_for_every_other_request_is_found(findings, times, each, is_found):
    run = MadeRun(1)
    file = run.file("/data/log")
    for _ in range(times):
        run.io(0, "open", file=file)
        run.io(0, "write", file=file, offset=np.arange(each), bytes=1)
        run.io(0, "close", file=file)
    found = findings(run)
    assert ("re-opening" in found) == is_found
    if is_found:
        assert "/data/log is opened 10 times by one rank" in found["re-opening"].sentence


@pytest.mark.parametrize(("requests", "is_found"), [(1100, True), (1200, False)])
def test_seeks_are_found_when_nearly_every_request_has_one(findings, requests, is_found):
    run = writer(requests, 4096, call="write")
    run.io(0, "lseek", file=0, offset=np.zeros(1000, int))
    assert ("a seek for each request" in findings(run)) == is_found


# durability


@pytest.mark.parametrize(("syncs", "is_found"), [(20, True), (9, False)])
def test_a_sync_after_each_write_is_found(findings, syncs, is_found):
    run = MadeRun(1)
    file = run.file("/data/log")
    for i in range(20):
        run.io(0, "write", file=file, offset=i * 100, bytes=100)
        if i < syncs:
            run.io(0, "fsync", duration=MS, file=file)
    found = findings(run)
    assert ("sync after each write" in found) == is_found
    if is_found:
        assert found["sync after each write"].seconds == pytest.approx(0.020)


def test_syncs_that_follow_one_another_are_not_after_writes(findings):
    run = writer(20, 100)
    run.io(0, "fsync", file=0, error=np.zeros(50, int))
    assert "sync after each write" not in findings(run)


# contention


def test_blocks_that_several_ranks_write_are_found(findings):
    found = findings(strided_shared(ranks=4, requests=500, size=40))
    contended = found["contention in a shared file"]
    assert contended.evidence == {
        "blocks written": 20,  # 80,000 B in 4 KiB
        "by several ranks": 20,
        "writers": 4,
    }


def test_ranks_that_write_whole_blocks_do_not_contend(findings):
    assert "contention in a shared file" not in findings(strided_shared(size=4096))


def test_borders_between_the_parts_of_ranks_are_no_contention(findings):
    run = MadeRun(32)
    file = run.file("/data/out")
    size = 40 * 4096 + 100
    for rank in range(32):
        run.io(rank, "pwrite", file=file, offset=size * rank, bytes=size)
    assert "contention in a shared file" not in findings(run)


# collective


def test_interleaved_posix_writes_are_found(findings):
    found = findings(strided_shared(ranks=4, requests=500))
    assert "POSIX" in found["no collective I/O"].sentence
    assert "independent MPI-IO on interleaved parts" not in found


def test_interleaved_independent_mpi_io_is_found(findings):
    found = findings(strided_shared(ranks=4, requests=500, call="MPI_File_write_at"))
    assert "MPI_File_write_all" in found["independent MPI-IO on interleaved parts"].hint
    assert "no collective I/O" not in found


def test_collective_calls_are_as_they_should_be(findings):
    assert findings(collective_writer()) == {}


def test_collective_calls_are_not_taken_for_independent_ones(findings):
    call = {"call": "MPI_File_write_at_all", "flags": COLLECTIVE, "comm": 0}
    found = findings(strided_shared(ranks=4, requests=500, **call))
    assert "independent MPI-IO on interleaved parts" not in found


def test_fewer_than_a_thousand_interleaved_requests_are_no_evidence(findings):
    assert "no collective I/O" not in findings(strided_shared(ranks=3, requests=333))


def test_interleaved_requests_with_holes_are_not_contiguous(findings):
    run = MadeRun(2)
    file = run.file("/data/out")
    for rank in range(2):
        offset = 100 * (rank + 2 * np.arange(1000))
        run.io(rank, "pwrite", file=file, offset=offset, bytes=80)
    assert "no collective I/O" not in findings(run)


def test_consecutive_parts_are_not_interleaved(findings):
    run = MadeRun(2)
    file = run.file("/data/out")
    for rank in range(2):
        run.io(rank, "pwrite", file=file, offset=80 * (1000 * rank + np.arange(1000)), bytes=80)
    assert "no collective I/O" not in findings(run)


# waiting


def check_wait(found, name, is_found, *, rank):
    """40 ms, all for one rank."""
    assert (name in found) == is_found
    if is_found:
        assert found[name].seconds == pytest.approx(0.040)
        assert f"100 % of it for rank {rank}" in found[name].sentence


@pytest.mark.parametrize(("compute", "is_found"), [(100 * MS, True), (900 * MS, False)])
def test_waiting_behind_io_is_found_from_a_twentieth_of_the_time(findings, compute, is_found):
    run = MadeRun(2)
    file = run.file("/data/out")
    run.compute(None, compute)
    run.io(0, "write", duration=40 * MS, file=file, offset=0, bytes=MIB)
    run.mpi(0, "MPI_Send", peer=1, tag=7, bytes=8)
    run.mpi(1, "MPI_Recv", duration=40 * MS + 10 * US, peer=0, tag=7, bytes=8)
    check_wait(findings(run), "waiting for a slow writer or reader", is_found, rank=0)


def test_waiting_for_computation_is_not_waiting_behind_io(findings):
    run = MadeRun(2)
    run.compute(0, 40 * MS)
    run.mpi(0, "MPI_Send", peer=1, tag=7, bytes=8)
    run.mpi(1, "MPI_Recv", duration=40 * MS + 10 * US, peer=0, tag=7, bytes=8)
    assert "waiting for a slow writer or reader" not in findings(run)


@pytest.mark.parametrize("call", ["MPI_File_open", "MPI_File_write_at_all", "MPI_File_close"])
@pytest.mark.parametrize(("late", "is_found"), [(40 * MS, True), (4 * MS, False)])
def test_ranks_that_come_late_to_collective_io_are_found(findings, call, late, is_found):
    """Rank 1 comes late; rank 0 waits for it inside the call, and then both write."""
    run = MadeRun(2)
    file = run.file("/data/out")
    run.compute(None, 100 * MS)
    run.compute(1, late)
    for rank, duration in ((0, late + 2 * MS), (1, 2 * MS)):
        run.within(rank, "pwrite", lead=duration - MS, duration=MS, file=file, offset=0, bytes=MIB)
        run.io(rank, call, duration=duration, file=file, comm=0, flags=COLLECTIVE)
    check_wait(findings(run), "late to collective I/O", is_found, rank=1)


def test_a_rank_that_writes_before_the_others_come_does_not_wait(findings):
    run = MadeRun(2)
    file = run.file("/data/out")
    run.compute(1, 40 * MS)
    for rank in range(2):
        run.within(rank, "pwrite", lead=0, duration=39 * MS, file=file, offset=0, bytes=MIB)
        call = "MPI_File_write_at_all"
        run.io(rank, call, duration=40 * MS, file=file, comm=0, flags=COLLECTIVE)
    assert "late to collective I/O" not in findings(run)


# redundancy


@pytest.mark.parametrize(("shift", "is_found"), [(0, True), (MIB, False)])
def test_ranks_that_read_the_same_bytes_are_found(findings, shift, is_found):
    run = MadeRun(4)
    file = run.file("/data/in")
    for rank in range(4):
        run.io(rank, "pread", file=file, offset=rank * shift, bytes=MIB)
    found = findings(run)
    assert ("ranks read the same" in found) == is_found
    if is_found:
        assert found["ranks read the same"].sentence == (
            "4 of 4 ranks read the same 1.05 MB of /data/in, 4.19 MB in all."
        )


@pytest.mark.parametrize(("again", "is_found"), [(8, True), (7, False)])
def test_a_rank_that_reads_again_half_of_what_it_reads_is_found(findings, again, is_found):
    run = MadeRun(1)
    file = run.file("/data/in")
    run.io(0, "pread", file=file, offset=MIB * np.arange(8), bytes=MIB)
    run.io(0, "pread", file=file, offset=MIB * np.arange(again), bytes=MIB)
    found = findings(run)
    assert ("reading again" in found) == is_found
    assert "ranks read the same" not in found


@pytest.mark.parametrize(("written", "is_found"), [(1, True), (0, False)])
def test_reading_what_the_run_wrote_is_found(findings, written, is_found):
    run = MadeRun(1)
    file = run.file("/data/scratch")
    run.io(0, "pwrite", file=file, offset=0, bytes=max(written * MIB, 1))
    run.io(0, "pread", file=file, offset=MIB * np.arange(10), bytes=MIB)
    assert ("reading what was written" in findings(run)) == is_found


def test_writing_what_was_read_is_not_reading_what_was_written(findings):
    run = MadeRun(1)
    file = run.file("/data/scratch")
    run.io(0, "pread", file=file, offset=0, bytes=4 * MIB)
    run.io(0, "pwrite", file=file, offset=0, bytes=4 * MIB)
    assert "reading what was written" not in findings(run)


# amount


@pytest.mark.parametrize(("compute", "is_found"), [(96 * MS, True), (94 * MS, False)])
def test_little_io_is_reported_below_a_twentieth_of_the_time(findings, compute, is_found):
    run = MadeRun(2)
    file = run.file("/data/out")
    for rank in range(2):
        run.compute(rank, compute)
        run.io(rank, "write", duration=5 * MS, file=file, offset=rank, bytes=1)
    found = findings(run)
    assert ("little I/O" in found) == is_found
    if is_found:
        assert "Look elsewhere" in found["little I/O"].hint


def test_io_of_one_rank_only_is_not_little_when_it_takes_that_rank_long(findings):
    run = MadeRun(100)
    run.compute(None, 90 * MS)
    run.io(0, "write", duration=10 * MS, file=run.file("/data/out"), offset=0, bytes=1)
    assert "little I/O" not in findings(run)


def test_where_no_io_was_recorded_nothing_is_reported(findings):
    run = MadeRun(2)
    run.compute(None, MS)
    assert findings(run) == {}


def test_files_that_store_nothing_count_for_no_finding(findings):
    run = MadeRun(1)
    terminal = run.file("terminal", kind="terminal")
    run.io(0, "write", file=terminal, bytes=np.full(5000, 10))
    assert "small requests" not in findings(run)


def test_shares_never_round_to_nothing_or_all():
    texts = [percent(x) for x in (0, 0.0004, 0.004, 0.5, 0.996, 0.9996, 1)]
    assert texts == ["0 %", "under 0.1 %", "0.4 %", "50 %", "99.6 %", "over 99.9 %", "100 %"]


def view_readers(flags: int) -> MadeRun:
    """Each rank reads every fourth block through a view that begins at its first one."""
    run = MadeRun(4)
    file = run.file("/data/in")
    for rank in range(4):
        places = {"offset": rank * 1024, "bytes": MIB}
        run.io(rank, "MPI_File_read_all", file=file, flags=COLLECTIVE | flags, **places)
    return run


@pytest.mark.parametrize(("flags", "is_found"), [(SCATTERED, False), (0, True)])
def test_ranks_that_read_through_views_with_holes_do_not_read_the_same(findings, flags, is_found):
    """What is recorded of their places overlaps; what they read need not."""
    assert ("ranks read the same" in findings(view_readers(flags))) == is_found


def test_reads_at_unknown_places_are_not_the_same(findings):
    run = MadeRun(4)
    file = run.file("/data/in")
    for rank in range(4):
        run.io(rank, "read", file=file, offset=-1, bytes=4 * MIB)
        run.io(rank, "pread", file=file, offset=rank * 1024, bytes=1024)
    assert "ranks read the same" not in findings(run)


def test_what_only_some_ranks_read_twice_is_reported_for_each_byte(findings):
    run = MadeRun(4)
    file = run.file("/data/in")
    for rank in range(4):
        run.io(rank, "pread", file=file, offset=rank // 2 * MIB, bytes=MIB)
        run.io(rank, "read", file=file, offset=-1, bytes=500)
    assert findings(run)["ranks read the same"].sentence == (
        "4 of 4 ranks read 2.10 MB of /data/in, each byte 2.0 times on average, 4.19 MB in all. "
        "Of another 2.00 kB it is not known exactly where they were read."
    )


@pytest.mark.parametrize(("flags", "is_found"), [(SCATTERED, False), (0, True)])
def test_places_in_a_view_with_holes_are_not_read_again(findings, flags, is_found):
    run = MadeRun(1)
    file = run.file("/data/in")
    for part in range(4):  # a view for each
        run.io(0, "MPI_File_read", file=file, offset=part * 1024, bytes=MIB, flags=flags)
    assert ("reading again" in findings(run)) == is_found


def test_an_update_in_place_reads_nothing_that_the_run_wrote(findings):
    run = MadeRun(1)
    file = run.file("/data/matrix")
    for block in range(64):
        run.io(0, "pread", file=file, offset=block * MIB, bytes=MIB)
        run.io(0, "pwrite", file=file, offset=block * MIB, bytes=MIB)
    assert "reading what was written" not in findings(run)
