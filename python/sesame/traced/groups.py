"""Numbers groups of records with equal keys."""

from __future__ import annotations

from typing import Any

import numpy as np

Array = np.ndarray[Any, Any]


def number_in_group(*keys: Array, order: Array) -> tuple[Array, Array]:
    """For each element the number of its group (equal keys), and its index in the group, sorted by
    `order`.

    Groups are numbered in the order of their keys, the first key first.
    """
    group = np.zeros(len(order), np.int64)
    for key in keys:
        values, of_key = np.unique(key, return_inverse=True)
        group = group * len(values) + of_key if len(values) else group
        _, group = np.unique(group, return_inverse=True)
    by_group = np.lexsort((order, group))
    starts = np.flatnonzero(np.diff(group[by_group], prepend=-1))
    place = np.empty(len(order), np.int64)
    sizes = np.diff(np.append(starts, len(order)))
    place[by_group] = np.arange(len(order)) - np.repeat(starts, sizes)
    return group, place
