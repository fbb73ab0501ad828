"""Keeps results: in the database, or in a file where they wait while it is unavailable."""

from __future__ import annotations

import fcntl
import json
import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import asdict
from io import FileIO
from pathlib import Path
from typing import Any

from sesame.errors import InputError, OutputError, SesameError
from sesame.evaluation.database import Refused, Unavailable
from sesame.evaluation.load import Load
from sesame.evaluation.probing import Boot, Figure, Outcome, Result
from sesame.evaluation.site import Site
from sesame.evaluation.store import Store
from sesame.evaluation.words import counted


class SetAside(SesameError):
    """The database refused results, which are in a file of their own now; it has all others."""

    exit_status = 2


class Waiting:
    """A file beside the site file, where results wait while the database is locked, full or gone.
    Several processes may use it: who changes it holds its lock."""

    def __init__(self, site: Path) -> None:
        self.path = site.with_name(f"{site.name}.waiting")
        self.refused = site.with_name(f"{site.name}.refused")

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
                found = [*earlier, *results]
                refused, why = _add(store, found)
                if refused:
                    _append(self.refused, refused)
                if waited:
                    self.path.unlink(missing_ok=True)
        except OSError as error:
            raise OutputError(f"{self.path}: cannot take results: {error.strerror}") from error
        if refused:
            raise SetAside(
                f"{self.refused}: the database refuses {len(refused)} of {len(found)} results, "
                f"which are here now: {why}",
                hint="`sesame evaluate status` tries them again: run it once the cause is fixed",
            )

    def retry(self, store: Store) -> str:
        """Stores what the database refused earlier and accepts now. Returns what there is to say,
        or "". Raises Unavailable and OutputError; nothing changed then."""
        try:
            with _locked(self.refused, "rb") as file:
                found = _results_of(file)
                refused, why = _add(store, found)
                if not refused:
                    self.refused.unlink()
                elif len(refused) < len(found):
                    self._replace_refused(refused)
        except FileNotFoundError:
            return ""
        except OSError as error:
            raise OutputError(f"{self.refused}: cannot take results: {error.strerror}") from error
        said = []
        if stored := len(found) - len(refused):
            said.append(f"the database accepts {counted(stored, 'result')} now that it refused")
        if refused:
            count = counted(len(refused), "result")
            said.append(f"it refuses {count}: {why}; remove the file to give them up")
        return f"{self.refused}: {'; '.join(said)}" if said else ""

    def _replace_refused(self, results: Sequence[Result]) -> None:
        new = self.refused.with_name(f"{self.refused.name}.new")
        try:
            new.write_bytes(_lines(results))
            new.replace(self.refused)
        except OSError:
            new.unlink(missing_ok=True)
            raise


def _add(store: Store, results: Sequence[Result]) -> tuple[list[Result], str]:
    """One by one if the database refuses them together. Returns those that it refuses, and why."""
    refused, why = [], ""
    try:
        if results:
            store.add(results)
    except Refused:
        for one in results:
            try:
                store.add([one])
            except Refused as error:
                refused.append(one)
                why = str(error)
    return refused, why


@contextmanager
def opened(site: Site, warn: Callable[[str], None], *, retries: bool = False) -> Iterator[Store]:
    """The database of a site, with the results that waited unless it can only be read; with
    `retries` also those that it refused and accepts now. Raises InputError and Unavailable."""
    waiting = Waiting(site.path)
    try:
        with Store(site.database) as store:
            try:
                waiting.move_into(store)
            except SetAside as error:
                warn(str(error))
            except (Unavailable, OutputError) as error:
                warn(f"without the results in {waiting.path}: {error}")
            if retries:
                try:
                    said = waiting.retry(store)
                except (Unavailable, OutputError) as error:
                    said = str(error)
                if said:
                    warn(said)
            yield store
    except Unavailable as error:
        error.hint = f"results wait in {site.path.name}.waiting meanwhile"
        raise


def keep(site: Site, results: Sequence[Result], boots: Sequence[Boot] = ()) -> str:
    """Stores results, with those that wait. They wait in a file if the database is unavailable
    (returns why, else ""), or if it cannot be used at all: then the error is raised afterwards.
    Raises OutputError if they are kept nowhere, and SetAside."""
    waiting = Waiting(site.path)
    try:
        with Store(site.database) as store:
            for boot in boots:
                store.add_boot(boot.boot, boot.booted, boot.target, boot.target)
            waiting.move_into(store, results)
    except Unavailable as error:
        waiting.add(results)
        return f"{error}: results wait in {waiting.path} and come in later"
    except InputError:
        waiting.add(results)
        raise
    return ""


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
    try:
        with _locked(path, "ab") as file:
            before = file.seek(0, os.SEEK_END)
            try:
                _write_whole(file, b"\n" + _lines(results))
            except OSError:
                file.truncate(before)
                raise
    except OSError as error:
        raise OutputError(f"{path}: cannot keep results: {error.strerror}") from error


def _lines(results: Sequence[Result]) -> bytes:
    return "".join(f"{json.dumps(asdict(result))}\n" for result in results).encode()


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
    load = Load(**table["load"]) if table.get("load") else None
    outcome = Outcome(table["outcome"])
    return Result(**{**table, "outcome": outcome, "figures": figures, "load": load})
