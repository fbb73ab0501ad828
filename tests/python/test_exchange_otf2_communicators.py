"""Communicators of OTF2 archives: as Score-P writes them, and as our own exports do."""

from __future__ import annotations

import importlib
from pathlib import Path

import pytest
from tests.python.traced_run import TracedRun

from sesame.datasets import DataSet
from sesame.datasets.traced import MpiFlag
from sesame.errors import InputError
from sesame.exchange import export_data_set, import_trace
from sesame.simulation import plan_run

otf2 = importlib.import_module("otf2")
ev = importlib.import_module("otf2.events")
UNDEFINED = 0xFFFFFFFF
RANKS = 4
FIRST_REF = 40  # numbers of definitions begin there: they need not be dense
HALVES = ((0, 2), (1, 3))


class ScoreP:
    """Writes an archive as Score-P does: MPI_COMM_WORLD and MPI_COMM_SELF are definitions like
    others, and with OTF2 3 (Score-P 8) an event tells which communicator a call made."""

    def __init__(self, archive, *, events: bool, alone: bool = False) -> None:
        self.events = events
        self._defs = d = archive.definitions
        kinds = otf2.enums.GroupType
        node = d.system_tree_node("machine")
        groups = [
            d.location_group(f"MPI Rank {rank}", system_tree_parent=node) for rank in range(RANKS)
        ]
        self._locations = [
            d.location("Master thread", group=group)
            for group in reversed(groups)  # the order of ranks is that of the group below
        ][::-1]
        self.writers = [archive.event_writer_from_location(one) for one in self._locations]
        self._now = [0] * RANKS
        self._group(kinds.COMM_LOCATIONS, range(RANKS))
        d.comms._ref = FIRST_REF
        self.own = d.comms.create(
            "MPI_COMM_SELF", group=self._group(kinds.COMM_SELF, ()), _type=otf2.definitions.Comm
        )
        self.world = self.comm("MPI_COMM_WORLD", range(RANKS), None)
        if not alone:
            self.halves = [self.comm("", members, self.world) for members in HALVES]
            self.copy = self.comm("", range(RANKS), self.world)

    def _group(self, kind, members):
        return self._defs.groups.create(
            "",
            group_type=kind,
            paradigm=otf2.enums.Paradigm.MPI,
            members=tuple(self._locations[rank] for rank in members),
        )

    def comm(self, name, members, parent):
        flags = otf2.enums.CommFlag
        return self._defs.comms.create(
            name,
            group=self._group(otf2.enums.GroupType.COMM_GROUP, members),
            parent=parent,
            flags=flags.CREATE_DESTROY_EVENTS if self.events else flags.NONE,
            _type=otf2.definitions.Comm,
        )

    def _time(self, rank: int) -> int:
        self._now[rank] += 10
        return self._now[rank]

    def call(self, rank: int, name: str, *events) -> None:
        region = self._defs.region(name, paradigm=otf2.enums.Paradigm.MPI)
        write = self.writers[rank]
        write(ev.Enter(self._time(rank), region))
        for make in events:
            write(make(self._time(rank)))
        write(ev.Leave(self._time(rank), region))

    def make(self, rank: int, name: str, new, parent, end=None) -> None:
        kind = otf2.enums.CollectiveOp.CREATE_HANDLE
        events = [
            lambda t: ev.MpiCollectiveBegin(t),
            *([lambda t: ev.CommCreate(t, new)] if new is not None else []),
            lambda t: ev.MpiCollectiveEnd(t, kind, end or parent, UNDEFINED, 0, 0),
        ]
        self.call(rank, name, *(events if self.events else ()))

    def collective(self, rank: int, name: str, kind, comm, size=0) -> None:
        self.call(
            rank,
            name,
            lambda t: ev.MpiCollectiveBegin(t),
            lambda t: ev.MpiCollectiveEnd(t, kind, comm, UNDEFINED, size, size),
        )


