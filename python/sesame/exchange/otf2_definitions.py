"""The definitions of an OTF2 archive: locations, regions, communicators, files."""

from __future__ import annotations

from functools import cached_property
from typing import Any

import numpy as np

from sesame.datasets import DataSet
from sesame.exchange.otf2_communicators import WORLD_NAME
from sesame.exchange.otf2_library import (
    COMM,
    ERROR,
    FILE,
    OFFSET,
    PARADIGMS,
    UNKNOWN_OPEN_FILE,
    layer_words,
    region_role,
)
from sesame.traced.groups import Array
from sesame.traced.io_calls import MPI_IO, OPEN, io_kind
from sesame.traced.members import NOT_TRACED, members_of


def _traced(members: str) -> Array:
    """The members that were traced; an archive has no location for others."""
    ranks = members_of(members)
    return np.asarray(ranks[ranks != NOT_TRACED])


class Definitions:
    """Creates each definition at its first use and returns the same one later."""

    def __init__(self, otf2: Any, archive: Any, data_set: DataSet, ranks: list[int]) -> None:
        self.otf2 = otf2
        self.registry = archive.definitions
        self._data_set = data_set
        self.ranks = ranks
        self._locations: dict[tuple[int, int], Any] = {}
        self._regions: dict[str, Any] = {}
        self._comms: dict[int, Any] = {}
        self._handles: dict[tuple[int, ...], Any] = {}
        self._paradigms: dict[int, Any] = {}
        self._files: dict[int, Any] = {}
        self._numbers: dict[int, dict[int, int]] = {}
        self._root = self.registry.system_tree_node("machine")
        self._groups = self._location_groups()
        for rank in ranks:  # MPI is assigned to the first thread of each process
            self.location(rank, 0)
        # The locations that use MPI; groups of communicators are subsets of it.
        mpi, kinds = otf2.enums.Paradigm.MPI, otf2.enums.GroupType
        mpi_locations = tuple(self.location(rank, 0) for rank in self._mpi_ranks())
        for name, kind in (("MPI", kinds.COMM_LOCATIONS), ("MPI_COMM_WORLD", kinds.COMM_GROUP)):
            self._world = self.registry.groups.create(
                name, group_type=kind, paradigm=mpi, members=mpi_locations
            )

    def _mpi_ranks(self) -> list[int]:
        """The processes that use MPI, or all where the data set does not record which do."""
        if not self._data_set.has("process"):
            return self.ranks
        table = self._data_set.table("process", ["rank", "mpi_rank"]).to_pydict()
        pairs = sorted(zip(table["mpi_rank"], table["rank"], strict=True))
        return [rank for mpi_rank, rank in pairs if mpi_rank >= 0] or self.ranks

    def _location_groups(self) -> dict[int, Any]:
        hosts: dict[int, str] = {}
        if self._data_set.has("process"):
            table = self._data_set.table("process", ["rank", "host"]).to_pydict()
            hosts = dict(zip(table["rank"], table["host"], strict=True))
        nodes = {
            host: self.registry.system_tree_node(
                host or "node", class_name="node", parent=self._root
            )
            for host in sorted({hosts.get(rank, "") for rank in self.ranks})
        }
        return {
            rank: self.registry.location_group(
                f"rank {rank}", system_tree_parent=nodes[hosts.get(rank, "")]
            )
            for rank in self.ranks
        }

    def location(self, rank: int, thread: int) -> Any:
        key = rank, thread
        if key not in self._locations:
            name = f"rank {rank}" if thread == 0 else f"rank {rank}, thread {thread}"
            self._locations[key] = self.registry.location(name, group=self._groups[rank])
        return self._locations[key]

    def region(self, call: str, *, is_io: bool) -> Any:
        if call not in self._regions:
            paradigms = self.otf2.enums.Paradigm
            self._regions[call] = self.registry.region(
                call,
                region_role=region_role(self.otf2, call, is_io=is_io),
                paradigm=paradigms.MPI if call.startswith("MPI_") else paradigms.UNKNOWN,
            )
        return self._regions[call]

    def comm(self, index: int) -> Any:
        """A communicator of a traced run, or the context of messages of a simulated one."""
        if index not in self._comms:
            known = self._members.get(index)
            self._comms[index] = self._world_comm(index) if known is None else self._comm(index)
        return self._comms[index]

    def _world_comm(self, index: int) -> Any:
        return self.registry.comms.create(
            f"context {index}", group=self._world, _type=self.otf2.definitions.Comm
        )

    def _comm(self, index: int) -> Any:
        kinds, flags, types = self.otf2.enums.GroupType, self.otf2.enums.CommFlag, self.otf2
        row = self._members[index]
        name = row["name"] or (WORLD_NAME if index == 0 else f"communicator {index}")
        is_world = index == 0 or not row["members"]
        group = self._world if is_world else self._group(kinds.COMM_GROUP, name, row["members"])
        parent = row["parent"] if row["parent"] != index else -1
        more = {
            "parent": self.comm(parent) if parent >= 0 else None,
            "flags": flags.CREATE_DESTROY_EVENTS if index in self._made else flags.NONE,
        }
        if not row["remote"]:
            kind = types.definitions.Comm
            return self.registry.comms.create(name, group=group, _type=kind, **more)
        return self.registry.comms.create(
            name,
            groupA=group,
            groupB=self._group(kinds.COMM_GROUP, name, row["remote"]),
            _type=types.definitions.InterComm,
            **more,
        )

    @cached_property
    def _made(self) -> set[int]:
        """The communicators for which the data set has the call that made them."""
        if not self._data_set.has("mpi"):
            return set()
        return set(self._data_set.table("mpi", ["made"]).column(0).unique().to_pylist())

    def _group(self, kind: Any, name: str, members: str) -> Any:
        locations = tuple(self.location(int(rank), 0) for rank in _traced(members))
        mpi = self.otf2.enums.Paradigm.MPI
        return self.registry.groups.create(name, group_type=kind, paradigm=mpi, members=locations)

    @cached_property
    def _members(self) -> dict[int, dict[str, Any]]:
        if not self._data_set.has("communicator"):
            return {}
        rows = self._data_set.table("communicator").to_pylist()
        return {row["index"]: row for row in rows}

    def place(self, comm: int, rank: int) -> int:
        """The rank of a process in a communicator; in an intercommunicator, in its own group."""
        if comm not in self._numbers:
            row = self._members.get(comm, {"members": "", "remote": ""})
            texts = [text for text in (row["members"], row["remote"]) if text]
            groups = [_traced(text) for text in texts] or [np.array(self.ranks)]
            self._numbers[comm] = {
                int(member): place for group in groups for place, member in enumerate(group)
            }
        return self._numbers[comm].get(rank, rank)

    def paradigm(self, layer: int) -> Any:
        if layer not in self._paradigms:
            classes = self.otf2.enums.IoParadigmClass
            self._paradigms[layer] = self.registry.io_paradigms.create(
                PARADIGMS[layer],
                layer_words(layer),
                classes.PARALLEL if layer == MPI_IO else classes.SERIAL,
                self.otf2.enums.IoParadigmFlag.NONE,
            )
        return self._paradigms[layer]

    def file(self, index: int) -> Any:
        if index not in self._files:
            path, kind = self._paths.get(index, (f"file {index}", "regular"))
            types = self.otf2.definitions
            self._files[index] = self.registry.io_files.create(
                path,
                scope=self._root,
                _type=types.IoDirectory if kind == "directory" else types.IoRegularFile,
            )
        return self._files[index]

    @cached_property
    def _paths(self) -> dict[int, tuple[str, str]]:
        if not self._data_set.has("file"):
            return {}
        rows = self._data_set.table("file", ["index", "path", "kind"]).to_pylist()
        return {row["index"]: (row["path"], row["kind"]) for row in rows}

    def handle(self, rank: int, handle: int, file: int, layer: int) -> Any:
        """The IoHandle of an open file; where it is unknown, one for all accesses of a process."""
        key = (rank, handle) if handle >= 0 else (rank, -1, file, layer)
        if key not in self._handles:
            flags, known = self.otf2.enums.IoHandleFlag, key in self._opened
            name = f"opening {handle}" if handle >= 0 else UNKNOWN_OPEN_FILE
            self._handles[key] = self.registry.io_handles.create(
                f"rank {rank}, {name}",
                self.file(file),
                self.paradigm(layer),
                flags.NONE if known else flags.PRE_CREATED,
            )
            if not known:
                self.registry.io_pre_created_handle_states.create(
                    self._handles[key], self.otf2.enums.IoAccessMode.READ_WRITE
                )
        return self._handles[key]

    @cached_property
    def _opened(self) -> set[tuple[int, int]]:
        """Rank and number of files opened in the run; others were open before it."""
        if not self._data_set.has("io"):
            return set()
        table = self._data_set.table("io", ["rank", "handle", "call", "error"]).to_pydict()
        rows = zip(*table.values(), strict=True)
        return {(r, h) for r, h, call, error in rows if io_kind(call) == OPEN and not error}

    @cached_property
    def offset(self) -> Any:
        integer = self.otf2.enums.Type.INT64
        return self.registry.attribute(OFFSET, "position of the data in the file", integer)

    @cached_property
    def communicator(self) -> Any:
        kind = self.otf2.enums.Type.COMM
        return self.registry.attribute(COMM, "the communicator of a call", kind)

    @cached_property
    def error(self) -> Any:
        integer = self.otf2.enums.Type.INT64
        return self.registry.attribute(ERROR, "errno of a call that failed", integer)

    @cached_property
    def file_attribute(self) -> Any:
        kind = self.otf2.enums.Type.IO_FILE
        return self.registry.attribute(FILE, "the file that a call without handle is about", kind)
