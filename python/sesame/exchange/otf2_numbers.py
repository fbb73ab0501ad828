"""The processes, threads and files of an OTF2 archive as numbers of a data set."""

from __future__ import annotations

from typing import Any

import numpy as np

from sesame.errors import InputError
from sesame.exchange.otf2_communicators import Communicators
from sesame.exchange.otf2_library import UNKNOWN_OPEN_FILE
from sesame.exchange.otf2_records import Records
from sesame.exchange.traced import Columns


class ArchiveNumbers:
    """Numbers the processes, threads, files and open files of an archive, in Sesame's order."""

    def __init__(self, otf2: Any, definitions: Any) -> None:
        self._otf2 = otf2
        self._definitions = definitions
        groups = self._process_groups()
        self._ranks = {group: rank for rank, group in enumerate(groups)}
        self._groups = groups
        self.threads = self._number_threads()
        self.comms = Communicators(otf2, definitions, self._ranks, self._mpi_ranks)
        self._files: dict[Any, int] = {}
        self._handles: dict[tuple[int, Any], int] = {}
        self._opens: dict[int, int] = {}  # of each process

    def _process_groups(self) -> list[Any]:
        """The processes: first those of MPI in the order of their ranks."""
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

    def file(self, file: Any) -> int:
        return self._files.setdefault(file, len(self._files))

    def open_handle(self, rank: int, handle: Any) -> None:
        self._opens[rank] = self._opens.get(rank, -1) + 1
        self._handles[rank, handle] = self._opens[rank]

    def handle(self, rank: int, handle: Any) -> int:
        """The number of an open file, also of one that was open before the run; -1 where
        unknown."""
        if handle.name is not None and handle.name.endswith(UNKNOWN_OPEN_FILE):
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
        if self._mpi_ranks and numbers:
            tables["communicator"] = self.comms.table()
        return tables

    def _host(self, group: Any) -> str:
        parent = group.system_tree_parent
        return parent.name if parent is not None else ""
