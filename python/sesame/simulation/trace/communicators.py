"""The communicators of a traced run: who is in them, and which call made each."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from sesame.datasets import DataSet
from sesame.errors import InputError
from sesame.simulation.trace.calls import Role, plain
from sesame.simulation.trace.events import Array, Events

WORLD = 0
MAY_LEAVE_OUT = ("Comm_split", "Comm_create")  # calls that give some ranks none


@dataclass(frozen=True)
class Communicator:
    parent: int
    members: tuple[int, ...]
    remote: tuple[int, ...]

    @property
    def size(self) -> int:
        return len(self.members) + len(self.remote)

    def own_group(self, rank: int) -> tuple[int, ...]:
        return self.members if rank in self.members else self.remote

    def other_group(self, rank: int) -> tuple[int, ...]:
        return self.remote if rank in self.members else self.members


def read_communicators(data_set: DataSet, ranks: int) -> list[Communicator]:
    world = Communicator(-1, tuple(range(ranks)), ())
    if not data_set.has("communicator"):
        return [world]
    rows = data_set.table("communicator", ["index", "parent", "members", "remote"]).to_pylist()
    by_index = {
        row["index"]: Communicator(row["parent"], _ranks(row["members"]), _ranks(row["remote"]))
        for row in rows
    }
    nobody = Communicator(-1, (), ())
    by_index.setdefault(WORLD, world)
    return [by_index.get(index, nobody) for index in range(max(by_index) + 1)]


def _ranks(text: str) -> tuple[int, ...]:
    """0-7 or 0-14:2,1,3"""
    ranks: list[int] = []
    for part in filter(None, (text or "").split(",")):
        span, _, step = part.partition(":")
        first, _, last = span.partition("-")
        try:
            ranks += range(int(first), int(last or first) + 1, int(step or 1))
        except ValueError:
            raise InputError(f"members of a communicator: '{text}' is no list of ranks") from None
    return tuple(ranks)


class RankTable:
    """Ranks of the job as ranks in communicators; of an intercommunicator in the group that the
    rank is of."""

    def __init__(self, communicators: list[Communicator]) -> None:
        self._ranks = max(max((*c.members, *c.remote), default=0) for c in communicators) + 1
        keys, places = [], []
        for index, communicator in enumerate(communicators):
            for group in (communicator.members, communicator.remote):
                keys.append(np.array(group, np.int64) + index * self._ranks)
                places.append(np.arange(len(group)))
        key, place = np.concatenate(keys), np.concatenate(places)
        order = np.argsort(key)
        self._keys, self._places = key[order], place[order]

    def find(self, comm: Array, rank: Array) -> Array:
        """-1 where it is not in the communicator."""
        key = comm * self._ranks + rank
        at = np.minimum(np.searchsorted(self._keys, key), len(self._keys) - 1)
        return np.where((self._keys[at] == key) & (comm >= 0) & (rank >= 0), self._places[at], -1)


@dataclass
class Made:
    """How the player makes a communicator."""

    comm: int  # -1: this rank gets none
    parent: int
    number: int = 0
    tag: int = 0
    members: tuple[int, ...] = ()  # ranks in the parent


class Makers:
    """Finds, rank by rank, which communicator each call made.

    The record of a call may name the new communicator or the one it was made from.
    """

    def __init__(self, events: Events, communicators: list[Communicator]) -> None:
        self._events = events
        self._communicators = communicators
        self._of_rank: dict[int, dict[int, list[int]]] = defaultdict(lambda: defaultdict(list))
        for index, communicator in enumerate(communicators):
            for rank in (*communicator.members, *communicator.remote):
                if index != WORLD:
                    self._of_rank[rank][communicator.parent].append(index)
        self._used: dict[int, set[int]] = defaultdict(lambda: {WORLD})

    def find(self) -> dict[int, Made]:
        """By event."""
        events = self._events
        chosen = np.flatnonzero(events.role == Role.MAKE)
        return {event: self._make(event) for event in chosen.tolist()}

    def _make(self, event: int) -> Made:
        events = self._events
        rank, named = int(events.rank[event]), int(events.comm[event])
        call = plain(events.names[events.played[event]])
        new = self._new(rank, named)
        parent = named if new < 0 or new != named else self._communicators[new].parent
        if parent not in self._used[rank]:
            parent = self._substitute(rank, new, parent, call)
        if parent not in self._used[rank]:
            raise InputError(
                f"{events.describe(event)}: it was made from communicator {parent}, which the "
                "rank does not have"
            )
        if new >= 0:
            self._used[rank].add(new)
        elif call not in MAY_LEAVE_OUT:
            raise InputError(
                f"{events.describe(event)}: the communicator that it made is not in the trace"
            )
        describe: Callable[[int, int, int], Made] = {
            "Comm_split": self._split,
            "Comm_create": self._create,
            "Comm_create_group": self._create,
            "Intercomm_create": self._intercommunicator,
            "Intercomm_merge": self._merged,
        }.get(call, lambda rank, new, parent: Made(new, parent))
        return describe(rank, new, parent)

    def _new(self, rank: int, named: int) -> int:
        used = self._used[rank]
        if named >= 0 and named not in used:
            return named
        children = (c for c in self._of_rank[rank][named] if c not in used)
        return next(children, -1)

    def _substitute(self, rank: int, new: int, parent: int, call: str) -> int:
        """Both sides of an intercommunicator made it from their own; a group alone from any."""
        if call == "Comm_create_group":
            return WORLD
        group = self._communicators[new].own_group(rank) if new >= 0 else ()
        same = (c for c in self._used[rank] if self._communicators[c].members == group)
        return next(same, parent) if call == "Intercomm_create" else parent

    def _split(self, rank: int, new: int, parent: int) -> Made:
        key = self._communicators[new].own_group(rank).index(rank) if new >= 0 else 0
        return Made(new, parent, number=max(new, 0), tag=key)

    def _create(self, rank: int, new: int, parent: int) -> Made:
        group = self._communicators[new].own_group(rank) if new >= 0 else ()
        of_parent = self._communicators[parent].own_group(rank)
        place = {member: index for index, member in enumerate(of_parent)}
        return Made(new, parent, members=tuple(place[member] for member in group))

    def _intercommunicator(self, rank: int, new: int, parent: int) -> Made:
        groups = self._communicators[new]
        return Made(new, parent, number=groups.other_group(rank)[0], tag=new)

    def _merged(self, rank: int, new: int, parent: int) -> Made:
        first = self._communicators[new].members[0]
        comes_last = first not in self._communicators[parent].own_group(rank)
        return Made(new, parent, number=int(comes_last))


def own_communicators(communicators: list[Communicator]) -> list[tuple[int, int]]:
    """(rank, communicator) of those that every rank has from the start: MPI_COMM_SELF."""
    return [
        (communicator.members[0], index)
        for index, communicator in enumerate(communicators)
        if communicator.parent < 0 and index != WORLD and communicator.size == 1
    ]


def check_membership(
    events: Events,
    uses: Array,
    table: RankTable,
    made: dict[int, Made],
    own: list[tuple[int, int]],
) -> None:
    """Every communicator is used by its members only, and after its making was seen."""
    comm, rank = events.comm[uses], events.rank[uses]
    if np.any(comm < 0):
        first = uses[int(np.argmax(comm < 0))]
        raise InputError(f"{events.describe(first)}: its communicator is not in the trace")
    strange = table.find(comm, rank) < 0
    if strange.any():
        first = uses[int(np.argmax(strange))]
        raise InputError(
            f"{events.describe(first)}: the rank is not in communicator {events.comm[first]}"
        )
    known = set(own) | {(int(events.rank[event]), how.comm) for event, how in made.items()}
    width = int(comm.max(initial=0)) + 1
    for pair in np.unique((rank * width + comm)[comm != WORLD]).tolist():
        r, c = divmod(pair, width)
        if (r, c) not in known:
            first = uses[int(np.argmax((rank == r) & (comm == c)))]
            raise InputError(
                f"{events.describe(first)}: the call that made communicator {c} is not in the trace"
            )
