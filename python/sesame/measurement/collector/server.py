"""The collector's HTTP interface."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import Any

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.responses import Response

from sesame.measurement.bounds import MOST_BODY_BYTES
from sesame.measurement.collector.intake import Intake
from sesame.measurement.collector.metrics import as_text
from sesame.measurement.collector.relay import Relay
from sesame.measurement.collector.store import Store
from sesame.web.server.access import Access, Rule, Tokens, client_of
from sesame.web.server.audit import AuditLog
from sesame.web.server.limits import Limits
from sesame.web.server.operations import Body, Given, Operations
from sesame.web.server.roles import ANY, Client, Permission
from sesame.web.server.serve import make_app

# A daemon sends at most 64 readings or a block of 2.4 MB at once, a relay 1 MB. All nodes may
# return at once; refusing a request costs more than serving it, since its connection is closed.
# A client sends one request after the other. With more at the same time, one node could fill the
# memory.
LIMITS = Limits(
    body_bytes=MOST_BODY_BYTES,
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
LINES = {"type": "string", "format": "binary", "description": "docs/formats/control.md"}
NDJSON, BYTES = "application/x-ndjson", "application/octet-stream"
METRICS = "text/plain; version=0.0.4; charset=utf-8"


def make_collector_app(
    store: Store,
    intake: Intake,
    tokens: Sequence[Tokens],
    audit: AuditLog | None = None,
    relay: Relay | None = None,
) -> Starlette:
    operations = Operations()

    async def take(given: Given) -> dict[str, Any]:
        client = client_of(given.request)
        done = intake.take(given.body, client.name, _check_of(client))
        is_new = done.repeated < done.readings + done.blocks
        return {"new": is_new, "refused": done.refused}

    @operations.add("POST", "/v1/readings", body=Body(LINES, NDJSON), is_routine=True)
    async def readings(given: Given) -> dict[str, Any]:
        """Stores readings of a node, one on each line. Readings stored before are ignored. Wrong
        ones are set aside and counted in `refused`."""
        return await take(given)

    @operations.add("POST", "/v1/events", body=Body(LINES, BYTES), is_routine=True)
    async def events(given: Given) -> dict[str, Any]:
        """Stores blocks of events of a node. Blocks stored before are ignored. Wrong ones are set
        aside and counted in `refused`."""
        return await take(given)

    @operations.add("GET", "/v1/clock", is_routine=True)
    async def clock(_: Given) -> dict[str, int]:
        """The collector's time of day."""
        return {"time_ns": time.time_ns()}

    @operations.add("GET", "/metrics", media=METRICS)
    async def metrics(_: Given) -> Response:
        """The collector's state for Prometheus."""
        return Response(as_text(store, intake, relay), media_type=METRICS)

    return make_app("sesame collect", LIMITS, Access(tokens, RULES), operations, audit)


def _check_of(client: Client) -> Callable[[str], None]:
    """Raises an error unless the client may deliver readings of a node."""

    def check(node: str) -> None:
        if not client.may_write_as(node):
            raise HTTPException(403, f"{client.name} may not deliver readings of {node}")

    return check
