"""The time of one rank, divided: every picosecond of it is in exactly one share.

Between MPI calls a rank computes or uses files. In a call, the time until a message that the rank
waited for counts first as waiting for a late sender, then as the message's own shares, which
docs/models/network.md defines. The rest of a call counts as overheads that were not yet counted,
then as waiting for a receiver or for files, and last as other time of the call.
"""

from __future__ import annotations

import bisect
from collections import Counter, defaultdict
from dataclasses import dataclass, field
from typing import Any

from sesame.analysis.explain.records import ASYNCHRONOUS, Records

COMPUTATION = "computation"
SEND_OVERHEAD = "overhead of sends"
RECEIVE_OVERHEAD = "overhead of receives"
LATENCY = "latency of messages"
BANDWIDTH = "bytes of messages"
QUEUEING = "queueing in the network"
LATE_SENDER = "waiting for late senders"
LATE_RECEIVER = "waiting for late receivers"
FILES = "file systems"
OTHER = "other time in MPI calls"
IDLE = "sleeps and clocks"
ORDER = (
    COMPUTATION,
    SEND_OVERHEAD,
    RECEIVE_OVERHEAD,
    LATENCY,
    BANDWIDTH,
    QUEUEING,
    LATE_SENDER,
    LATE_RECEIVER,
    FILES,
    OTHER,
    IDLE,
)
MOST_DETAILS = 4


@dataclass
class TimeShare:
    """One share of the time of a rank."""

    name: str
    time_ps: int = 0
    by: Counter[str] = field(default_factory=Counter)  # ps by rank, file or call

    @property
    def most(self) -> list[tuple[str, int]]:
        return self.by.most_common(MOST_DETAILS)


class Division:
    """Adds up the shares of a rank's time."""

    def __init__(self) -> None:
        self._shares = {name: TimeShare(name) for name in ORDER}

    def add(self, name: str, time_ps: int, by: str = "") -> None:
        if time_ps > 0:
            self._shares[name].time_ps += time_ps
            if by:
                self._shares[name].by[by] += time_ps

    def shares(self) -> list[TimeShare]:
        return [share for share in self._shares.values() if share.time_ps > 0]


def divide(records: Records, end_ps: int, computed_ps: int) -> list[TimeShare]:
    """The shares of a rank's time, from 0 to `end_ps`. The rank computed for `computed_ps`."""
    division = Division()
    calls = _Calls(records, division)
    at = between = 0
    columns = records.calls
    for begin, end, name in zip(
        *(_list(columns, c) for c in ("begin_ps", "end_ps", "call")), strict=True
    ):
        between += begin - at
        calls.divide(begin, end, name)
        at = end
    between += end_ps - at
    outside = _files_outside(records, division)
    computed = min(computed_ps, between - outside)
    division.add(COMPUTATION, computed)
    division.add(IDLE, between - outside - computed)
    return division.shares()


def _list(columns: dict[str, Any], name: str) -> list[Any]:
    values: list[Any] = columns[name].tolist()
    return values


def _files_outside(records: Records, division: Division) -> int:
    """Adds the calls of POSIX and stdio between MPI calls; returns their time, ps. Overlapping time
    counts once."""
    files, total, at = records.files, 0, 0
    rows = zip(
        *(_list(files, c) for c in ("begin_ps", "end_ps", "call", "file", "flags")), strict=True
    )
    for begin, end, name, file, flags in rows:
        if name.startswith("MPI_") or _is_inside(records, begin, end):
            continue
        begin = max(begin, at)
        if flags & ASYNCHRONOUS or end <= begin:
            continue
        division.add(FILES, end - begin, _path(records, file))
        total, at = total + end - begin, end
    return total


def _is_inside(records: Records, begin: int, end: int) -> bool:
    """Whether an interval is inside an MPI call."""
    i = int(records.calls["begin_ps"].searchsorted(begin, "right")) - 1
    return i >= 0 and begin < records.calls["end_ps"][i] and end <= records.calls["end_ps"][i]


def _path(records: Records, file: int) -> str:
    return records.paths[file] if 0 <= file < len(records.paths) else "no file"


