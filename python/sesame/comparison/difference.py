"""Differences between sides, and the reasons why they may not be comparable."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from sesame.accuracy import known_by
from sesame.analysis.quantities import format_seconds
from sesame.analysis.traced.intervals import Array
from sesame.comparison.in_words import in_words, signed_seconds
from sesame.comparison.ratio import Ratio, ratio_of
from sesame.comparison.shares import Share, shares_of, slowest_ranks
from sesame.comparison.side import CallTime, Paths, Side, mean_of, read_sides
from sesame.machines.values import differing_values
from sesame.settings import setting
from sesame.trust import Doubt, Reason

if TYPE_CHECKING:
    import pandas as pd

# What `repr` shows of each.
MOST_SIDES_SHOWN, MOST_DOUBTS_SHOWN, MOST_CHANGES_SHOWN = 5, 3, 8

QUANTILES = (0.0, 0.25, 0.5, 0.75, 1.0)


@dataclass(frozen=True)
class Change:
    """One call, or the computation. Times are means over ranks, in seconds.

    `mean_s`, `count` and `bytes` have an entry for each side, in their order: with two sides,
    `mean_s[1]` is that of the second. `ratios` and `change_s` are relative to the first side, which
    has no entry: with two sides, `change_s[0]` is that of the second.
    """

    name: str
    mean_s: tuple[float, ...]
    count: tuple[float, ...]
    bytes: tuple[float, ...]
    ratios: tuple[Ratio | None, ...]
    rank: int | None  # the rank whose time changed most, of the side that changed most

    @property
    def change_s(self) -> tuple[float, ...]:
        return tuple(mean - self.mean_s[0] for mean in self.mean_s[1:])

    @property
    def largest_s(self) -> float:
        return max((abs(change) for change in self.change_s), default=0.0)


def _place_of_key(key: str, *, uses_files: bool) -> int:
    """Where a key of a machine stands among others that differ."""
    if "storage" in key or key.startswith("node.memory"):
        return 1 if uses_files else 3
    return {"network": 0, "node": 2}.get(key.partition(".")[0], 2)


@dataclass(frozen=True)
class Figure:
    """A figure of workloads, with the value of each side; None if a side has none of this name."""

    name: str
    unit: str
    values: tuple[float | None, ...]


@dataclass(frozen=True, repr=False)
class Difference:
    """The result of `compare`. Every other side is compared with the first."""

    sides: tuple[Side, ...]
    ratios: tuple[Ratio | None, ...]  # of the whole time, for each side but the first
    doubts: tuple[Doubt, ...]

    def __repr__(self) -> str:
        """At most some 20 lines: the times, and what differs most."""
        lines = [f"<sesame.Difference of {len(self.sides)}"]
        for side, ratio in zip(self.sides, (None, *self.ratios), strict=True):
            words = "" if ratio is None else f", {in_words(ratio)}"
            lines.append(f"  {side.label} {format_seconds(side.time.value)}{words}: {side.name}")
        lines = _shortened(lines, MOST_SIDES_SHOWN + 1, "sides")
        lines += [f"  doubtful: {doubt}" for doubt in self.doubts[:MOST_DOUBTS_SHOWN]]
        changed = [change for change in self.changes if change.largest_s > 0]
        shown = [
            f"  {change.name}: {', '.join(map(signed_seconds, change.change_s))}"
            for change in changed
        ]
        lines += _shortened(shown, MOST_CHANGES_SHOWN, "calls that differ")
        return "\n".join(lines) + ">"

    @property
    def without_start(self) -> bool:
        """Whether times count only from the end of MPI_Init to the beginning of MPI_Finalize."""
        return self.sides[0].run.without_start

    @cached_property
    def changes(self) -> tuple[Change, ...]:
        """Changes of calls and computation, the largest first."""
        of_sides = [side.call_times() for side in self.sides]
        names = dict.fromkeys(name for times in of_sides for name in times)
        found = [self._change(name, [times.get(name) for times in of_sides]) for name in names]
        return tuple(sorted(found, key=lambda change: -change.largest_s))

    @cached_property
    def shares(self) -> tuple[Share, ...]:
        """What the time of each side's slowest rank consists of, if all are predicted runs with
        records: computation, latency of messages, waiting for late senders, …; otherwise empty."""
        return shares_of(self.sides)

    @property
    def slowest_ranks(self) -> tuple[int, ...]:
        """The rank of each side whose time `shares` divides; empty where that is. What differs may
        be the places of two ranks then, and not only the machines."""
        return slowest_ranks(self.sides) if self.shares else ()

    @property
    def slowest_labels(self) -> list[str]:
        """The sides, with the ranks where they are different ones."""
        labels = [side.label for side in self.sides]
        if len(set(self.slowest_ranks)) < 2:
            return labels
        pairs = zip(labels, self.slowest_ranks, strict=True)
        return [f"{label}, rank {rank}" for label, rank in pairs]

    @cached_property
    def rank_s(self) -> Array | None:
        """Times by side and rank, in seconds; None where the numbers of ranks differ or times by
        rank are not known."""
        times = [side.run.rank_s for side in self.sides]
        if len({len(one) for one in times}) > 1 or len(times[0]) == 0:
            return None
        return np.array(times)

    def quantiles_s(self) -> list[list[float]] | None:
        """For each side the least, quartiles and largest of its ranks' times."""
        if any(len(side.run.rank_s) == 0 for side in self.sides):
            return None
        return [np.quantile(side.run.rank_s, QUANTILES).tolist() for side in self.sides]

    def ranks_by_change(self) -> list[int]:
        """Numbers of ranks, those whose time differs most from the first side's first."""
        if self.rank_s is None:
            return []
        change = np.abs(self.rank_s[1:] - self.rank_s[0]).max(axis=0)
        return [int(rank) for rank in np.argsort(-change, kind="stable")]

    @cached_property
    def machine_values(self) -> list[tuple[str, list[str | None]]]:
        """Keys of the machine files that differ, with each side's value: first those of the
        network, last those of file systems, unless a run uses files."""
        uses_files = any(
            not name.startswith("MPI_") or name.startswith("MPI_File_")
            for side in self.sides
            for name in side.run.calls.names
        )

        def place(row: tuple[str, list[str | None]]) -> int:
            return _place_of_key(row[0], uses_files=uses_files)

        return sorted(differing_values([side.run.machine_values for side in self.sides]), key=place)

    @cached_property
    def settings(self) -> list[tuple[str, list[str]]]:
        """How the runs were made, where that differs."""
        rows: list[dict[str, str]] = [
            {
                "kind": side.run.kind.value,
                "program": side.run.program,
                "arguments": " ".join(side.run.arguments),
                "ranks": str(side.run.ranks),
                "machine": side.run.machine,
                **side.run.settings,
            }
            for side in self.sides
        ]
        names = dict.fromkeys(name for row in rows for name in row)
        table = [(name, [row.get(name, "") for row in rows]) for name in names]
        return [(name, values) for name, values in table if len(set(values) - {""}) > 1]

    @cached_property
    def figures(self) -> list[Figure]:
        """The figures of workloads."""
        of_sides = [side.run.figures for side in self.sides]
        units = {name: unit for figures in of_sides for name, (_, unit) in figures.items()}
        return [
            Figure(name, unit, tuple(f[name][0] if name in f else None for f in of_sides))
            for name, unit in units.items()
        ]

    def to_pandas(self) -> pd.DataFrame:
        """A row for each call and computation, the largest change first. Columns `A_s`, `B_s`, …
        are the mean times over ranks of the sides in seconds; of each side but the first also
        `B_change_s`, relative to the first, and `B_ratio` (NaN where the first has no time).

        Raises InputError where pandas is not installed.
        """
        from sesame.comparison.shown import frame_of

        return frame_of(self)

    def _repr_html_(self) -> str:
        from sesame.comparison.shown import html_of

        return html_of(self)

    def as_json(self) -> dict[str, Any]:
        """Everything, as plain data; times in seconds."""
        from sesame.comparison.as_json import difference_as_json

        return difference_as_json(self)

    def report(self, path: Path | str) -> None:
        """Writes the page."""
        from sesame.comparison.page import write_difference

        write_difference(self, Path(path))

    def _change(self, name: str, times: Sequence[CallTime | None]) -> Change:
        base = times[0]
        ratios = []
        for side, time in zip(self.sides[1:], times[1:], strict=True):
            before = (0.0,) if base is None else base.mean_s
            after = (0.0,) if time is None else time.mean_s
            ratios.append(_ratio(self.sides[0], side, before, after))
        return Change(
            name,
            tuple(mean_of(time) for time in times),
            tuple(0.0 if time is None else time.count for time in times),
            tuple(0.0 if time is None else time.bytes for time in times),
            tuple(ratios),
            _most_changed_rank(times),
        )


