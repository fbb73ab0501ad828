"""Traced runs for tests: written by hand, or the twin of a simulated run, which has every call of
it and as much computation.

The records of a simulation do not say which call completed which request, nor who is in a
communicator. So twins are for programs whose MPI_Waitall waits for all outstanding requests,
MPI_Wait for the first, whose ranks stand in the order of MPI_COMM_WORLD everywhere, and who use all
communicators that they make.
"""

from __future__ import annotations

from collections import defaultdict
from pathlib import Path
from typing import Any

from tests.some_info import some_info

from sesame.datasets import DataSet, DataSetWriter, record_type
from sesame.datasets.traced import IoFlag, MpiFlag

OF_COLLECTIVE = 2  # flag of a message
STARTS = {"MPI_Isend", "MPI_Irecv"}
MAKERS = {"MPI_Cart_create", "MPI_Comm_dup", "MPI_Comm_split", "MPI_Cart_sub"}


def write_traced(path: Path, tables: dict[str, list[dict[str, Any]]]) -> Path:
    """A data set of these records; fields left out are 0, -1 or empty."""
    with DataSetWriter(path) as writer:
        for name, rows in tables.items():
            columns = {
                field.name: [row.get(field.name, _usual(field.type, field.name)) for row in rows]
                for field in record_type(name).fields
            }
            writer.write_records(name, columns)
        writer.finish(some_info(title="traced", command=["traced"]))
    return path


def _usual(kind: str, name: str) -> Any:
    if kind in ("text", "name"):
        return ""
    none = [
        "comm",
        "peer",
        "tag",
        "made",
        "parent",
        "remote_parent",
        "file",
        "other_file",
        "handle",
    ]
    return -1 if name in none else 0


def processes(ends_ns: list[int]) -> list[dict[str, Any]]:
    return [
        {"rank": rank, "mpi_rank": rank, "end_ns": end, "outcome": "exited"}
        for rank, end in enumerate(ends_ns)
    ]


class TraceBuilder:
    """Calls of each rank one after the other, with computation between them."""

    def __init__(self, ranks: int) -> None:
        self.ranks = ranks
        self.mpi: list[list[dict[str, Any]]] = [[] for _ in range(ranks)]
        self.io: list[list[dict[str, Any]]] = [[] for _ in range(ranks)]
        self.now = [0] * ranks
        self.communicators: list[dict[str, Any]] = [
            {"index": 0, "parent": -1, "size": ranks, "members": f"0-{ranks - 1}"}
        ]

    def call(
        self, rank: int, name: str, *, gap: int = 1000, duration: int = 100, **fields: Any
    ) -> int:
        """Gives the number of the record."""
        self.mpi[rank].append(self._row(rank, name, gap, duration, fields))
        return len(self.mpi[rank]) - 1

    def part(self, rank: int, name: str, **fields: Any) -> int:
        """A record inside the last one."""
        outer = self.mpi[rank][-1]
        begin = {
            "begin_ns": outer["begin_ns"],
            "flags": int(MpiFlag.NESTED) | fields.pop("flags", 0),
        }
        self.mpi[rank].append({"rank": rank, "call": name, "duration_ns": 0, **fields, **begin})
        return len(self.mpi[rank]) - 1

    def wait(self, rank: int, name: str, *requests: int, **fields: Any) -> None:
        at = self.call(rank, name, **fields)
        for request in requests:
            self.mpi[rank][request]["completion"] = at - request

    def file(
        self, rank: int, name: str, *, gap: int = 1000, duration: int = 100, **fields: Any
    ) -> int:
        self.io[rank].append(self._row(rank, name, gap, duration, fields))
        return len(self.io[rank]) - 1

    def wait_for_file(self, rank: int, name: str, access: int, **fields: Any) -> None:
        """A wait or test, and the record of what it did for a file inside."""
        self.call(rank, name, **fields)
        wait = {key: self.mpi[rank][-1][key] for key in ("rank", "call", "begin_ns", "duration_ns")}
        self.io[rank].append({**wait, "flags": int(IoFlag.NESTED)})
        self.io[rank][access]["completion"] = len(self.io[rank]) - 1 - access

    def everyone(self, name: str, **fields: Any) -> None:
        for rank in range(self.ranks):
            self.call(rank, name, comm=0, **fields)

    def communicator(self, parent: int, members: str, size: int, **fields: Any) -> int:
        index = len(self.communicators)
        row = {"index": index, "parent": parent, "size": size}
        self.communicators.append({**row, "members": members, **fields})
        return index

    def write(self, path: Path, **tables: list[dict[str, Any]]) -> Path:
        own = {
            "mpi": [row for rows in self.mpi for row in rows],
            "io": [row for rows in self.io for row in rows],
            "process": processes(self.now),
            "communicator": self.communicators,
        }
        return write_traced(path, own | tables)

    def _row(
        self, rank: int, name: str, gap: int, duration: int, fields: dict[str, Any]
    ) -> dict[str, Any]:
        begin = self.now[rank] + gap
        self.now[rank] = begin + duration
        return {"rank": rank, "call": name, "begin_ns": begin, "duration_ns": duration, **fields}