class _Calls:
    """Divides the calls of a rank in the order of their time."""

    def __init__(self, records: Records, division: Division) -> None:
        self._division = division
        self._records = records
        names = (
            *("receive_complete_ps", "arrival_ps", "send_ps", "source", "rendezvous"),
            *("receive_overhead", "transfer", "latency", "control_latency", "send_overhead"),
        )
        self._received = list(zip(*(_list(records.received, name) for name in names), strict=True))
        self._next_received = 0
        # Overheads of completed receives that are not yet in a share, ps.
        self._unpaid_receives = 0
        sent = records.sent
        self._sends = _list(sent, "send_ps")
        self._send_overheads = _list(sent, "send_overhead")
        self._rendezvous = self._ends_of_rendezvous()
        self._files: dict[int, list[tuple[int, str]]] = defaultdict(list)
        for begin, end, name, file in zip(
            *(_list(records.files, c) for c in ("begin_ps", "end_ps", "call", "file")), strict=True
        ):
            if name.startswith("MPI_"):
                self._files[begin].append((end, _path(records, file)))

    def _ends_of_rendezvous(self) -> list[tuple[int, int, int]]:
        """(when the sender's buffer is free, when the data started, destination), by time."""
        sent = self._records.sent
        start = sent["arrival_ps"] - sent["latency"] - sent["transfer"]
        free = start + sent["injection"]
        chosen = sent["rendezvous"] != 0
        rows = zip(
            free[chosen],
            start[chosen] - sent["control_latency"][chosen],
            sent["destination"][chosen],
            strict=True,
        )
        return sorted((int(f), int(s), int(d)) for f, s, d in rows)

    def divide(self, begin: int, end: int, name: str) -> None:
        """Adds the shares of the next call, from `begin` to `end` in ps."""
        at = self._wait_for_messages(begin, end)
        sends = self._sends
        # A send's time is when its overhead was over: one at `begin` is of the call before.
        first, last = bisect.bisect_right(sends, begin), bisect.bisect_right(sends, end)
        at = self._pay(SEND_OVERHEAD, at, end, sum(self._send_overheads[first:last]))
        paid = self._pay(RECEIVE_OVERHEAD, at, end, self._unpaid_receives)
        self._unpaid_receives -= paid - at
        at = paid
        if at == end:
            return
        if name.startswith("MPI_File_") or begin in self._files:
            paths = [path for file_end, path in self._files[begin] if file_end <= end]
            self._division.add(FILES, end - at, paths[0] if paths else name)
            return
        at = self._wait_for_receiver(at, end)
        self._division.add(OTHER, end - at, name)

    def _pay(self, share: str, at: int, end: int, time: int) -> int:
        paid = max(min(time, end - at), 0)
        self._division.add(share, paid)
        return at + paid

    def _wait_for_messages(self, begin: int, end: int) -> int:
        """Adds the shares of messages that complete a receive in the call; returns up to when.
        Their receive overheads become unpaid."""
        at = begin
        while self._next_received < len(self._received):
            message = self._received[self._next_received]
            complete, overhead = message[0], message[5]
            if complete - overhead > end:
                break
            self._next_received += 1
            ready = min(complete - overhead, end)
            if ready > at:
                at = self._wait_for_message(at, ready, message)
            self._unpaid_receives += overhead
        return at

    def _wait_for_message(self, at: int, ready: int, message: tuple[int, ...]) -> int:
        """From `at` until the message is there or its receive was posted."""
        _, arrival, sent, source, rendezvous, _, transfer, latency, control, overhead = message
        if arrival < ready:  # it was there: the receive was posted late, for other reasons
            return at
        late = max(min(sent - overhead, ready) - at, 0)
        self._division.add(LATE_SENDER, late, f"rank {source}")
        left = ready - at - late
        handshake = 2 * control if rendezvous else 0
        for share, time in (
            (BANDWIDTH, transfer),
            (LATENCY, latency + handshake),
            (SEND_OVERHEAD, overhead),
        ):
            taken = min(time, left)
            self._division.add(share, taken)
            left -= taken
        self._division.add(QUEUEING, left, f"rank {source}")
        return ready

    def _wait_for_receiver(self, at: int, end: int) -> int:
        """Adds the shares of a rendezvous send that ends with the call: first the time until its
        receiver was ready, then until the data had left. Returns up to when."""
        i = bisect.bisect_right(self._rendezvous, (end, end + 1, 0)) - 1
        if i < 0 or self._rendezvous[i][0] != end:
            return at
        _, clear, destination = self._rendezvous[i]
        waited = max(min(clear, end) - at, 0)
        self._division.add(LATE_RECEIVER, waited, f"rank {destination}")
        self._division.add(BANDWIDTH, end - at - waited)
        return end
