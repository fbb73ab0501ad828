"""A relay: a collector that sends what it stores to another one, and writes no data sets.

Received items are in a journal until the other collector has stored them. The other collector
stores an item once, by its number, so the relay may send a journal again after any failure. It
keeps the order of the items of each node.
"""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import orjson

from sesame.errors import SesameError
from sesame.measurement.bounds import MOST_BODY_BYTES
from sesame.measurement.clocks import Offset, estimate, own_offset
from sesame.measurement.collector.store import Store
from sesame.measurement.connection import Connection, TooLargeError
from sesame.measurement.events import WORD, Block
from sesame.measurement.frames import frames
from sesame.measurement.readings import Reading

PERIOD_SECONDS = 2.0  # between two requests
SHORTEST_BACK_OFF, LONGEST_BACK_OFF = 1.0, 60.0
MOST_JOURNAL_BYTES = 64 << 20  # while the other collector does not answer
MOST_BATCH_BYTES = 1 << 20  # of readings in a request; a busy collector answers in time
MOST_BATCH = 128
SECONDS_BETWEEN_ESTIMATES = 600
LAST_SECONDS = 20.0  # for requests at the end


class Relay:
    """Call `step` again and again, from one thread at a time; then `close`."""

    def __init__(
        self,
        store: Store,
        connection: Connection,
        say: Callable[[str], None],
        refuse: Callable[[bytes, str, str], None],
    ) -> None:
        """`refuse`: is given each item that the other collector does not accept for its size, the
        reason, and the collector's address."""
        self._store, self._connection, self._say = store, connection, say
        self._refuse = refuse
        self._offset: Offset | None = None
        self._estimated = 0.0
        self._back_off = 0.0
        self._sent: tuple[Path | None, int] = None, 0  # batches of the first journal
        self.trouble = ""
        self.forwarded = self.dropped_bytes = 0
        self.last_success = time.time()

    def step(self, end: float = float("inf")) -> float:
        """Sends what is in the journals; returns the seconds until the next call. `end`: the
        monotonic time after which it starts no request."""
        self._drop_old()
        waiting = self._store.ended_journals()
        if not waiting or self._store.current_bytes > MOST_JOURNAL_BYTES:
            self._store.end_segment()
            waiting = self._store.ended_journals()
        try:
            for journal in waiting:
                if not self._send(journal, end):
                    return 0.0
                self._store.save_received()
                self._store.remove_journal(journal)
        except (SesameError, OSError) as error:
            return self._failed(str(error))
        if self.trouble:
            self._say(f"{self._connection.address}: forwarding works again")
        self.trouble, self._back_off, self.last_success = "", 0.0, time.time()
        return PERIOD_SECONDS

    def _failed(self, trouble: str) -> float:
        if trouble != self.trouble:
            self._say(f"forwarding waits: {trouble}")
        self.trouble = trouble
        self._offset = None  # a restarted collector may have another clock
        self._back_off = min(max(2 * self._back_off, SHORTEST_BACK_OFF), LONGEST_BACK_OFF)
        return self._back_off * random.uniform(0.5, 1.0)  # relays do not all return at once

    def _send(self, journal: Path, end: float) -> bool:
        """Sends the rest of a journal; False if there was no time for all of it."""
        path, sent = self._sent
        done = sent if path == journal else 0
        for number, (kind, texts) in enumerate(_batches(journal)):
            if number < done:
                continue
            if time.monotonic() > end:
                return False
            offset = self._offset_there()
            self._deliver(kind.path, [_with_offset(text, offset) for text in texts])
            self._sent = journal, number + 1
        return True

    def _deliver(self, path: str, texts: list[bytes]) -> None:
        """Delivers items, in several requests if one is too large: a proxy before the collector may
        have a lower limit. An item that is too large alone must not keep back the others."""
        try:
            self._ask(path, b"".join(texts))
        except TooLargeError as error:
            if len(texts) == 1:
                self._refuse(texts[0], error.message, self._connection.address)
                return
            half = len(texts) // 2
            self._deliver(path, texts[:half])
            self._deliver(path, texts[half:])
        else:
            self.forwarded += len(texts)

    def _ask(self, path: str, body: bytes) -> None:
        if len(body) > MOST_BODY_BYTES:  # the answer may be lost if the server reads no more
            raise TooLargeError(f"expected at most {MOST_BODY_BYTES} bytes, got {len(body)}")
        self._connection.ask("POST", path, body)

    def _offset_there(self) -> Offset:
        """The offset from this machine's time of day to that of the other collector."""
        now = time.monotonic()
        if self._offset is None or now - self._estimated > SECONDS_BETWEEN_ESTIMATES:
            theirs, ours = estimate(self._connection.ask_clock), own_offset()
            self._offset = Offset(
                theirs.offset_ns - ours.offset_ns, theirs.uncertainty_ns + ours.uncertainty_ns
            )
            self._estimated = now
        return self._offset

    def _drop_old(self) -> None:
        """Drops the oldest journals that the settings do not keep, and counts their bytes."""
        dropped = self._store.drop_old_journals()
        if dropped:
            self.dropped_bytes += dropped
            self._say(f"{dropped} bytes of journals were dropped: more than the settings keep")

    def close(self) -> None:
        """Makes a last attempt; what is left is sent by the next start."""
        self._store.end_segment()
        end = time.monotonic() + LAST_SECONDS
        while self._store.ended_journals() and time.monotonic() < end:
            self.step(end)
            if self.trouble:
                break
        if self._store.ended_journals():
            self._say("some items could not be forwarded; the next start sends them")
        self._connection.close()


def _batches(journal: Path) -> Iterator[tuple[type[Reading | Block], list[bytes]]]:
    """The items of a journal in their order, as many as fit into a request; a block is alone."""
    batch: list[bytes] = []
    size = 0
    with journal.open("rb") as file:
        for line, records, is_sound in frames(file):
            if not is_sound:
                continue
            text = line + file.read(records)
            is_block = line.startswith(WORD)
            if batch and (
                is_block or size + len(text) > MOST_BATCH_BYTES or len(batch) == MOST_BATCH
            ):
                yield Reading, batch
                batch, size = [], 0
            if is_block:
                yield Block, [text]
            else:
                batch.append(text)
                size += len(text)
    if batch:
        yield Reading, batch


def _with_offset(text: bytes, more: Offset) -> bytes:
    """An encoded item whose times get `more`, too."""
    line, _, records = text.partition(b"\n")
    word = WORD if line.startswith(WORD) else b""
    parts = orjson.loads(line.removeprefix(word))
    parts["offset"]["offset_ns"] += more.offset_ns
    parts["offset"]["uncertainty_ns"] += more.uncertainty_ns
    return word + orjson.dumps(parts, option=orjson.OPT_APPEND_NEWLINE) + records
