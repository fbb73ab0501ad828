"""Pruning of communication: the thesis's set exactly, found without any auxiliary message; and a
rule that holds for chains over a third process."""

from __future__ import annotations

import shutil
from collections import defaultdict
from pathlib import Path
from random import Random
from typing import Any

import pytest
from tests.python.piggyback_model import ANY, Deadlock, Message, Model, Op, generate
from tests.python.raw_trace import Process, RawTrace

from sesame import native

# Random programs; the long tests have more.
PROGRAMS = pytest.mark.parametrize("programs", [200, pytest.param(1000, marks=pytest.mark.long)])
CALLS = {
    "send": ("send", "MPI_Send"),
    "isend": ("start", "MPI_Isend"),
    "receive": ("receive", "MPI_Recv"),
    "ireceive": ("start", "MPI_Irecv"),
}


class Recorder:
    """Writes what a rank of the model did as the tracer would have."""

    def __init__(self, process: Process, rank: int, comms: list[list[int]]) -> None:
        self.process = process
        self.rank = rank
        self.comms = comms
        self.handles: dict[int, int] = {}  # by request of the model
        self.prepared: dict[tuple[Any, ...], list[int]] = defaultdict(list)
        self.next_handle = 1
        process.put("open", "open", file=3, directory=-100, mode=0o100644, path="data")

    def put(self, op: Op, message: Message | None) -> None:
        put = self.process.put
        if op.kind == "io":
            put("data", "write", file=3, bytes=10)
        elif op.kind == "collective" and op.number < 0:
            members = self.comms[-op.number]
            inside = self.rank in members
            runs = [number for member in members for number in (member, 1, 1)]
            made = {"comm": -op.number, "members": runs} if inside else {"comm": -1}
            put("communicator", "MPI_Comm_create", parent=0, **made)
        elif op.kind == "collective":
            put("collective", "MPI_Allreduce", comm=op.comm, peer=-1, bytes=op.number)
        elif op.kind == "receive":
            assert message is not None
            asked = (op.peer == ANY) + 2 * (op.tag == ANY)
            found = {"peer": self.peer(message), "tag": message.tag, "asked": asked}
            put("receive", "MPI_Recv", comm=op.comm, bytes=100_000, **found)
        elif op.kind == "wait":
            handle = self.handles.pop(op.request)
            found = {} if message is None else {"peer": self.peer(message), "tag": message.tag}
            put("completed", request=handle, **found)
            put("wait", "MPI_Wait", count=1, done=1)
        elif op.kind.startswith("start_"):
            self.start_prepared(op)
        else:
            self.started(op, *CALLS[op.kind])

    def peer(self, message: Message) -> int:
        return self.comms[message.comm].index(message.source)

    def started(self, op: Op, shape: str, call: str) -> None:
        values = {"comm": op.comm, "peer": op.peer, "tag": op.tag, "bytes": op.number or 100_000}
        if shape == "start":
            values["request"] = self.handles[op.request] = self.new_handle()
        self.process.put(shape, call, **values)

    def start_prepared(self, op: Op) -> None:
        """A prepared request is used again when there is one that fits and is not in use."""
        call = "MPI_Send_init" if op.kind == "start_send" else "MPI_Recv_init"
        key = (call, op.comm, op.peer, op.tag, op.number)
        free = [h for h in self.prepared[key] if h not in self.handles.values()]
        handle = free[0] if free else self.new_handle()
        self.handles[op.request] = handle
        if not free:
            self.prepared[key].append(handle)
            values = {"comm": op.comm, "peer": op.peer, "tag": op.tag}
            self.process.put("start", call, **values, bytes=op.number or 100_000, request=handle)
        self.process.put("started", "MPI_Start", request=handle)

    def new_handle(self) -> int:
        self.next_handle += 1
        return self.next_handle


def record(model: Model, directory: Path) -> Path:
    trace = RawTrace()
    for number, rank in enumerate(model.ranks):
        process = trace.process(number, model.size)
        recorder = Recorder(process, number, model.comms)
        for op, message in rank.log:
            recorder.put(op, message)
        process.end()
    return trace.write(directory)


def rows(directory: Path, prune: str) -> tuple[dict[str, Any], Any]:
    run = native.Collation.open(str(directory), prune=prune)
    found: dict[str, list[Any]] = defaultdict(list)
    while (batch := run.next()) is not None:
        if batch[0] == "mpi":
            for name, values in batch[1].items():
                found[name] += values.tolist()
    found["call"] = [run.call_names[number] for number in found["call"]]
    return found, run


Kept = tuple[set[int], set[int], set[int]]


def kept_numbers(directory: Path, prune: str, model: Model) -> Kept:
    """Messages as their senders kept them, as their receivers did, and collective calls."""
    found, _ = rows(directory, prune)
    sent, received, collective = set(), set(), set()
    for at, call in enumerate(found["call"]):
        number = found["bytes"][at]
        if found["flags"][at] & 64 == 0 or number == 0:
            continue
        if call == "MPI_Allreduce":
            collective.add(number)
        elif "end" in call:
            sent.add(number)
        elif call.endswith("ecv"):
            received.add(number)
    return sent, received, collective


def run_programs(number: int, in_order: bool) -> list[tuple[int, Model]]:
    """Those of the first programs that come to an end, most of them."""
    done = []
    for seed in range(number):
        programs, comms = generate(seed, in_order)
        model = Model(programs, comms, by_number=not in_order)
        try:
            model.run(Random(seed))
        except Deadlock:
            continue
        done.append((seed, model))
    return done


