"""A model of message passing with the piggyback algorithm of Banerjee, MPIOR, 2012, 2.1.6.

Random programs of several ranks run under a scheduler with MPI's rules of matching. While they
run, each rank keeps its node array and sends and receives auxiliary messages, as the thesis says:
with a tag of their own, received from any source, sorted into queues. What is logged in the end is
the answer that post-processing has to find without any such message.

It shares no code with post-processing. Every message has a number, which travels as its length.
"""

from __future__ import annotations

from collections import defaultdict, deque
from dataclasses import dataclass, field
from random import Random
from typing import Any

ANY = -1


@dataclass
class Op:
    kind: str  # io, send, isend, start_send, receive, ireceive, start_receive, wait, collective
    comm: int = 0
    peer: int = ANY  # rank in the communicator
    tag: int = 0
    number: int = 0  # of the message or the collective call
    request: int = 0  # of a non-blocking call: a number of the rank


@dataclass
class Message:
    number: int
    comm: int
    source: int  # in the world
    tag: int


@dataclass
class Aux:
    source: int
    comm: int
    tag: int
    number: int
    decision: bool


@dataclass
class Posted:
    op: Op
    source: int  # in the world, or ANY
    message: Message | None = None


@dataclass
class Rank:
    program: list[Op]
    at: int = 0
    node_array: list[bool] = field(default_factory=list)
    unexpected: list[Message] = field(default_factory=list)
    posted: list[Posted] = field(default_factory=list)
    requests: dict[int, Posted] = field(default_factory=dict)
    waiting: Posted | None = None  # a blocking receive
    aux_arrived: deque[Aux] = field(default_factory=deque)
    wait_queue: deque[int] = field(default_factory=deque)
    recv_queue: dict[int, list[Aux]] = field(default_factory=lambda: defaultdict(list))
    in_collective: bool = False
    log: list[tuple[Op, Message | None]] = field(default_factory=list)  # in order of completion


class Deadlock(Exception):
    """The program waits for a message that another receive took."""


class Model:
    """`by_number` finds an auxiliary message by the message it goes with, not by its envelope:
    the thesis's queues are right only where receives of one envelope are waited for in order."""

    def __init__(
        self, programs: list[list[Op]], comms: list[list[int]], by_number: bool = False
    ) -> None:
        self.size = len(programs)
        self.comms = comms
        self.by_number = by_number
        self.ranks = [Rank(program, node_array=[False] * self.size) for program in programs]
        self.kept: set[int] = set()  # messages and collective calls
        self.sources = {
            op.number: rank
            for rank, program in enumerate(programs)
            for op in program
            if op.kind in ("send", "isend", "start_send")
        }
        self.collectives: dict[int, list[int]] = defaultdict(list)

    def run(self, random: Random) -> set[int]:
        while any(rank.at < len(rank.program) for rank in self.ranks):
            able = [i for i, rank in enumerate(self.ranks) if self._can_step(i, rank)]
            if not able:
                raise Deadlock
            self._step(random.choice(able))
        return self.kept

    def _can_step(self, me: int, rank: Rank) -> bool:
        if rank.at >= len(rank.program) or rank.in_collective:
            return False
        op = rank.program[rank.at]
        if op.kind == "receive" and rank.waiting is not None:
            return rank.waiting.message is not None
        if op.kind == "wait":
            posted = rank.requests.get(op.request)
            return posted is None or posted.message is not None
        return True

    def _step(self, me: int) -> None:
        rank = self.ranks[me]
        op = rank.program[rank.at]
        if op.kind == "collective":
            self._collective(me, op)
            return
        if op.kind == "receive" and rank.waiting is None:
            rank.waiting = self._post(me, op)
            return
        if op.kind == "io":
            rank.node_array = [False] * self.size
            rank.log.append((op, None))
        elif op.kind in ("send", "isend", "start_send"):
            self._send(me, op)
        elif op.kind in ("ireceive", "start_receive"):
            rank.requests[op.request] = self._post(me, op)
            rank.log.append((op, None))
        elif op.kind == "receive":
            assert rank.waiting is not None
            self._received(me, rank.waiting)
            rank.log.append((op, rank.waiting.message))
            rank.waiting = None
        elif op.kind == "wait":
            posted = rank.requests.pop(op.request, None)
            if posted is not None:
                self._received(me, posted)
            rank.log.append((op, posted.message if posted else None))
        rank.at += 1

    # --- MPI's own matching ---

    def _send(self, me: int, op: Op) -> None:
        target = self.comms[op.comm][op.peer]
        rank, other = self.ranks[me], self.ranks[target]
        decision = not rank.node_array[target]
        if decision:
            self.kept.add(op.number)
        message = Message(op.number, op.comm, me, op.tag)
        for posted in other.posted:
            if self._fits(posted, message):
                posted.message = message
                other.posted.remove(posted)
                break
        else:
            other.unexpected.append(message)
        other.aux_arrived.append(Aux(me, op.comm, op.tag, op.number, decision))
        rank.log.append((op, None))

    @staticmethod
    def _fits(posted: Posted, message: Message) -> bool:
        return (
            posted.op.comm == message.comm
            and posted.source in (ANY, message.source)
            and posted.op.tag in (ANY, message.tag)
        )

    def _post(self, me: int, op: Op) -> Posted:
        rank = self.ranks[me]
        source = ANY if op.peer == ANY else self.comms[op.comm][op.peer]
        posted = Posted(op, source)
        rank.wait_queue.append(op.request)  # a receive for an auxiliary message, from any source
        for message in rank.unexpected:
            if self._fits(posted, message):
                posted.message = message
                rank.unexpected.remove(message)
                return posted
        rank.posted.append(posted)
        return posted

    # --- The thesis's algorithm ---

    def _received(self, me: int, posted: Posted) -> None:
        rank = self.ranks[me]
        message = posted.message
        assert message is not None
        decision = self._auxiliary(rank, message).decision or not rank.node_array[message.source]
        if decision:
            self.kept.add(message.number)
        rank.node_array[message.source] = True

    def _auxiliary(self, rank: Rank, message: Message) -> Aux:
        queue = rank.recv_queue[message.source]
        for aux in queue:
            if self._is_of(aux, message):
                queue.remove(aux)
                return aux
        while True:
            # One receive from any source after the other; a new one when none is left.
            if rank.wait_queue:
                rank.wait_queue.popleft()
            aux = rank.aux_arrived.popleft()
            if self._is_of(aux, message):
                return aux
            rank.recv_queue[aux.source].append(aux)

    def _is_of(self, aux: Aux, message: Message) -> bool:
        if self.by_number:
            return aux.number == message.number
        return (aux.source, aux.comm, aux.tag) == (message.source, message.comm, message.tag)

    def _collective(self, me: int, op: Op) -> None:
        self.ranks[me].in_collective = True
        arrived = self.collectives[op.number]
        arrived.append(me)
        members = self.comms[op.comm]
        if len(arrived) < len(members):
            return
        if any(not self.ranks[a].node_array[b] for a in members for b in members):
            self.kept.add(op.number)
        for a in members:
            rank = self.ranks[a]
            for b in members:
                rank.node_array[b] = True
            rank.in_collective = False
            rank.log.append((op, None))
            rank.at += 1


