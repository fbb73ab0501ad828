"""When several hosts simulate a program together: which rank each of them executes when, and how
long they are idle, because all their ranks wait for messages.

The program is that of a simulated run: what each rank computes between its messages, and which
message it then sends or waits for. A host executes one rank at a time, until that waits for a
message that is not there; then the rank that has been ready longest. So does a worker of Sesame
(docs/models/parallel.md).
"""

from __future__ import annotations

import heapq
import math
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass

from sesame.datasets import DataSet

PS_PER_S = 1e12


@dataclass(frozen=True)
class Step:
    """Of a rank: it computes, then it sends a message or waits for one."""

    compute_s: float
    message: int  # -1: it ends
    is_send: bool = False


@dataclass(frozen=True)
class Program:
    """The steps of each rank, and for each message the ranks that send and receive it, once."""

    steps: Sequence[Sequence[Step]]
    senders: Sequence[int]
    receivers: Sequence[int]

    @property
    def computed_s(self) -> float:
        return sum(step.compute_s for steps in self.steps for step in steps)


@dataclass(frozen=True)
class Costs:
    """Of a message, s."""

    message_s: float  # processor time of the simulator, half of it at each end
    overhead_s: float = 0.0  # processor time between hosts, half of it at each end
    latency_s: float = 0.0  # between hosts


@dataclass(frozen=True)
class Schedule:
    """How long it takes."""

    end_s: float
    busy_s: Sequence[float]  # by host

    @property
    def idle_share(self) -> float:
        """Of the time of all hosts."""
        return 1 - sum(self.busy_s) / (len(self.busy_s) * self.end_s)


def program_of(run: DataSet, ratio: float) -> Program:
    """The program of a simulated run with records. `ratio`: how many times longer the hosts take
    for its computation than this machine."""
    import numpy as np

    ranks = run.info["ranks"]
    calls = run.table("call", ["rank", "begin_ps", "compute_before_ps"])
    rank, begin, compute = (column.to_numpy() for column in calls.columns)
    after_calls = run.table("rank", ["compute_after_calls_ps"]).column(0).to_numpy()
    message = run.table("message", ["source", "destination", "send_ps", "receive_complete_ps"])
    source, destination, sent, received = (column.to_numpy() for column in message.columns)
    others = np.flatnonzero(source != destination)
    of_rank = np.concatenate([source[others], destination[others]])
    times = np.concatenate([sent[others], received[others]])
    number = np.concatenate([np.arange(len(others))] * 2)
    is_send = np.repeat([True, False], len(others))
    # What a rank receives at a time comes first. A message takes time: nothing waits in a circle.
    order = np.lexsort((is_send, times, of_rank))
    steps = []
    for one in range(ranks):
        mine = order[of_rank[order] == one]
        own = np.flatnonzero(rank == one)
        until = np.concatenate([[0], np.cumsum(compute[own])]) * ratio / PS_PER_S
        at = until[np.searchsorted(begin[own], times[mine], side="right")]
        end = until[-1] + after_calls[one] * ratio / PS_PER_S
        before = np.diff(np.concatenate([[0.0], at, [end]]))
        ends = zip(before, [*number[mine], -1], [*is_send[mine], False], strict=True)
        steps.append([Step(float(s), int(which), bool(send)) for s, which, send in ends])
    return Program(steps, source[others].tolist(), destination[others].tolist())


class _Host:
    """A host and its ranks."""

    def __init__(self) -> None:
        self.now_s = 0.0
        self.busy_s = 0.0
        self.ready: deque[int] = deque()  # ranks
        self.coming: list[tuple[float, int]] = []  # ranks, by when their message is there

    def work(self, duration_s: float) -> None:
        self.now_s += duration_s
        self.busy_s += duration_s

    @property
    def next_s(self) -> float | None:
        """When a rank runs next; None: all wait for messages that have not been sent."""
        if self.ready:
            return self.now_s
        return max(self.now_s, self.coming[0][0]) if self.coming else None

    def take_next(self, at_s: float) -> int:
        self.now_s = at_s
        while self.coming and self.coming[0][0] <= self.now_s:
            self.ready.append(heapq.heappop(self.coming)[1])
        return self.ready[0]


