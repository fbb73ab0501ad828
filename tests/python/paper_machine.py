"""Runs small random programs on paper, with the rules of docs/models/replay.md: gives the trace of
a run, and how long the same program takes when its I/O takes another time."""

from __future__ import annotations

import random
from collections import defaultdict
from pathlib import Path
from typing import Any

from tests.python.traced_run import CREATE, NS, TracedRun

from sesame.replaying.events import AFTER, ARRIVE, WAIT
from sesame.replaying.schedule import Schedule

TRANSFER = 7_000  # ns of any communication beside waiting
COLLECTIVES = ("MPI_Barrier", "MPI_Bcast", "MPI_Reduce", "MPI_Scan", "MPI_Allreduce")


def random_program(ranks: int, steps: int, seed: int) -> list[list[tuple[Any, ...]]]:
    """For each rank a list of (kind, …); messages are sent before they are received."""
    choose = random.Random(seed)
    program: list[list[tuple[Any, ...]]] = [[] for _ in range(ranks)]
    for step in range(steps):
        for rank in range(ranks):
            program[rank].append(("compute", choose.randrange(1_000, 3_000_000)))
            if choose.random() < 0.6:
                program[rank].append(("io", choose.randrange(50_000, 2_000_000)))
        if choose.random() < 0.5:
            name, root = choose.choice(COLLECTIVES), choose.randrange(ranks)
            for rank in range(ranks):
                program[rank].append(("collective", name, root, step))
            continue
        source, target = choose.sample(range(ranks), 2)
        kind = choose.choice(["send", "ssend"])
        program[source].append((kind, target, step))
        program[target].append((choose.choice(["receive", "later"]), source, step))
    return program


class Paper:
    """One run; `io_factor` times the program's own I/O times."""

    def __init__(self, program: list[list[tuple[Any, ...]]], io_factor: float) -> None:
        self.program, self.factor = program, io_factor
        self.records: list[list[tuple[Any, ...]]] = [[] for _ in program]
        self.now = [0] * len(program)
        self._at = [0] * len(program)
        self._began: dict[tuple[Any, ...], int] = {}
        self._arrived: dict[int, dict[int, int]] = defaultdict(dict)
        while any(at < len(program[rank]) for rank, at in enumerate(self._at)):
            moved = [self._step(rank) for rank in range(len(program))]
            assert any(moved), "the program waits for itself"

    def _step(self, rank: int) -> bool:
        if self._at[rank] == len(self.program[rank]):
            return False
        step = self.program[rank][self._at[rank]]
        begin = self.now[rank]
        end = self._end_of(rank, step, begin)
        if end is None:
            return False
        if step[0] != "compute":
            self.records[rank].append((step, begin, end - begin))
        self.now[rank] = end
        self._at[rank] += 1
        return True

    def _end_of(self, rank: int, step: tuple[Any, ...], begin: int) -> int | None:
        """None: it has to wait for a rank that has not arrived yet."""
        if step[0] == "compute":
            return begin + int(step[1])
        if step[0] == "io":
            return begin + round(step[1] * self.factor)
        if step[0] == "collective":
            return self._end_of_collective(rank, step, begin)
        other, tag = step[1], step[2]
        sends = step[0] in ("send", "ssend")
        self._began.setdefault(("send" if sends else "receive", tag), begin)
        if step[0] == "send":
            return begin + TRANSFER
        partner = self._began.get(("receive" if sends else "send", tag))
        assert other != rank
        return None if partner is None else max(begin, partner) + TRANSFER

    def _end_of_collective(self, rank: int, step: tuple[Any, ...], begin: int) -> int | None:
        _, name, root, number = step
        arrived = self._arrived[number]
        arrived.setdefault(rank, begin)
        needed: list[int] = []
        if name in ("MPI_Barrier", "MPI_Allreduce") or (name == "MPI_Reduce" and rank == root):
            needed = list(range(len(self.program)))
        elif name == "MPI_Bcast":
            needed = [root]
        elif name == "MPI_Scan":
            needed = list(range(rank + 1))
        if any(one not in arrived for one in needed):
            return None
        return max([begin, *(arrived[one] for one in needed)]) + TRANSFER

    def write(self, path: Path) -> Path:
        ranks = len(self.program)
        run = TracedRun(ranks, ends=[now / NS for now in self.now])
        for rank, records in enumerate(self.records):
            file = run.file(f"/data/{rank}")
            run.io(rank, 0, 0, "open", file=file, handle=1, size=CREATE)
            for step, begin, duration in records:
                _write_record(run, rank, file, step, begin / NS, duration / NS)
        return run.write(path)


