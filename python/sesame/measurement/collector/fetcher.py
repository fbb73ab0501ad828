"""Fetches readings and events from a daemon that cannot connect to the collector."""

from __future__ import annotations

import threading
from collections.abc import Callable

from sesame.errors import SesameError
from sesame.measurement.collector.intake import Intake
from sesame.measurement.connection import Connection
from sesame.measurement.events import Block
from sesame.measurement.feed import Feed
from sesame.measurement.frames import Frame
from sesame.measurement.readings import Reading


class Fetcher:
    """Wrong items are set aside, as those that arrive in requests."""

    def __init__(self, connection: Connection, intake: Intake, say: Callable[[str], None]) -> None:
        self._address, self._intake, self._say = connection.address, intake, say
        self._feed = Feed(connection, self._refuse)
        self._node = ""  # of the first item: a daemon delivers those of one node
        self._trouble = ""
        self._fetching = threading.Lock()

    def _refuse(self, frame: Frame) -> None:
        self._intake.keep([frame], self._address)

    def _keep(self, item: Reading | Block) -> None:
        self._node = self._node or item.node
        if item.node != self._node:
            self._refuse(Frame(b"", None, f"the daemon of {self._node}", node=item.node))
        else:
            self._intake.keep([Frame(b"", item)], self._address)

    def fetch(self) -> None:
        """Fetches and stores what is new; reports errors by `say`. Calls from several threads run
        one after the other."""
        with self._fetching:
            try:
                for item in self._feed.new():
                    self._keep(item)
            except SesameError as error:
                self._report(error.message, str(error))
            else:
                self._report("", f"{self._address}: answers again")

    def _report(self, trouble: str, text: str) -> None:
        """Prints `text` if the state changed: a new trouble, or its end (`trouble` is "")."""
        before, self._trouble = self._trouble, trouble
        if trouble != before:
            self._say(text)
