"""What a collector does with received items: stores the valid ones, sets the others aside."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from io import BytesIO
from itertools import islice
from pathlib import Path

from sesame.errors import InputError, OutputError
from sesame.measurement.bounds import MOST_ITEM_BYTES, MOST_ITEMS
from sesame.measurement.collector.store import Store
from sesame.measurement.frames import Frame, decode
from sesame.measurement.readings import Reading

REFUSED = "refused.jsonl"
MOST_REFUSED_BYTES = 10_000_000  # of the file; then refused items are only counted
MOST_TEXT = 2000  # bytes of a refused item in the file
MOST_NODES = 100_000  # of which the last reading is remembered


@dataclass
class Counts:
    """Since the start of the collector."""

    readings: int = 0
    blocks: int = 0
    repeated: int = 0  # items that had been stored before
    refused: int = 0


class Intake:
    """Thread-safe. `last_seen`: by node, when its last reading came, in s since 1970."""

    def __init__(self, store: Store, directory: Path, say: Callable[[str], None]) -> None:
        self._store, self._path, self._say = store, directory / REFUSED, say
        self._reported: set[str] = set()  # senders of refused items
        self._changing = threading.Lock()
        self.counts = Counts()
        self.last_seen: dict[str, float] = {}

    def take(self, body: bytes, sender: str, check_node: Callable[[str], None]) -> Counts:
        """Stores the items of a request; returns what they were. `check_node` raises an error
        unless the sender may deliver items of a node; then nothing is stored.

        A wrong item costs itself only. Raises InputError if no item is of this version of Sesame or
        the last one is incomplete, so that the sender keeps them, and OutputError.
        """
        frames = list(islice(decode(BytesIO(body), MOST_ITEM_BYTES), MOST_ITEMS + 1))
        if len(frames) > MOST_ITEMS:
            raise InputError(f"expected at most {MOST_ITEMS} readings or blocks in a request")
        is_torn = sum(len(one.text) for one in frames) < len(body)
        if is_torn or all(one.is_foreign for one in frames):
            raise InputError("expected readings or events of this version of sesame")
        for frame in frames:
            if frame.item is not None:
                check_node(frame.item.node)
        return self.keep(frames, sender)

    def keep(self, frames: Iterable[Frame], sender: str) -> Counts:
        """Stores items, and sets the wrong ones aside. Raises OutputError."""
        items = []
        refused = []
        for frame in frames:
            if frame.item is None:
                refused.append(frame)
            else:
                items.append((frame.item, frame.text))
        try:
            new, above = self._store.add_all(items)
        except OSError as error:
            raise OutputError(f"the collector cannot write: {error.strerror}") from error
        readings = sum(isinstance(item, Reading) for item, _ in items)
        with self._changing:
            for frame in refused:
                self._set_aside(frame, sender)
            now = time.time()
            for item, _ in items:
                if item.node in self.last_seen or len(self.last_seen) < MOST_NODES:
                    self.last_seen[item.node] = now
            done = Counts(readings, len(items) - readings, len(items) - new - above, len(refused))
            for name, count in vars(done).items():
                setattr(self.counts, name, getattr(self.counts, name) + count)
        return done

    def refuse(self, text: bytes, reason: str, sender: str) -> None:
        """Sets an item aside that was stored before."""
        with self._changing:
            self._set_aside(Frame(text, None, reason), sender)
            self.counts.refused += 1

    def _set_aside(self, frame: Frame, sender: str) -> None:
        # The node is only claimed, and each wrong item could claim another one.
        if sender not in self._reported:
            self._reported.add(sender)
            self._say(
                f"{sender!r}: an item is refused: {frame.refusal}; it is in {self._path}, as are "
                "further ones"
            )
        entry = {
            "time": round(time.time(), 3),
            "sender": sender,
            "node": frame.node[:MOST_TEXT],
            "reason": frame.refusal,
            "bytes": len(frame.text),
            "text": frame.text[:MOST_TEXT].decode(errors="backslashreplace"),
        }
        try:
            with self._path.open("a", encoding="utf-8") as file:
                if file.tell() < MOST_REFUSED_BYTES:
                    file.write(json.dumps(entry) + "\n")
        except OSError as error:
            self._say(f"{self._path}: cannot write: {error.strerror}")