def twin_of(simulated: Path, path: Path) -> Path:
    data_set = DataSet(simulated)
    calls: dict[int, list[dict[str, Any]]] = defaultdict(list)
    for row in data_set.table("call").to_pylist():
        calls[row["rank"]].append(row)
    after = data_set.table("rank").to_pylist()
    messages = Messages(data_set)
    numbers, communicators = _communicators(calls)
    rows, ends = [], []
    for rank in sorted(calls):
        mine, end = _of_rank(rank, calls[rank], numbers, messages)
        rows += mine
        last = calls[rank][-1]["end_ps"]
        ends.append(end + max(0, round(after[rank]["end_s"] * 1e9 - last / 1000)))
    tables = {"mpi": rows, "process": processes(ends), "communicator": communicators}
    return write_traced(path, tables)


class Messages:
    """Which messages an MPI_Sendrecv sent and received: its record has one of them."""

    def __init__(self, data_set: DataSet) -> None:
        self._sent: dict[int, list[dict[str, Any]]] = defaultdict(list)
        self._received: dict[int, list[dict[str, Any]]] = defaultdict(list)
        for row in data_set.table("message").to_pylist():
            if row["flags"] & OF_COLLECTIVE == 0:
                self._sent[row["source"]].append(row)
                self._received[row["destination"]].append(row)
        for rows in self._sent.values():
            rows.sort(key=lambda row: row["send_ps"])

    def split(self, call: dict[str, Any], row: dict[str, Any]) -> list[dict[str, Any]]:
        begin, end = call["begin_ps"], call["end_ps"]
        sent = _within(self._sent[call["rank"]], "send_ps", begin, end)
        received = _within(self._received[call["rank"]], "receive_complete_ps", begin, end)
        no_peer = {"peer": -2, "tag": -1, "bytes": 0}
        send = {"peer": sent["destination"], **_of_message(sent)} if sent else no_peer
        receive = {"peer": received["source"], **_of_message(received)} if received else no_peer
        inside = {"call": "MPI_Recv", "flags": int(MpiFlag.NESTED)}
        return [{**row, **send}, {**row, **receive, **inside}]


def _within(rows: list[dict[str, Any]], field: str, begin: int, end: int) -> dict[str, Any] | None:
    found = [row for row in rows if begin <= row[field] <= end]
    assert len(found) <= 1
    return found[0] if found else None


def _of_message(message: dict[str, Any]) -> dict[str, Any]:
    return {"tag": message["tag"], "bytes": message["bytes"]}


def _communicators(
    calls: dict[int, list[dict[str, Any]]],
) -> tuple[dict[int, int], list[dict[str, Any]]]:
    """Contexts come in pairs, for messages and for collectives; 0 and 1 are MPI_COMM_WORLD's."""
    members: dict[int, set[int]] = defaultdict(set)
    for rank, records in calls.items():
        for record in records:
            members[record["context"] // 2].add(rank)
    members[0] = set(calls)
    numbers = {context: index for index, context in enumerate(sorted(members))}
    table = [
        {
            "index": index,
            "parent": 0 if index else -1,
            "size": len(members[context]),
            "members": ",".join(map(str, sorted(members[context]))),
        }
        for context, index in numbers.items()
    ]
    return numbers, table


def _of_rank(
    rank: int, calls: list[dict[str, Any]], numbers: dict[int, int], messages: Messages
) -> tuple[list[dict[str, Any]], int]:
    rows: list[dict[str, Any]] = []
    pending: list[int] = []
    used = {numbers[call["context"] // 2] for call in calls if call["call"] not in MAKERS}
    unmade = sorted(used - {0})
    now = previous = 0
    for call in calls:
        now += round((call["begin_ps"] - previous) / 1000)
        previous = call["end_ps"]
        duration = -(-(call["end_ps"] - call["begin_ps"]) // 1000)
        name = call["call"]
        # A simulated MPI_Cart_create and its like leave no trace of what they made.
        comm = 0 if name in MAKERS else numbers[call["context"] // 2]
        made = unmade.pop(0) if name in MAKERS else -1
        rows.append(
            {
                "rank": rank,
                "begin_ns": now,
                "duration_ns": duration,
                "call": name,
                "comm": comm,
                "peer": call["peer"],
                "tag": call["tag"],
                "bytes": call["bytes"],
                "made": made,
                "flags": int(MpiFlag.NONBLOCKING) if name in STARTS else 0,
            }
        )
        if name == "MPI_Sendrecv":
            rows += messages.split(call, rows.pop())
        now += duration
        if name in STARTS:
            pending.append(len(rows) - 1)
        if name in ("MPI_Wait", "MPI_Waitall"):
            done = pending[:1] if name == "MPI_Wait" else pending
            for index in done:
                rows[index]["completion"] = len(rows) - 1 - index
            pending = pending[len(done) :]
    return rows, now
