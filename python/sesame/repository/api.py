"""The HTTP API under /api/v1, described by /api/v1/openapi.json."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import FastAPI, Path, Query
from fastapi.exceptions import RequestValidationError
from pydantic import BaseModel
from sqlalchemy import func, select
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import JSONResponse, StreamingResponse

import sesame
from sesame.errors import InputError, OutputError, SesameError
from sesame.repository import parts
from sesame.repository.store import LibraryItem, Repository, Version, schema
from sesame.repository.store.files import CHUNK
from sesame.repository.store.things import LARGEST_NUMBER

MOST_SHOWN = 300  # characters of an error
Identifier = Annotated[str, Path(pattern="^[0-9a-z]{8}$")]
Number = Annotated[int, Path(ge=1, le=LARGEST_NUMBER)]


class ThingAnswer(BaseModel):
    id: str
    library: str
    title: str
    description: str
    licence: str
    visibility: str
    state: str
    owner: str
    created: str
    address: str


class ThingsAnswer(BaseModel):
    total: int
    things: list[ThingAnswer]


class FileAnswer(BaseModel):
    path: str
    sha256: str
    bytes: int


class VersionAnswer(BaseModel):
    thing: str
    number: int
    created: str
    content_hash: str
    size: int
    note: str
    info: dict[str, Any]
    files: list[FileAnswer]


def make_api(repository: Repository, title: str) -> FastAPI:
    app = FastAPI(title=title, version=sesame.__version__, docs_url=None, redoc_url=None)
    for kind in (SesameError, HTTPException, RequestValidationError):
        app.add_exception_handler(kind, _refused)
    _add_things(app, repository)
    _add_versions(app, repository)
    for router in parts.apis(repository):
        app.include_router(router)
    return app


def status_of(error: SesameError) -> int:
    """The HTTP status of an error; its class may name one."""
    by_kind = (
        400 if isinstance(error, InputError) else 507 if isinstance(error, OutputError) else 500
    )
    return int(getattr(error, "status", by_kind))


def _refused(_: Request, error: Exception) -> JSONResponse:
    """All errors are JSON with `error` and `hint`."""
    if isinstance(error, SesameError):
        return JSONResponse({"error": error.message, "hint": error.hint}, status_of(error))
    if isinstance(error, RequestValidationError):
        first = error.errors()[0]
        place = ".".join(str(one) for one in first["loc"])
        text = f"{place}: {first['msg']}".encode("ascii", "replace").decode()[:MOST_SHOWN]
        return JSONResponse({"error": text, "hint": None}, 422)
    assert isinstance(error, HTTPException)
    text = "there is no such thing" if error.detail == "Not Found" else str(error.detail)
    return JSONResponse({"error": text, "hint": None}, error.status_code, error.headers)


def readable_or_404(repository: Repository, request: Request, identifier: str) -> LibraryItem:
    """The thing, for pages and the API. Raises HTTPException 404 if there is none that the reader
    may read."""
    thing = repository.readable(request.state.reader, identifier)
    if thing is None:
        raise HTTPException(404)
    return thing


def version_or_404(
    repository: Repository,
    request: Request,
    identifier: str,
    number: int | None = None,
    *,
    library: str | None = None,
) -> tuple[LibraryItem, Version]:
    """A thing and its version, the newest without a number. Raises HTTPException 404 if there is
    none that the reader may read, or the thing is of another `library`."""
    thing = readable_or_404(repository, request, identifier)
    with repository.connection() as connection:
        version = repository.things.version(connection, identifier, number)
    if version is None or library not in (None, thing.library):
        raise HTTPException(404)
    return thing, version


def _add_things(app: FastAPI, repository: Repository) -> None:
    @app.get("/things")
    def list_things(
        request: Request,
        library: Annotated[str | None, Query(max_length=16)] = None,
        first: Annotated[int, Query(ge=0, le=1_000_000_000)] = 0,
        most: Annotated[int, Query(ge=1, le=1000)] = 100,
    ) -> ThingsAnswer:
        """The things that you may see, the newest first."""
        where = repository.visible_to(request.state.reader)
        if library is not None:
            where = where & (schema.thing.c.library == library)
        with repository.connection() as connection:
            total = connection.scalar(select(func.count()).select_from(schema.thing).where(where))
            found = repository.things.find(connection, where, most, first)
        answers = [_thing_answer(repository, one) for one in found]
        return ThingsAnswer(total=total or 0, things=answers)

    @app.get("/things/{thing}")
    def show_thing(request: Request, thing: Identifier) -> ThingAnswer:
        """A thing of any library."""
        return _thing_answer(repository, readable_or_404(repository, request, thing))


def _add_versions(app: FastAPI, repository: Repository) -> None:
    @app.get("/things/{thing}/versions/{number}")
    def show_version(request: Request, thing: Identifier, number: Number) -> VersionAnswer:
        """A version with its info.json and the list of its files."""
        _, version = version_or_404(repository, request, thing, number)
        return _version_answer(repository, version)

    @app.get("/things/{thing}/newest")
    def show_newest(request: Request, thing: Identifier) -> VersionAnswer:
        """The newest version with its info.json and the list of its files."""
        _, version = version_or_404(repository, request, thing)
        return _version_answer(repository, version)

    @app.get(
        "/things/{thing}/versions/{number}/files/{path:path}", response_class=StreamingResponse
    )
    def get_file(
        request: Request, thing: Identifier, number: Number, path: str
    ) -> StreamingResponse:
        """The content of a file."""
        _, version = version_or_404(repository, request, thing, number)
        with repository.connection() as connection:
            files = repository.things.files(connection, version)
        one = next((one for one in files if one.path == path), None)
        if one is None:
            raise HTTPException(404)
        stream = repository.files.open(one.sha256)
        headers = {"content-length": str(one.bytes), "content-disposition": "attachment"}
        return StreamingResponse(
            iter(lambda: stream.read(CHUNK), b""),
            media_type="application/octet-stream",
            headers=headers,
        )


def _thing_answer(repository: Repository, thing: LibraryItem) -> ThingAnswer:
    return ThingAnswer(
        id=thing.id,
        library=thing.library,
        title=thing.title,
        description=thing.description,
        licence=thing.licence,
        visibility=thing.visibility,
        state=thing.state,
        owner=repository.account_name(thing.owner),
        created=thing.created.isoformat(),
        address=thing.address,
    )


def _version_answer(repository: Repository, version: Version) -> VersionAnswer:
    with repository.connection() as connection:
        files = repository.things.files(connection, version)
    return VersionAnswer(
        thing=version.thing,
        number=version.number,
        created=version.created.isoformat(),
        content_hash=version.content_hash,
        size=version.size,
        note=version.note,
        info=dict(version.info),
        files=[FileAnswer(**vars(one)) for one in files],
    )
