"""Writes readings and events of many nodes as data sets, one for each period of time.

Received items are appended to a journal, so that they survive the end of this process. A segment is
the data set made from one journal. A journal found at the start becomes a segment as well.
"""

from __future__ import annotations

import fcntl
import json
import os
import shutil
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from datetime import UTC, datetime
from itertools import chain
from pathlib import Path
from typing import Any

from sesame.datasets import DataSet, DataSetWriter, HostMachine, Info, Instrument, Kind
from sesame.errors import InputError, OutputError, SesameError
from sesame.measurement.collector.journal import Journal, cut_torn, stored_blocks, stored_readings
from sesame.measurement.events import Block
from sesame.measurement.readings import RECORDS, Reading, Records
from sesame.measurement.session import columns

JOURNAL, RECEIVED, SEGMENT = ".journal", ".received.json", "measured-"
BATCH = 1000  # readings


class Store:
    """Stores items in a directory that it locks: one process at a time may use it.

    `add` appends an item to the current journal. When `is_segment_over`, call `end_segment`, then
    `make_segments`, which writes the data sets. `close` does both. Thread-safe, except `close`.
    """

    def __init__(
        self, directory: Path, segment_seconds: float, say: Callable[[str], None] = lambda _: None
    ) -> None:
        self._directory, self._segment_ns = directory, int(segment_seconds * 1e9)
        self._say = say
        self._journal: Journal | None = None
        self._began_ns = 0
        self._adding, self._making = threading.Lock(), threading.Lock()
        self._troubles: dict[str, str] = {}
        self.segments = 0
        with ExitStack() as undone:
            try:
                directory.mkdir(parents=True, exist_ok=True)
                self._lock = _lock(directory)
                undone.callback(os.close, self._lock)
                self._clear()
            except OSError as error:
                raise OutputError(f"{directory}: cannot write there: {error.strerror}") from error
            # The last number stored of each start of a daemon: an item sent twice is stored once.
            self._received = self._read_received()
            undone.pop_all()
        self.make_segments()

    def _clear(self) -> None:
        """Removes what a killed collector left: partial data sets, a partial item at the end of a
        journal, and journals whose data set was written."""
        for path in self._directory.glob(f".{SEGMENT}*"):
            shutil.rmtree(path)
        journals = self._journals()
        sets = self._directory.glob("*.sesame") if journals else ()
        made = {DataSet(path).info.get("journal") for path in sets}
        for path in journals:
            if path.name in made:
                path.unlink()
            else:
                cut_torn(path)

    def add(self, item: Reading | Block) -> bool:
        """Stores the item; returns whether it was new. Raises OSError."""
        with self._adding:
            known = self._received.get(item.key, -1)
            if item.number <= known:
                return False
            try:
                self._append(item.after(known))
            except OSError as error:
                self._report("", f"{self._directory}: cannot write: {error.strerror}; daemons wait")
                raise
            self._report("", "")
            self._received[item.key] = item.number
            return True

    def _append(self, item: Reading | Block) -> None:
        if self._journal is None:
            began_ns = time.time_ns()
            self._journal = Journal(self._directory / f"{JOURNAL}-{began_ns}")
            self._began_ns = began_ns
        self._journal.append(item)

    def _report(self, of: str, trouble: str) -> None:
        """Reports a trouble once, and its end (`trouble` is ""). `of`: what it is about."""
        before = self._troubles.pop(of, "")
        if trouble:
            self._troubles[of] = trouble
        if trouble != before:
            self._say(trouble or f"resolved: {before}")

    def is_segment_over(self) -> bool:
        return self._journal is not None and time.time_ns() - self._began_ns >= self._segment_ns

    def end_segment(self) -> None:
        """Ends the current journal; the next item starts a new one."""
        with self._adding:
            if self._journal is not None:
                self._journal.close()
                self._journal = None

    def make_segments(self) -> None:
        """Writes the data sets of all ended journals. A failure is reported, and the journal is
        tried again by the next call. Any thread may call it."""
        with self._making:
            with self._adding:
                current = self._journal.path if self._journal is not None else None
                ended = [path for path in self._journals() if path != current]
            for path in ended:
                try:
                    self._make_segment(path)
                except (SesameError, OSError) as error:
                    trouble = f"{path}: kept, since it cannot be written as a data set yet: {error}"
                    self._report(path.name, trouble)
                else:
                    self._troubles.pop(path.name, None)

    def close(self) -> None:
        self.end_segment()
        self.make_segments()
        os.close(self._lock)

    def _journals(self) -> list[Path]:
        return sorted(self._directory.glob(f"{JOURNAL}-*"))

    def _read_received(self) -> dict[str, int]:
        received: dict[str, int] = {}
        path = self._directory / RECEIVED
        if path.exists():
            received = json.loads(path.read_text())
        for journal in self._journals():
            for one in _items(journal):
                received[one.key] = max(received.get(one.key, -1), one.number)
        return received

    def _make_segment(self, path: Path) -> None:
        first = next(_items(path), None)
        if first is not None:
            moment = datetime.fromtimestamp((first.begin_ns + first.offset.offset_ns) / 1e9, UTC)
            target = _free_name(self._directory, f"{SEGMENT}{moment:%Y%m%dT%H%M%S}")
            self._save_received()  # first: once the data set exists, its journal is not read again
            nodes = write_data_set(target, path)
            self.segments += 1
            self._say(f"{target}: {', '.join(nodes)}")
        path.unlink()

    def _save_received(self) -> None:
        new = self._directory / f"{RECEIVED}.new"
        with self._adding:
            text = json.dumps(self._received)
        new.write_text(text)
        new.replace(self._directory / RECEIVED)