def written(path: Path, *, events: bool, silent_split: bool = False) -> Path:
    """Splits the world in halves, duplicates it, and uses all that there is."""
    kinds = otf2.enums.CollectiveOp
    with otf2.writer.open(str(path), timer_resolution=10**9) as archive:
        run = ScoreP(archive, events=events)
        for rank in range(RANKS):
            half = run.halves[rank % 2]
            run.call(rank, "MPI_Init")
            if silent_split:  # returns no communicator
                run.make(rank, "MPI_Comm_split", None, run.world)
            run.make(rank, "MPI_Comm_split", half, run.world)
            run.make(rank, "MPI_Comm_dup", run.copy, run.world)
            run.collective(rank, "MPI_Allreduce", kinds.ALLREDUCE, half, 8)
            run.collective(rank, "MPI_Barrier", kinds.BARRIER, run.copy)
            run.collective(rank, "MPI_Barrier", kinds.BARRIER, run.own)
            place = rank // 2
            send = ev.MpiSend if place == 0 else ev.MpiRecv
            run.call(
                rank,
                "MPI_Send" if place == 0 else "MPI_Recv",
                lambda t, s=send, p=place, h=half: s(t, 1 - p, h, 7, 64),
            )
            run.call(rank, "MPI_Finalize")
    return path / "traces.otf2"


def imported(path: Path) -> DataSet:
    import_trace(path, path.parent / "back.sesame")
    return DataSet(path.parent / "back.sesame")


def by_members(data_set: DataSet) -> dict[int, str]:
    rows = data_set.table("communicator").to_pylist()
    return {row["index"]: row["members"] for row in rows} | {-1: ""}


@pytest.mark.parametrize("events", [True, False], ids=["OTF2 3", "OTF2 2"])
def test_communicators_are_those_of_the_definitions(events, tmp_path):
    back = imported(written(tmp_path / "archive", events=events))
    names = by_members(back)
    assert names[0] == "0-3"
    calls = [
        (row["rank"], row["call"], names[row["comm"]], names[row["made"]], row["peer"])
        for row in back.table("mpi").to_pylist()
        if row["call"] not in ("MPI_Init", "MPI_Finalize")
    ]
    for rank in range(RANKS):
        half = ",".join(map(str, HALVES[rank % 2]))
        message = ("MPI_Recv", rank - 2) if rank >= 2 else ("MPI_Send", rank + 2)
        assert [call for call in calls if call[0] == rank] == [
            (rank, "MPI_Comm_split", "0-3", half, -1),
            (rank, "MPI_Comm_dup", "0-3", "0-3", -1),
            (rank, "MPI_Allreduce", half, "", -1),
            (rank, "MPI_Barrier", "0-3", "", -1),
            (rank, "MPI_Barrier", str(rank), "", -1),
            (rank, message[0], half, "", message[1]),
        ]
    rows = back.table("mpi").to_pylist()
    copies = {row["made"] for row in rows if row["call"] == "MPI_Comm_dup"}
    assert len(copies) == 1
    assert copies != {0}
    assert {row["comm"] for row in rows if row["call"] == "MPI_Barrier"} > copies
    assert plan_run(back).ranks == RANKS


def test_a_call_that_makes_nothing_is_shown_by_the_events(tmp_path):
    back = imported(written(tmp_path / "archive", events=True, silent_split=True))
    assert plan_run(back).ranks == RANKS


def test_where_the_order_does_not_show_what_a_call_made_it_is_reported(tmp_path):
    back = imported(written(tmp_path / "archive", events=False, silent_split=True))
    assert back.info["result"]["not_imported"] == [
        "12 calls that made communicators: which is which"
    ]
    with pytest.raises(InputError, match="there is no record of the communicator"):
        plan_run(back)


