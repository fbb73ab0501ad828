"""Controls many nodes: sends a request to all daemons in parallel and collects their replies."""

from __future__ import annotations

import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any, Generic, TypeVar
from urllib.parse import quote

from sesame.errors import InputError, OutputError, SesameError
from sesame.measurement.collector.journal import Journal
from sesame.measurement.connection import Connection
from sesame.measurement.defaults import DAEMON_PORT, MOST_AT_ONCE
from sesame.measurement.feed import Feed
from sesame.settings import setting

Answer = TypeVar("Answer")


@dataclass(frozen=True)
class Outcome(Generic[Answer]):
    """The reply of a node to a request, or the error."""

    node: str
    answer: Answer | None
    error: SesameError | None


class Nodes:
    def __init__(self, addresses: list[str], token: str, ca: str = "") -> None:
        if not addresses:
            raise InputError(f"{setting('nodes')}: expected HOST[:PORT],…")
        self._all = [Connection(address, token, DAEMON_PORT, ca) for address in addresses]

    def each(self, ask: Callable[[Connection], Answer]) -> list[Outcome[Answer]]:
        """Calls `ask` for all nodes in parallel; returns the outcomes in the order of the nodes.

        A SesameError of one node becomes its outcome and does not affect the others.
        """

        def attempt(node: Connection) -> Outcome[Answer]:
            try:
                return Outcome(node.address, ask(node), None)
            except SesameError as error:
                return Outcome(node.address, None, error)

        with ThreadPoolExecutor(min(len(self._all), MOST_AT_ONCE)) as threads:
            return list(threads.map(attempt, self._all))

    def set_levels(self, levels: dict[str, str], detail: str) -> list[Outcome[dict[str, str]]]:
        """Sets levels by point name, in order. Returns for each node the points that it could not
        set, and why."""

        def ask(node: Connection) -> dict[str, str]:
            refused: dict[str, str] = {}
            for name, level in levels.items():
                body = {"level": level, "detail": detail}
                refused |= node.ask_json("PUT", f"{_path(name)}/level", body)["refused"]
            return refused

        return self.each(ask)

    def state(self) -> list[Outcome[dict[str, Any]]]:
        return self.each(lambda node: dict(node.ask_json("GET", "/v1/state")))

    def read(self) -> list[Outcome[dict[str, Any]]]:
        return self.each(lambda node: dict(node.ask_json("POST", "/v1/read")))

    def set(
        self, changes: dict[str, Any], size_groups: dict[str, list[int]]
    ) -> list[Outcome[None]]:
        def ask(node: Connection) -> None:
            for name, limits in size_groups.items():
                path = f"{_path(name)}/size-groups"
                node.ask_json("PUT", path, {"limits": limits})
            if changes:
                node.ask_json("PUT", "/v1/settings", changes)

        return self.each(ask)


class Recording:
    """Records the readings of many nodes in a journal, from `begin` to `finish`.

    Call `fetch` in between, before the daemons drop readings. `is_empty`: nothing was recorded yet.
    """

    def __init__(self, nodes: Nodes, journal: Journal) -> None:
        self._nodes, self._journal = nodes, journal
        self._writing = threading.Lock()
        self._feeds: dict[str, Feed] = {}
        self._seen: dict[str, int] = {}
        self.is_empty = True

    def begin(self) -> list[Outcome[None]]:
        """Ends the current interval of each node, so that earlier counts are left out."""

        def ask(node: Connection) -> None:
            feed = Feed(node)
            feed.begin()
            self._feeds[node.address] = feed

        return self._nodes.each(ask)

    def fetch(self) -> list[Outcome[None]]:
        return self._nodes.each(self._fetch)

    def finish(self) -> list[Outcome[None]]:
        ended = self._nodes.each(self._end)
        fetched = self.fetch()
        return [a if a.error else b for a, b in zip(ended, fetched, strict=True)]

    def _end(self, node: Connection) -> None:
        if node.address in self._feeds:
            node.ask_json("POST", "/v1/read")

    def _fetch(self, node: Connection) -> None:
        feed = self._feeds.get(node.address)
        if feed is None:
            return
        start = feed.start
        for item in feed.new():
            if item.start != start:
                raise SesameError(f"{node.address}: its daemon was restarted during the recording")
            with self._writing:
                known = self._seen.get(item.key, -1)
                try:
                    self._journal.append(item.after(known))
                except OSError as error:
                    reason = f"{self._journal.path}: cannot write: {error.strerror}"
                    raise OutputError(reason) from error
                self._seen[item.key] = item.number
                self.is_empty = False


def _path(name: str) -> str:
    """The HTTP path of `all`, of a subsystem, or of subsystem.point."""
    if name == "all":
        return "/v1"
    subsystem, _, point = name.partition(".")
    path = f"/v1/subsystems/{quote(subsystem, safe='')}"
    return f"{path}/points/{quote(point, safe='')}" if point else path
