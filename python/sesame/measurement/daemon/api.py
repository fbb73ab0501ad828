"""The daemon's HTTP interface; `GET /openapi.json` describes it."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Any

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.responses import Response

from sesame.errors import InputError
from sesame.measurement.daemon.metrics import as_text
from sesame.measurement.daemon.page import Page, page_route
from sesame.measurement.daemon.service import Service
from sesame.measurement.defaults import BEYOND_NS
from sesame.measurement.detail import Detail
from sesame.measurement.readings import Phase, Reading
from sesame.web.server.access import Access, Rule, Tokens, client_of
from sesame.web.server.audit import AuditLog
from sesame.web.server.limits import Limits
from sesame.web.server.operations import Given, Operations, record
from sesame.web.server.roles import ANY, Permission
from sesame.web.server.serve import make_app

EVENTS_AT_ONCE = 1 << 17
# Requests of libsesame. The destination needs ADMINISTER, which its handler checks.
RULES = (
    Rule("POST", "/v1/phases", Permission.PHASE),
    Rule("GET", "/v1/clock", ANY),
    Rule("GET", "/v1/subsystems/[^/]+/points/[^/]+/total", Permission.READ | Permission.PHASE),
)


LIMITS = Limits()
LEVEL = record(
    ("level",),
    level={"enum": ["off", "summary", "trace"]},
    detail={
        "enum": ["count", "sampled", "duration"],
        "default": "duration",
        "description": "level of detail",
    },
)
# Settings to change; others stay as they are.
CHANGES = record(
    interval={
        "type": ["number", "null"],
        "description": "seconds from one reading to the next",
    },
    batch={
        "type": ["integer", "null"],
        "description": "readings that are made and delivered together while the node is idle",
    },
    destination={
        "type": ["string", "null"],
        "description": "a name of [destinations] in the settings file, the configured destination, "
        "or empty for none; administrators only",
    },
)
SIZE_GROUPS = record(
    ("limits",),
    limits={
        "type": "array",
        "items": {"type": "integer"},
        "description": "upper limits of groups in bytes, ascending",
    },
)
TIME = {"type": "integer", "minimum": 0, "maximum": BEYOND_NS - 1}
PHASE = record(
    ("name", "begin_ns", "end_ns", "pid"),
    name={
        "type": "string",
        "minLength": 1,
        "maxLength": 200,
        "description": "without control characters",
    },
    begin_ns={**TIME, "description": "of the node's monotonic clock"},
    end_ns=TIME,
    pid={"type": "integer", "minimum": 0, "maximum": 2**32 - 1},
)
AFTER = {"type": "integer", "default": -1}
START = {"type": "string", "default": ""}
METRICS = "text/plain; version=0.0.4; charset=utf-8"
LINES, BYTES = "application/x-ndjson", "application/octet-stream"


def make_daemon_app(
    service: Service,
    tokens: Sequence[Tokens],
    audit: AuditLog | None = None,
    limits: Limits = LIMITS,
    page: Page | None = None,
) -> Starlette:
    operations = Operations()
    _add_switches(operations, service)
    _add_settings(operations, service)
    _add_readings(operations, service)
    _add_raw(operations, service)

    @operations.add("GET", "/metrics", media=METRICS)
    async def metrics(_: Given) -> Response:
        """Summaries for Prometheus."""
        return Response(as_text(service), media_type=METRICS)

    # The page itself needs no token: it asks the user for it.
    access = Access(tokens, RULES, frozenset({"/"}))
    return make_app("sesamed", limits, access, operations, audit, [page_route(page)])


def _add_switches(operations: Operations, service: Service) -> None:
    def switch(given: Given) -> dict[str, Any]:
        subsystem, point = given.path.get("subsystem"), given.path.get("point")
        detail = Detail[given.body["detail"].upper()]
        refused = service.node.set_level(given.body["level"], subsystem, point, detail)
        if subsystem is not None and len(refused) == len(service.node.places(subsystem, point)):
            raise InputError(next(iter(refused.values())))
        return {"refused": refused}

    @operations.add("PUT", "/v1/level", body=LEVEL)
    async def everything(given: Given) -> dict[str, Any]:
        """Sets all points; returns those that this kernel refused."""
        return switch(given)

    @operations.add("PUT", "/v1/subsystems/{subsystem}/level", body=LEVEL)
    async def one_subsystem(given: Given) -> dict[str, Any]:
        """Sets the points of a subsystem."""
        return switch(given)

    @operations.add("PUT", "/v1/subsystems/{subsystem}/points/{point}/level", body=LEVEL)
    async def one_point(given: Given) -> dict[str, Any]:
        """Sets one point."""
        return switch(given)


def _add_settings(operations: Operations, service: Service) -> None:
    @operations.add("GET", "/v1/state")
    async def state(_: Given) -> dict[str, Any]:
        """All subsystems and points, the settings, and the state of the delivery."""
        return service.describe()

    @operations.add("PUT", "/v1/settings", body=CHANGES)
    async def settings(given: Given) -> dict[str, Any]:
        """Changes interval, batch or destination."""
        changes = {name: value for name, value in given.body.items() if value is not None}
        if "destination" in changes and not client_of(given.request).may(Permission.ADMINISTER):
            raise HTTPException(403, "only an administrator may change the destination")
        service.change(**changes)
        return service.describe()

    @operations.add("PUT", "/v1/subsystems/{subsystem}/size-groups", body=SIZE_GROUPS)
    async def size_groups(given: Given) -> dict[str, Any]:
        """Ends the interval with a reading, then sets other size groups."""
        subsystem = given.path["subsystem"]
        service.set_size_groups(subsystem, tuple(given.body["limits"]))
        return {"size_groups": list(service.node.describe()[subsystem]["size_groups"])}

    @operations.add("POST", "/v1/phases", body=PHASE, status=201, is_routine=True)
    async def phases(given: Given) -> dict[str, Any]:
        """Adds a phase of a program to the next reading."""
        phase = Phase(**given.body)
        if phase.end_ns < phase.begin_ns:
            raise InputError("end_ns: expected a time after begin_ns")
        service.node.add_phase(phase)
        return {}


def _add_readings(operations: Operations, service: Service) -> None:
    @operations.add("POST", "/v1/read", is_routine=True)
    async def read_now(_: Given) -> dict[str, Any]:
        """Ends the interval now; returns its reading, which also goes to the destination.

        To request only later data, give the returned `start` to `raw-readings` and `raw-events`,
        with `sequence` or `events` as `after`.
        """
        reading = service.read()
        return _readable(reading) | {"start": reading.start, "events": service.node.stream.seen}

    @operations.add("GET", "/v1/readings", query={"after": AFTER})
    async def readings(given: Given) -> dict[str, Any]:
        """The readings kept in memory with a number above `after`."""
        after = given.query["after"]
        kept = [_readable(reading) for reading in service.node.history if reading.sequence > after]
        return {"node": service.node.name, "start": service.node.start, "readings": kept}

    @operations.add("GET", "/v1/subsystems/{subsystem}/points/{point}/total")
    async def total(given: Given) -> dict[str, int]:
        """The counts of a point since the daemon started."""
        return service.node.total(given.path["subsystem"], given.path["point"])

    @operations.add("GET", "/v1/clock")
    async def clock(_: Given) -> dict[str, int]:
        """The node's monotonic clock."""
        return {"time_ns": time.monotonic_ns()}


