"""The role of each recorded MPI call: how the player repeats it."""

from __future__ import annotations

from enum import IntEnum


class Role(IntEnum):
    LOCAL = 0  # involves no other rank: its time counts as computation
    TIMED = 1  # not modelled: takes its recorded time
    IO = 2
    REFUSED = 3
    INIT = 4
    FINALIZE = 5
    SEND = 6
    RECEIVE = 7
    SEND_RECEIVE = 8  # the receive has a nested record
    SEND_START = 9
    RECEIVE_START = 10
    SEND_RECEIVE_START = 11  # the receive has a nested record
    START = 12  # of persistent requests: the messages are nested records
    PROBE = 13
    COMPLETION = 14
    COLLECTIVE = 15
    COLLECTIVE_START = 16
    MAKE = 17  # makes a communicator
    FREE = 18  # frees a communicator
    IO_START = 19  # continues in the background
    IO_WAIT = 20
    FILE = 21  # on a file system of the target machine
    FILE_START = 22  # continues in the background
    FILE_WAIT = 23


STARTS = (
    Role.SEND_START,
    Role.RECEIVE_START,
    Role.SEND_RECEIVE_START,
    Role.COLLECTIVE_START,
)
COLLECTIVES = (
    "Barrier",
    "Bcast",
    "Gather",
    "Scatter",
    "Allgather",
    "Alltoall",
    "Gatherv",
    "Scatterv",
    "Allgatherv",
    "Alltoallv",
    "Reduce",
    "Allreduce",
    "Scan",
    "Exscan",
    "Reduce_scatter",
    "Reduce_scatter_block",
)
ROOTED = ("Bcast", "Gather", "Scatter", "Gatherv", "Scatterv", "Reduce")
COMPLETIONS = ("Wait", "Waitall", "Waitany", "Waitsome", "Test", "Testall", "Testany", "Testsome")
POLLS = ("Test", "Testall", "Testany", "Testsome", "Iprobe", "Improbe", "Request_get_status")
REFUSED = (
    "Comm_spawn",
    "Comm_spawn_multiple",
    "Comm_accept",
    "Comm_connect",
    "Comm_join",
    "Psend_init",
    "Precv_init",
)
# Calls that make communicators, by the player's call that stands for them.
AGREED = ("Comm_create", "Cart_create", "Graph_create", "Dist_graph_create")
SPLIT = ("Comm_split", "Comm_split_type", "Cart_sub")


def _roles() -> dict[str, tuple[Role, str]]:
    """For each function its role and the call of the player that stands for it, without MPI_."""
    roles: dict[str, tuple[Role, str]] = {
        "Init": (Role.INIT, "Init"),
        "Init_thread": (Role.INIT, "Init"),
        "Finalize": (Role.FINALIZE, "Finalize"),
        "Recv": (Role.RECEIVE, "Recv"),
        "Mrecv": (Role.RECEIVE, "Recv"),
        "Irecv": (Role.RECEIVE_START, "Irecv"),
        "Imrecv": (Role.RECEIVE_START, "Irecv"),
        "Sendrecv": (Role.SEND_RECEIVE, "Sendrecv"),
        "Sendrecv_replace": (Role.SEND_RECEIVE, "Sendrecv"),
        "Isendrecv": (Role.SEND_RECEIVE_START, "Isend"),
        "Isendrecv_replace": (Role.SEND_RECEIVE_START, "Isend"),
        "Start": (Role.START, ""),
        "Startall": (Role.START, ""),
        "Intercomm_create": (Role.MAKE, "Intercomm_create"),
        "Intercomm_merge": (Role.MAKE, "Intercomm_merge"),
        "Comm_create_group": (Role.MAKE, "Comm_create_group"),
        "Comm_create_from_group": (Role.MAKE, "Comm_create_group"),
        "Dist_graph_create_adjacent": (Role.MAKE, "Comm_create"),
        "Comm_free": (Role.FREE, "Comm_free"),
        "Comm_disconnect": (Role.FREE, "Comm_free"),
    }
    # A ready send is played as a standard send. The player does not check that its receive is
    # posted in time.
    for mode, played in (("", ""), ("s", "s"), ("b", "b"), ("r", "")):
        roles[f"{mode}send".capitalize()] = (Role.SEND, f"{played}send".capitalize())
        roles[f"I{mode}send"] = (Role.SEND_START, f"I{played}send")
    for name in COLLECTIVES:
        roles[name] = (Role.COLLECTIVE, name)
        roles[f"I{name.lower()}"] = (Role.COLLECTIVE_START, f"I{name.lower()}")
    roles["Alltoallw"] = (Role.COLLECTIVE, "Alltoallv")
    roles["Ialltoallw"] = (Role.COLLECTIVE_START, "Ialltoallv")
    for name in ("Probe", "Mprobe", "Iprobe", "Improbe"):
        roles[name] = (Role.PROBE, "Probe")
    for name in COMPLETIONS:
        roles[name] = (Role.COMPLETION, "Wait")
    for name in ("Comm_dup", "Comm_idup", "Comm_dup_with_info", "Comm_idup_with_info"):
        roles[name] = (Role.MAKE, "Comm_dup")
    roles |= dict.fromkeys(AGREED, (Role.MAKE, "Comm_create"))
    roles |= dict.fromkeys(SPLIT, (Role.MAKE, "Comm_split"))
    roles |= dict.fromkeys(REFUSED, (Role.REFUSED, ""))
    return roles


ROLES = _roles()
ONE_SIDED = (
    "Put",
    "Get",
    "Rput",
    "Rget",
    "Accumulate",
    "Raccumulate",
    "Get_accumulate",
    "Rget_accumulate",
    "Fetch_and_op",
    "Compare_and_swap",
)


def plain(name: str) -> str:
    """`Send` for MPI_Send and MPI_Send_c."""
    return name.removeprefix("MPI_").removesuffix("_c")


def is_one_sided(name: str) -> bool:
    return name.startswith("Win_") or name in ONE_SIDED


def role_of(name: str) -> tuple[Role, str]:
    """The role of an MPI function, and what the player calls for it."""
    if name in ROLES:
        return ROLES[name]
    if is_one_sided(name) or name.startswith(("Neighbor_", "Ineighbor_")):
        return Role.TIMED, "timed"
    return Role.LOCAL, ""
