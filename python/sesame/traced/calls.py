"""MPI functions by name: which send, which receive, and who waits for whom in a collective.

A run has few names and many records, so what a name means is remembered.
"""

from __future__ import annotations

from enum import IntEnum
from functools import cache

_SENDS = ("send", "bsend", "ssend", "rsend", "isend", "ibsend", "issend", "irsend")
_RECEIVES = ("recv", "irecv", "mrecv", "imrecv")
_PROBES = ("probe", "mprobe", "iprobe", "improbe")


class Pattern(IntEnum):
    """Who waits for whom in a collective call (Banerjee, MPIOR, 2012, 2.1; of a broadcast all wait
    for the root only, which 5 of the same repairs)."""

    NONE = -1  # no collective, or one in which it is not known
    ALL_TO_ALL = 0
    ONE_TO_ALL = 1
    ALL_TO_ONE = 2
    SCAN = 3  # for the ranks below


_DATA_OF_ALL = (
    "barrier allreduce allgather allgatherv alltoall alltoallv alltoallw reduce_scatter "
    "reduce_scatter_block"
)
_MADE_BY_ALL = (
    "comm_dup comm_dup_with_info comm_create comm_split comm_split_type cart_create cart_sub "
    "graph_create dist_graph_create dist_graph_create_adjacent intercomm_merge"
)
_MADE_BY_SOME = "comm_create_group comm_create_from_group intercomm_create"
_MAKERS = (*_MADE_BY_ALL.split(), *_MADE_BY_SOME.split())
_PATTERNS = {
    Pattern.ALL_TO_ALL: f"{_DATA_OF_ALL} {_MADE_BY_ALL} win_create win_allocate "
    "win_allocate_shared win_create_dynamic win_fence win_free finalize",
    Pattern.ONE_TO_ALL: "bcast scatter scatterv",
    Pattern.ALL_TO_ONE: "reduce gather gatherv",
    Pattern.SCAN: "scan exscan",
}
_PATTERN_OF = {word: pattern for pattern, words in _PATTERNS.items() for word in words.split()}


def plain_name(name: str) -> str:
    """`send` for MPI_Send, PMPI_Send and MPI_Send_c."""
    return name.removeprefix("P").removeprefix("MPI_").removesuffix("_c").lower()


@cache
def is_send(name: str) -> bool:
    """A call that sends; MPI_Sendrecv is one, and its receive is a record of its own."""
    return plain_name(name) in _SENDS or is_exchange(name)


def is_exchange(name: str) -> bool:
    return plain_name(name).startswith(("sendrecv", "isendrecv"))


def is_buffered_send(name: str) -> bool:
    return plain_name(name) in ("bsend", "ibsend")


@cache
def is_receive(name: str) -> bool:
    return plain_name(name) in _RECEIVES


def is_probe(name: str) -> bool:
    return plain_name(name) in _PROBES


@cache
def is_completion(name: str) -> bool:
    """A wait or test for requests. What it did for a file is a record of type io inside it."""
    return plain_name(name).removeprefix("wait").removeprefix("test") in ("", "all", "any", "some")


@cache
def makes_communicator(name: str) -> bool:
    return plain_name(name).replace("comm_i", "comm_", 1) in _MAKERS


@cache
def is_data_collective(name: str) -> bool:
    """One that goes over a communicator and makes nothing."""
    word = plain_name(name).removeprefix("i")
    rooted = (Pattern.ONE_TO_ALL, Pattern.ALL_TO_ONE, Pattern.SCAN)
    return word in _DATA_OF_ALL.split() or _PATTERN_OF.get(word) in rooted


@cache
def pattern_of(name: str) -> Pattern:
    """Of a blocking or a non-blocking call: MPI_Ibcast, MPI_Comm_idup."""
    word = plain_name(name)
    forms = (word, word.removeprefix("i"), word.replace("comm_i", "comm_", 1))
    return next((_PATTERN_OF[form] for form in forms if form in _PATTERN_OF), Pattern.NONE)