@dataclass
class Generator:
    """Random programs. Receives come after their sends in one common order of events, so only a
    wildcard that takes another's message can make them wait for ever."""

    random: Random
    ranks: int
    events: int
    in_order: bool  # requests are waited for in the order in which they were started

    def comms(self) -> list[list[int]]:
        everyone = list(range(self.ranks))
        found = [everyone, everyone]  # the world, and a copy of it
        for _ in range(2):
            some = self.random.sample(everyone, self.random.randint(1, self.ranks))
            found.append(sorted(some))
        return found

    def programs(self, comms: list[list[int]]) -> list[list[Op]]:
        random = self.random
        # All of the world make each communicator, together.
        made = range(1, len(comms))
        programs = [[Op("collective", number=-comm) for comm in made] for _ in range(self.ranks)]
        pending: list[list[Op]] = [[] for _ in range(self.ranks)]
        requests = [0] * self.ranks
        wildcards = random.choice((0.0, 0.2, 0.6))

        def start(rank: int, op: Op, kinds: list[str]) -> None:
            op.kind = random.choice(kinds)
            if op.kind != kinds[0]:
                requests[rank] += 1
                op.request = requests[rank]
                pending[rank].append(Op("wait", request=op.request))
            elif op.kind == "receive" and self.in_order:
                wait_for_some(rank, 2.0)  # a blocking receive would come in between
            programs[rank].append(op)

        def wait_for_some(rank: int, share: float) -> None:
            waits = pending[rank]
            while waits and random.random() < share:
                at = 0 if self.in_order else random.randrange(len(waits))
                programs[rank].append(waits.pop(at))

        for number in range(1, self.events + 1):
            rank = random.randrange(self.ranks)
            choice = random.random()
            if choice < 0.2:
                programs[rank].append(Op("io"))
            elif choice < 0.3:
                comm = random.randrange(len(comms))
                for member in comms[comm]:
                    programs[member].append(Op("collective", comm, number=number))
            else:
                self._message(number, comms, start, wildcards)
            for other in range(self.ranks):
                wait_for_some(other, 0.15)
        for rank in range(self.ranks):
            wait_for_some(rank, 2.0)
        return programs

    def _message(self, number: int, comms: list[list[int]], start: Any, wildcards: float) -> None:
        random = self.random
        comm = random.randrange(len(comms))
        source, target = (random.randrange(len(comms[comm])) for _ in range(2))
        tag = random.randrange(3)
        kinds = ["send", "isend", "start_send"]
        start(comms[comm][source], Op("", comm, target, tag, number), kinds)
        peer = ANY if random.random() < wildcards else source
        wanted = ANY if random.random() < wildcards else tag
        start(
            comms[comm][target],
            Op("", comm, peer, wanted),
            ["receive", "ireceive", "start_receive"],
        )


def generate(seed: int, in_order: bool) -> tuple[list[list[Op]], list[list[int]]]:
    random = Random(seed)
    generator = Generator(random, random.randint(2, 5), random.randint(5, 60), in_order)
    comms = generator.comms()
    return generator.programs(comms), comms
