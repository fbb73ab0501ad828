"""The start page, and the home pages of things."""

from __future__ import annotations

from typing import Any

from sqlalchemy import func, select
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from sesame.repository import parts
from sesame.repository.page import page
from sesame.repository.store import Repository, Thing, Version, schema
from sesame.repository.store.things import PAGES

MOST = 50  # things on a page


def routes(repository: Repository) -> list[Route]:
    def start(request: Request) -> Response:
        return _start(repository, request)

    def home(request: Request) -> Response:
        return _home(repository, request)

    found = [Route("/", start)]
    for letter in sorted(set(PAGES.values())):
        found.append(Route(f"/{letter}/{{thing}}", home))
        found.append(Route(f"/{letter}/{{thing}}/v/{{number:int}}", home))
    return found


def _start(repository: Repository, request: Request) -> Response:
    library = request.query_params.get("library", "data")
    if library not in schema.LIBRARIES:
        raise HTTPException(404)
    first = _number(request.query_params.get("first", "0"))
    visible = repository.visible_to(request.state.reader)
    columns = schema.thing.c
    with repository.connection() as connection:
        counted = select(columns.library, func.count()).where(visible).group_by(columns.library)
        counts = {row[0]: row[1] for row in connection.execute(counted)}
        where = visible & (columns.library == library)
        things = repository.things.find(connection, where, MOST, first)
    return page(
        request,
        "start.html",
        library=library,
        counts={name: counts.get(name, 0) for name in schema.LIBRARIES},
        things=things,
        first=first,
        most=MOST,
    )


def _number(text: str) -> int:
    if not text.isdigit() or len(text) > 9:
        raise HTTPException(400, "expected a number")
    return int(text)


def _home(repository: Repository, request: Request) -> Response:
    reader = request.state.reader
    thing = repository.readable(reader, request.path_params["thing"])
    letter = request.url.path.split("/")[1]
    if thing is None or PAGES[thing.library] != letter:
        raise HTTPException(404)
    with repository.connection() as connection:
        versions = repository.things.versions(connection, thing.id)
    number = request.path_params.get("number")
    version = next((one for one in versions if number in (None, one.number)), None)
    if version is None:
        raise HTTPException(404)
    with repository.connection() as connection:
        files = repository.things.files(connection, version)
    return page(
        request,
        "home.html",
        thing=thing,
        shown=version,
        versions=versions,
        files=files,
        owner=repository.account_name(thing.owner),
        record_types=_record_types(version),
        links=parts.links(thing),
        panels=parts.panels(repository, thing, reader),
        facts=_facts(thing, version),
    )


def _record_types(version: Version) -> list[dict[str, Any]]:
    types = version.info.get("record_types") or {}
    return [
        {"name": name, "rows": one.get("rows", 0), "meaning": one.get("meaning", "")}
        for name, one in types.items()
    ]


def _facts(thing: Thing, version: Version) -> list[tuple[str, str]]:
    info = version.info
    instrument = info.get("instrument") or {}
    pairs = [
        ("kind", info.get("kind")),
        ("instrument", f"{instrument.get('name', '')} {instrument.get('version', '')}".strip()),
        ("target system", (info.get("target_system") or {}).get("name")),
        ("host", (info.get("host") or {}).get("name")),
        ("ranks", info.get("ranks")),
        ("command", " ".join(info.get("command") or [])),
        ("started", info.get("begin_time")),
        ("licence", thing.licence),
        ("size", f"{version.size:,} bytes"),
    ]
    return [(name, str(value)) for name, value in pairs if value not in (None, "")]
