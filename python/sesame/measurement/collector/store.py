"""Writes readings and events of many nodes as data sets, one for each period of time.

Received items are appended to a journal, so that they survive the end of this process. A segment is
the data set made from one journal. A journal found at the start becomes a segment as well.
"""

from __future__ import annotations

import fcntl
import math
import os
import shutil
import threading
import time
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from datetime import UTC, datetime
from pathlib import Path
from typing import NamedTuple

from sesame.datasets import DataSet
from sesame.errors import InputError, OutputError, SesameError
from sesame.measurement.collector.ages import Ages
from sesame.measurement.collector.journal import DAMAGED, Contents, Journal, recover
from sesame.measurement.collector.quota import Quota
from sesame.measurement.collector.received import Received
from sesame.measurement.collector.retention import SEGMENT, Keeping, remove_old
from sesame.measurement.collector.space import Space
from sesame.measurement.events import Block
from sesame.measurement.readings import Reading

JOURNAL, RECEIVED = ".journal", ".received.json"
MOST_NAMES = 3  # of nodes in a line of the log
Item = Reading | Block


class Added(NamedTuple):
    """Numbers of items: new ones that are stored, and those above the quota of their node."""

    new: int
    above: int


class Store:
    """Stores items in a directory that it locks: one process at a time may use it.

    `add` appends items to the current journal. When `is_segment_over`, call `end_segment`, then
    `make_segments`, which writes the data sets. `close` does both. A relay does not call
    `make_segments` but sends the `ended_journals`. Thread-safe, except `close`.
    """

    def __init__(
        self,
        directory: Path,
        segment_seconds: float,
        say: Callable[[str], None] = lambda _: None,
        *,
        keeping: Keeping = Keeping(),  # noqa: B008 - it cannot be changed
        node_bytes: float = math.inf,
        is_relay: bool = False,
        makes_found: bool = True,
    ) -> None:
        """`node_bytes`: what a node may add in `segment_seconds`. `makes_found`: writes data sets
        of the journals that it finds before this returns."""
        self._directory, self.segment_seconds = directory, segment_seconds
        self._say = say
        self.keeping = keeping
        self.quota = Quota(node_bytes, say)
        self._is_relay = is_relay
        self._journal: Journal | None = None
        self._ended: dict[Path, Contents] = {}
        self._ended_bytes = self._began_ns = 0
        self._began = 0.0
        self._adding, self._making = threading.Lock(), threading.Lock()
        self._troubles: dict[str, str] = {}
        self.segments = self.kept_bytes = 0
        with ExitStack() as undone:
            try:
                directory.mkdir(parents=True, exist_ok=True)
                self._lock = _lock(directory)
                undone.callback(os.close, self._lock)
                self._clear()
                # The last number stored of each start of a daemon: an item sent twice is stored
                # once.
                self._received = Received(directory / RECEIVED, say)
                self._recover()
                self._space, self._ages = Space(directory), Ages(directory)
            except OSError as error:
                raise OutputError(f"{directory}: cannot write there: {error.strerror}") from error
            undone.pop_all()
        if makes_found and not is_relay:
            self.make_segments()

    def _clear(self) -> None:
        """Removes what a killed collector left: partial data sets and journals, and journals whose
        data set was written."""
        for path in self._directory.glob(f".{SEGMENT}{'[0-9]' * 8}T*"):
            shutil.rmtree(path)
        for path in self._directory.glob(f".new{JOURNAL}-*"):
            path.unlink()
        journals = self._journals()
        sets = self._directory.glob("*.sesame") if journals else ()
        made = {_journal_of(path) for path in sets}
        for path in journals:
            if path.name in made:
                path.unlink()

    def _recover(self) -> None:
        for path in self._journals():
            contents, aside = recover(path)
            if aside is not None:
                self._say(f"{path}: damaged; what cannot be read is in {aside}")
            self._ended[path] = contents
            for key, number in contents.last.items():
                self._received.add(key, number)
        self._count_ended()

    def add(self, item: Item) -> bool:
        """Stores the item; returns whether it was new. Raises OSError."""
        return self.add_all([(item, b"")]).new == 1

    def add_all(self, items: Sequence[tuple[Item, bytes]]) -> Added:
        """Stores items, all or none. Raises OSError.

        With each item its encoding, or nothing if it must be encoded here. Items of a
        node above its quota are not stored; the next block of events accounts for those before.
        """
        with self._adding:
            self.quota.renew(self.segment_seconds)
            last: dict[str, int] = {}
            above = 0
            new: list[Item] = []
            texts: list[bytes] = []
            for item, text in items:
                known = last.get(item.key, self._received.last(item.key))
                if item.number > known:
                    one = item.after(known)
                    encoded = text if text and one is item else one.encode()
                    if not self.quota.takes(one, len(encoded)):
                        above += 1
                        continue
                    new.append(one)
                    texts.append(encoded)
                    last[item.key] = item.number
            if not new:
                return Added(0, above)
            try:
                self._append(new, b"".join(texts))
            except OSError as error:
                for one, text in zip(new, texts, strict=True):
                    self.quota.give_back(one, len(text))
                self._report("", f"{self._directory}: cannot write: {error.strerror}; daemons wait")
                raise
            self._report("", "")
            for key, number in last.items():
                self._received.add(key, number)
            return Added(len(new), above)

    def _append(self, items: list[Item], text: bytes) -> None:
        self._space.check(self._journal_bytes(), len(text))
        if self._journal is None:
            # Journals are sent and read in the order of their names.
            newest = max((_number_of(path) for path in self._ended), default=0)
            began_ns = max(time.time_ns(), newest + 1, self._began_ns + 1)
            self._journal = Journal(self._directory / f"{JOURNAL}-{began_ns}")
            self._began_ns, self._began = began_ns, time.monotonic()
        self._journal.append_encoded(items, text)

    def _journal_bytes(self) -> int:
        return self._ended_bytes + (self._journal.bytes if self._journal is not None else 0)

    def _report(self, of: str, trouble: str) -> None:
        """Reports a trouble once, and its end (`trouble` is ""). `of`: what it is about."""
        before = self._troubles.pop(of, "")
        if trouble:
            self._troubles[of] = trouble
        if trouble != before:
            self._say(trouble or f"resolved: {before}")

    def is_segment_over(self) -> bool:
        age = time.monotonic() - self._began  # the time of day may be set back
        return self._journal is not None and age >= self.segment_seconds

    def end_segment(self) -> None:
        """Ends the current journal; the next item starts a new one."""
        with self._adding:
            if self._journal is not None:
                self._journal.close()
                self._ended[self._journal.path] = self._journal.contents
                self._journal = None
                self._count_ended()

    def make_segments(self) -> None:
        """Writes the data sets of all ended journals, and removes old data sets. A failure is
        reported, and the journal is tried again by the next call. Any thread may call it."""
        with self._making:
            self.remove_old()
            for path in self.ended_journals():
                try:
                    self._make_segment(path)
                except (SesameError, OSError) as error:
                    trouble = f"{path}: kept, since it cannot be written as a data set yet: {error}"
                    self._report(path.name, trouble)
                except Exception as error:  # one journal must not end the collector
                    self._set_aside(path, error)
                else:
                    self._troubles.pop(path.name, None)

    def remove_old(self) -> None:
        try:
            self.kept_bytes = remove_old(self._directory, self.keeping, self._ages, self._say)
        except OSError as error:
            self._report("keeping", f"{self._directory}: cannot be read: {error.strerror}")
        else:
            self._report("keeping", "")

    def ended_journals(self) -> list[Path]:
        """The journals that will not grow, the oldest first."""
        with self._adding:
            return sorted(self._ended, key=_number_of)

    @property
    def current_bytes(self) -> int:
        """Of the current journal."""
        journal = self._journal
        return journal.bytes if journal is not None else 0

    def drop_old_journals(self) -> int:
        """Removes the oldest ended journals that `keeping` does not cover; returns their bytes.
        Only a relay needs it, if its destination does not answer for long."""
        dropped = 0
        waiting = self.ended_journals()
        if self.keeping == Keeping():
            return 0
        ages = self._ages.update({path.name: _number_of(path) / 1e9 for path in waiting})
        for path in waiting:
            is_old = self.keeping.seconds is not None and ages[path.name] > self.keeping.seconds
            most = self.keeping.bytes
            if not is_old and (most is None or self._journal_bytes() <= most):
                break
            dropped += path.stat().st_size
            self.remove_journal(path)
        return dropped

    def remove_journal(self, path: Path) -> None:
        """Raises OSError."""
        path.unlink()
        self._forget(path)

    def save_received(self) -> None:
        """Call it before a journal is removed: it is not read at the next start. Raises OSError."""
        with self._adding:
            text = self._received.encode()
        self._received.save(text)

    def close(self) -> None:
        self.end_segment()
        if not self._is_relay:
            self.make_segments()
        os.close(self._lock)

    def describe(self) -> dict[str, float]:
        """The state for metrics: bytes, seconds, counts."""
        with self._adding:
            numbers = [_number_of(path) for path in self._ended]
            if self._journal is not None:
                numbers.append(self._began_ns)
            return {
                "journal_bytes": self._journal_bytes(),
                "oldest_journal_seconds": max(0.0, time.time() - min(numbers) / 1e9)
                if numbers
                else 0.0,
                "free_bytes": self._space.free_bytes,
                "data_set_bytes": self.kept_bytes,
                "segments": self.segments,
                "failing_journals": sum(1 for name in self._troubles if name.startswith(JOURNAL)),
                "damaged_files": sum(1 for _ in self._directory.glob(f"{DAMAGED}-*")),
                "is_full": "" in self._troubles,
            }

    def _journals(self) -> list[Path]:
        found = self._directory.glob(f"{JOURNAL}-*")
        return sorted(path for path in found if path.name.removeprefix(f"{JOURNAL}-").isdigit())

    def _count_ended(self) -> None:
        self._ended_bytes = sum(path.stat().st_size for path in self._ended)

    def _forget(self, path: Path) -> None:
        with self._adding:
            self._ended.pop(path, None)
            self._count_ended()

    def _make_segment(self, path: Path) -> None:
        # The writer needs pyarrow, which a daemon that sends over HTTP does not load.
        from sesame.measurement.collector.segment import write_data_set

        contents = self._ended[path]
        if contents.begin_ns is not None:
            moment = datetime.fromtimestamp(contents.begin_ns / 1e9, UTC)
            target = _free_name(self._directory, f"{SEGMENT}{moment:%Y%m%dT%H%M%S}")
            self.save_received()  # first: once the data set exists, its journal is not read again
            nodes = write_data_set(target, path, contents)
            self.segments += 1
            self._say(f"{target}: {_names(nodes)}")
        self.remove_journal(path)

    def _set_aside(self, path: Path, error: Exception) -> None:
        aside = path.with_name(f"{DAMAGED}-{path.name.lstrip('.')}")
        path.rename(aside)
        self._forget(path)
        self._say(f"{path}: cannot be written as a data set, kept as {aside}: {error!r}")


def _names(nodes: list[str]) -> str:
    """Some of the names, and how many there are."""
    shown = ", ".join(nodes[:MOST_NAMES])
    more = len(nodes) - MOST_NAMES
    return f"{len(nodes)} nodes: {shown} and {more} more" if more > 0 else shown


def _number_of(journal: Path) -> int:
    return int(journal.name.removeprefix(f"{JOURNAL}-"))


def _journal_of(data_set: Path) -> object:
    """The name of the journal from which a data set was made; None if it cannot be read."""
    try:
        return DataSet(data_set).info.get("journal")
    except (SesameError, OSError, ValueError):
        return None


def _lock(directory: Path) -> int:
    """Locks a directory until the returned descriptor is closed, or this process ends."""
    lock = os.open(directory, os.O_RDONLY)
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError as error:
        os.close(lock)
        raise InputError(f"{directory}: another collector or daemon writes to it") from error
    return lock


def _free_name(directory: Path, name: str) -> Path:
    path, number = directory / f"{name}.sesame", 1
    while path.exists():
        number += 1
        path = directory / f"{name}-{number}.sesame"
    return path
