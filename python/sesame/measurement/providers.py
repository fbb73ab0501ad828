"""Providers of subsystems: the running kernel, and MPI programs that count their own calls.

All providers implement the interface `Probes`. To add a provider, add it to `providers`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Protocol

from sesame.errors import InputError
from sesame.measurement import mpi, probes
from sesame.measurement.probes import Probes, Source, Subsystem
from sesame.settings import setting
from sesame.traced.launched import is_launcher


class Provider(Protocol):
    def subsystems(self) -> dict[str, Subsystem]: ...
    def load(self, name: str) -> Probes:
        """Loads the probes of a subsystem. Raises SesameError with the reason if unavailable."""

    def is_for(self, command: Sequence[str]) -> bool:
        """Whether it measures this command when the user names no points."""


class Kernel:
    def subsystems(self) -> dict[str, Subsystem]:
        return probes.subsystems()

    def load(self, name: str) -> Probes:
        return probes.LoadedProbes(name)

    def is_for(self, command: Sequence[str]) -> bool:
        return True


class Programs:
    """MPI programs; arguments as for MpiProbes."""

    def __init__(self, counters: Path | None = None, owner: int | None = None) -> None:
        self._counters, self._owner = counters, owner

    def subsystems(self) -> dict[str, Subsystem]:
        return {mpi.NAME: mpi.subsystem()}

    def load(self, name: str) -> Probes:
        assert name == mpi.NAME
        return mpi.MpiProbes(self._counters, self._owner)

    def is_for(self, command: Sequence[str]) -> bool:
        """Only launchers of MPI, since it preloads a library into each process."""
        return is_launcher(command)


def providers(counters: Path | None = None, owner: int | None = None) -> tuple[Provider, ...]:
    return Kernel(), Programs(counters, owner)


def every_subsystem() -> dict[str, Subsystem]:
    """All subsystems by name, available here or not."""
    return {name: one for each in providers() for name, one in each.subsystems().items()}


def everything_for(command: Sequence[str]) -> set[tuple[str, int]]:
    """The points that are measured while a command runs if the user names none."""
    return {
        (name, point)
        for each in providers()
        if each.is_for(command)
        for name, one in each.subsystems().items()
        for point in range(len(one.points))
    }


@contextmanager
def opened(names: Iterable[str]) -> Iterator[dict[str, Probes]]:
    """The probes of these subsystems, from all providers; closes them at the end."""
    found: dict[str, Probes] = {}
    wanted = set(names)
    try:
        for each in providers():
            for name in each.subsystems():
                if name in wanted:
                    found[name] = each.load(name)
        yield found
    finally:
        for one in found.values():
            one.close()


def sources_of(loaded: Iterable[Probes]) -> list[Source]:
    """The sources of events and messages; subsystems may share one."""
    return list(dict.fromkeys(one.source for one in loaded))


def find_points(setting_name: str, words: Sequence[str]) -> set[tuple[str, int]]:
    """Finds points by names such as `block` (all its points) or `vm.total`.

    Returns (subsystem, number of the point). Raises InputError, which names the setting.
    """
    points: set[tuple[str, int]] = set()
    for word in words:
        name, _, point = word.partition(".")
        known = every_subsystem()
        if name not in known:
            raise InputError(
                f"{setting(setting_name)}: there is no subsystem {name}",
                hint=f"there are {', '.join(known)}",
            )
        known_points = [one.name for one in known[name].points]
        if point and point not in known_points:
            raise InputError(
                f"{setting(setting_name)}: {name} has no point {point}",
                hint=f"it has {', '.join(known_points)}",
            )
        points |= {(name, i) for i, one in enumerate(known_points) if point in ("", one)}
    return points


def find_traced_points(setting_name: str, words: Sequence[str]) -> set[tuple[str, int]]:
    """As find_points; raises InputError if one cannot write a record for each event."""
    points = find_points(setting_name, words)
    for name in dict.fromkeys(name for name, _ in points):
        if untraced := every_subsystem()[name].untraced:
            raise InputError(f"{setting(setting_name)}: {name} writes no trace", hint=untraced)
    return points
