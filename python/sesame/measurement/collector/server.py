"""The collector's HTTP interface."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import Any

from fastapi import APIRouter, Depends, FastAPI, HTTPException, Request, Response
from starlette.requests import ClientDisconnect

from sesame.measurement.collector.intake import Intake
from sesame.measurement.collector.metrics import as_text
from sesame.measurement.collector.relay import Relay
from sesame.measurement.collector.store import Store
from sesame.web.server.access import Access, Rule, Tokens, client_of, routine
from sesame.web.server.audit import AuditLog
from sesame.web.server.limits import Limits
from sesame.web.server.roles import ANY, Client, Permission
from sesame.web.server.serve import make_app

# A daemon sends at most 64 readings or a block of 2.4 MB at once, a relay 1 MB. All nodes may
# return at once; refusing a request costs more than serving it, since its connection is closed.
# A client sends one request after the other. With more at the same time, one node could fill the
# memory.
LIMITS = Limits(
    body_bytes=8 << 20,
    requests=1024,
    requests_of_client=8,
    connections=4096,
    unidentified=2048,
)

# Nodes deliver their own readings, relays those of all nodes.
RULES = (
    Rule("POST", "/v1/readings", Permission.DELIVER),
    Rule("POST", "/v1/events", Permission.DELIVER),
    Rule("GET", "/v1/clock", ANY),
)


def make_collector_app(
    store: Store,
    intake: Intake,
    tokens: Sequence[Tokens],
    audit: AuditLog | None = None,
    relay: Relay | None = None,
) -> FastAPI:
    app = make_app("sesame collect", LIMITS, Access(tokens, RULES), audit)
    routes = APIRouter(prefix="/v1", dependencies=[Depends(routine)])

    async def take(request: Request) -> dict[str, Any]:
        client = client_of(request)
        try:
            body = await request.body()
        except ClientDisconnect:
            raise HTTPException(400, "the request was cut off") from None
        done = intake.take(body, client.name, _check_of(client))
        is_new = done.repeated < done.readings + done.blocks
        return {"new": is_new, "refused": done.refused}

    @routes.post("/readings")
    async def readings(request: Request) -> dict[str, Any]:
        """Stores readings of a node, one on each line. Readings stored before are ignored. Wrong
        ones are set aside and counted in `refused`."""
        return await take(request)

    @routes.post("/events")
    async def events(request: Request) -> dict[str, Any]:
        """Stores blocks of events of a node. Blocks stored before are ignored. Wrong ones are set
        aside and counted in `refused`."""
        return await take(request)

    @routes.get("/clock")
    async def clock() -> dict[str, int]:
        """The collector's time of day."""
        return {"time_ns": time.time_ns()}

    app.include_router(routes)

    @app.get("/metrics", response_class=Response)
    async def metrics() -> Response:
        """The collector's state for Prometheus."""
        text = as_text(store, intake, relay)
        return Response(text, media_type="text/plain; version=0.0.4; charset=utf-8")

    return app


def _check_of(client: Client) -> Callable[[str], None]:
    """Raises an error unless the client may deliver readings of a node."""

    def check(node: str) -> None:
        if not client.may_write_as(node):
            raise HTTPException(403, f"{client.name} may not deliver readings of {node}")

    return check
