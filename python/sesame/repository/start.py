"""The start page: the libraries, the newest first."""

from __future__ import annotations

from sqlalchemy import func, select
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from sesame.repository.page import page
from sesame.repository.store import Repository, schema

MOST = 50  # things on a page
TITLES = {
    "data": "Data",
    "tool": "Tools",
    "model": "Models",
    "document": "Documents",
    "report": "Reports",
}


def routes(repository: Repository) -> list[Route]:
    def start(request: Request) -> Response:
        return _start(repository, request)

    return [Route("/", start)]


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
        titles=TITLES,
        counts=counts,
        things=things,
        first=first,
        most=MOST,
    )


def _number(text: str) -> int:
    if not text.isascii() or not text.isdigit() or len(text) > 9:
        raise HTTPException(400, "expected a number")
    return int(text)
