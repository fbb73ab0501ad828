"""From raw records of messages to the data set: who sent, what completed, which communicator,
whose number, by which clock; and what is lost."""

from __future__ import annotations

from random import Random

import pytest
from tests.python.collated import Collated, open_file
from tests.python.raw_trace import FORMAT, PACKET, RawTrace

from sesame.errors import InputError

# --- Messages ---


def test_receives_get_the_peer_the_tag_and_the_length_of_what_came(tmp_path):
    trace = RawTrace()
    sender, receiver = (trace.process(rank, 2) for rank in range(2))
    for size in (10, 20, 30, 40):
        sender.put("send", "MPI_Send", comm=0, peer=1, tag=5 if size < 40 else 6, bytes=size)
    receiver.put("start", "MPI_Irecv", comm=0, peer=-1, tag=-1, bytes=999, request=1)
    receiver.put("start", "MPI_Irecv", comm=0, peer=0, tag=5, bytes=999, request=2)
    receiver.put("receive", "MPI_Recv", comm=0, peer=0, tag=5, bytes=999, asked=1)
    receiver.put("receive", "MPI_Recv", comm=0, peer=0, tag=6, bytes=999, asked=2)
    receiver.put("completed", request=2, peer=0, tag=5)
    receiver.put("completed", request=1, peer=0, tag=5)
    receiver.put("wait", "MPI_Waitall", count=2, done=2)
    done = Collated(trace, tmp_path)
    assert done.rows("mpi", "call", "peer", "tag", "bytes", "completion", "flags")[4:] == [
        ("MPI_Irecv", 0, 5, 10, 4, 11),
        ("MPI_Irecv", 0, 5, 20, 3, 8),
        ("MPI_Recv", 0, 5, 30, 0, 1),
        ("MPI_Recv", 0, 6, 40, 0, 2),
        ("MPI_Waitall", -1, -1, 0, 0, 0),
    ]
    assert done.result["unmatched"] == {"messages": 0, "channels": []}


def test_polls_that_found_nothing_have_their_number(tmp_path):
    trace = RawTrace()
    process = trace.process(0, 1)
    process.put("tests", "MPI_Test", calls=7, count=1)
    process.put("probes", "MPI_Iprobe", calls=3, comm=0, peer=-1, tag=4, asked=1)
    process.put("probe", "MPI_Iprobe", comm=0, peer=0, tag=4, asked=1)
    process.put("wait", "MPI_Testany", count=2, done=1)
    assert Collated(trace, tmp_path).rows("mpi", "call", "peer", "tag", "flags", "calls") == [
        ("MPI_Test", -1, -1, 4, 7),
        ("MPI_Iprobe", -1, 4, 1 | 4, 3),
        ("MPI_Iprobe", 0, 4, 1, 1),
        ("MPI_Testany", -1, -1, 0, 1),
    ]


def test_one_handle_for_several_sends_is_taken_apart(tmp_path):
    trace = RawTrace()
    process = trace.process(0, 1)
    for _ in range(2):
        process.put("start", "MPI_Isend", comm=0, peer=0, tag=1, bytes=8, request=77)
    process.put("completed", request=77)
    process.put("completed", request=77)
    process.put("wait", "MPI_Waitall", count=2, done=2)
    assert Collated(trace, tmp_path).rows("mpi", "completion") == [2, 1, 0]


def test_a_request_may_be_completed_by_another_thread(tmp_path):
    trace = RawTrace()
    process = trace.process(0, 1)
    process.put("start", "MPI_Irecv", comm=0, peer=0, tag=1, bytes=8, request=5)
    other = process.thread(1)
    other.put("send", "MPI_Ssend", begin=2000, comm=0, peer=0, tag=1, bytes=8)
    other.put("completed", request=5, peer=0, tag=1)
    other.put("wait", "MPI_Wait", count=1, done=1)
    process.put("collective", "MPI_Barrier", begin=1500, comm=0, peer=-1)
    done = Collated(trace, tmp_path)
    assert done.rows("mpi", "thread", "call", "completion", "flags") == [
        (0, "MPI_Irecv", 3, 8),
        (0, "MPI_Barrier", 0, 0),
        (1, "MPI_Ssend", 0, 32),
        (1, "MPI_Wait", 0, 0),
    ]


