"""Keeps results: in the database, or in a file where they wait while it is unavailable."""

from __future__ import annotations

import fcntl
import json
import math
import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import asdict, dataclass, replace
from io import FileIO
from pathlib import Path
from typing import Any

from sesame.errors import InputError, OutputError, SesameError
from sesame.evaluation.database import NotAllowed, Refused, Unavailable
from sesame.evaluation.load import Load
from sesame.evaluation.probing import Boot, Curve, Figure, Outcome, Result
from sesame.evaluation.site import Site
from sesame.evaluation.store import Store
from sesame.evaluation.words import counted

NO_RESULT = (ValueError, TypeError, KeyError, OverflowError)


class SetAside(SesameError):
    """The database refused results, or this version cannot read them: they are in a file of their
    own now; the database has all others."""

    exit_status = 2


@dataclass(frozen=True)
class _Unread:
    """A line that is no result of this version."""

    number: int
    text: bytes
    why: str


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
            return _results_of(file)[0]
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
                unread: list[_Unread] = []
                waited = False
                with suppress(FileNotFoundError):
                    earlier, unread = _results_of(held.enter_context(_locked(self.path, "rb")))
                    waited = True
                found = [*earlier, *results]
                refused, why = _add(store, found)
                if refused or unread:
                    _append(self.refused, refused, unread)
                if waited:
                    self.path.unlink(missing_ok=True)
        except OSError as error:
            raise OutputError(f"{self.path}: cannot take results: {error.strerror}") from error
        said = []
        if refused:
            count = f"{len(refused)} of {len(found)} results"
            said.append(f"the database refuses {count}, which are here now: {why}")
        said += [
            f"line {one.number} of {self.path} is here now: this version cannot read it: {one.why}"
            for one in unread
        ]
        if said:
            raise SetAside(
                f"{self.refused}: {'; '.join(said)}",
                hint="`sesame evaluate status` tries them again: run it once the cause is fixed",
            )

    def retry(self, store: Store) -> str:
        """Stores what the database refused earlier and accepts now. Returns what there is to say,
        or "". Raises Unavailable and OutputError; nothing changed then."""
        try:
            with _locked(self.refused, "rb") as file:
                found, unread = _results_of(file)
                refused, why = _add(store, found)
                if not refused and not unread:
                    self.refused.unlink()
                elif len(refused) < len(found):
                    self._replace_refused(refused, unread)
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
        said += [
            f"this version cannot read line {one.number}: {one.why}; a later one may, or remove it"
            for one in unread
        ]
        return f"{self.refused}: {'; '.join(said)}" if said else ""

    def _replace_refused(self, results: Sequence[Result], unread: Sequence[_Unread]) -> None:
        """Lines that were not read keep their numbers, as reported."""
        new = self.refused.with_name(f"{self.refused.name}.new")
        before = [0, *(one.number for one in unread)]
        kept = (
            b"\n" * (one.number - 1 - last) + one.text + b"\n"
            for last, one in zip(before, unread, strict=False)
        )
        try:
            new.write_bytes(b"".join(kept) + _lines(results))
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
            except NotAllowed:
                count = counted(len(waiting.results()), "result")
                warn(f"{waiting.path}: {count} not stored: this user may only read the database")
            except (Unavailable, OutputError) as error:
                warn(f"without the results in {waiting.path}: {error}")
            if retries:
                try:
                    said = waiting.retry(store)
                except NotAllowed as error:
                    said = f"{waiting.refused}: not tried again: {error}"
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


def _append(path: Path, results: Sequence[Result], unread: Sequence[_Unread] = ()) -> None:
    try:
        with _locked(path, "ab") as file:
            before = file.seek(0, os.SEEK_END)
            try:
                others = b"".join(one.text + b"\n" for one in unread)
                _write_whole(file, b"\n" + others + _lines(results))
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


def _results_of(file: FileIO) -> tuple[list[Result], list[_Unread]]:
    """With what may be of a later version, or was edited. Lines that were cut, as of a killed
    prober, are left out."""
    found, unread = [], []
    for number, line in enumerate(file.readall().splitlines(), 1):
        with suppress(ValueError, RecursionError):
            table = json.loads(line)
            try:
                found.append(_result_of(table))
            except NO_RESULT as error:
                unread.append(_Unread(number, line, " ".join(str(error).split())))
    return found, unread


def _result_of(table: dict[str, Any]) -> Result:
    figures = tuple(Figure(**one) for one in table["figures"])
    curves = tuple(Curve(**one) for one in table.get("curves", ()))
    load = Load(**table["load"]) if table.get("load") else None
    outcome = Outcome(table["outcome"])
    made = {"outcome": outcome, "figures": figures, "curves": curves, "load": load}
    result = Result(**{**table, **made})
    for name in ("began", "took"):
        if not math.isfinite(getattr(result, name)):
            raise ValueError(f"{name} is {getattr(result, name)}, expected a finite number")
    for name in ("key", "probe", "target", "step", "reason", "output"):
        if not isinstance(getattr(result, name), str):
            raise TypeError(f"{name} is {getattr(result, name)!r}, expected text")
    return replace(result, release=dict(result.release))
