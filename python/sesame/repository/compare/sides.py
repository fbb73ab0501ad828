"""The sides of a comparison: runs, or several runs that are repetitions of one another."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path

from sesame.comparison import Difference, Run, Side
from sesame.comparison.difference import compare_sides
from sesame.comparison.side import read_sides
from sesame.repository.compare.bounded import BoundedDataSet
from sesame.repository.store import LibraryItem, Version

DIFFERENT_ANYWAY = ("seed",)  # settings in which repetitions may differ
RUNS_KEPT = 64  # of those read last


@dataclass(frozen=True)
class Compared:
    """A version of a data set, and the local directory of its files."""

    thing: LibraryItem
    version: Version
    directory: Path

    @property
    def title(self) -> str:
        return self.thing.title

    @property
    def address(self) -> str:
        return f"{self.thing.address}/v/{self.version.number}"


def difference_of(compared: Sequence[Compared], *, grouped: bool) -> Difference:
    """Compares runs with the first; with `grouped`, repetitions are one side, unless all are.
    Raises InputError where one is no run, or they cannot be compared."""
    runs = [
        # Without shares of the time: the ranks that records name are not checked.
        replace(run, path=Path(one.thing.id), title=one.title, read_shares=None)
        for one, run in zip(compared, _read(tuple(one.directory for one in compared)), strict=True)
    ]
    groups = [[run] for run in runs]
    if grouped:
        by_key: dict[object, list[Run]] = {}
        for run in runs:
            by_key.setdefault(_key(run), []).append(run)
        groups = list(by_key.values()) if len(by_key) > 1 else groups
    return compare_sides([Side(label_of(i), tuple(group)) for i, group in enumerate(groups)])


def label_of(number: int) -> str:
    return chr(ord("A") + number)


@lru_cache(RUNS_KEPT // 4)
def _read(directories: tuple[Path, ...]) -> list[Run]:
    """The directories of versions never change. Reading them together decides whether the start of
    real runs counts."""
    return [side.run for side in read_sides(directories, BoundedDataSet)]


def _key(run: Run) -> tuple[object, ...]:
    """Equal for repetitions: the same program, arguments, ranks, machine and settings."""
    settings = {name: text for name, text in run.settings.items() if name not in DIFFERENT_ANYWAY}
    machine = run.machine_key or run.machine
    return (
        run.kind,
        Path(run.program).name,
        run.arguments,
        run.ranks,
        machine,
        tuple(sorted(settings.items())),
    )