def expected_numbers(model: Model, kept: set[int]) -> Kept:
    messages = kept & set(model.sources)
    return messages, messages, {number for number in kept - messages if number > 0}


@pytest.mark.few_cases(1)
@PROGRAMS
@pytest.mark.parametrize("in_order", [True, False], ids=["in order", "in any order"])
def test_keeps_what_the_piggyback_algorithm_logs(
    tmp_path: Path, in_order: bool, programs: int
) -> None:
    done = run_programs(programs, in_order)
    assert len(done) > programs / 2
    wildcards = sum(op.peer == ANY for _, model in done for r in model.ranks for op in r.program)
    dropped = 0
    assert wildcards > programs
    for seed, model in done:
        raw = record(model, tmp_path / str(seed))
        found = kept_numbers(raw, "thesis", model)
        assert found == expected_numbers(model, model.kept), seed
        dropped += len(model.sources) - len(found[0])
        shutil.rmtree(raw)
    assert dropped > programs


class History:
    """What happened before what: through all communication, or only through what was kept."""

    def __init__(self, model: Model) -> None:
        self.logs = [rank.log for rank in model.ranks]

    def order(self, kept: Kept | None) -> set[tuple[Any, Any]]:
        """Pairs of I/O operations (rank, place in its log) of which the first was before."""
        _, received, collective = kept or (None, None, None)
        known: dict[tuple[int, int], set[Any]] = {}
        at = [0] * len(self.logs)
        news: list[set[Any]] = [set() for _ in self.logs]
        in_message: dict[int, set[Any]] = {}
        while any(at[i] < len(log) for i, log in enumerate(self.logs)):
            for i, log in enumerate(self.logs):
                while at[i] < len(log):
                    op, message = log[at[i]]
                    if op.kind == "io":
                        known[(i, at[i])] = set(news[i])
                        news[i].add((i, at[i]))
                    elif op.kind in ("send", "isend", "start_send"):
                        in_message[op.number] = set(news[i])
                    elif message is not None:
                        if message.number not in in_message:
                            break
                        if received is None or message.number in received:
                            news[i] |= in_message[message.number]
                    elif op.kind == "collective" and not self._match(op, at, news, collective):
                        break
                    at[i] += 1
        return {(before, io) for io, befores in known.items() for before in befores}

    def _match(self, op: Op, at: list[int], news: list[set[Any]], kept: set[int] | None) -> bool:
        here = [
            i
            for i, log in enumerate(self.logs)
            if any(other.number == op.number and other.kind == "collective" for other, _ in log)
        ]
        places = [
            next(
                p
                for p, (other, _) in enumerate(self.logs[i])
                if other.number == op.number and other.kind == "collective"
            )
            for i in here
        ]
        if any(at[i] < place for i, place in zip(here, places, strict=True)):
            return False
        if all(at[i] == place for i, place in zip(here, places, strict=True)) and (
            kept is None or op.number in kept or op.number < 0
        ):
            joined = set().union(*(news[i] for i in here))
            for i in here:
                news[i] = set(joined)
        return True


@PROGRAMS
def test_the_causal_rule_keeps_the_order_of_all_io(tmp_path: Path, programs: int) -> None:
    lost_by_thesis = 0
    done = run_programs(programs, in_order=True)[: programs * 2 // 5]
    for seed, model in done:
        raw = record(model, tmp_path / str(seed))
        history = History(model)
        everything = history.order(None)
        thesis = kept_numbers(raw, "thesis", model)
        causal = kept_numbers(raw, "causal", model)
        assert all(a <= b for a, b in zip(thesis, causal, strict=True)), seed
        assert history.order(causal) == everything, seed
        lost_by_thesis += history.order(thesis) != everything
        shutil.rmtree(raw)
    assert lost_by_thesis > len(done) / 40


def chain() -> Model:
    """Rank 0 writes and tells 1, which tells 2, which writes. All have matched before and after
    their own I/O, so that only the news passes."""
    barrier = Op("collective", 0, number=1)
    io = Op("io")
    programs = [
        [io, barrier, io, Op("send", 0, 1, 0, 2)],
        [io, barrier, Op("receive", 0, 0, 0), Op("send", 0, 2, 0, 3)],
        [io, barrier, Op("receive", 0, 1, 0), io],
    ]
    return Model(programs, [[0, 1, 2]])


def test_the_thesis_loses_a_chain_over_a_third_process_and_the_causal_rule_keeps_it(
    tmp_path: Path,
) -> None:
    model = chain()
    model.run(Random(1))
    raw = record(model, tmp_path / "raw")
    assert kept_numbers(raw, "thesis", model)[0] == {2}
    assert kept_numbers(raw, "causal", model)[0] == {2, 3}


def test_news_that_has_gone_round_a_ring_is_no_news(tmp_path: Path) -> None:
    barrier = Op("collective", 0, number=1)
    programs = [[barrier, Op("io")], [barrier], [barrier]]
    for turn in range(10, 60, 10):
        programs[0] += [Op("send", 0, 1, 0, turn + 1), Op("receive", 0, 2, 0)]
        programs[1] += [Op("receive", 0, 0, 0), Op("send", 0, 2, 0, turn + 2)]
        programs[2] += [Op("receive", 0, 1, 0), Op("send", 0, 0, 0, turn + 3)]
    model = Model(programs, [[0, 1, 2]])
    model.run(Random(1))
    raw = record(model, tmp_path / "raw")
    thesis = kept_numbers(raw, "thesis", model)[0]
    assert kept_numbers(raw, "causal", model)[0] == thesis | {12}