def _shortened(lines: list[str], most: int, what: str) -> list[str]:
    more = len(lines) - most
    return lines if more <= 0 else [*lines[:most], f"  and {more:,} more {what}"]


def compare(*sides: Paths) -> Difference:
    """Compares data sets with the first of them: simulated, traced, imported or replayed runs, or
    runs of workloads. A side is a data set or its path. It may also be several runs of the same
    program: a list of them, or a directory of data sets.

    Real runs are compared with predicted ones from the end of MPI_Init to the beginning of
    MPI_Finalize of each rank. `doubts` says what makes the comparison unsound. Raises InputError
    where a path is no data set, or of a kind that cannot be compared.
    """
    return compare_sides(read_sides(sides))


def compare_sides(sides: Sequence[Side]) -> Difference:
    """Compares sides that `read_sides` has read."""
    base = sides[0]
    ratios = [_ratio(base, side, base.samples_s, side.samples_s) for side in sides[1:]]
    doubts = [*_not_comparable(sides), *_of_runs(sides)]
    doubts += dict.fromkeys(doubt for ratio in ratios if ratio for doubt in ratio.doubts)
    return Difference(tuple(sides), tuple(ratios), tuple(doubts))


def _ratio(old: Side, new: Side, before: Sequence[float], after: Sequence[float]) -> Ratio | None:
    """The ratio of two sides. It is exact if both have the same computation: one repeats what the
    other measured, or both what a third did."""
    same = bool(old.recording) and old.recording == new.recording
    return ratio_of(before, after, old_exact=old.exact or same, new_exact=new.exact or same)


