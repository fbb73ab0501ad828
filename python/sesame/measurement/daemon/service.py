"""The running daemon: reads counters on time, delivers readings, and changes settings."""

from __future__ import annotations

import asyncio
import dataclasses
import re
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from sesame.errors import InputError, OutputError, SesameError
from sesame.measurement.daemon.delivery import Delivery, HttpSink, Sink, StoreSink
from sesame.measurement.daemon.node import Node
from sesame.measurement.daemon.settings import (
    Settings,
    check,
    destination_named,
    destination_of,
)
from sesame.measurement.daemon.undelivered import BOOT, keep, kept
from sesame.measurement.readings import Reading
from sesame.settings import setting
from sesame.web.server.tokens import read_token

SEGMENT_SECONDS = 600.0


class Service:
    """Call `begin` in the event loop, `end` at the end.

    All functions must be called in the thread of the event loop: the probes are not thread-safe.
    """

    def __init__(
        self,
        node: Node,
        settings: Settings,
        say: Callable[[str], None],
        read: Callable[[], Settings] | None = None,
        take_events: Callable[[], None] = lambda: None,
        undelivered: Path | None = None,
    ) -> None:
        """`read`: reads the settings file again. `take_events`: moves all events that wait in the
        kernel to the node's stream. `undelivered`: the file of readings of an earlier start."""
        self.node, self.settings, self.say, self._read = node, settings, say, read
        self._configured = settings  # by file and options, without changes by requests
        self._take_events = take_events
        self._undelivered = undelivered
        # Items that wait because there is no destination.
        self._waiting = kept(undelivered, node.offset, say) if undelivered is not None else []
        self.delivery: Delivery | None = None
        self._loop: asyncio.AbstractEventLoop | None = None
        self._timer: asyncio.TimerHandle | None = None
        self.apply(settings)

    # ---- Settings ----

    def apply(self, settings: Settings) -> None:
        """Applies all settings; raises InputError and applies none if one is invalid. Points that
        the kernel refuses are reported."""
        check(settings)
        self.node.catch_up()
        wanted = sorted(
            settings.levels.items(), key=lambda one: one[0].count(".") - (one[0] == "all")
        )
        for name, _ in wanted:
            self.node.places(*split_name(name))
        for name, limits in settings.size_groups.items():
            self.node.check_size_groups(name, tuple(limits))
        if self.delivery is None or destination_of(self.settings) != destination_of(settings):
            self._redirect(settings)
        for name, level in wanted:
            for point, reason in self.node.set_level(level, *split_name(name)).items():
                self.say(f"{point} is left out: {reason}")
        for name, limits in settings.size_groups.items():
            self.set_size_groups(name, tuple(limits))
        self.node.idle.due_ns += round(1e9 * (settings.interval - self.settings.interval))
        self.settings = settings
        self.node.governor.set_interval(settings.interval)
        self._schedule()

    def change(self, destination: str | None = None, **changes: Any) -> None:
        """Changes settings as a request may. `destination`: a name (destination_named)."""
        if destination is not None:
            changes |= destination_named(destination, self._configured)
        self.apply(dataclasses.replace(self.settings, levels={}, size_groups={}, **changes))

    def set_size_groups(self, subsystem: str, limits: tuple[int, ...]) -> None:
        self.node.check_size_groups(subsystem, limits)
        self.read()
        self.node.set_size_groups(subsystem, limits)

    def reload(self) -> None:
        """Reads the settings file again. Invalid settings are reported and change nothing."""
        if self._read is None:
            self.say("there is no settings file to reload")
            return
        try:
            settings = self._read()
            self.apply(settings)
            self._configured = settings
        except SesameError as error:
            self.say(f"settings stay as they were: {error}")
        else:
            self.say("settings: read again")

    def _redirect(self, settings: Settings) -> None:
        sink = open_sink(settings, self.say)  # may fail, so before anything is changed
        if self.delivery is not None:
            self.read()  # counts until now belong to the old destination
        sent = None
        if self.delivery is not None:
            self._waiting, sent = self.delivery.close(), self.delivery.sent
            self.node.dropped += self.delivery.dropped
        self.delivery = None
        if sink is not None:
            self.delivery = Delivery(sink, self.say, self.node.stream, sent=sent)
            self.delivery.offer(self._waiting)
            self._waiting = []

    # ---- Reading ----

    def begin(self) -> None:
        """Starts reading at intervals; needs a running event loop."""
        self._loop = asyncio.get_running_loop()
        self._loop.add_reader(self.node.idle.fileno(), self._after_idle)
        self.node.idle.due_ns = time.monotonic_ns() + self._interval_ns
        self._schedule()

    @property
    def _interval_ns(self) -> int:
        return round(1e9 * self.settings.interval)

    def _schedule(self) -> None:
        """Schedules the next reading. A reading that is more than an interval late is made now, and
        only once."""
        if self._loop is None:
            return
        self._cancel()
        now_ns, idle = time.monotonic_ns(), self.node.idle
        if now_ns - idle.due_ns > self._interval_ns:
            idle.due_ns = now_ns
        self._timer = self._loop.call_later(max(1e-9 * (idle.due_ns - now_ns), 0.0), self._tick)

    def _cancel(self) -> None:
        if self._timer is not None:
            self._timer.cancel()

    def _tick(self) -> None:
        self.node.idle.due_ns += self._interval_ns
        self._schedule()  # first, so that there is a next reading even if this one fails
        self.read()
        self.node.governor.begin()  # only here: a reading on request gives no new budget
        if self.node.begin_idle(self._interval_ns, self.settings.batch - 1):
            self._cancel()

    def _after_idle(self) -> None:
        """Called when the idle period has ended: it was full, an interval cost too much, or a
        request ended it."""
        self.node.idle.acknowledge()
        self.node.catch_up()
        if self.node.idle.due_ns <= time.monotonic_ns():
            self._tick()
        else:
            self._schedule()

    def read(self) -> Reading:
        """Ends the interval; returns its reading, which is also offered to the delivery."""
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
            self._loop.remove_reader(self.node.idle.fileno())
        self.node.idle.close()
        if self.delivery is not None:
            self._waiting = self.delivery.close()
            readings = sum(isinstance(one, Reading) for one in self._waiting)
            events = self.node.stream.seen - self.delivery.sent
            if events:
                self._waiting.append(self.node.stream.account(self.delivery.sent))
            if self._waiting:
                self.say(
                    f"{readings} readings and {events} events could not be delivered to "
                    f"{self.settings.destination}; the next start sends the readings and "
                    "reports the events as discarded"
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
            "boot": boot(),
            "interval": self.settings.interval,
            "batch": self.settings.batch,
            "destination": self.settings.destination,
            "destinations": list(self._configured.destinations),
            "delivery": self.delivery.describe() if self.delivery is not None else None,
            "events": {"seen": presented, "lost": lost},
            "subsystems": self.node.describe(),
        }


