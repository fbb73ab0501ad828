"""What a running daemon does: readings in time, delivers, and changes its settings."""

from __future__ import annotations

import asyncio
import dataclasses
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from sesame.errors import InputError, OutputError, SesameError
from sesame.measurement.collector.store import Store
from sesame.measurement.daemon.delivery import Delivery, HttpSink, Sink, StoreSink
from sesame.measurement.daemon.node import Node
from sesame.measurement.daemon.settings import Settings, check
from sesame.measurement.daemon.undelivered import keep, kept
from sesame.measurement.readings import Reading
from sesame.web.server.tokens import read_token

SEGMENT_SECONDS = 600.0


class Service:
    """All its functions run in the event loop's thread: the probes know only one."""

    def __init__(
        self,
        node: Node,
        settings: Settings,
        say: Callable[[str], None],
        read: Callable[[], Settings] | None = None,
        take_events: Callable[[], None] = lambda: None,
        undelivered: Path | None = None,
    ) -> None:
        """`read` gives the settings again; `take_events` hands all that waits in the kernel to the
        node's stream; `undelivered` has what an earlier start has left."""
        self.node, self.settings, self.say, self._read = node, settings, say, read
        self._take_events = take_events
        self._undelivered = undelivered
        # As long as there is no destination.
        self._waiting = kept(undelivered, node.offset, say) if undelivered is not None else []
        self.delivery: Delivery | None = None
        self._loop: asyncio.AbstractEventLoop | None = None
        self._timer: asyncio.TimerHandle | None = None
        self.apply(settings)

    # ---- Settings ----

    def apply(self, settings: Settings) -> None:
        """All or nothing, as far as settings can be wrong; what a kernel refuses is said."""
        check(settings)
        self.node.catch_up()
        wanted = sorted(
            settings.levels.items(), key=lambda one: one[0].count(".") - (one[0] == "all")
        )
        for name, _ in wanted:
            self.node.places(*place_of(name))
        for name, limits in settings.size_groups.items():
            self.node.check_size_groups(name, tuple(limits))
        if self.delivery is None or _way(self.settings) != _way(settings):
            self._redirect(settings)
        for name, level in wanted:
            for point, reason in self.node.set_level(level, *place_of(name)).items():
                self.say(f"{point} is left out: {reason}")
        for name, limits in settings.size_groups.items():
            self.set_size_groups(name, tuple(limits))
        self.node.rest.due_ns += round(1e9 * (settings.interval - self.settings.interval))
        self.settings = settings
        self.node.governor.set_interval(settings.interval)
        self._schedule()

    def change(self, **changes: Any) -> None:
        self.apply(dataclasses.replace(self.settings, levels={}, size_groups={}, **changes))

    def set_size_groups(self, subsystem: str, limits: tuple[int, ...]) -> None:
        self.node.check_size_groups(subsystem, limits)
        self.read()
        self.node.set_size_groups(subsystem, limits)

    def reload(self) -> None:
        """Reads the settings again; when they are wrong, all stays as it was."""
        if self._read is None:
            self.say("there is no settings file to read again")
            return
        try:
            self.apply(self._read())
        except SesameError as error:
            self.say(f"settings stay as they were: {error}")
        else:
            self.say("settings: read again")

    def _redirect(self, settings: Settings) -> None:
        sink = open_sink(settings, self.say)  # first: it may fail
        if self.delivery is not None:
            self.read()  # what was counted until now still goes the old way
        sent = None
        if self.delivery is not None:
            self._waiting, sent = self.delivery.close(), self.delivery.sent
            self.node.dropped += self.delivery.dropped
        self.delivery = None
        if sink is not None:
            self.delivery = Delivery(sink, self.say, self.node.stream, sent=sent)
            self.delivery.offer(self._waiting)
            self._waiting = []

    # ---- Pulling ----

    def begin(self) -> None:
        """Readings from now on; needs a running event loop."""
        self._loop = asyncio.get_running_loop()
        self._loop.add_reader(self.node.rest.fileno(), self._after_rest)
        self.node.rest.due_ns = time.monotonic_ns() + self._interval_ns
        self._schedule()

    @property
    def _interval_ns(self) -> int:
        return round(1e9 * self.settings.interval)

    def _schedule(self) -> None:
        """The next reading, when it is due; readings that were missed are not made up for."""
        if self._loop is None:
            return
        self._cancel()
        now_ns, rest = time.monotonic_ns(), self.node.rest
        if now_ns - rest.due_ns > self._interval_ns:
            rest.due_ns = now_ns
        self._timer = self._loop.call_later(max(1e-9 * (rest.due_ns - now_ns), 0.0), self._tick)

    def _cancel(self) -> None:
        if self._timer is not None:
            self._timer.cancel()

    def _tick(self) -> None:
        self.node.rest.due_ns += self._interval_ns
        self._schedule()  # first: whatever becomes of this reading, there is a next one
        self.read()
        self.node.governor.begin()  # readings that are asked for bring no new budget
        if self.node.begin_idle(self._interval_ns, self.settings.batch - 1):
            self._cancel()

    def _after_rest(self) -> None:
        """It was long enough, there is something to decide, or somebody else has ended it."""
        self.node.rest.acknowledge()
        self.node.catch_up()
        if self.node.rest.due_ns <= time.monotonic_ns():
            self._tick()
        else:
            self._schedule()

    def read(self) -> Reading:
        if self.node.presented_and_lost()[0] > self.node.stream.seen:
            self._take_events()
            self.node.stream.flush()
        if self.delivery is None:
            return self.node.new_readings()[-1]
        readings = self.node.new_readings(self.delivery.dropped)
        self.delivery.offer(readings)
        return readings[-1]

    def end(self) -> None:
        self._cancel()
        self.node.catch_up()
        self.node.governor.stop()
        self.read()
        if self._loop is not None:
            self._loop.remove_reader(self.node.rest.fileno())
        self.node.rest.close()
        if self.delivery is not None:
            self._waiting = self.delivery.close()
            readings = sum(isinstance(one, Reading) for one in self._waiting)
            events = self.node.stream.seen - self.delivery.sent
            if events:
                self._waiting.append(self.node.stream.account(self.delivery.sent))
            if self._waiting:
                self.say(
                    f"{readings} readings and {events} events found no way to "
                    f"{self.settings.destination}; its next start sends the readings, and says how "
                    "many events are lost"
                )
        if self._undelivered is not None:
            try:
                keep(self._undelivered, self._waiting)
            except OutputError as error:
                self.say(str(error))

    def describe(self) -> dict[str, Any]:
        presented, lost = self.node.presented_and_lost()
        return {
            "node": self.node.name,
            "start": self.node.start,
            "interval": self.settings.interval,
            "batch": self.settings.batch,
            "destination": self.settings.destination,
            "delivery": self.delivery.describe() if self.delivery is not None else None,
            "events": {"seen": presented, "lost": lost},
            "subsystems": self.node.describe(),
        }


def place_of(name: str) -> tuple[str | None, str | None]:
    """`all`, a subsystem, or subsystem.point."""
    if name == "all":
        return None, None
    subsystem, _, point = name.partition(".")
    return subsystem, point or None


def _way(settings: Settings) -> tuple[str, str, str]:
    if "://" not in settings.destination:
        return settings.destination, "", ""
    return settings.destination, settings.destination_token_file, settings.destination_ca


def open_sink(settings: Settings, say: Callable[[str], None]) -> Sink | None:
    if not settings.destination:
        return None
    if "://" not in settings.destination:
        store = Store(Path(settings.destination), SEGMENT_SECONDS, say)
        return StoreSink(store)
    if not settings.destination_token_file:
        raise InputError(
            f"destination: {settings.destination} wants the collector's token",
            hint="--destination-token-file FILE; `sesame collect` says where it is",
        )
    token = read_token(Path(settings.destination_token_file))
    return HttpSink(settings.destination, token, settings.destination_ca)
