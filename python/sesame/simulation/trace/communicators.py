"""The communicators of a traced run: their members, and the call that made each."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from sesame.datasets import DataSet
from sesame.errors import InputError
from sesame.simulation.trace.calls import Role, plain
from sesame.simulation.trace.events import Array, Events
from sesame.traced.members import members_of

WORLD = 0
MAY_LEAVE_OUT = ("Comm_split", "Comm_create")  # calls that return MPI_COMM_NULL to some ranks
OVER_GROUPS = ("Comm_create_group", "Intercomm_create")  # only some members of the parent call it
UNKNOWN_MAKER = (
    "some imports, and traces of an earlier version, do not say which call made which "
    "communicator; record the run with `sesame trace`"
)


@dataclass(frozen=True)
class Communicator:
    parent: int
    members: tuple[int, ...]
    remote: tuple[int, ...] = ()
    remote_parent: int = -1  # the communicator from which the remote group made it

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


def read_communicators(data_set: DataSet, ranks: int) -> list[Communicator]:
    """The communicators of a run by index; unknown ones have no members."""
    by_index = {WORLD: Communicator(-1, tuple(range(ranks)))}
    if data_set.has("communicator"):
        by_index |= {
            row["index"]: Communicator(
                row["parent"],
                _ranks(row["members"]),
                _ranks(row["remote"]),
                row.get("remote_parent", -1),
            )
            for row in data_set.table("communicator").to_pylist()
        }
    unknown = Communicator(-1, ())
    return [by_index.get(index, unknown) for index in range(max(by_index) + 1)]


def _ranks(text: str) -> tuple[int, ...]:
    return tuple(members_of(text).tolist())


class RankTable:
    """Converts ranks of the job to ranks in communicators; in an intercommunicator, to the rank in
    the own group."""

    def __init__(self, communicators: list[Communicator]) -> None:
        self._ranks = max(max(c.everyone, default=0) for c in communicators) + 1
        keys, places = [], []
        for index, communicator in enumerate(communicators):
            for group in (communicator.members, communicator.remote):
                keys.append(np.array(group, np.int64) + index * self._ranks)
                places.append(np.arange(len(group)))
        key, place = np.concatenate(keys), np.concatenate(places)
        order = np.argsort(key)
        self._keys, self._places = key[order], place[order]

    def find(self, comm: Array, rank: Array) -> Array:
        """The rank of each `rank` in its `comm`; -1 where it is not a member."""
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
    """Finds how the player repeats each call that made a communicator."""

    def __init__(self, events: Events, communicators: list[Communicator]) -> None:
        self._events = events
        self._communicators = communicators
        self._making = np.flatnonzero(events.role == Role.MAKE).tolist()
        # By event: the number of the call among those of its rank over the same parent.
        self._number: dict[int, int] = {}
        # The communicator that a collective call made, by parent and number.
        self._made_by: dict[tuple[int, int], int] = {}
        calls_so_far: Counter[tuple[int, int]] = Counter()
        for event in self._making:
            if self._call(event) not in OVER_GROUPS:
                rank, parent = int(events.rank[event]), int(events.comm[event])
                number = self._number[event] = calls_so_far[rank, parent]
                calls_so_far[rank, parent] += 1
                if events.made[event] >= 0:
                    self._made_by[parent, number] = int(events.made[event])

    def find(self) -> dict[int, Made]:
        """How each communicator is made, by the event of the call. Raises InputError."""
        return {event: self._find(event) for event in self._making}

    def _find(self, event: int) -> Made:
        rank, new = int(self._events.rank[event]), int(self._events.made[event])
        call = self._call(event)
        if new < 0 and call not in MAY_LEAVE_OUT:
            raise InputError(
                f"{self._events.describe(event)}: there is no record of the communicator that it "
                "made",
                hint=UNKNOWN_MAKER,
            )
        if new >= 0 and rank not in self._communicators[new].everyone:
            raise InputError(
                f"{self._events.describe(event)}: the rank is not in communicator {new}, which it "
                "made"
            )
        return self._over_group(event) if call in OVER_GROUPS else self._over_all(event)

    def _call(self, event: int) -> str:
        return plain(self._events.names[self._events.played[event]])

    def _over_group(self, event: int) -> Made:
        rank, new = int(self._events.rank[event]), int(self._events.made[event])
        communicator = self._communicators[new]
        parent = max(communicator.parent_of(rank), WORLD)
        if self._call(event) == "Comm_create_group":
            return Made(new, parent, members=self._places(communicator.members, parent, rank))
        return Made(new, parent, number=communicator.other_group(rank)[0], tag=new)

    def _over_all(self, event: int) -> Made:
        rank, parent = int(self._events.rank[event]), int(self._events.comm[event])
        new, number = int(self._events.made[event]), self._number[event]
        describe: Callable[[int, int, int, int], Made] = {
            "Comm_split": self._split,
            "Comm_create": self._create,
            "Intercomm_merge": self._merged,
        }.get(self._call(event), lambda rank, new, parent, number: Made(new, parent))
        return describe(rank, new, parent, number)

    def _places(self, group: tuple[int, ...], parent: int, rank: int) -> tuple[int, ...]:
        members = self._communicators[parent].own_group(rank)
        place = {member: index for index, member in enumerate(members)}
        return tuple(place[member] for member in group)

    def _split(self, rank: int, new: int, parent: int, number: int) -> Made:
        key = self._communicators[new].own_group(rank).index(rank) if new >= 0 else 0
        return Made(new, parent, number=max(new, 0), tag=key)

    def _create(self, rank: int, new: int, parent: int, number: int) -> Made:
        """MPI_Comm_create. Over an intercommunicator all ranks of a group must give the same
        members, also ranks that are not members."""
        made = new
        if new < 0 and self._communicators[parent].remote:
            made = self._made_by.get((parent, number), -1)
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


def own_communicators(communicators: list[Communicator]) -> list[tuple[int, int]]:
    """(rank, communicator) of each MPI_COMM_SELF, which every rank has from the start."""
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
    """Raises InputError unless each communicator is made by a call and used only by its members."""
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
                f"{events.describe(first)}: the call that made communicator {c} is not in the "
                "trace",
                hint=UNKNOWN_MAKER,
            )