def boot() -> dict[str, Any]:
    """The id of the machine's boot, and when it was, in s since 1970."""
    since = re.search(r"^btime (\d+)", Path("/proc/stat").read_text(), re.MULTILINE)
    return {"id": BOOT.read_text().strip(), "time_s": int(since[1]) if since else 0}


def split_name(name: str) -> tuple[str | None, str | None]:
    """Splits `all`, a subsystem, or subsystem.point into subsystem and point; None means all."""
    if name == "all":
        return None, None
    subsystem, _, point = name.partition(".")
    return subsystem, point or None


def open_sink(settings: Settings, say: Callable[[str], None]) -> Sink | None:
    if not settings.destination:
        return None
    if "://" not in settings.destination:
        from sesame.measurement.collector.store import Store  # takes 20 MB of memory

        store = Store(Path(settings.destination), SEGMENT_SECONDS, say)
        return StoreSink(store)
    if not settings.destination_token_file and not settings.destination_certificate:
        raise InputError(
            f"destination: {settings.destination} needs a token of the collector, or a certificate",
            hint=f"give {setting('destination_token_file', 'FILE')}; `sesame token add NODE --role "
            "node --collector` on the collector's machine makes one",
        )
    file = settings.destination_token_file
    return HttpSink(
        settings.destination,
        read_token(Path(file)) if file else "",
        settings.destination_ca,
        settings.destination_certificate,
        settings.destination_key,
    )