class _Hosts:
    """All hosts while they simulate the program, with ranks in blocks."""

    def __init__(self, program: Program, hosts: int, costs: Costs) -> None:
        ranks = len(program.steps)
        self._program, self._costs = program, costs
        self._host_of = [rank * hosts // ranks for rank in range(ranks)]
        self.hosts = [_Host() for _ in range(hosts)]
        for rank, host in enumerate(self._host_of):
            self.hosts[host].ready.append(rank)
        self.left = ranks  # that have not ended
        self._position = [0] * ranks
        self._has_computed = [False] * ranks  # of the step at its position
        self._there_s: dict[int, float] = {}  # messages that were sent: when they are there
        self._waiting: dict[int, int] = {}  # ranks by the message, not sent yet, that they wait for
        self._queue: list[tuple[float, int]] = []  # hosts; an entry holds while it is in _next_s
        self._next_s: dict[int, float] = {}
        for number in range(hosts):
            self._enqueue(number)

    def run(self) -> None:
        """Always advances the host that is least advanced: what others send comes later."""
        while self._queue:
            next_s, number = heapq.heappop(self._queue)
            if self._next_s.get(number) != next_s:
                continue
            del self._next_s[number]
            host = self.hosts[number]
            self._advance(host, host.take_next(next_s))
            self._enqueue(number)

    def _enqueue(self, number: int) -> None:
        next_s = self.hosts[number].next_s
        if next_s is not None and next_s < self._next_s.get(number, math.inf):
            self._next_s[number] = next_s
            heapq.heappush(self._queue, (next_s, number))

    def _advance(self, host: _Host, rank: int) -> None:
        step = self._program.steps[rank][self._position[rank]]
        if not self._has_computed[rank]:
            host.work(step.compute_s)
            self._has_computed[rank] = True
            return
        if step.message < 0:
            host.ready.popleft()
            self.left -= 1
        elif step.is_send:
            self._send(host, rank, step.message)
        elif not self._receive(host, rank, step.message):
            host.ready.popleft()
            return
        self._position[rank] += 1
        self._has_computed[rank] = False

    def _send(self, host: _Host, rank: int, message: int) -> None:
        target = self._host_of[self._program.receivers[message]]
        between = target != self._host_of[rank]
        host.work(self._cost_s(between))
        there_s = host.now_s + (self._costs.latency_s if between else 0.0)
        self._there_s[message] = there_s
        if (waiter := self._waiting.pop(message, None)) is not None:
            heapq.heappush(self.hosts[target].coming, (there_s, waiter))
            self._enqueue(target)

    def _receive(self, host: _Host, rank: int, message: int) -> bool:
        """Whether the message is there; otherwise the rank waits."""
        there_s = self._there_s.get(message)
        if there_s is None:
            self._waiting[message] = rank
            return False
        if there_s > host.now_s:
            heapq.heappush(host.coming, (there_s, rank))
            return False
        sender = self._program.senders[message]
        host.work(self._cost_s(self._host_of[sender] != self._host_of[rank]))
        del self._there_s[message]
        return True

    def _cost_s(self, between: bool) -> float:
        return (self._costs.message_s + (self._costs.overhead_s if between else 0.0)) / 2


def schedule(program: Program, hosts: int, costs: Costs) -> Schedule:
    """Raises RuntimeError for a program that does not end."""
    work = _Hosts(program, hosts, costs)
    work.run()
    if work.left > 0:
        raise RuntimeError(f"ranks that wait for messages that no rank sends: {work.left}")
    return Schedule(max(host.now_s for host in work.hosts), [host.busy_s for host in work.hosts])