def write_data_set(
    target: Path, journal: Path, *, instrument: str = "sesame collect", force: bool = False
) -> list[str]:
    """Writes the data set of a journal; returns the names of its nodes.

    `instrument`: the command that wrote the journal.
    """
    begin = min(one.begin_ns + one.offset.offset_ns for one in _items(journal))
    nodes = sorted({one.node for one in _items(journal)})
    with DataSetWriter(target, force=force) as writer:
        for name, records in RECORDS.items():
            writer.write_batches(name, _batches(stored_readings(journal), name, records, begin))
        accounts = [one.record(begin) for one in stored_blocks(journal)]
        if accounts:
            writer.write_records("kernel_trace", columns("kernel_trace", accounts))
            events = (one.columns(begin) for one in stored_blocks(journal))
            writer.write_batches("kernel_event", events)
        moment = datetime.fromtimestamp(begin / 1e9, UTC).isoformat()
        info = Info(
            kind=Kind.MEASURED,
            title="kernel measurement",
            instrument=Instrument.ours(instrument),
            host=HostMachine.of_nodes(nodes),
            begin_time=moment,
            more={"nodes": nodes, "journal": journal.name},
        )
        writer.finish(info)
    return nodes


def _lock(directory: Path) -> int:
    """Locks a directory until the returned descriptor is closed, or this process ends."""
    lock = os.open(directory, os.O_RDONLY)
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError as error:
        os.close(lock)
        raise InputError(f"{directory}: another collector or daemon writes to it") from error
    return lock


def _items(journal: Path) -> Iterator[Reading | Block]:
    return chain(stored_readings(journal), stored_blocks(journal))


def _free_name(directory: Path, name: str) -> Path:
    path, number = directory / f"{name}.sesame", 1
    while path.exists():
        number += 1
        path = directory / f"{name}-{number}.sesame"
    return path


def _batches(
    readings: Iterator[Reading], name: str, records: Records, begin: int
) -> Iterator[dict[str, Any]]:
    rows: list[dict[str, Any]] = []
    for number, reading in enumerate(readings, 1):
        rows += records(reading, begin)
        if number % BATCH == 0:
            yield columns(name, rows)
            rows = []
    yield columns(name, rows)
