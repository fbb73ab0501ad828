"""The places, communicators and files of an OTF2 archive as numbers of a data set."""

from __future__ import annotations

from typing import Any

import numpy as np

from sesame.errors import InputError
from sesame.exchange.otf2_library import UNKNOWN_OPENING
from sesame.exchange.otf2_records import Records
from sesame.exchange.traced import Columns


class Places:
    def __init__(self, otf2: Any, definitions: Any) -> None:
        self._otf2 = otf2
        self._definitions = definitions
        groups = self._process_groups()
        self._ranks = {group: rank for rank, group in enumerate(groups)}
        self._groups = groups
        self.threads = self._number_threads()
        self._comms = self._number_comms()
        self._files: dict[Any, int] = {}
        self._handles: dict[tuple[int, Any], int] = {}
        self._openings: dict[int, int] = {}  # of each process

    def _process_groups(self) -> list[Any]:
        """Processes, those of MPI in the order of their ranks first."""
        enums = self._otf2.enums
        processes = [
            group
            for group in self._definitions.location_groups
            if group.location_group_type == enums.LocationGroupType.PROCESS
        ]
        if not processes:
            raise InputError("an OTF2 archive without processes")
        order: dict[Any, None] = {}
        for group in self._definitions.groups:
            is_mpi = group.paradigm == enums.Paradigm.MPI
            if is_mpi and group.group_type == enums.GroupType.COMM_LOCATIONS:
                order.update(dict.fromkeys(location.group for location in group.members))
        self._mpi_ranks = len(order)
        return [*order, *(group for group in processes if group not in order)]

    def _number_threads(self) -> dict[Any, tuple[int, int]]:
        """Rank and thread of each location."""
        count = dict.fromkeys(self._groups, 0)
        threads = {}
        for location in self._definitions.locations:
            is_thread = location.type == self._otf2.enums.LocationType.CPU_THREAD
            if is_thread and location.group in count:
                threads[location] = (self._ranks[location.group], count[location.group])
                count[location.group] += 1
        return threads

    def _number_comms(self) -> dict[Any, int]:
        """That of all processes is number 0."""
        kinds = self._otf2.enums.GroupType
        comms = list(self._definitions.comms)
        comms.sort(
            key=lambda comm: (
                getattr(comm, "group", None) is None
                or comm.group.group_type != kinds.COMM_LOCATIONS
            )
        )
        return {comm: number for number, comm in enumerate(comms)}

    def comm(self, comm: Any) -> int:
        return self._comms[comm]

    def process(self, comm: Any, place: int, own: int) -> int:
        """The process behind a rank of a communicator, as seen by process `own`."""
        members = self._members(comm)
        remote = self._remote(comm)
        if remote is not None and own in members:
            members = remote
        if not members:  # MPI_COMM_SELF
            return own
        if place >= len(members):
            raise InputError(f"rank {place} in a communicator of {len(members)}")
        return members[place]

    def _members(self, comm: Any) -> list[int]:
        group = comm.groupA if hasattr(comm, "groupA") else comm.group
        return self._processes_of(group)

    def _remote(self, comm: Any) -> list[int] | None:
        return self._processes_of(comm.groupB) if hasattr(comm, "groupB") else None

    def _processes_of(self, group: Any) -> list[int]:
        if group.group_type == self._otf2.enums.GroupType.COMM_SELF:
            return []
        return [self._ranks[location.group] for location in group.members]

    def file(self, file: Any) -> int:
        return self._files.setdefault(file, len(self._files))

    def open_handle(self, rank: int, handle: Any) -> None:
        self._openings[rank] = self._openings.get(rank, -1) + 1
        self._handles[rank, handle] = self._openings[rank]

    def handle(self, rank: int, handle: Any) -> int:
        """The number of an opening, also of one that is older than the run."""
        if handle.name is not None and handle.name.endswith(UNKNOWN_OPENING):
            return -1
        if (rank, handle) not in self._handles:
            self.open_handle(rank, handle)
        return self._handles[rank, handle]

    def tables(self, end_ns: int, io: Records, mpi: Records) -> dict[str, Columns]:
        ranks = len(self._groups)
        numbers = [number for rank, number in self.threads.values()]
        threads = np.ones(ranks, np.int64)
        for rank, number in self.threads.values():
            threads[rank] = max(threads[rank], number + 1)
        hosts = [self._host(group) for group in self._groups]
        mpi_rank = [rank if rank < self._mpi_ranks else -1 for rank in range(ranks)]
        directory = self._otf2.definitions.IoDirectory
        tables: dict[str, Columns] = {
            "process": {
                "rank": np.arange(ranks),
                "mpi_rank": mpi_rank,
                "host": hosts,
                "end_ns": np.full(ranks, end_ns),
                "threads": threads,
                "records": io.count_by_rank(ranks) + mpi.count_by_rank(ranks),
            },
            "file": {
                "index": np.arange(len(self._files)),
                "path": [file.name for file in self._files],
                "kind": [
                    "directory" if isinstance(file, directory) else "regular"
                    for file in self._files
                ],
            },
        }
        if self._comms and numbers:
            tables["communicator"] = self._communicators()
        return tables

    def _communicators(self) -> Columns:
        members = [self._members(comm) for comm in self._comms]
        remote = [self._remote(comm) or [] for comm in self._comms]
        return {
            "index": np.arange(len(self._comms)),
            "parent": [self._comms.get(comm.parent, -1) for comm in self._comms],
            "size": [max(len(some), 1) for some in members],
            "members": [_in_words(some) for some in members],
            "remote": [_in_words(some) for some in remote],
            "name": [comm.name or "" for comm in self._comms],
        }

    def _host(self, group: Any) -> str:
        parent = group.system_tree_parent
        return parent.name if parent is not None else ""


def _in_words(members: list[int]) -> str:
    """0, 1, 2 and 5 as 0-2,5."""
    parts: list[str] = []
    begin = 0
    for place in range(1, len(members) + 1):
        if place == len(members) or members[place] != members[place - 1] + 1:
            first, last = members[begin], members[place - 1]
            parts.append(str(first) if first == last else f"{first}-{last}")
            begin = place
    return ",".join(parts)
