"""Files of a traced run that are on no file system of the target machine: their directories, and
the options that map them to one."""

from __future__ import annotations

import posixpath
from collections import defaultdict
from collections.abc import Mapping, Sequence

import numpy as np

from sesame.datasets import DataSet
from sesame.datasets.traced import IoFlag
from sesame.simulation.trace.files import KERNEL, KINDS, FilePlacement, is_below

NEARLY_ALL = 0.9  # a subdirectory with this share of the time stands for its parent
WORTH_NAMING = 0.1  # smallest share of the time of a directory that is listed
MOST = 3  # directories


def time_elsewhere(data_set: DataSet, placed: FilePlacement) -> dict[str, float]:
    """Seconds in calls on stored files that are not simulated, summed over processes, by path."""
    if not data_set.has("io") or not data_set.has("file"):
        return {}
    io = data_set.table("io", ["file", "duration_ns", "flags"])
    file, duration, flags = (column.to_numpy() for column in io.columns)
    own = (file >= 0) & ((flags & int(IoFlag.NESTED | IoFlag.IMPLIED)) == 0)
    seconds = np.bincount(file[own], duration[own] * 1e-9)
    known = {index for index, path in enumerate(placed.paths) if path is not None}
    found: defaultdict[str, float] = defaultdict(float)
    for row in data_set.table("file", ["index", "path", "kind"]).to_pylist():
        index, path = row["index"], posixpath.normpath(row["path"])
        elsewhere = index not in known and 0 <= index < len(seconds) and seconds[index] > 0
        of_kernel = any(is_below(path, directory) for directory in KERNEL)
        if elsewhere and row["kind"] in KINDS and path.startswith("/") and not of_kernel:
            found[path] += float(seconds[index])
    return dict(found)


def mappings_for(seconds: Mapping[str, float], mounts: Sequence[str]) -> dict[str, str]:
    """Mappings that put the directories with most of the time on the first mount.

    Empty where the time is spread over too many directories, or spent on files in the root.
    """
    if not mounts:
        return {}
    where = mounts[0]
    directories = [directory for directory in _busiest(seconds) if directory != "/"]
    return dict.fromkeys(directories[:MOST], where)


def _busiest(seconds: Mapping[str, float]) -> list[str]:
    """The directories with most of the time; `/` stands for files directly in it."""
    whole = sum(seconds.values())
    top = _by_child("/", seconds)
    ordered = sorted(top, key=lambda child: -top[child])
    return [_narrowest(child, seconds) for child in ordered if top[child] >= WORTH_NAMING * whole]


def _by_child(directory: str, seconds: Mapping[str, float]) -> dict[str, float]:
    """The time by subdirectory of a directory; files directly in it count for the directory."""
    times: defaultdict[str, float] = defaultdict(float)
    for path, time in seconds.items():
        if is_below(path, directory):
            first = path[len(directory.rstrip("/")) + 1 :].partition("/")
            times[posixpath.join(directory, first[0]) if first[1] else directory] += time
    return times


def _narrowest(directory: str, seconds: Mapping[str, float]) -> str:
    while True:
        times = _by_child(directory, seconds)
        child = max(times, key=lambda name: times[name])
        if child == directory or times[child] < NEARLY_ALL * sum(times.values()):
            return directory
        directory = child