def _add_raw(operations: Operations, service: Service) -> None:
    query = {"after": AFTER, "start": START}

    def after_of(given: Given) -> int:
        is_of_this_start = given.query["start"] in ("", service.node.start)
        return given.query["after"] if is_of_this_start else -1

    @operations.add("GET", "/v1/raw-readings", query=query, media=LINES)
    async def raw_readings(given: Given) -> Response:
        """The same readings as they are sent to a collector: a line of JSON for each.

        `start`: the start of the daemon to which `after` belongs. If the daemon was restarted since
        then, `after` is ignored.
        """
        after = after_of(given)
        lines = [p.encode() for p in service.node.history if p.sequence > after]
        return Response(b"".join(lines), media_type=LINES)

    @operations.add("GET", "/v1/raw-events", query=query, media=BYTES)
    async def raw_events(given: Given) -> Response:
        """The next blocks of events, of those kept in memory, that end after event `after`."""
        blocks = service.node.stream.after(after_of(given), EVENTS_AT_ONCE)
        return Response(b"".join(block.encode() for block in blocks), media_type=BYTES)


def _readable(reading: Reading) -> dict[str, Any]:
    return {
        "sequence": reading.sequence,
        "begin_ns": reading.begin_ns,
        "end_ns": reading.end_ns,
        "cpu_ns": reading.cpu_ns,
        "costs": {name: vars(spent) for name, spent in reading.costs.items()},
        "summaries": list(reading.rows()),
    }
