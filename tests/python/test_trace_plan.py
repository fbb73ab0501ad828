"""What the player gets of a traced run."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as pq
import pytest
from tests.played_runs import TraceBuilder

from sesame.datasets import DataSet
from sesame.datasets.traced import IoFlag, MpiFlag
from sesame.errors import InputError
from sesame.settings import as_option
from sesame.simulation import mappings_for, place_files, plan_run
from sesame.trust import Reason


@pytest.fixture
def planned(tmp_path: Path):
    """planned(builder): the plan, and a list of its operations for each rank as (call, fields)."""

    def plan(builder: TraceBuilder, **tables: Any):
        run = plan_run(DataSet(builder.write(tmp_path / "run.sesame", **tables)))
        ends = np.cumsum(run.plan.counts)[:-1]
        names = run.plan.names
        operations = [
            [(names[row["call"]], dict(zip(row.dtype.names, row.item(), strict=True))) for row in p]
            for p in np.split(run.plan.operations, ends)
        ]
        return run, operations

    return plan


def calls(operations: list) -> list[str]:
    return [name for name, _ in operations]


def ping(bytes_: int = 8, tag: int = 3) -> TraceBuilder:
    trace = TraceBuilder(2)
    trace.everyone("MPI_Init")
    trace.call(0, "MPI_Send", comm=0, peer=1, tag=tag, bytes=bytes_)
    trace.call(1, "MPI_Recv", comm=0, peer=0, tag=tag, bytes=bytes_, flags=MpiFlag.ANY_SOURCE)
    trace.everyone("MPI_Finalize")
    return trace


def test_a_receive_names_the_sender_that_came(planned):
    _, operations = planned(ping(bytes_=80))
    assert calls(operations[0]) == ["MPI_Send", "MPI_Finalize"]
    name, receive = operations[1][0]
    assert (name, receive["peer"], receive["tag"], receive["bytes"]) == ("MPI_Recv", 0, 3, 80)


def test_computation_stands_before_the_call_that_it_preceded(planned):
    trace = TraceBuilder(1)
    trace.call(0, "MPI_Init", gap=5000, duration=70)
    trace.call(0, "MPI_Comm_rank", gap=20, duration=30)  # is the simulated MPI's to time
    trace.call(0, "MPI_Barrier", comm=0, gap=400, duration=999)
    trace.file(0, "write", gap=60, duration=10_000)
    trace.call(0, "MPI_Finalize", gap=7, duration=999)
    trace.now[0] += 11
    run, operations = planned(trace)
    # MPI_Init and the player's own call, the barrier, the end, and what follows.
    assert run.plan.times[0].tolist() == [5000, 0, 420, 67, 11]
    assert calls(operations[0]) == ["MPI_Barrier", "io", "MPI_Finalize"]
    assert operations[0][1][1]["number"] == 10_000
    assert run.io_s.tolist() == pytest.approx([1e-5])


def in_mpi_io(builder: TraceBuilder, *, open_ns: int, inside_ns: int) -> dict[str, Any]:
    """Rank 0 opens a file by MPI-IO; the access inside begins half way. The file's table."""
    builder.everyone("MPI_Init")
    at = {"file": 0, "handle": 0}
    builder.file(0, "MPI_File_open", gap=100, duration=open_ns, comm=0, **at)
    begin = builder.now[0] - open_ns // 2
    nested = {"begin_ns": begin, "duration_ns": inside_ns, "flags": int(IoFlag.NESTED)}
    builder.io[0].append({"rank": 0, "call": "open", **at, **nested})
    builder.call(0, "MPI_Finalize", gap=7, duration=5)
    return {"file": [{"index": 0, "path": "/scratch/data", "kind": "regular"}]}


@pytest.mark.parametrize("lost_ms", [0, 30])
def test_time_inside_mpi_io_beside_its_accesses_is_no_computation(lost_ms, tmp_path):
    """It is the library's, and the simulated MPI has its own; also where others had the processor
    in one half of the call only."""
    trace = TraceBuilder(1)
    tables = in_mpi_io(trace, open_ns=76_000_000, inside_ns=1000)
    half = {"rank": 0, "begin_ns": trace.io[0][0]["begin_ns"], "duration_ns": 38_000_000}
    tables["preempted"] = [{**half, "lost_ns": lost_ms * 1_000_000}]
    data_set = DataSet(trace.write(tmp_path / "run.sesame", **tables))
    placed = place_files(data_set, ["/scratch"], [], "/")
    run = plan_run(data_set, placed)
    assert "file_open" in run.plan.names
    assert run.plan.times[0].sum() == 1000 + 100 + 7