def test_started_operations_lie_inside_the_call_in_their_order(tmp_path):
    trace = RawTrace()
    process = trace.process(0, 1)
    process.put("start", "MPI_Ssend_init", comm=0, peer=0, tag=1, bytes=8, request=1)
    process.put("start", "MPI_Recv_init", comm=0, peer=-1, tag=-1, bytes=8, request=2)
    process.put("collective_start", "MPI_Bcast_init", comm=0, peer=0, bytes=64, request=3)
    for request in (1, 2, 3):
        process.put("started", "MPI_Start", begin=2000, end=2100, request=request)
    process.put("plain", "MPI_Startall", begin=2000, end=2100)
    for request in (1, 2, 3):
        process.put("completed", request=request, peer=0, tag=1)
    process.put("wait", "MPI_Waitall", count=3, done=3)
    process.put("started", "MPI_Start", request=3)
    done = Collated(trace, tmp_path)
    assert done.rows("mpi", "call", "peer", "bytes", "completion", "flags")[3:] == [
        ("MPI_Startall", -1, 0, 0, 0),
        ("MPI_Issend", 0, 8, 3, 16 + 8 + 128 + 32),
        ("MPI_Irecv", 0, 8, 2, 16 + 8 + 128 + 3),
        ("MPI_Ibcast", 0, 64, 1, 16 + 8 + 128),
        ("MPI_Waitall", -1, 0, 0, 0),
        ("MPI_Start", -1, 0, 0, 0),
        ("MPI_Ibcast", 0, 64, 0, 16 + 8 + 128),
    ]


def test_a_call_that_sends_and_receives_is_the_send_with_a_receive_inside(tmp_path):
    trace = RawTrace()
    process = trace.process(0, 1)
    process.put("send", "MPI_Sendrecv", begin=2000, end=2100, comm=0, peer=0, tag=1, bytes=8)
    process.put(
        "receive", "MPI_Recv", begin=2000, end=2100, comm=0, peer=0, tag=1, bytes=99, asked=4
    )
    done = Collated(trace, tmp_path)
    assert done.rows("mpi", "call", "bytes", "flags") == [
        ("MPI_Sendrecv", 8, 0),
        ("MPI_Recv", 8, 128),
    ]


def test_unmatched_messages_are_counted_and_named(tmp_path):
    trace = RawTrace()
    sender, receiver = (trace.process(rank, 2) for rank in range(2))
    for _ in range(3):
        sender.put("send", "MPI_Send", comm=0, peer=1, tag=5, bytes=8)
    receiver.put("receive", "MPI_Recv", comm=0, peer=0, tag=5, bytes=8)
    receiver.put("receive", "MPI_Recv", comm=0, peer=0, tag=6, bytes=8)
    done = Collated(trace, tmp_path)
    assert done.result["unmatched"]["messages"] == 3
    assert done.result["unmatched"]["channels"] == [
        {"rank": 0, "peer": 1, "tag": 5, "comm": 0, "messages": 2, "side": "sent"},
        {"rank": 1, "peer": 0, "tag": 6, "comm": 0, "messages": 1, "side": "received"},
    ]


# --- Communicators ---


