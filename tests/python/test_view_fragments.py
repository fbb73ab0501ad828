"""Fragments of accesses through file views, against the definition of a view, byte by byte."""

from __future__ import annotations

import numpy as np
import pytest

from sesame.analysis.traced import views as module
from sesame.analysis.traced.views import FileViews, read_filetype

DISPLACEMENT = 1000


def table(*views):
    """Each view: rank, handle, begin, data_bytes, extent, runs."""
    names = ("rank", "handle", "begin_ns", "data_bytes", "extent", "runs")
    columns = dict(zip(names, map(list, zip(*views, strict=True)), strict=True))
    return FileViews({**columns, "displacement": [DISPLACEMENT] * len(views)})


def places(data_bytes, extent, blocks, count):
    """Where the first bytes of data are, one by one."""
    inside = [offset + i for offset, size in blocks for i in range(size)]
    assert len(inside) == data_bytes
    return [DISPLACEMENT + d // data_bytes * extent + inside[d % data_bytes] for d in range(count)]


FILETYPES = {
    "strided": (12, 40, "4+4x3/10", [(4, 4), (14, 4), (24, 4)]),
    "mixed": (13, 64, "0+1,3+2x3/4,20+6", [(0, 1), (3, 2), (7, 2), (11, 2), (20, 6)]),
    "behind": (4, 16, "12+4", [(12, 4)]),
    "shifted": (8, 30, "20+4,40+4", [(20, 4), (40, 4)]),
    "touching": (6, 8, "2+3,5+3", [(2, 3), (5, 3)]),
}


@pytest.mark.parametrize("name", FILETYPES)
def test_fragments_are_the_bytes_of_the_access(name):
    data_bytes, extent, runs, blocks = FILETYPES[name]
    views = table((0, 3, 10, data_bytes, extent, runs))
    where = places(data_bytes, extent, blocks, 5 * data_bytes)
    starts, sizes = np.meshgrid(np.arange(2 * data_bytes), np.arange(1, 3 * data_bytes))
    starts, sizes = starts.ravel(), sizes.ravel()
    view = np.zeros(len(starts), np.int64)
    offset = np.array(where)[starts]
    count = views.count(view, offset, sizes)
    fragments = views.fragments(view, offset, sizes)
    assert np.array_equal(np.bincount(fragments.access, minlength=len(starts)), count)
    assert fragments.bytes.min() > 0
    for access, (start, size) in enumerate(zip(starts, sizes, strict=True)):
        own = fragments.access == access
        found = [
            at + i
            for at, length in zip(fragments.offset[own], fragments.bytes[own], strict=True)
            for i in range(length)
        ]
        assert found == where[start : start + size]


@pytest.mark.parametrize(
    ("data_bytes", "extent", "runs"),
    [
        (8, 16, ""),  # not recorded
        (9, 16, "0+4,8+4"),  # of another size
        (8, 4, "0+4x2/8"),  # filetypes lie between each other
        (8, 16, "8+4,0+4"),  # data go back
    ],
)
def test_places_that_do_not_tell_the_data_are_not_used(data_bytes, extent, runs):
    views = table((0, 0, 0, data_bytes, extent, runs))
    assert not read_filetype(data_bytes, extent, runs).is_known
    zero = np.zeros(1, np.int64)
    assert views.count(zero, zero + DISPLACEMENT, zero + 8).tolist() == [0]
    assert len(views.fragments(zero, zero + DISPLACEMENT, zero + 8).access) == 0


def test_a_filetype_of_endless_blocks_takes_no_memory(monkeypatch):
    monkeypatch.setattr(module, "MOST_FRAGMENTS", 1000)
    assert not read_filetype(10**12, 2 * 10**12, f"0+1x{10**12}/2").is_known


def test_an_access_has_the_view_set_last_before_it():
    views = table(
        (1, 0, 50, 4, 8, "0+4"),
        (0, 0, 10, 4, 8, "0+4"),
        (0, 1, 20, 4, 8, "4+4"),
        (0, 0, 30, 4, 16, "0+4"),
    )
    accesses = [(0, 0, 5), (0, 0, 10), (0, 0, 29), (0, 0, 99), (0, 1, 99), (1, 0, 49), (2, 0, 99)]
    rank, handle, begin = np.array(accesses).T
    assert views.find(rank, handle, begin).tolist() == [-1, 1, 1, 3, 2, -1, -1]