def test_time_that_others_had_is_no_computation_and_a_doubt(planned):
    trace = ping()
    trace.call(0, "MPI_Barrier", comm=0, gap=50_000_000)
    trace.call(1, "MPI_Barrier", comm=0, gap=50_000_000)
    end = trace.mpi[0][-1]["begin_ns"]
    preempted = {"rank": 0, "begin_ns": end - 40_000_000, "duration_ns": 40_000_000}
    run, _ = planned(trace, preempted=[{**preempted, "lost_ns": 30_000_000}])
    assert run.plan.times[0].max() == 20_000_000
    assert run.plan.times[1].max() == 50_000_000
    [doubt] = run.doubts
    assert doubt.reason == Reason.DISTURBED_INPUT
    assert "of rank 0 60 % (1 record of type preempted)" in doubt.text


def test_a_quiet_trace_is_not_doubted(planned):
    run, _ = planned(ping())
    assert run.doubts == ()


def test_more_ranks_than_processors_are_a_doubt(tmp_path):
    path = ping().write(tmp_path / "run.sesame")
    info = json.loads((path / "info.json").read_text())
    for processors, doubts in ((1, 1), (2, 0)):
        info["host"] = {"name": "here", "processors": processors}
        (path / "info.json").write_text(json.dumps(info))
        run = plan_run(DataSet(path))
        assert len(run.doubts) == doubts
    info["host"]["processors"] = 1
    (path / "info.json").write_text(json.dumps(info))
    assert "2 ranks of the traced run shared 1 processor" in plan_run(DataSet(path)).doubts[0].text


def test_what_went_past_the_tracer_is_a_doubt(tmp_path):
    path = ping().write(tmp_path / "run.sesame")
    info = json.loads((path / "info.json").read_text())
    said = {"reason": "incomplete input", "text": "the kernel counted 9 bytes", "hint": "none"}
    info.setdefault("result", {})["doubts"] = [said, {**said, "reason": "busy host"}]
    (path / "info.json").write_text(json.dumps(info))
    [doubt] = plan_run(DataSet(path)).doubts
    assert doubt.reason == Reason.INCOMPLETE_INPUT
    assert "of the traced run the kernel counted 9 bytes" in doubt.text


def test_calls_inside_others_are_theirs(planned):
    trace = TraceBuilder(1)
    trace.everyone("MPI_Init")
    trace.file(0, "MPI_File_write_all", duration=500)
    trace.io[0].append(
        {
            **trace.io[0][0],
            "call": "pwrite",
            "begin_ns": trace.now[0] - 300,
            "duration_ns": 200,
            "flags": int(IoFlag.NESTED),
        }
    )
    trace.call(0, "MPI_Barrier", comm=0, gap=50)
    run, operations = planned(trace)
    assert calls(operations[0]) == ["io", "MPI_Barrier", "MPI_Finalize"]
    assert run.plan.times[0].tolist() == [1000, 0, 1050, 0, 0]


def test_calls_that_take_no_time_keep_their_order(planned):
    """As in the data set of a replay that waits nothing out."""
    trace = TraceBuilder(2)
    still = {"gap": 0, "duration": 0}
    trace.everyone("MPI_Init", **still)
    for turn in range(3):
        for rank in range(2):
            other = {"comm": 0, "peer": 1 - rank, "tag": turn, "bytes": 8 + turn}
            trace.call(rank, "MPI_Sendrecv", **other, **still)
            trace.part(rank, "MPI_Recv", **other)
            trace.call(rank, "MPI_Barrier", comm=0, **still)
    _, operations = planned(trace)
    assert calls(operations[0]) == ["MPI_Sendrecv", "MPI_Barrier"] * 3 + ["MPI_Finalize"]
    assert [fields["tag"] for name, fields in operations[1] if name == "MPI_Sendrecv"] == [0, 1, 2]


def test_a_trace_without_begin_and_end_of_mpi_gets_them(planned):
    trace = ping()
    for rows in trace.mpi:
        del rows[0], rows[-1]
    run, operations = planned(trace)
    assert calls(operations[0]) == ["MPI_Send", "MPI_Finalize"]
    assert run.plan.times[0].tolist() == [0, 0, 1000 + 1100, 1100, 0]