def _write_record(
    run: TracedRun, rank: int, file: int, step: tuple[Any, ...], begin: float, duration: float
) -> None:
    if step[0] == "io":
        run.io(rank, begin, duration, "write", file=file, handle=1, size=8, bytes=8)
    elif step[0] == "collective":
        rooted = step[1] in ("MPI_Bcast", "MPI_Reduce")
        run.mpi(rank, begin, duration, step[1], peer=step[2] if rooted else -1, bytes=8)
    elif step[0] == "later":
        run.mpi(rank, begin, 0, "MPI_Irecv", peer=step[1], tag=step[2], completion=1, flags=8)
        run.mpi(rank, begin, duration, "MPI_Wait")
    else:
        name = {"send": "MPI_Send", "ssend": "MPI_Ssend", "receive": "MPI_Recv"}[step[0]]
        flags = 32 if step[0] == "ssend" else 0
        run.mpi(rank, begin, duration, name, peer=step[1], tag=step[2], bytes=8, flags=flags)


def play_on_paper(schedule: Schedule, io_factor: float) -> list[tuple[int, int]]:
    """Begin and end of each operation of a schedule, with the rules of core/replay/player.cc, when
    I/O takes `io_factor` times what it took."""
    operations = schedule.operations
    links: dict[int, list[tuple[int, int]]] = defaultdict(list)
    missing: dict[int, int] = defaultdict(int)
    for operation, event, kind in zip(
        operations.link_operation.tolist(),
        operations.link_event.tolist(),
        operations.link_kind.tolist(),
        strict=True,
    ):
        links[operation].append((kind, event))
        missing[event] += kind != WAIT
    happened: dict[int, int] = defaultdict(int)
    times: dict[int, tuple[int, int]] = {}
    streams = {s: [i for i, t in enumerate(operations.stream) if t == s] for s in range(99)}
    waiting = {s: operations_ for s, operations_ in streams.items() if operations_}
    now = dict.fromkeys(waiting, 0)
    entered: dict[int, int] = {}

    def reach(event: int, time: int) -> None:
        happened[event] = max(happened[event], time)
        missing[event] -= 1

    while waiting:
        before = len(times), len(entered)
        for stream, rest in list(waiting.items()):
            one = rest[0]
            if one not in entered:
                entered[one] = now[stream] + int(operations.gap[one])
                for kind, event in links[one]:
                    if kind == ARRIVE:
                        reach(event, entered[one])
            needed = [event for kind, event in links[one] if kind == WAIT]
            if any(missing[event] > 0 for event in needed):
                continue
            begin = max([entered[one], *(happened[event] for event in needed)])
            duration = int(operations.end[one] - operations.begin[one])
            issued = operations.source[one] >= 0
            end = begin + (round(duration * io_factor) if issued else int(operations.transfer[one]))
            times[one] = (begin if issued else entered[one], end)
            now[stream] = end
            for kind, event in links[one]:
                if kind == AFTER:
                    reach(event, end)
            if len(rest) == 1:
                del waiting[stream]
            else:
                waiting[stream] = rest[1:]
        assert (len(times), len(entered)) != before, "the schedule waits for itself"
    return [times[one] for one in range(len(operations.source))]