def _most_changed_rank(times: Sequence[CallTime | None]) -> int | None:
    by_rank = [None if time is None else time.rank_s for time in times]
    lengths = {len(one) for one in by_rank if one is not None}
    if len(lengths) != 1 or lengths == {0}:
        return None
    zeros = np.zeros(lengths.pop())
    known = np.array([zeros if one is None else one for one in by_rank])
    change = np.abs(known[1:] - known[0]).max(axis=0)
    return int(change.argmax()) if change.any() else None


def _not_comparable(sides: Sequence[Side]) -> Iterator[Doubt]:
    """Reasons why sides, or the runs of one side, should not be compared."""
    programs = [
        known_by([side.run.program, *side.run.arguments])[0]
        for side in sides
        if side.run.program and not side.run.program.endswith(".sesame")
    ]
    yield from _differing(programs, "programs differ", "compare runs of one program")
    ranks = [f"{side.run.ranks:,}" for side in sides]
    yield from _differing(
        ranks, "numbers of ranks differ", "times are means over ranks, and no rank is compared"
    )
    left_out = [side for side in sides if not _has_computation(side)]
    if 0 < len(left_out) < len(sides):
        modes = [
            f"{side.label} ({setting('compute', side.run.settings['compute'])})"
            for side in left_out
        ]
        yield Doubt(
            Reason.NOT_COMPARABLE,
            f"the computation is not that of the program in {', '.join(modes)}",
            f"compare runs of the same {setting('compute')}",
        )
    for side in sides:
        for what, of in _SAME_INSIDE.items():
            values = list(dict.fromkeys(of(run) for run in side.runs))
            if len(values) > 1:
                text = f"the runs of {side.label} are not of the same: {what} {', '.join(values)}"
                yield Doubt(Reason.NOT_COMPARABLE, text, "give them as sides of their own")


_SAME_INSIDE: dict[str, Callable[[Any], str]] = {
    "kind": lambda run: str(run.kind.value),
    "program": lambda run: Path(run.program).name,
    "arguments": lambda run: " ".join(run.arguments),
    "ranks": lambda run: str(run.ranks),
    "machine": lambda run: str(run.machine),
}


def _has_computation(side: Side) -> bool:
    mode = side.run.settings.get("compute", "")
    return mode != "none" and not mode.startswith("fixed")


def _differing(values: Sequence[str], what: str, hint: str) -> Iterator[Doubt]:
    if len(set(values)) > 1:
        yield Doubt(Reason.NOT_COMPARABLE, f"{what}: {', '.join(dict.fromkeys(values))}", hint)


def _of_runs(sides: Sequence[Side]) -> Iterator[Doubt]:
    known: set[tuple[str, Reason, str]] = set()
    for side in sides:
        for run in side.runs:
            for doubt in run.doubts:
                key = (side.label, doubt.reason, doubt.text)
                if key not in known:
                    known.add(key)
                    yield Doubt(doubt.reason, f"{side.label}: {doubt.text}", doubt.hint)
