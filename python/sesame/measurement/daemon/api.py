"""The daemon's HTTP interface; `GET /openapi.json` describes it."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Any, Literal

from fastapi import APIRouter, Depends, FastAPI, HTTPException, Request, Response
from pydantic import BaseModel, Field

from sesame.errors import InputError
from sesame.measurement.daemon.metrics import as_text
from sesame.measurement.daemon.page import Page, add_page
from sesame.measurement.daemon.service import Service
from sesame.measurement.defaults import BEYOND_NS
from sesame.measurement.detail import Detail
from sesame.measurement.readings import Phase, Reading
from sesame.web.server.access import Access, Rule, Tokens, client_of, routine
from sesame.web.server.audit import AuditLog
from sesame.web.server.limits import Limits
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


class Level(BaseModel):
    level: Literal["off", "summary", "trace"]
    detail: Literal["count", "sampled", "duration"] = Field(
        "duration", description="level of detail"
    )


class Changes(BaseModel):
    """Settings to change; others stay as they are."""

    interval: float | None = Field(None, description="seconds from one reading to the next")
    batch: int | None = Field(
        None, description="readings that are made and delivered together while the node is idle"
    )
    destination: str | None = Field(
        None,
        description="a name of [destinations] in the settings file, the configured destination, "
        "or empty for none; administrators only",
    )


class SizeGroups(BaseModel):
    limits: list[int] = Field(description="upper limits of groups in bytes, ascending")


class PhaseGiven(BaseModel):
    name: str = Field(min_length=1, max_length=200, description="without control characters")
    begin_ns: int = Field(ge=0, lt=BEYOND_NS, description="of the node's monotonic clock")
    end_ns: int = Field(ge=0, lt=BEYOND_NS)
    pid: int = Field(ge=0, lt=2**32)


def make_daemon_app(
    service: Service,
    tokens: Sequence[Tokens],
    audit: AuditLog | None = None,
    limits: Limits = LIMITS,
    page: Page | None = None,
) -> FastAPI:
    # The page itself needs no token: it asks the user for it.
    app = make_app("sesamed", limits, Access(tokens, RULES, frozenset({"/"})), audit)
    routes = APIRouter(prefix="/v1")
    _add_switches(routes, service)
    _add_settings(routes, service)
    _add_readings(routes, service)
    app.include_router(routes)
    add_page(app, page)

    @app.get("/metrics", response_class=Response)
    async def metrics() -> Response:
        """Summaries for Prometheus."""
        return Response(as_text(service), media_type="text/plain; version=0.0.4; charset=utf-8")

    return app


def _add_switches(routes: APIRouter, service: Service) -> None:
    def switch(level: Level, subsystem: str | None, point: str | None) -> dict[str, Any]:
        detail = Detail[level.detail.upper()]
        refused = service.node.set_level(level.level, subsystem, point, detail)
        if subsystem is not None and len(refused) == len(service.node.places(subsystem, point)):
            raise InputError(next(iter(refused.values())))
        return {"refused": refused}

    @routes.put("/level")
    async def everything(level: Level) -> dict[str, Any]:
        """Sets all points; returns those that this kernel refused."""
        return switch(level, None, None)

    @routes.put("/subsystems/{subsystem}/level")
    async def one_subsystem(subsystem: str, level: Level) -> dict[str, Any]:
        """Sets the points of a subsystem."""
        return switch(level, subsystem, None)

    @routes.put("/subsystems/{subsystem}/points/{point}/level")
    async def one_point(subsystem: str, point: str, level: Level) -> dict[str, Any]:
        """Sets one point."""
        return switch(level, subsystem, point)


def _add_settings(routes: APIRouter, service: Service) -> None:
    @routes.get("/state")
    async def state() -> dict[str, Any]:
        """All subsystems and points, the settings, and the state of the delivery."""
        return service.describe()

    @routes.put("/settings")
    async def settings(changes: Changes, request: Request) -> dict[str, Any]:
        """Changes interval, batch or destination."""
        is_allowed = client_of(request).may(Permission.ADMINISTER)
        if changes.destination is not None and not is_allowed:
            raise HTTPException(403, "only an administrator may change the destination")
        service.change(**changes.model_dump(exclude_none=True))
        return service.describe()

    @routes.put("/subsystems/{subsystem}/size-groups")
    async def size_groups(subsystem: str, groups: SizeGroups) -> dict[str, Any]:
        """Ends the interval with a reading, then sets other size groups."""
        service.set_size_groups(subsystem, tuple(groups.limits))
        return {"size_groups": list(service.node.describe()[subsystem]["size_groups"])}

    @routes.post("/phases", status_code=201, dependencies=[Depends(routine)])
    async def phases(phase: PhaseGiven) -> dict[str, Any]:
        """Adds a phase of a program to the next reading."""
        if phase.end_ns < phase.begin_ns:
            raise InputError("end_ns: expected a time after begin_ns")
        service.node.add_phase(Phase(**phase.model_dump()))
        return {}


def _add_readings(routes: APIRouter, service: Service) -> None:
    @routes.post("/read", dependencies=[Depends(routine)])
    async def read_now() -> dict[str, Any]:
        """Ends the interval now; returns its reading, which also goes to the destination.

        To request only later data, give the returned `start` to `raw-readings` and `raw-events`,
        with `sequence` or `events` as `after`.
        """
        reading = service.read()
        return _readable(reading) | {"start": reading.start, "events": service.node.stream.seen}

    @routes.get("/readings")
    async def readings(after: int = -1) -> dict[str, Any]:
        """The readings kept in memory with a number above `after`."""
        kept = [_readable(reading) for reading in service.node.history if reading.sequence > after]
        return {"node": service.node.name, "start": service.node.start, "readings": kept}

    @routes.get("/raw-readings")
    async def raw_readings(after: int = -1, start: str = "") -> Response:
        """The same readings as they are sent to a collector: a line of JSON for each.

        `start`: the start of the daemon to which `after` belongs. If the daemon was restarted since
        then, `after` is ignored.
        """
        if start not in ("", service.node.start):
            after = -1
        lines = [p.encode() for p in service.node.history if p.sequence > after]
        return Response(b"".join(lines), media_type="application/x-ndjson")

    @routes.get("/raw-events")
    async def raw_events(after: int = -1, start: str = "") -> Response:
        """The next blocks of events, of those kept in memory, that end after event `after`."""
        if start not in ("", service.node.start):
            after = -1
        blocks = service.node.stream.after(after, EVENTS_AT_ONCE)
        text = b"".join(block.encode() for block in blocks)
        return Response(text, media_type="application/octet-stream")

    @routes.get("/subsystems/{subsystem}/points/{point}/total")
    async def total(subsystem: str, point: str) -> dict[str, int]:
        """The counts of a point since the daemon started."""
        return service.node.total(subsystem, point)

    @routes.get("/clock")
    async def clock() -> dict[str, int]:
        """The node's monotonic clock."""
        return {"time_ns": time.monotonic_ns()}


def _readable(reading: Reading) -> dict[str, Any]:
    return {
        "sequence": reading.sequence,
        "begin_ns": reading.begin_ns,
        "end_ns": reading.end_ns,
        "cpu_ns": reading.cpu_ns,
        "costs": {name: vars(spent) for name, spent in reading.costs.items()},
        "summaries": list(reading.rows()),
    }