@pytest.mark.parametrize(("alone", "comm"), [(True, 0), (False, -1)])
def test_collectives_without_an_event_are_over_the_only_communicator(alone, comm, tmp_path):
    with otf2.writer.open(str(tmp_path / "archive"), timer_resolution=10**9) as archive:
        run = ScoreP(archive, events=False, alone=alone)
        for rank in range(RANKS):
            run.call(rank, "MPI_Barrier")
    back = imported(tmp_path / "archive" / "traces.otf2")
    assert set(back.table("mpi").column("comm").to_pylist()) == {comm}
    assert back.info["result"]["not_imported"] == [
        "4 collective calls without an event: their data"
    ]


def own_run(path: Path) -> Path:
    """Every way to make a communicator, as our tracer records it."""
    run = TracedRun(ranks=RANKS)
    run.communicator(1, "2,0", 2)
    run.communicator(2, "3,1", 2)
    run.communicator(3, "0-3", 4)
    run.communicator(4, "0-1", 2)
    run.communicator(5, "2,0", 2)
    run.communicator(6, "2,0", 2)
    run._communicators[6] |= {"remote": "3,1", "parent": 1, "remote_parent": 2}
    run._communicators[5] |= {"parent": 1}
    for index in (1, 2, 3, 4):
        run._communicators[index]["parent"] = 0
    for rank in range(RANKS):
        half = 1 + rank % 2
        run.mpi(rank, 1, 1, "MPI_Comm_split", made=half)
        run.mpi(rank, 3, 1, "MPI_Cart_create", made=3)
        run.mpi(rank, 5, 1, "MPI_Barrier", comm=3)
        run.mpi(rank, 7, 1, "MPI_Bcast", comm=half, peer=2 + rank % 2, bytes=80)
        run.mpi(rank, 9, 1, "MPI_Comm_split", made=4 if rank < 2 else -1)
        if rank % 2 == 0:
            idup = {"made": 5, "completion": 1, "flags": int(MpiFlag.NONBLOCKING)}
            run.mpi(rank, 11, 1, "MPI_Comm_idup", comm=1, **idup)
            run.mpi(rank, 13, 1, "MPI_Wait", comm=-1)
        run.mpi(rank, 15, 1, "MPI_Intercomm_create", comm=half, made=6)
        run.mpi(rank, 17, 1, "MPI_Win_fence", comm=half)
        run.mpi(rank, 19, 1, "MPI_Comm_free", comm=half)
    return run.write(path)


def test_what_calls_made_comes_back_from_our_own_archives(tmp_path):
    there = DataSet(own_run(tmp_path / "run.sesame"))
    export_data_set(there.path, "otf2", tmp_path / "archive")
    back = imported(tmp_path / "archive" / "traces.otf2")
    found = []
    for data_set in (there, back):
        comms = {row["index"]: row for row in data_set.table("communicator").to_pylist()}
        members = {i: (row["members"], row["remote"]) for i, row in comms.items()} | {-1: ""}
        fields = ("rank", "call", "begin_ns", "peer", "bytes", "completion", "flags")
        found.append(
            [
                (*(row[name] for name in fields), members[row["comm"]], members[row["made"]])
                for row in data_set.table("mpi").to_pylist()
            ]
        )
        inter = next(row for row in comms.values() if row["remote"])
        assert [members[inter[name]] for name in ("parent", "remote_parent")] == [
            ("2,0", ""),
            ("3,1", ""),
        ]
    assert found[0] == found[1]


def test_processes_that_speak_no_mpi_do_not_become_ranks(tmp_path):
    run = TracedRun(ranks=3)
    run._processes[2] |= {"mpi_rank": -1}
    run._communicators[0] |= {"members": "0-1", "size": 2}
    for rank in range(2):
        run.mpi(rank, 1, 1, "MPI_Barrier")
    run.io(2, 1, 1, "open", file=run.file("/data/x"), handle=0)
    export_data_set(run.write(tmp_path / "run.sesame"), "otf2", tmp_path / "archive")
    back = imported(tmp_path / "archive" / "traces.otf2")
    assert back.table("process").column("mpi_rank").to_pylist() == [0, 1, -1]
    assert plan_run(back).ranks == 2
