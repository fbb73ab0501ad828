"""Keeps results: in the database, or in a file where they wait while it is unavailable."""

from __future__ import annotations

import fcntl
import json
import os
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import asdict
from io import FileIO
from pathlib import Path
from typing import Any

from sesame.errors import InputError, OutputError, SesameError
from sesame.evaluation.database import Refused, Unavailable
from sesame.evaluation.probing import Boot, Figure, Outcome, Result
from sesame.evaluation.site import Site
from sesame.evaluation.store import Store


class SetAside(SesameError):
    """The database refused results, which are in a file of their own now; it has all others."""

    exit_status = 2


class Waiting:
    """A file beside the site file, where results wait while the database is locked, full or gone.
    Several processes may use it: who changes it holds its lock."""

    def __init__(self, site: Path) -> None:
        self.path = site.with_name(f"{site.name}.waiting")
        self._refused = site.with_name(f"{site.name}.refused")

    def has_any(self) -> bool:
        """A full disk may leave an empty file."""
        with suppress(OSError):
            return self.path.stat().st_size > 0
        return False

    def results(self) -> list[Result]:
        with suppress(FileNotFoundError), self.path.open("rb", buffering=0) as file:
            return _results_of(file)
        return []

    def add(self, results: Sequence[Result]) -> None:
        """All or nothing. Raises OutputError if the file cannot be written either."""
        _append(self.path, results)

    def move_into(self, store: Store, results: Sequence[Result] = ()) -> None:
        """Stores results, and those that wait, which then wait no longer; another process that
        has results to add meanwhile makes a new file. Raises SetAside, and, if nothing changed,
        Unavailable, InputError or OutputError."""
        try:
            with ExitStack() as held:
                earlier: list[Result] = []
                waited = False
                with suppress(FileNotFoundError):
                    earlier = _results_of(held.enter_context(_locked(self.path, "rb")))
                    waited = True
                problem = self._store(store, [*earlier, *results])
                if waited:
                    self.path.unlink(missing_ok=True)
        except OSError as error:
            raise OutputError(f"{self.path}: cannot take results: {error.strerror}") from error
        if problem is not None:
            raise problem

    def _store(self, store: Store, results: Sequence[Result]) -> SetAside | None:
        """One by one if the database refuses them together."""
        try:
            if results:
                store.add(results)
        except Refused:
            refused, why = [], ""
            for one in results:
                try:
                    store.add([one])
                except Refused as error:
                    refused.append(one)
                    why = str(error)
            if refused:
                _append(self._refused, refused)
                return SetAside(
                    f"{self._refused}: the database refuses {len(refused)} of {len(results)} "
                    f"results, which are here now: {why}"
                )
        return None


def keep(site: Site, results: Sequence[Result], boots: Sequence[Boot] = ()) -> None:
    """Stores results, with those that wait. They wait in a file if the database is unavailable, or
    if it cannot be used at all: then the error is raised afterwards. Raises OutputError if they
    are kept nowhere, and SetAside."""
    waiting = Waiting(site.path)
    try:
        with Store(site.database) as store:
            for boot in boots:
                store.add_boot(boot.boot, boot.booted, boot.target, boot.target)
            waiting.move_into(store, results)
    except Unavailable:
        waiting.add(results)
    except InputError:
        waiting.add(results)
        raise


@contextmanager
def _locked(path: Path, mode: str) -> Iterator[FileIO]:
    """The file that has this path once the lock is held: another process may have removed the one
    that was opened before."""
    while True:
        with FileIO(path, mode) as file:
            fcntl.flock(file, fcntl.LOCK_EX)
            with suppress(FileNotFoundError):
                if os.path.samestat(path.stat(), os.fstat(file.fileno())):
                    yield file
                    return


def _append(path: Path, results: Sequence[Result]) -> None:
    lines = "".join(f"{json.dumps(asdict(result))}\n" for result in results)
    try:
        with _locked(path, "ab") as file:
            before = file.seek(0, os.SEEK_END)
            try:
                _write_whole(file, b"\n" + lines.encode())
            except OSError:
                file.truncate(before)
                raise
    except OSError as error:
        raise OutputError(f"{path}: cannot keep results: {error.strerror}") from error


def _write_whole(file: FileIO, data: bytes) -> None:
    rest = memoryview(data)
    while rest:
        rest = rest[file.write(rest) :]


def _results_of(file: FileIO) -> list[Result]:
    """Damaged lines, as of a killed prober, are left out."""
    found = []
    for line in file.readall().splitlines():
        with suppress(ValueError, TypeError, KeyError):
            found.append(_result_of(json.loads(line)))
    return found


def _result_of(table: dict[str, Any]) -> Result:
    figures = tuple(Figure(**one) for one in table["figures"])
    return Result(**{**table, "outcome": Outcome(table["outcome"]), "figures": figures})
