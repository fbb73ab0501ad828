"""The page of a play-back and its data: `/d/ID/play`, `/d/ID/play/index.json`, …

`v` in the address is a version, the newest without it; `with` a second data set beside the first.
"""

from __future__ import annotations

import json
import tempfile
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

from markupsafe import Markup
from sqlalchemy import select
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import FileResponse, PlainTextResponse, Response
from starlette.routing import Route

from sesame.datasets import DataSet
from sesame.errors import InputError
from sesame.repository.api import version_or_404
from sesame.repository.page import asset_address, page
from sesame.repository.playback.prepare import INDEX, PLAYED_TABLES, field_of_column, prepare
from sesame.repository.store import LibraryItem, Reader, Repository, schema

TEMPLATES = Path(__file__).parent / "templates"
SCRIPTS = ("playback_model.js", "playback_drawing.js", "playback_page.js")
DIRECTORY = "playback"  # below the derived files of a version
COLUMNS_KEPT = 16  # encoded fields of records, 2 MB each
MOST_OTHERS = 30  # data sets that are offered to be put beside one
NOTHING = "This data set has no records of what was done where and when."


@dataclass(frozen=True)
class Played:
    """A version of a data set that can be played."""

    thing: LibraryItem
    number: int
    data_set: Path
    prepared: Path

    @property
    def title(self) -> str:
        return self.thing.title

    @property
    def home(self) -> str:
        return self.thing.address

    @property
    def address(self) -> str:
        return f"{self.home}/play/{self.number}/"


def routes(repository: Repository) -> list[Route]:
    def show(request: Request) -> Response:
        return _show(repository, request)

    def file(request: Request) -> Response:
        number = request.path_params["number"]
        played = _played(repository, request, request.path_params["thing"], number)
        path = played.prepared / Path(request.path_params["name"]).name
        if path.suffix not in (".json", ".bin") or not path.is_file():
            raise HTTPException(404)
        kind = "application/json" if path.suffix == ".json" else "application/octet-stream"
        return FileResponse(path, media_type=kind, headers={"cache-control": "private, no-cache"})

    def column(request: Request) -> Response:
        number = request.path_params["number"]
        played = _played(repository, request, request.path_params["thing"], number)
        return _column(played, request.query_params.get("key", ""))

    home = "/d/{thing}/play"
    return [
        Route(home, show),
        Route(f"{home}/{{number:int}}/column", column),
        Route(f"{home}/{{number:int}}/{{name}}", file),
    ]


def links(thing: LibraryItem) -> list[tuple[str, str]]:
    """For the home page. Whether there is something to play is known when it is opened."""
    return [("Play back", f"{thing.address}/play")] if thing.library == "data" else []


def panel(repository: Repository, thing: LibraryItem, reader: Reader | None) -> Markup:
    """Nothing but the link."""
    return Markup("")


def _show(repository: Repository, request: Request) -> Response:
    query = request.query_params
    text = query.get("v", "")
    number = int(text) if text.isdecimal() and len(text) < 10 else None
    runs = [_played(repository, request, request.path_params["thing"], number)]
    if "with" in query:
        runs.append(_played(repository, request, query["with"], None))
    described = [{"title": run.title, "address": run.address} for run in runs]
    return page(
        request,
        "play.html",
        directory=TEMPLATES,
        scripts=SCRIPTS,
        style=asset_address("playback.css"),
        runs=runs,
        described=json.dumps(described),
        others=_others(repository, request, [run.thing.id for run in runs]),
    )


def _played(
    repository: Repository, request: Request, identifier: str, number: int | None
) -> Played:
    """What the reader may play; its files are made at the first look. Raises HTTPException."""
    thing, version = version_or_404(repository, request, identifier, number, library="data")
    data_set = repository.directory(version)
    played = Played(thing, version.number, data_set, repository.derived(version) / DIRECTORY)
    try:
        if not (played.prepared / INDEX).is_file() and not _prepare_whole(played):
            raise HTTPException(404, NOTHING)
    except InputError as error:
        raise HTTPException(422, error.reason) from error
    return played


def _prepare_whole(played: Played) -> bool:
    """Prepares beside the directory and moves it there, so that it is never seen half-made."""
    with tempfile.TemporaryDirectory(dir=played.prepared.parent) as scratch:
        made = Path(scratch) / "made"
        if not prepare(played.data_set, made):
            return False
        try:
            made.rename(played.prepared)
        except OSError:
            if not (played.prepared / INDEX).is_file():  # else another request made it
                raise
    return True


def _others(repository: Repository, request: Request, shown: list[str]) -> list[dict[str, str]]:
    """The newest data sets that can be put beside the first."""
    things, types = schema.thing.c, schema.record_type.c
    played = select(types.thing).where(types.name.in_(PLAYED_TABLES), types.rows > 0)
    where = repository.visible_to(request.state.reader) & things.id.in_(played)
    with repository.connection() as connection:
        found = repository.things.find(
            connection, where & (things.library == "data") & ~things.id.in_(shown), MOST_OTHERS
        )
    here = request.url.path
    return [{"title": one.title, "address": f"{here}?with={one.id}"} for one in found]


def _column(played: Played, key: str) -> Response:
    try:
        described, content = _encoded(played.data_set, key)
    except InputError as error:
        return PlainTextResponse(error.reason, status_code=404)
    headers = {"Sesame-Field": described, "cache-control": "private, no-cache"}
    return Response(content, media_type="application/octet-stream", headers=headers)


@lru_cache(COLUMNS_KEPT)
def _encoded(path: Path, key: str) -> tuple[str, bytes]:
    field = field_of_column(DataSet(path), key)
    return json.dumps(field.described()), field.encoded()
