"""The communicators of a traced run: who is in them, and which call made each."""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter, defaultdict
from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from sesame.datasets import DataSet
from sesame.errors import InputError
from sesame.simulation.trace.calls import Role, plain
from sesame.simulation.trace.events import Array, Events
from sesame.traced.members import members_of

WORLD = 0
MAY_LEAVE_OUT = ("Comm_split", "Comm_create")  # calls that give some ranks none
OVER_GROUPS = ("Comm_create_group", "Intercomm_create")  # their records name what they made


@dataclass(frozen=True)
class Communicator:
    parent: int
    members: tuple[int, ...]
    remote: tuple[int, ...] = ()
    remote_parent: int = -1  # what the other side made an intercommunicator from

    @property
    def size(self) -> int:
        return len(self.members) + len(self.remote)

    @property
    def everyone(self) -> tuple[int, ...]:
        return (*self.members, *self.remote)

    def own_group(self, rank: int) -> tuple[int, ...]:
        return self.members if rank in self.members else self.remote

    def other_group(self, rank: int) -> tuple[int, ...]:
        return self.remote if rank in self.members else self.members

    def parent_of(self, rank: int) -> int:
        return self.parent if rank in self.members else self.remote_parent


@dataclass(frozen=True)
class Communicators:
    """By index. In a trace each side of an intercommunicator has an index of its own, and so has
    what the sides made of it together: `one` is the first of those that are the same."""

    table: list[Communicator]
    one: Array

    def __getitem__(self, index: int) -> Communicator:
        return self.table[index]

    def __len__(self) -> int:
        return len(self.table)


def read_communicators(data_set: DataSet, ranks: int) -> Communicators:
    world = Communicator(-1, tuple(range(ranks)))
    by_index = {WORLD: world}
    if data_set.has("communicator"):
        rows = data_set.table("communicator", ["index", "parent", "members", "remote"]).to_pylist()
        by_index |= {
            row["index"]: Communicator(row["parent"], _ranks(row["members"]), _ranks(row["remote"]))
            for row in rows
        }
    nobody = Communicator(-1, ())
    return _join_sides([by_index.get(index, nobody) for index in range(max(by_index) + 1)])


def _ranks(text: str) -> tuple[int, ...]:
    return tuple(members_of(text).tolist())


def _join_sides(table: list[Communicator]) -> Communicators:
    """Both sides make their intercommunicators, and what they make of them, in the same order."""
    one = np.arange(len(table))
    first: dict[tuple[object, ...], list[int]] = defaultdict(list)
    met: dict[tuple[object, ...], int] = defaultdict(int)
    for index, communicator in enumerate(table):
        own_parent = communicator.parent
        parent = int(one[own_parent]) if own_parent >= 0 else -1
        table[index] = communicator = replace(communicator, parent=parent)
        members, remote = communicator.members, communicator.remote
        side, twin_key, key = (
            ((members, remote), (remote, members), (members, remote))
            if remote
            else ((own_parent, members), (parent, members), (own_parent, members))
        )
        number = met[side]
        met[side] += 1
        twins = first[twin_key] if remote or parent != own_parent else []
        if number < len(twins):
            one[index] = twins[number]
            if remote:
                table[twins[number]] = replace(table[twins[number]], remote_parent=parent)
        else:
            first[key].append(index)
    return Communicators(_with_remote_parents(table), one)


def _with_remote_parents(table: list[Communicator]) -> list[Communicator]:
    """Where both sides have one record, it names the parent of one: the other side's has just its
    ranks. What is made of an intercommunicator has the same parent on both sides."""
    groups = {c.members: index for index, c in enumerate(table) if not c.remote}
    return [
        replace(
            c, remote_parent=c.parent if table[c.parent].remote else groups.get(c.remote, WORLD)
        )
        if c.remote and c.remote_parent < 0 and c.parent >= 0
        else c
        for c in table
    ]


