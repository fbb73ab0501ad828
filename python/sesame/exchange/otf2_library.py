"""The Python package `otf2`, loaded when it is needed, and its words for ours."""

from __future__ import annotations

import importlib
from typing import Any

from sesame.analysis.calls import COLLECTIVE, COMPLETION, POINT_TO_POINT, call_class
from sesame.analysis.io_calls import LAYER_NAMES, METADATA, MPI_IO, POSIX, STDIO, io_kind
from sesame.errors import InputError

ANCHOR = "traces.otf2"
# How Score-P names the layers.
PARADIGMS = {POSIX: "POSIX", STDIO: "ISOC", MPI_IO: "MPI-IO"}
OFFSET, ERROR = "sesame::offset", "sesame::error"  # attributes that OTF2 has no field for


def load() -> Any:
    try:
        library = importlib.import_module("otf2")
        importlib.import_module("otf2.events")
    except ImportError as error:
        raise InputError(
            "OTF2 archives need the Python package otf2",
            hint="pip install 'sesame[exchange]' brings it",
        ) from error
    return library


def plain_name(call: str) -> str:
    """`MPI_Bcast_c` and `PMPI_Bcast` are both BCAST."""
    return call.removeprefix("P").removeprefix("MPI_").removesuffix("_c").upper()


def collective_operation(otf2: Any, call: str) -> Any:
    """The kind of a collective call; None for others."""
    word = plain_name(call)
    kinds = otf2.enums.CollectiveOp
    for name in (word, word.removeprefix("I")):
        if hasattr(kinds, name) and call_class(call) == COLLECTIVE:
            return getattr(kinds, name)
    return None


def region_role(otf2: Any, call: str, *, is_io: bool) -> Any:
    roles = otf2.enums.RegionRole
    if is_io:
        return roles.FILE_IO_METADATA if io_kind(call) in METADATA else roles.FILE_IO
    kind = call_class(call)
    if kind in (POINT_TO_POINT, COMPLETION):
        return roles.POINT2POINT
    return roles.COLL_OTHER if kind == COLLECTIVE else roles.FUNCTION


def layer_words(layer: int) -> str:
    return f"{LAYER_NAMES[layer]} I/O"