def test_communicators_of_different_processes_are_found_to_be_one(tmp_path):
    """Each process numbers as it likes; parent, order of calls and members tell."""
    trace = RawTrace()
    for rank in range(4):
        process = trace.process(rank, 4)
        first = rank % 2
        numbers = (5, 9) if rank < 2 else (2, 1)
        split = [first, 2, 2]
        put = process.put
        put("communicator", "MPI_Comm_split", parent=0, comm=numbers[0], members=split)
        put("communicator", "MPI_Comm_dup", parent=numbers[0], comm=numbers[1], members=split)
        put("communicator", "MPI_Comm_dup", parent=numbers[0], comm=30 + rank, members=split)
        put("named", "MPI_Comm_set_name", comm=30 + rank, name=f"second of {first}")
        put("send", "MPI_Send", comm=numbers[1], peer=rank // 2, tag=1, bytes=8)
    done = Collated(trace, tmp_path)
    assert done.rows("communicator", "parent", "members", "name") == [
        (-1, "0-3", "MPI_COMM_WORLD"),
        (0, "0,2", ""),
        (1, "0,2", ""),
        (1, "0,2", "second of 0"),
        (0, "1,3", ""),
        (4, "1,3", ""),
        (4, "1,3", "second of 1"),
    ]
    sends = [row for row in done.rows("mpi", "call", "comm", "peer") if row[0] == "MPI_Send"]
    assert [row[1:] for row in sends] == [(2, 0), (5, 1), (2, 2), (5, 3)]
    made = [one for call, one in done.rows("mpi", "call", "made") if "Comm_dup" in call]
    assert made == [2, 3, 5, 6, 2, 3, 5, 6]


def test_an_intercommunicator_is_one_from_both_sides(tmp_path):
    trace = RawTrace()
    for rank in range(3):
        process = trace.process(rank, 3)
        here, there = ([0, 1, 1], [1, 2, 1]) if rank == 0 else ([1, 2, 1], [0, 1, 1])
        put = process.put
        put("communicator", "MPI_Comm_split", parent=0, comm=1, members=here)
        put("communicator", "MPI_Intercomm_create", parent=1, comm=2, members=here, remote=there)
        put("send", "MPI_Send", comm=2, peer=0, tag=1, bytes=8)
    done = Collated(trace, tmp_path)
    fields = ("members", "remote", "parent", "remote_parent")
    inter = [row for row in done.rows("communicator", *fields) if row[1]]
    assert inter == [("0", "1-2", 1, 3)]
    made = [row for row in done.rows("mpi", "rank", "made") if row[1] >= 0]
    assert made == [(0, 1), (0, 2), (1, 3), (1, 2), (2, 3), (2, 2)]
    sends = [row for row in done.rows("mpi", "call", "peer") if row[0] == "MPI_Send"]
    assert [peer for _, peer in sends] == [1, 0, 0]


# --- Processes, clocks, loss ---


def test_children_and_replaced_programs_stand_behind_the_ranks(tmp_path):
    trace = RawTrace()
    script = trace.process(pid=50, begin=1000)
    script.end(2)
    mpi = trace.process(0, 1, pid=50, parent=1, begin=2000, number=1)
    mpi.end(processor=750)
    child = trace.process(pid=60, parent=50, begin=3000, command="ls\x1f-l")
    child.put("plain", "sync")
    done = Collated(trace, tmp_path)
    assert done.rows("process", "processor_ns") == [750, 0, 0]
    assert done.rows("process", "rank", "mpi_rank", "parent", "pid", "outcome", "command") == [
        (0, 0, -1, 50, "exited", "app"),
        (1, -1, -1, 50, "replaced", "app"),
        (2, -1, 0, 60, "cut off", "ls -l"),
    ]
    assert done.result["outcome"] == "cut off"


@pytest.mark.parametrize("apart", [10_000, 1], ids=["one after the other", "at once"])
def test_a_script_may_run_several_mpi_programs(tmp_path, apart):
    """Their ranks have the launcher as parent, or a script that it started."""
    trace = RawTrace()
    for run in range(2):
        script = trace.process(pid=500 + run, parent=40 + run, begin=1)
        script.end()
        for rank in range(2):
            begin = 1000 + apart * run + rank * 10
            parent = script.pid if rank == 0 else 40 + run
            process = trace.process(rank, 2, parent=parent, begin=begin)
            process.put("send", "MPI_Send", comm=0, peer=1, tag=run, bytes=8)
            process.end()
    done = Collated(trace, tmp_path)
    ranks = done.rows("process", "rank", "mpi_rank")
    assert ranks == [(0, 0), (1, 1), (2, 0), (3, 1), (4, -1), (5, -1)]
    sends = done.rows("mpi", "rank", "comm", "peer", "tag")
    assert sends == [(0, 0, 1, 0), (1, 0, 1, 0), (2, 1, 3, 1), (3, 1, 3, 1)]
    assert done.result["mpi_programs"] == 2


def test_nodes_of_one_name_are_distinguished(tmp_path):
    """Each has a launcher, and a clock, of its own: the second is 2 s ahead of the first."""
    trace = RawTrace()
    for rank in range(4):
        node = rank // 2
        process = trace.process(
            rank,
            4,
            parent=40 + node,
            begin=1000 + node * 2_000_000_000 + rank,
            offset=10**18 - node * 2_000_000_000,
            kernel=f"boot {node}",
        )
        process.end()
    done = Collated(trace, tmp_path)
    assert done.result["mpi_programs"] == 1
    assert done.rows("process", "rank", "host", "begin_ns") == [
        (0, "node", 0),
        (1, "node", 1),
        (2, "node (2)", 2),
        (3, "node (2)", 3),
    ]


def test_process_ids_of_several_namespaces_are_distinguished(tmp_path):
    """Process 7 of one container started process 8, process 7 of the other did not."""
    trace = RawTrace()
    for number in (1, 2):
        begin = 100 * number
        trace.process(pid=7, begin=begin, kernel="boot", pid_namespace=number, number=number).end()
    trace.process(pid=8, parent=7, begin=300, kernel="boot", pid_namespace=1).end()
    done = Collated(trace, tmp_path)
    assert done.rows("process", "pid", "parent") == [(7, -1), (7, -1), (8, 0)]


@pytest.mark.parametrize(("jobs", "programs"), [(("one", "one"), 1), (("one", "other"), 2)])
def test_what_the_launcher_calls_a_program_tells_it_from_others(jobs, programs, tmp_path):
    """Rank 1 of the first and rank 0 of the second left no trace, if there are two."""
    trace = RawTrace()
    for rank in range(2):
        trace.process(rank, 2, parent=40 + rank, job=jobs[rank]).end()
    assert Collated(trace, tmp_path).result["mpi_programs"] == programs


def test_containers_of_one_kernel_have_one_clock(tmp_path):
    """What each reads of it differs by the time of reading: the largest counts for all."""
    trace = RawTrace()
    for rank, offset in enumerate((90_000, 100_000)):
        host = f"container-{rank}"
        trace.process(rank, 2, host=host, begin=5000 + rank, offset=offset, kernel="boot").end()
    done = Collated(trace, tmp_path)
    assert done.rows("process", "host", "begin_ns") == [("container-0", 0), ("container-1", 1)]


def test_nodes_have_one_clock_each(tmp_path):
    trace = RawTrace()
    for rank, (host, begin, offset) in enumerate(
        [("a", 5000, 100_000), ("a", 6000, 99_900), ("b", 900_000, -790_000)]
    ):
        process = trace.process(rank, 3, host=host, begin=begin, offset=offset)
        process.put("collective", "MPI_Barrier", begin=begin + 100, comm=0, peer=-1)
    done = Collated(trace, tmp_path)
    assert done.rows("process", "begin_ns", "host") == [(0, "a"), (1000, "a"), (5000, "b")]
    assert done.rows("mpi", "begin_ns") == [100, 1100, 5100]


def test_what_was_made_and_is_not_there_is_lost(tmp_path):
    trace = RawTrace()
    process = trace.process()
    for _ in range(250):
        process.put("plain", "sync")
    raw = trace.write(tmp_path / "raw")
    stream = raw / f"{process.name}.0.stream"
    data = stream.read_bytes()
    whole = data.index(PACKET.pack(0xC1FC1FC1, 1, process.pid, 0, *[0] * 6)[:16], 100)
    stream.write_bytes(data[: whole + PACKET.size + 30])
    done = Collated(trace, tmp_path)
    assert done.result["records"] + done.result["discarded"] == 251
    assert done.result["discarded"] > 140
    assert len(done.result["damage"]) == 1
    assert "cut off" in done.result["damage"][0]


def test_a_process_that_wrote_nothing_has_lost_all(tmp_path):
    """Its state says that it made records, and how many."""
    trace = RawTrace()
    trace.process(0, 2).end()
    other = trace.process(1, 2)
    raw = trace.write(tmp_path / "raw")
    (raw / f"{other.name}.0.stream").unlink()
    done = Collated(trace, tmp_path)
    assert done.result["discarded"] == 2
    assert done.result["damage"] == ["rank 1 left no trace"]
    assert done.result["duration_s"] < 1e-6
    lost = done.rows("process", "host", "pid", "outcome", "records", "discarded", "end_ns")[1]
    assert lost == ("node", other.pid, "cut off", 0, 2, 0)


def test_ranks_without_a_trace_are_named_in_spans(tmp_path):
    trace = RawTrace()
    trace.process(1, 6).end()
    trace.process(2, 6).end()
    damage = Collated(trace, tmp_path).result["damage"]
    assert damage == ["rank 0 left no trace", "ranks 3 to 5 left no trace"]


@pytest.mark.parametrize(("rank", "size"), [(0, 2**31 - 1), (2**31 - 1, 4)])
def test_a_number_of_ranks_that_no_machine_has_is_damage(tmp_path, rank, size):
    trace = RawTrace()
    trace.process(rank, size).end()
    (said,) = Collated(trace, tmp_path).result["damage"]
    assert said.endswith(f"a record says rank {rank} of {size}")


def test_a_newer_format_is_refused(tmp_path):
    trace = RawTrace()
    trace.process()
    trace.write(tmp_path / "raw", version=99)
    with pytest.raises(InputError, match=f"format 99 of a traced run, expected {FORMAT}"):
        Collated(trace, tmp_path)
    assert not (tmp_path / "run.sesame").exists()


def test_a_directory_that_is_no_raw_trace_is_refused(tmp_path):
    (tmp_path / "raw").mkdir()
    with pytest.raises(InputError, match="cannot read"):
        Collated(RawTrace(), tmp_path)
    (tmp_path / "raw/metadata").write_text("hello")
    with pytest.raises(InputError, match="not the metadata of a traced run"):
        Collated(RawTrace(), tmp_path)


def test_the_same_rows_come_in_any_batches_and_numbers_of_threads(tmp_path):
    trace = RawTrace()
    for rank in range(5):
        process = trace.process(rank, 5)
        open_file(process, f"file{rank % 2}")
        for _ in range(300):
            process.put("data", "write", file=3, bytes=rank)
            process.put("send", "MPI_Send", comm=0, peer=(rank + 1) % 5, tag=0, bytes=rank)
    one = Collated(trace, tmp_path, threads=1)
    tables = [one.data.table(name) for name in ("io", "mpi", "file")]
    many = Collated(trace, tmp_path, threads=7)
    assert [many.data.table(name) for name in ("io", "mpi", "file")] == tables


def test_clocks_of_nodes_are_corrected_by_the_messages_between_them(tmp_path):
    """Node b is 3 ms behind and loses 20 us a second, node c is 1 ms ahead."""
    random = Random(5)
    trace = RawTrace()
    errors = [lambda t: 0, lambda t: -3_000_000 - t // 50_000, lambda t: 1_000_000]
    processes = [
        trace.process(rank, 3, host="abc"[rank], begin=1_000_000_000, offset=10**18)
        for rank in range(3)
    ]
    true_times = [[], [], []]
    now = 0
    for tag in range(600):
        now += random.randrange(5_000_000, 15_000_000)
        sender, receiver = random.sample(range(3), 2)
        end = now + random.randrange(2_000, 50_000)
        for rank, call, at in ((sender, "send", now), (receiver, "receive", end)):
            clock = 1_100_000_000 + at + errors[rank](at)
            begin, finish = (clock, clock + 900) if call == "send" else (clock - 900, clock)
            peer = receiver if call == "send" else sender
            processes[rank].put(
                call, f"MPI_{call}", begin=begin, end=finish, comm=0, peer=peer, tag=tag, bytes=8
            )
            true_times[rank].append((tag, call, at))
    done = Collated(trace, tmp_path)
    rows = done.rows("mpi", "rank", "call", "tag", "begin_ns", "duration_ns")
    found = {
        (rank, tag): begin + (call == "MPI_receive") * took for rank, call, tag, begin, took in rows
    }
    sent = {
        tag: found[(r, tag)] for r in range(3) for tag, call, _ in true_times[r] if call == "send"
    }
    shifts = []
    for rank, times in enumerate(true_times):
        for tag, call, at in times:
            shifts.append(found[(rank, tag)] - at)
            if call == "receive":
                assert found[(rank, tag)] >= sent[tag]
    assert max(shifts) - min(shifts) < 20_000
    assert done.result["damage"] == []
