"""Control of many nodes: the same request to all daemons at once, and what each has answered."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from typing import Any, Generic, TypeVar
from urllib.parse import quote

from sesame.errors import InputError, SesameError
from sesame.measurement.connection import Connection
from sesame.measurement.pulls import Pull
from sesame.measurement.reception.server import DAEMON_PORT, offset_of

Answer = TypeVar("Answer")
MOST_AT_ONCE = 64


@dataclass(frozen=True)
class Outcome(Generic[Answer]):
    """What became of a request to a node: an answer, or why there is none."""

    node: str
    answer: Answer | None
    error: SesameError | None


class Nodes:
    def __init__(self, addresses: list[str], token: str, ca: str = "") -> None:
        if not addresses:
            raise InputError("--nodes: expected HOST[:PORT],…")
        self._all = [Connection(address, token, DAEMON_PORT, ca) for address in addresses]

    def each(self, ask: Callable[[Connection], Answer]) -> list[Outcome[Answer]]:
        """In the order of the nodes; one that fails does not keep the others from it."""

        def attempt(node: Connection) -> Outcome[Answer]:
            try:
                return Outcome(node.address, ask(node), None)
            except SesameError as error:
                return Outcome(node.address, None, error)

        with ThreadPoolExecutor(min(len(self._all), MOST_AT_ONCE)) as threads:
            return list(threads.map(attempt, self._all))

    def set_level(
        self, level: str, places: list[str], detail: str
    ) -> list[Outcome[dict[str, str]]]:
        """Gives the points that each node could not set, and why."""

        def ask(node: Connection) -> dict[str, str]:
            refused: dict[str, str] = {}
            for place in places:
                body = {"level": level, "detail": detail}
                refused |= node.ask_json("PUT", f"{_path(place)}/level", body)["refused"]
            return refused

        return self.each(ask)

    def state(self) -> list[Outcome[dict[str, Any]]]:
        return self.each(lambda node: dict(node.ask_json("GET", "/v1/state")))

    def pull(self) -> list[Outcome[dict[str, Any]]]:
        return self.each(lambda node: dict(node.ask_json("POST", "/v1/pull")))

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
    """The pulls of many nodes from now on, until `finish`."""

    def __init__(self, nodes: Nodes) -> None:
        self._nodes = nodes
        self._last: dict[str, tuple[str, int]] = {}
        self.pulls: list[Pull] = []

    def begin(self) -> list[Outcome[None]]:
        """What was counted before belongs to an interval that ends here."""

        def ask(node: Connection) -> None:
            sequence = node.ask_json("POST", "/v1/pull")["sequence"]
            start = node.ask_json("GET", "/v1/state")["start"]
            self._last[node.address] = (start, sequence)

        return self._nodes.each(ask)

    def fetch(self) -> list[Outcome[None]]:
        outcomes = self._nodes.each(lambda node: list(self._new(node)))
        for outcome in outcomes:
            self.pulls += outcome.answer or []
        return [Outcome(one.node, None, one.error) for one in outcomes]

    def finish(self) -> list[Outcome[None]]:
        ended = self._nodes.each(self._end)
        fetched = self.fetch()
        return [a if a.error else b for a, b in zip(ended, fetched, strict=True)]

    def _end(self, node: Connection) -> None:
        if node.address in self._last:
            node.ask_json("POST", "/v1/pull")

    def _new(self, node: Connection) -> Iterator[Pull]:
        if node.address not in self._last:
            return
        start, last = self._last[node.address]
        lines = node.ask("GET", f"/v1/raw-pulls?after={last}").splitlines()
        offset = offset_of(node) if lines else None
        for line in lines:
            pull = Pull.from_json(line)
            if pull.start != start:
                raise SesameError(f"{node.address}: its daemon has begun again meanwhile")
            assert offset is not None
            yield replace(pull, offset=offset)
            self._last[node.address] = (start, pull.sequence)


def _path(place: str) -> str:
    """`all`, a subsystem, or subsystem.point."""
    if place == "all":
        return "/v1"
    subsystem, _, point = place.partition(".")
    path = f"/v1/subsystems/{quote(subsystem, safe='')}"
    return f"{path}/points/{quote(point, safe='')}" if point else path