def test_one_call_waits_for_the_requests_that_it_completed(planned):
    trace = TraceBuilder(2)
    for rank in range(2):
        other = {"comm": 0, "peer": 1 - rank, "bytes": 8}
        late = trace.call(rank, "MPI_Irecv", tag=2, **other)
        early = trace.call(rank, "MPI_Irecv", tag=1, **other)
        sends = [trace.call(rank, "MPI_Isend", tag=tag, **other) for tag in (1, 2)]
        trace.wait(rank, "MPI_Waitany", early)
        trace.wait(rank, "MPI_Waitall", late, *sends)
        trace.call(rank, "MPI_Waitall")  # of nothing
    run, operations = planned(trace)
    numbers = [fields["number"] for _, fields in operations[0]]
    assert calls(operations[0])[4:] == ["MPI_Wait", "MPI_Wait", "MPI_Finalize"]
    # In the order of the calls that complete them: early, then late and both sends.
    assert numbers[:6] == [1, 0, 2, 3, 0, 1]
    assert [fields["bytes"] for _, fields in operations[0]][4:6] == [1, 3]
    assert run.plan.requests.tolist() == [4, 4]


def test_both_halves_of_a_send_receive_are_one_call(planned):
    trace = TraceBuilder(3)
    for rank in range(3):
        to, source = (rank + 1) % 3, (rank - 1) % 3
        trace.call(rank, "MPI_Sendrecv", comm=0, peer=to, tag=rank, bytes=10 + rank)
        trace.part(rank, "MPI_Recv", comm=0, peer=source, tag=source, bytes=10 + source)
    trace.call(0, "MPI_Sendrecv", comm=0, peer=-2, bytes=5)
    trace.part(0, "MPI_Recv", comm=0, peer=-2)
    run, operations = planned(trace)
    assert calls(operations[0]) == ["MPI_Sendrecv", "MPI_Sendrecv", "MPI_Finalize"]
    lists = run.plan.lists
    first, second = (fields["list"] for _, fields in operations[0][:2])
    assert lists[first : first + 3].tolist() == [2, 2, 12]
    assert lists[second] == -1
    assert operations[0][1][1]["peer"] == -1


def test_started_requests_are_calls_that_do_not_block(planned):
    trace = TraceBuilder(2)
    flags = int(MpiFlag.PERSISTENT)
    for rank in range(2):
        other = {"comm": 0, "peer": 1 - rank, "tag": 6, "bytes": 8}
        trace.call(rank, "MPI_Recv_init", **{**other, "peer": -1}, flags=flags)
        trace.call(rank, "MPI_Ssend_init", **other, flags=flags)
        for _ in range(2):
            trace.call(rank, "MPI_Startall", gap=100)
            names = ("MPI_Irecv", "MPI_Issend")
            parts = [trace.part(rank, name, **other, flags=flags) for name in names]
            trace.call(rank, "MPI_Start", gap=50)
            parts.append(trace.part(rank, "MPI_Ibarrier", comm=0, flags=flags))
            trace.wait(rank, "MPI_Waitall", *parts, gap=30)
    run, operations = planned(trace)
    names = ["MPI_Irecv", "MPI_Issend", "MPI_Ibarrier", "MPI_Wait"]
    assert calls(operations[0]) == [*names, *names, "MPI_Finalize"]
    # Making a request is the simulated MPI's to time; what one call starts follows at once.
    assert run.plan.times[0].tolist()[2:7] == [2100, 0, 50, 30, 100]


def test_polls_that_find_nothing_are_waiting_unless_there_is_work_between_them(planned):
    trace = TraceBuilder(2)
    trace.call(0, "MPI_Send", comm=0, peer=1, tag=0, bytes=8)
    request = trace.call(1, "MPI_Irecv", comm=0, peer=0, tag=0, bytes=8)
    trace.call(1, "MPI_Test", gap=3000, duration=90, flags=MpiFlag.POLL)
    trace.call(1, "MPI_Test", gap=200, duration=90, flags=MpiFlag.POLL)  # only turning round
    trace.call(1, "MPI_Test", gap=50_000, duration=90, flags=MpiFlag.POLL)  # work
    trace.wait(1, "MPI_Test", request, gap=200)
    run, operations = planned(trace)
    assert calls(operations[1]) == ["MPI_Irecv", "MPI_Wait", "MPI_Finalize"]
    assert run.plan.times[1].tolist() == [0, 0, 1000, 53_000, 0, 0]


