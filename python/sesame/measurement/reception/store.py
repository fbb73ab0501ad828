"""Pulls of many nodes become data sets, one for each stretch of time, none of them half-written.

What arrives is appended to a journal and is then safe from the end of this process; a segment is
the data set made of one journal. A journal that is found at the start is made one as well.
"""

from __future__ import annotations

import contextlib
import json
import os
import threading
import time
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, TextIO

from sesame.datasets import DataSetWriter
from sesame.errors import OutputError, SesameError
from sesame.measurement.pulls import RECORDS, Pull, Records
from sesame.measurement.session import columns

JOURNAL, RECEIVED = ".journal", ".received.json"
BATCH = 1000  # pulls


class Store:
    def __init__(
        self, folder: Path, segment_seconds: float, say: Callable[[str], None] = lambda _: None
    ) -> None:
        self._folder, self._segment_ns = folder, int(segment_seconds * 1e9)
        self._say = say
        try:
            folder.mkdir(parents=True, exist_ok=True)
            for path in sorted(folder.glob(f"{JOURNAL}-*")):
                _cut_torn_line(path)
        except OSError as error:
            raise OutputError(f"{folder}: cannot write there: {error.strerror}") from error
        # The last pull of each start of a daemon: one that is sent twice is stored once.
        self._received = self._read_received()
        self._journal: TextIO | None = None
        self._began_ns = 0
        self._adding, self._making = threading.Lock(), threading.Lock()
        self.segments = 0
        self.make_segments()

    def add(self, pull: Pull) -> bool:
        """Whether it was new. Raises OSError when it cannot be kept."""
        with self._adding:
            if pull.sequence <= self._received.get(_key(pull), -1):
                return False
            if self._journal is None:
                self._began_ns = time.time_ns()
                self._journal = self._path(self._began_ns).open("x", encoding="ascii")
            place = self._journal.tell()
            try:
                self._journal.write(pull.to_json() + "\n")
                self._journal.flush()
            except OSError:
                self._take_back(place)
                raise
            self._received[_key(pull)] = pull.sequence
            return True

    def is_segment_over(self) -> bool:
        return self._journal is not None and time.time_ns() - self._began_ns >= self._segment_ns

    def end_segment(self) -> None:
        """What arrives from now on goes to the next; make_segments makes the data set."""
        with self._adding:
            if self._journal is not None:
                self._journal.close()
                self._journal = None

    def make_segments(self) -> None:
        """May run in a thread of its own. What fails is told, and tried again with the next."""
        with self._making:
            for path in sorted(self._folder.glob(f"{JOURNAL}-*")):
                if self._journal is not None and path == self._path(self._began_ns):
                    continue
                try:
                    self._make_segment(path)
                except (SesameError, OSError) as error:
                    self._say(f"{path}: stays, since it cannot become a data set yet: {error}")

    def close(self) -> None:
        self.end_segment()
        self.make_segments()

    def _path(self, began_ns: int) -> Path:
        return self._folder / f"{JOURNAL}-{began_ns}"

    def _take_back(self, place: int) -> None:
        """A line that was written in part would spoil the next one."""
        assert self._journal is not None
        path = Path(self._journal.name)
        with contextlib.suppress(OSError):  # what is left in the buffer finds no room either
            self._journal.close()
        os.truncate(path, place)
        self._journal = path.open("a", encoding="ascii")

    def _read_received(self) -> dict[str, int]:
        received: dict[str, int] = {}
        path = self._folder / RECEIVED
        if path.exists():
            received = json.loads(path.read_text())
        for journal in self._folder.glob(f"{JOURNAL}-*"):
            for pull in _read(journal):
                key = _key(pull)
                received[key] = max(received.get(key, -1), pull.sequence)
        return received

    def _make_segment(self, path: Path) -> None:
        first = next(_read(path), None)
        if first is not None:
            moment = datetime.fromtimestamp((first.begin_ns + first.offset.offset_ns) / 1e9, UTC)
            target = _free_name(self._folder, f"measured-{moment:%Y%m%dT%H%M%S}")
            nodes = write_data_set(target, lambda: _read(path))
            self.segments += 1
            self._say(f"{target}: {', '.join(nodes)}")
        self._save_received()
        path.unlink()

    def _save_received(self) -> None:
        new = self._folder / f"{RECEIVED}.new"
        new.write_text(json.dumps(self._received))
        new.replace(self._folder / RECEIVED)


def write_data_set(
    target: Path, read: Callable[[], Iterator[Pull]], *, force: bool = False
) -> list[str]:
    """Of pulls that can be read more than once; gives the nodes' names."""
    begin = min(pull.begin_ns + pull.offset.offset_ns for pull in read())
    nodes = sorted({pull.node for pull in read()})
    with DataSetWriter(target, force=force) as writer:
        for name, records in RECORDS.items():
            writer.write_batches(name, _batches(read(), name, records, begin))
        moment = datetime.fromtimestamp(begin / 1e9, UTC).isoformat()
        writer.finish({"title": "kernel measurement", "begin": moment, "nodes": nodes})
    return nodes


def _key(pull: Pull) -> str:
    return f"{pull.node} {pull.start}"


def _read(path: Path) -> Iterator[Pull]:
    with path.open(encoding="ascii") as file:
        for line in file:
            yield Pull.from_json(line)


def _cut_torn_line(path: Path) -> None:
    """A pull that was being written when the process ended; its node will send it again."""
    data = path.read_bytes()
    if not data.endswith(b"\n"):
        os.truncate(path, data.rfind(b"\n") + 1)


def _free_name(folder: Path, name: str) -> Path:
    path, number = folder / f"{name}.sesame", 1
    while path.exists():
        number += 1
        path = folder / f"{name}-{number}.sesame"
    return path


def _batches(
    pulls: Iterator[Pull], name: str, records: Records, begin: int
) -> Iterator[dict[str, Any]]:
    rows: list[dict[str, Any]] = []
    for number, pull in enumerate(pulls, 1):
        rows += records(pull, begin)
        if number % BATCH == 0:
            yield columns(name, rows)
            rows = []
    yield columns(name, rows)
