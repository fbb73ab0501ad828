"""What the program did above what the system did, from the frames of the play-back."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np

from sesame.errors import InputError
from sesame.repository.looks.bins import Grid
from sesame.repository.looks.described import Nodes
from sesame.repository.looks.view import View
from sesame.repository.playback.frames import ABSENT, LARGEST, MOST_BINS
from sesame.repository.playback.prepare import INDEX, VERSION
from sesame.web.chart import SERIES

Array = np.ndarray[Any, Any]
PROGRAM, SYSTEM = "program", "system"
OF_SYSTEM = ("cpu_user", "cpu_system", "flight", "device")
OF_OTHERS = ("messaging",)  # sums of other fields
LARGEST_INDEX = 32 << 20
MOST_LINES = len(SERIES)  # of a panel: each has a colour
MOST_SHOWN = 400  # intervals of a view


@dataclass(frozen=True)
class Panel:
    """Fields of one level and unit (without one: shares of the time); `values` has a row for
    each."""

    level: str
    unit: str
    titles: Sequence[str]
    values: Array

    @property
    def title(self) -> str:
        return f"The {self.level}: {self.unit or 'share of the time'}"


class Levels:
    """The frames of a play-back that was made."""

    def __init__(self, directory: Path, index: Mapping[str, Any]) -> None:
        self._directory, self._index = directory, index
        self.bins, self.bin_s = int(index["bins"]), float(index["bin_s"])
        names = tuple(str(one) for one in index["units"])
        if not 1 <= self.bins <= MOST_BINS or not self.bin_s > 0 or not names:
            raise InputError("the play-back of this data set is damaged")
        self.nodes = Nodes(len(names), str(index["word"]), values=names)

    @property
    def seconds(self) -> float:
        return self.bins * self.bin_s

    def nodes_in_words(self, view: View) -> str:
        chosen = self.nodes.chosen(view.node or view.nodes)
        if len(chosen) == 1:
            return self.nodes.name(chosen[0])
        return f"The mean of {len(chosen):,} {self.nodes.word}s"

    def panels(self, view: View) -> tuple[list[Panel], float, float]:
        """What each level did, the begin of the first bin and the width of a bin, in seconds."""
        chosen = self.nodes.chosen(view.node or view.nodes)
        grid = Grid(0.0, self.bin_s, self.bins, self.nodes.count)
        first, last = grid.touched(*view.within(0.0, self.seconds))
        each = -(-(last - first) // MOST_SHOWN)
        found: dict[tuple[str, str], list[tuple[str, Array]]] = {}
        for number, one in enumerate(self._index["fields"]):
            if one["classes"] or one["key"] in OF_OTHERS:
                continue
            values = self._values(number, float(one["most"]))[first:last, chosen]
            level = _level_of(str(one["key"]))
            mean = _mean(_joined(values, each))
            if np.isfinite(mean).any():
                found.setdefault((level, str(one["unit"])), []).append((str(one["title"]), mean))
        if not found:
            raise InputError("this data set does not say what these nodes did")
        order = sorted(found, key=lambda key: (key[0], key[1] != "", key[1]))
        panels = [_panel(*key, found[key]) for key in order]
        return panels, first * self.bin_s, each * self.bin_s

    def _values(self, number: int, most: float) -> Array:
        """By bin and unit; NaN where there is none."""
        count = self.bins * self.nodes.count
        raw = np.fromfile(self._directory / f"field-{number}.bin", "<u2", count)
        if len(raw) != count:
            raise InputError("the play-back of this data set is damaged")
        values = raw.reshape(self.bins, self.nodes.count).astype(float)
        return np.where(values == ABSENT, np.nan, values * most / LARGEST)


def read_levels(directory: Path) -> Levels | None:
    """None if the data set cannot be played, or its play-back is not made yet. Raises
    InputError."""
    try:
        return _levels(directory)
    except FileNotFoundError:
        return None


@lru_cache(maxsize=16)
def _levels(directory: Path) -> Levels | None:
    """What is there never changes. Raises FileNotFoundError, InputError."""
    try:
        with (directory / INDEX).open("rb") as stream:
            index = json.loads(stream.read(LARGEST_INDEX))
        return Levels(directory, index) if index["version"] == VERSION else None
    except FileNotFoundError:
        raise
    except (AttributeError, LookupError, OSError, RecursionError, TypeError, ValueError) as error:
        raise InputError("the play-back of this data set is damaged") from error


def _level_of(key: str) -> str:
    return SYSTEM if key in OF_SYSTEM or key.startswith("kernel_") else PROGRAM


def _joined(values: Array, each: int) -> Array:
    """Rows of `each` bins, with their nodes beside each other."""
    missing = -len(values) % each
    padded = np.pad(values, ((0, missing), (0, 0)), constant_values=np.nan)
    return padded.reshape(len(padded) // each, -1)


def _mean(values: Array) -> Array:
    """Of nodes that have a value."""
    there = np.isfinite(values)
    count = there.sum(axis=1)
    total = np.where(there, values, 0).sum(axis=1)
    return np.where(count > 0, total / np.maximum(count, 1), np.nan)


def _panel(level: str, unit: str, lines: Sequence[tuple[str, Array]]) -> Panel:
    titles, values = zip(*lines[:MOST_LINES], strict=True)
    return Panel(level, unit, titles, np.stack(values))