def test_a_probe_waits_for_the_message_that_it_found(planned):
    trace = TraceBuilder(2)
    trace.call(0, "MPI_Send", comm=0, peer=1, tag=9, bytes=8)
    trace.call(1, "MPI_Iprobe", comm=0, flags=MpiFlag.POLL)
    trace.call(1, "MPI_Iprobe", comm=0, peer=0, tag=9, bytes=8)
    trace.call(1, "MPI_Recv", comm=0, peer=0, tag=9, bytes=8)
    _, operations = planned(trace)
    assert calls(operations[1]) == ["MPI_Probe", "MPI_Recv", "MPI_Finalize"]
    assert (operations[1][0][1]["peer"], operations[1][0][1]["tag"]) == (0, 9)


def test_peers_are_ranks_of_their_communicator(planned):
    trace = TraceBuilder(4)
    odd = trace.communicator(0, "1-3:2", 2)
    for rank in range(4):
        trace.call(rank, "MPI_Comm_split", comm=0, made=odd if rank % 2 else -1)
    trace.call(3, "MPI_Send", comm=odd, peer=1, tag=0, bytes=8)
    trace.call(1, "MPI_Recv", comm=odd, peer=3, tag=0, bytes=8)
    trace.call(1, "MPI_Bcast", comm=odd, peer=3, bytes=8)
    trace.call(3, "MPI_Bcast", comm=odd, peer=3, bytes=8)
    _, operations = planned(trace)
    assert operations[1][1][1]["peer"] == 1
    assert operations[1][2][1]["peer"] == 1
    split = operations[3][0][1]
    assert (split["comm"], split["peer"], split["number"], split["tag"]) == (odd, 0, odd, 1)
    assert operations[0][0][1]["comm"] == -1


def test_each_call_makes_the_communicator_that_its_record_names(planned):
    trace = TraceBuilder(4)
    low = trace.communicator(0, "0-2", 3)  # never used
    even, odd = trace.communicator(0, "0,2", 2), trace.communicator(0, "3,1", 2)
    all_, again = (trace.communicator(0, "0-3", 4) for _ in range(2))
    for rank in range(4):
        trace.call(rank, "MPI_Comm_split", comm=0, made=odd if rank % 2 else even)
        trace.call(rank, "MPI_Comm_dup", comm=0, made=again)
        trace.call(rank, "MPI_Comm_dup", comm=0, made=all_)
        trace.call(rank, "MPI_Comm_create", comm=0, made=low if rank < 3 else -1)
    _, operations = planned(trace)
    made = [[f["comm"] for _, f in rank[:4]] for rank in operations]
    assert made[0] == made[2] == [even, again, all_, low]
    assert made[1] == [odd, again, all_, low]
    assert made[3] == [odd, again, all_, -1]
    assert {f["peer"] for rank in operations for _, f in rank[:4]} == {0}
    assert [rank[0][1]["tag"] for rank in operations] == [0, 1, 1, 0]


