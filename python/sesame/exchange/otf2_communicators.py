"""Numbers the communicators of an OTF2 archive as a data set does.

A definition in the archive has a name, a group and a parent. One definition stands for
MPI_COMM_SELF of all processes. In OTF2 3 events CommCreate tell which call made a communicator. In
older archives it follows from the order of the calls, if each process has as many communicators as
calls that make one.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from sesame.errors import InputError
from sesame.exchange.traced import Columns
from sesame.traced.calls import plain_name

WORLD = 0
WORLD_NAME = "MPI_COMM_WORLD"

Definition = Any  # of the library


@dataclass
class Communicator:
    parent: int
    members: list[int]
    remote: list[int]
    name: str
    remote_parent: int = -1  # the communicator from which the remote group made it

    @property
    def everyone(self) -> set[int]:
        return {*self.members, *self.remote}


@dataclass
class Makers:
    """Calls that make a communicator, where no event tells which one.

    By rank, in the order of the calls: the number of the record, and the name of the function.
    """

    calls: dict[int, list[tuple[int, str]]] = field(default_factory=lambda: defaultdict(list))

    def __len__(self) -> int:
        return sum(map(len, self.calls.values()))


class Communicators:
    def __init__(self, otf2: Any, definitions: Any, rank_of: dict[Any, int], ranks: int) -> None:
        """`rank_of`: by location group; `ranks`: how many of them use MPI."""
        self._kinds = otf2.enums.GroupType
        self._rank_of = rank_of
        defined = [comm for comm in definitions.comms if not self._is_self(comm)]
        world = self._world(defined, ranks)
        others = [comm for comm in defined if comm is not world]
        self._numbers = {comm: number for number, comm in enumerate(others, WORLD + 1)}
        if world is not None:
            self._numbers[world] = WORLD
        self._own: dict[tuple[Definition, int], int] = {}  # MPI_COMM_SELF of each process
        everyone = Communicator(-1, list(range(ranks)), [], WORLD_NAME)
        self._all = {WORLD: everyone} | {
            self._numbers[comm]: self._described(comm) for comm in defined
        }
        for comm in self._all.values():
            comm.remote_parent = self._with_members(comm.remote)

    def _is_self(self, comm: Definition) -> bool:
        group = getattr(comm, "group", None)
        return group is not None and group.group_type == self._kinds.COMM_SELF

    def _world(self, defined: list[Definition], ranks: int) -> Definition | None:
        """MPI_COMM_WORLD: found by its name, else the first communicator of all processes."""
        whole = [
            comm
            for comm in defined
            if hasattr(comm, "group") and self._processes_of(comm.group) == list(range(ranks))
        ]
        named = [comm for comm in whole if comm.name == WORLD_NAME]
        return next(iter([*named, *whole]), None)

    def _processes_of(self, group: Any) -> list[int]:
        return [self._rank_of[location.group] for location in group.members]

    def _described(self, comm: Definition) -> Communicator:
        is_inter = hasattr(comm, "groupA")
        return Communicator(
            self._numbers.get(comm.parent, -1),
            self._processes_of(comm.groupA if is_inter else comm.group),
            self._processes_of(comm.groupB) if is_inter else [],
            comm.name or "",
        )

    def _with_members(self, members: list[int]) -> int:
        """The communicator with these members; -1 where there is none.

        An archive names only one parent of an intercommunicator. The other parent is the
        communicator with the members of the remote group."""
        found = (number for number, comm in self._all.items() if comm.members == members)
        return next(found, -1) if members else -1

    def number(self, comm: Definition, rank: int) -> int:
        """The number of a communicator as process `rank` uses it; MPI_COMM_SELF differs by rank."""
        if not self._is_self(comm):
            return self._numbers[comm]
        if (comm, rank) not in self._own:
            number = self._own[comm, rank] = max(self._all) + 1
            self._all[number] = Communicator(-1, [rank], [], comm.name or "")
        return self._own[comm, rank]

    def process(self, comm: Definition, place: int, own: int) -> int:
        """The process that has rank `place` in a communicator, as seen by process `own`."""
        found = self._all[self.number(comm, own)]
        members = found.remote if found.remote and own in found.members else found.members
        if place >= len(members):
            raise InputError(f"rank {place} in a communicator of {len(members)}")
        return members[place]

    def parent(self, number: int, rank: int) -> int:
        """The communicator from which the process made it."""
        comm = self._all[number]
        return max(comm.remote_parent if rank in comm.remote else comm.parent, WORLD)

    @property
    def is_world_alone(self) -> bool:
        """Whether MPI_COMM_WORLD is the only communicator of more than one process."""
        return all(len(comm.everyone) < 2 for number, comm in self._all.items() if number != WORLD)

    def made_in_order(self, makers: Makers) -> dict[int, int] | None:
        """The communicator that each call made, by record; None where the order of the calls does
        not determine it."""
        made: dict[int, int] = {}
        names: dict[int, set[str]] = defaultdict(set)
        for rank, calls in makers.calls.items():
            mine = [n for n in sorted(self._numbers.values()) if n != WORLD and self._has(n, rank)]
            if len(mine) != len(calls):
                return None
            for number, (record, call) in zip(mine, calls, strict=True):
                made[record] = number
                names[number].add(call)
        is_clear = all(len(calls) == 1 and self._fits(n, *calls) for n, calls in names.items())
        return made if is_clear else None

    def _has(self, number: int, rank: int) -> bool:
        return rank in self._all[number].everyone

    def _fits(self, number: int, call: str) -> bool:
        """Whether a call of this name can have made it."""
        comm = self._all[number]
        if "inter" in plain_name(call):
            return bool(comm.remote) == ("create" in plain_name(call))
        parent = self._all[max(comm.parent, WORLD)]
        if plain_name(call).startswith("comm_dup"):
            return comm.members == parent.members
        return comm.everyone <= parent.everyone

    def table(self) -> Columns:
        numbers = sorted(self._all)
        comms = [self._all[number] for number in numbers]
        return {
            "index": np.array(numbers),
            "parent": [comm.parent for comm in comms],
            "remote_parent": [comm.remote_parent for comm in comms],
            "size": [max(len(comm.members), 1) for comm in comms],
            "members": [_in_words(comm.members) for comm in comms],
            "remote": [_in_words(comm.remote) for comm in comms],
            "name": [comm.name for comm in comms],
        }


def _in_words(members: list[int]) -> str:
    """Members as text: 0, 1, 2 and 5 become `0-2,5`."""
    parts: list[str] = []
    begin = 0
    for place in range(1, len(members) + 1):
        if place == len(members) or members[place] != members[place - 1] + 1:
            first, last = members[begin], members[place - 1]
            parts.append(str(first) if first == last else f"{first}-{last}")
            begin = place
    return ",".join(parts)
