"""MPI functions by name: which send, which receive, and which ranks wait in a collective call.

A run has few names and many records, so results are cached by name.
"""

from __future__ import annotations

from enum import IntEnum
from functools import cache

_SENDS = ("send", "bsend", "ssend", "rsend", "isend", "ibsend", "issend", "irsend")
_RECEIVES = ("recv", "irecv", "mrecv", "imrecv")
_PROBES = ("probe", "mprobe", "iprobe", "improbe")


class Pattern(IntEnum):
    """Which ranks wait for which in a collective call (Banerjee, MPIOR, 2012, section 2.1; that in
    a broadcast all wait only for the root is corrected in its section 5)."""

    NONE = -1  # not a collective call, or unknown
    ALL_TO_ALL = 0  # all wait for all
    ONE_TO_ALL = 1  # all wait for the root
    ALL_TO_ONE = 2  # the root waits for all
    SCAN = 3  # each waits for all lower ranks


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
    """Whether a call sends. MPI_Sendrecv does; its receive has a record of its own."""
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
    """Whether a call waits or tests for requests. If such a call completes file I/O, this has a
    record of type io inside it."""
    return plain_name(name).removeprefix("wait").removeprefix("test") in ("", "all", "any", "some")


@cache
def makes_communicator(name: str) -> bool:
    return plain_name(name).replace("comm_i", "comm_", 1) in _MAKERS


@cache
def is_data_collective(name: str) -> bool:
    """Whether a collective call only transfers data or synchronizes: it makes no communicator or
    window."""
    word = plain_name(name).removeprefix("i")
    rooted = (Pattern.ONE_TO_ALL, Pattern.ALL_TO_ONE, Pattern.SCAN)
    return word in _DATA_OF_ALL.split() or _PATTERN_OF.get(word) in rooted


@cache
def pattern_of(name: str) -> Pattern:
    """The pattern of a blocking or non-blocking call such as MPI_Ibcast or MPI_Comm_idup."""
    word = plain_name(name)
    forms = (word, word.removeprefix("i"), word.replace("comm_i", "comm_", 1))
    return next((_PATTERN_OF[form] for form in forms if form in _PATTERN_OF), Pattern.NONE)