def test_both_sides_of_an_intercommunicator_have_its_parents(planned):
    trace = TraceBuilder(4)
    halves = [trace.communicator(0, members, 2) for members in ("0-1", "2-3")]
    between = trace.communicator(halves[0], "0-1", 2, remote="2-3", remote_parent=halves[1])
    whole = trace.communicator(between, "2-3,0-1", 4)
    some = trace.communicator(between, "1", 1, remote="2", remote_parent=between)
    for rank in range(4):
        trace.call(rank, "MPI_Comm_split", comm=0, made=halves[rank // 2])
        trace.call(rank, "MPI_Intercomm_create", comm=between, made=between)
        trace.call(rank, "MPI_Intercomm_merge", comm=between, made=whole)
        trace.call(rank, "MPI_Comm_create", comm=between, made=some if rank in (1, 2) else -1)
        trace.call(rank, "MPI_Allreduce", comm=whole, bytes=8)
    trace.call(0, "MPI_Send", comm=between, peer=3, tag=1, bytes=8)
    trace.call(3, "MPI_Recv", comm=between, peer=0, tag=1, bytes=8)
    run, operations = planned(trace)
    made = [[(f["comm"], f["peer"], f["number"]) for _, f in rank[1:3]] for rank in operations]
    assert made[0] == [(between, halves[0], 2), (whole, between, 1)]
    assert made[3] == [(between, halves[1], 0), (whole, between, 0)]
    # All of a side name the same ranks, also those that are not among them.
    creates = [rank[3][1] for rank in operations]
    assert [create["comm"] for create in creates] == [-1, some, some, -1]
    named = [run.plan.lists[create["list"] :][:2].tolist() for create in creates]
    assert named == [[1, 1], [1, 1], [1, 0], [1, 0]]
    send, receive = operations[0][5][1], operations[3][5][1]
    assert (send["comm"], send["peer"]) == (between, 1)
    assert (receive["comm"], receive["peer"]) == (between, 0)


def test_accesses_to_files_continue_until_they_are_waited_for(planned):
    trace = TraceBuilder(1)
    first = trace.file(0, "MPI_File_iwrite_at", duration=10)
    second = trace.file(0, "MPI_File_iread_at", duration=20)
    request = trace.call(0, "MPI_Ibarrier", comm=0, duration=30)
    trace.wait_for_file(0, "MPI_Wait", second, gap=400, duration=50)
    trace.wait_for_file(0, "MPI_Waitall", first, gap=600, duration=70)
    trace.mpi[0][request]["completion"] = len(trace.mpi[0]) - 1 - request
    run, operations = planned(trace)
    starts, ends = ["io_start"] * 2, ["io_wait"] * 2
    expected = [*starts, "MPI_Ibarrier", ends[0], "MPI_Wait", ends[1], "MPI_Finalize"]
    assert calls(operations[0]) == expected
    fields = [one for _, one in operations[0]]
    assert [fields[at]["number"] for at in (0, 1, 3, 5)] == [10, 20, 1500, 3180]
    assert fields[0]["list"] == fields[5]["list"] != fields[1]["list"] == fields[3]["list"]
    assert run.plan.requests.tolist() == [3]


def test_the_edge_of_a_grid_exchanges_on_its_communicator(planned):
    trace = TraceBuilder(2)
    copy = trace.communicator(0, "0-1", 2)
    for rank in range(2):
        trace.call(rank, "MPI_Comm_dup", comm=0, made=copy)
    trace.call(0, "MPI_Sendrecv", comm=copy, peer=-2, tag=0, bytes=8)
    trace.part(0, "MPI_Recv", comm=copy, peer=1, tag=0, bytes=8)
    trace.call(1, "MPI_Sendrecv", comm=copy, peer=0, tag=0, bytes=8)
    trace.part(1, "MPI_Recv", comm=copy, peer=-2)
    trace.call(0, "MPI_Send", comm=-1, peer=-2)
    _, operations = planned(trace)
    assert [(f["comm"], f["peer"]) for _, f in operations[0][1:3]] == [(copy, -1), (0, -1)]
    assert [(f["comm"], f["peer"]) for _, f in operations[1][1:2]] == [(copy, 0)]


def test_a_list_says_what_each_rank_gives(planned):
    trace = TraceBuilder(3)
    for rank in range(3):
        trace.call(rank, "MPI_Allgatherv", comm=0, bytes=10 * rank)
        trace.call(rank, "MPI_Alltoallv", comm=0, bytes=7 * rank)
        trace.call(rank, "MPI_Scatter", comm=0, peer=1, bytes=30 if rank == 1 else 0)
    run, operations = planned(trace)
    gather, exchange, scatter = (fields for _, fields in operations[2][:3])
    assert run.plan.lists[gather["list"] :][:4].tolist() == [3, 0, 10, 20]
    assert run.plan.lists[exchange["list"] :][:4].tolist() == [3, 0, 7, 14]
    assert (exchange["bytes"], exchange["peer"]) == (14, 2)
    assert (scatter["bytes"], scatter["peer"]) == (10, 1)
    assert "evenly" in run.notes[0]


def test_one_sided_calls_take_the_time_that_they_took(planned):
    trace = TraceBuilder(1)
    trace.call(0, "MPI_Win_fence", duration=4000)
    trace.call(0, "MPI_Put", comm=-1, peer=0, bytes=100, duration=300)
    run, operations = planned(trace)
    assert [(n, f["number"]) for n, f in operations[0][:2]] == [("timed", 4000), ("timed", 300)]
    assert "one-sided" in run.notes[0]


def test_files_of_other_threads_are_left_out(planned):
    trace = ping()
    trace.file(0, "write", thread=1, file=0)
    trace.file(0, "read", thread=1, file=1)
    files = [{"index": 0, "kind": "regular"}, {"index": 1, "kind": "pipe"}]
    run, operations = planned(trace, file=files)
    assert "io" not in calls(operations[0])
    assert "1 file operations are left out" in run.notes[0]


# What cannot be played.


def refusal(planned, trace: TraceBuilder, **tables: Any) -> str:
    with pytest.raises(InputError) as refused:
        planned(trace, **tables)
    assert refused.value.exit_status == 2
    return str(refused.value)


def test_a_message_without_its_receive_is_named(planned):
    trace = ping()
    trace.call(0, "MPI_Send", comm=0, peer=1, tag=8, bytes=8)
    text = refusal(planned, trace)
    assert "rank 0, mpi record 3 (MPI_Send) to rank 1 with tag 8: the receive" in text


def test_a_receive_without_its_message_is_named(planned):
    trace = ping()
    trace.call(1, "MPI_Recv", comm=0, peer=0, tag=3, bytes=8)
    text = refusal(planned, trace)
    assert "rank 1, mpi record 3 (MPI_Recv) from rank 0 with tag 3: the send" in text


def test_a_collective_without_one_of_its_ranks_is_named(planned):
    trace = TraceBuilder(3)
    for rank in (0, 2):
        trace.call(rank, "MPI_Barrier", comm=0)
    text = refusal(planned, trace)
    assert "rank 0, mpi record 0 (MPI_Barrier): rank 1 takes no part" in text


def test_ranks_that_call_different_collectives_are_named(planned):
    trace = TraceBuilder(2)
    trace.call(0, "MPI_Barrier", comm=0)
    trace.call(1, "MPI_Allreduce", comm=0, bytes=8)
    text = refusal(planned, trace)
    assert "rank 1, mpi record 0 (MPI_Allreduce)" in text
    assert "(MPI_Barrier)" in text


def test_a_missing_rank_is_named(planned):
    trace = ping()
    rows = [{"rank": 0, "mpi_rank": 0}, {"rank": 2, "mpi_rank": 2}]
    assert "rank 1 is not in the trace" in refusal(planned, trace, process=rows)


def test_a_missing_last_rank_is_named(planned):
    trace = ping()
    world = [{"index": 0, "parent": -1, "size": 3, "members": "0-2"}]
    assert "rank 2 is missing" in refusal(planned, trace, communicator=world)


def test_a_rank_without_a_trace_is_named_by_its_place(planned):
    world = [{"index": 0, "parent": -1, "size": 3, "members": "0,-1,1"}]
    assert "rank 1 is missing" in refusal(planned, ping(), communicator=world)


def test_a_communicator_with_a_process_that_was_not_traced_is_refused(planned):
    trace = ping()
    trace.communicator(0, "0,-1", 2)
    assert "communicator 1: one of its processes was not traced" in refusal(planned, trace)


def test_a_trace_that_was_cut_off_says_so(planned):
    trace = ping()
    del trace.mpi[1][1:]
    rows = [
        {"rank": rank, "mpi_rank": rank, "end_ns": 9999, "outcome": outcome}
        for rank, outcome in enumerate(("exited", "cut off"))
    ]
    assert "rank 1 is cut off" in refusal(planned, trace, process=rows)


def test_processes_without_mpi_are_played_side_by_side(planned):
    trace = TraceBuilder(2)
    trace.file(0, "write")
    trace.file(1, "write")
    rows = [{"rank": rank, "mpi_rank": -1, "begin_ns": 500} for rank in range(2)]
    run, operations = planned(trace, process=rows)
    assert run.ranks == 2
    assert all(names[-1] == "MPI_Finalize" for names in map(calls, operations))
    assert "its 2 processes are played side by side" in run.notes[0]


def test_ranks_of_a_trace_without_calls_of_mpi_do_not_wait(planned):
    trace = TraceBuilder(1)
    trace.file(0, "write")
    run, _ = planned(trace, process=[{"rank": 0, "mpi_rank": 0}])
    assert "the trace has no calls of MPI: its ranks do not wait" in run.notes[0]


def test_a_run_without_mpi_and_files_has_nothing_to_simulate(planned):
    rows = [{"rank": 0, "mpi_rank": -1}]
    text = refusal(planned, TraceBuilder(1), process=rows)
    assert "no process of this run called MPI or accessed a file" in text


@pytest.mark.parametrize(
    ("seconds", "expected"),
    [
        ({"/p/scratch/a/out": 4.0, "/p/scratch/a/b/c": 4.0}, {"/p/scratch/a": "/local"}),
        ({"/p/x/y/z/out": 9.0, "/usr/lib/x.so": 0.1}, {"/p/x/y/z": "/local"}),
        ({"/p/a/1": 5.0, "/q/b/2": 4.0}, {"/p/a": "/local", "/q/b": "/local"}),
        ({}, {}),
    ],
)
def test_a_mapping_is_proposed_for_the_directories_with_most_of_the_time(seconds, expected):
    assert mappings_for(seconds, ["/local", "."]) == expected
    assert mappings_for(seconds, []) == {}


def test_a_mapping_can_be_given_to_a_shell_and_is_never_of_the_root():
    found = mappings_for({"/a b/c d": 1.0}, ["/pfs"])
    assert as_option("mappings", found) == "--map '/a b=/pfs'"
    assert mappings_for({"/data": 1.0}, ["/pfs"]) == {}
    assert mappings_for({f"/{i}/file": 1.0 for i in range(11)}, ["/pfs"]) == {}


def test_a_pruned_trace_lacks_messages(planned, tmp_path: Path):
    path = ping().write(tmp_path / "pruned.sesame")
    info = json.loads((path / "info.json").read_text())
    (path / "info.json").write_text(json.dumps({**info, "result": {"pruning": "thesis"}}))
    with pytest.raises(InputError, match="pruned"):
        plan_run(DataSet(path))


def test_a_data_set_of_another_kind_is_no_trace(run_path):
    with pytest.raises(InputError, match="no traced run"):
        plan_run(DataSet(run_path))


def test_threads_that_call_mpi_at_once_cannot_be_played(planned):
    trace = ping()
    outer = trace.mpi[0][1]
    trace.mpi[0].append({**outer, "thread": 1, "begin_ns": outer["begin_ns"] + 10, "tag": 7})
    assert "thread 1 made it while thread 0 was inside" in refusal(planned, trace)


def test_started_processes_cannot_be_played(planned):
    trace = ping()
    trace.call(0, "MPI_Comm_spawn", comm=0)
    assert "(MPI_Comm_spawn): the simulator cannot play" in refusal(planned, trace)


def test_times_that_cannot_be_are_named(planned):
    trace = ping()
    trace.mpi[1][1]["begin_ns"] = 1 << 62
    assert "rank 1, mpi record 1 (MPI_Recv): impossible times: it began" in refusal(planned, trace)


def test_an_unknown_communicator_is_named(planned):
    trace = ping()
    trace.communicator(0, "0-1", 2)
    for rank in range(2):
        trace.call(rank, "MPI_Barrier", comm=1)
    text = refusal(planned, trace)
    assert "the call that made communicator 1 is not in the trace" in text


def test_a_call_that_does_not_say_what_it_made_is_named(planned):
    trace = ping()
    trace.communicator(0, "0-1", 2)
    trace.call(0, "MPI_Comm_dup", comm=0)
    text = refusal(planned, trace)
    assert "rank 0, mpi record 3 (MPI_Comm_dup): there is no record of the communicator" in text


def test_a_call_that_made_a_communicator_of_others_is_named(planned):
    trace = ping()
    trace.communicator(0, "1", 1)
    trace.call(0, "MPI_Comm_split", comm=0, made=1)
    assert "the rank is not in communicator 1, which it made" in refusal(planned, trace)


def test_a_data_set_of_before_the_field_is_played_unless_it_makes_communicators(tmp_path: Path):
    for makes in (False, True):
        trace = ping()
        if makes:
            copy = trace.communicator(0, "0-1", 2)
            for rank in range(2):
                trace.call(rank, "MPI_Comm_dup", comm=0, made=copy)
        path = trace.write(tmp_path / f"{makes}.sesame")
        info = json.loads((path / "info.json").read_text())
        for name, field in (("mpi", "made"), ("communicator", "remote_parent")):
            file = path / f"{name}.parquet"
            pq.write_table(pq.read_table(file).drop_columns([field]), file)
            record = info["record_types"][name]
            record["fields"] = [one for one in record["fields"] if one["name"] != field]
        (path / "info.json").write_text(json.dumps(info))
        if not makes:
            assert plan_run(DataSet(path)).ranks == 2
            continue
        with pytest.raises(InputError, match="no record of the communicator that it made") as error:
            plan_run(DataSet(path))
        assert "earlier version" in str(error.value.hint)