class RankTable:
    """Ranks of the job as ranks in communicators; of an intercommunicator in the group that the
    rank is of."""

    def __init__(self, communicators: Communicators) -> None:
        self._ranks = max(max(c.everyone, default=0) for c in communicators.table) + 1
        keys, places = [], []
        for index, communicator in enumerate(communicators.table):
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
    """Finds which communicator each call made.

    The records name the communicator that a call is over. All its ranks make the same such calls in
    the same order, and communicators are numbered rank by rank in the order of their making. So,
    rank by rank, each of those that are new with a rank, the last first, is given to the last call
    before its first use that can have made it: most are used before the next is made, and one that
    is made at another call than it was is no harm, as long as all its ranks agree.
    """

    def __init__(self, events: Events, communicators: Communicators) -> None:
        self._events = events
        self._communicators = communicators
        making = np.flatnonzero(events.role == Role.MAKE).tolist()
        self._over_groups = [event for event in making if self._call(event) in OVER_GROUPS]
        self._calls: dict[tuple[int, int], list[int]] = defaultdict(list)  # by rank and parent
        for event in making:
            if self._call(event) not in OVER_GROUPS:
                self._calls[int(events.rank[event]), int(events.comm[event])].append(event)
        self._made: dict[int, int] = {}  # by event
        self._together: dict[tuple[int, int], int] = {}  # one of those of a call, by parent, number
        self._first_use = self._first_uses()

    def find(self) -> dict[int, Made]:
        """By event."""
        named = {int(self._events.comm[event]) for event in self._over_groups}
        to_place = [index for index in self._by_founder() if index not in named]
        founders = [self._founder(index) for index in to_place]
        before = Counter(founders)
        limit = dict.fromkeys(founders, len(self._events))
        for index, founder in zip(to_place, founders, strict=True):
            before[founder] -= 1
            limit[founder] = self._place(index, before[founder], limit[founder])
        made = {event: self._over_group(event) for event in self._over_groups}
        for calls in self._calls.values():
            made |= {event: self._over_all(event, number) for number, event in enumerate(calls)}
        return made

    def _call(self, event: int) -> str:
        return plain(self._events.names[self._events.played[event]])

    def _by_founder(self) -> list[int]:
        """By the lowest rank, the last first."""
        table, one = self._communicators.table, self._communicators.one
        indices = [
            index
            for index in np.unique(one).tolist()
            if table[index].parent >= 0 and table[index].members
        ]
        return sorted(indices, key=lambda index: (self._founder(index)[0], -index))

    def _founder(self, index: int) -> tuple[int, int]:
        """The rank with which it was numbered, and its parent."""
        return min(self._communicators[index].everyone), self._communicators[index].parent

    def _first_uses(self) -> dict[tuple[int, int], int]:
        """The first event of each rank with each communicator; making others of it is a use."""
        events, width = self._events, len(self._communicators)
        used = np.flatnonzero(events.comm > WORLD)
        keys, first = np.unique(events.rank[used] * width + events.comm[used], return_index=True)
        uses = dict(zip((divmod(key, width) for key in keys.tolist()), used[first], strict=True))
        for event in self._over_groups:
            rank, new = int(events.rank[event]), int(events.comm[event])
            local = (rank, self._communicators[new].parent_of(rank))
            uses[local] = min(uses.get(local, event), event)
        return uses

    def _place(self, index: int, least: int, limit: int) -> int:
        """Gives a communicator to the calls of all its ranks with one number from `least` on and
        below `limit`. Calls that give all ranks one come first."""
        communicator = self._communicators[index]
        parent, never = communicator.parent, len(self._events)
        calls = [self._calls.get((rank, parent), []) for rank in communicator.everyone]
        for rank, own in zip(communicator.everyone, calls, strict=True):
            limit = min(limit, bisect_left(own, self._first_use.get((rank, index), never)))
        whole = communicator.size == self._communicators[parent].size
        numbers = range(limit - 1, least - 1, -1)
        sure = {number: self._call(calls[0][number]) not in MAY_LEAVE_OUT for number in numbers}
        choice = [n for n in numbers if sure[n] and whole] + [n for n in numbers if not sure[n]]
        for number in choice:
            if all(own[number] not in self._made for own in calls):
                self._made |= {own[number]: index for own in calls}
                self._together[parent, number] = index
                return number
        return limit

    def _over_group(self, event: int) -> Made:
        rank, new = int(self._events.rank[event]), int(self._events.comm[event])
        if new < 0:
            raise self._missing(event)
        communicator = self._communicators[new]
        parent = max(communicator.parent_of(rank), WORLD)
        if self._call(event) == "Comm_create_group":
            return Made(new, parent, members=self._places(communicator.members, parent, rank))
        return Made(new, parent, number=communicator.other_group(rank)[0], tag=new)

    def _over_all(self, event: int, number: int) -> Made:
        rank, parent = int(self._events.rank[event]), int(self._events.comm[event])
        new, call = self._made.get(event, -1), self._call(event)
        if new < 0 and call not in MAY_LEAVE_OUT:
            raise self._missing(event)
        describe: Callable[[int, int, int, int], Made] = {
            "Comm_split": self._split,
            "Comm_create": self._create,
            "Intercomm_merge": self._merged,
        }.get(call, lambda rank, new, parent, number: Made(new, parent))
        return describe(rank, new, parent, number)

    def _missing(self, event: int) -> InputError:
        return InputError(
            f"{self._events.describe(event)}: the communicator that it made is not in the trace"
        )

    def _places(self, group: tuple[int, ...], parent: int, rank: int) -> tuple[int, ...]:
        members = self._communicators[parent].own_group(rank)
        place = {member: index for index, member in enumerate(members)}
        return tuple(place[member] for member in group)

    def _split(self, rank: int, new: int, parent: int, number: int) -> Made:
        key = self._communicators[new].own_group(rank).index(rank) if new >= 0 else 0
        return Made(new, parent, number=max(new, 0), tag=key)

    def _create(self, rank: int, new: int, parent: int, number: int) -> Made:
        """Between two groups all of one name the same ranks, also those that are not among them."""
        made = new
        if new < 0 and self._communicators[parent].remote:
            made = self._together.get((parent, number), -1)
        if made < 0:
            return Made(new, parent)
        side = set(self._communicators[parent].own_group(rank))
        both = (self._communicators[made].members, self._communicators[made].remote)
        group = next((group for group in both if side.issuperset(group)), ())
        return Made(new, parent, members=self._places(group, parent, rank))

    def _merged(self, rank: int, new: int, parent: int, number: int) -> Made:
        first = self._communicators[new].members[0]
        comes_last = first not in self._communicators[parent].own_group(rank)
        return Made(new, parent, number=int(comes_last))


def own_communicators(communicators: Communicators) -> list[tuple[int, int]]:
    """(rank, communicator) of those that every rank has from the start: MPI_COMM_SELF."""
    return [
        (communicator.members[0], index)
        for index, communicator in enumerate(communicators.table)
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
