"""The page of quick looks and what it loads: `/d/ID/look?…`, `/d/ID/look/N/view.json?…`, pictures
and CSV. The parameters are those of a `View`, and `v`, the version."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from threading import Lock
from typing import Any
from urllib.parse import quote, urlencode

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response, StreamingResponse
from starlette.routing import Route

from sesame.errors import InputError
from sesame.repository.api import version_or_404
from sesame.repository.looks import picture
from sesame.repository.looks.asking import Asking
from sesame.repository.looks.described import Nodes, to_json
from sesame.repository.looks.levels import Levels, read_levels
from sesame.repository.looks.prepared import Prepared, read_prepared
from sesame.repository.looks.rates import usual_field
from sesame.repository.looks.scan import Selection
from sesame.repository.looks.shown import MOST_SMALL, Shown, array_of, pair_fields, show
from sesame.repository.looks.view import LEVEL, LOOKS, PAIR, RATE, RECORD, SHOWN, View, read_view
from sesame.repository.page import asset_address, page
from sesame.repository.store import LibraryItem, Repository, Version
from sesame.web.chart import packed_json

TEMPLATES = Path(__file__).parent / "templates"
SCRIPTS = ("uPlot.iife.min.js", "marks.js", "chart.js", "looks.js")
DIRECTORY, PLAYBACK = "looks", "playback"  # below the derived files of a version
KEPT = 16  # views shown last; each has some megabytes
MOST_FIELDS = 200
MORE = ("only", "bins", "begin", "end", "xmin", "xmax", "ymin", "ymax")  # settings shown if used
NOT_MADE = "The quick looks of this version could not be made, or are not made yet."


@dataclass(frozen=True)
class Looked:
    """A version of a data set, and what was made of it."""

    thing: LibraryItem
    version: Version
    tables: Mapping[str, Prepared]
    levels: Levels | None

    @property
    def home(self) -> str:
        return self.thing.address

    def address(self, view: View) -> str:
        return f"{self.home}/look?v={self.version.number}&{view.query()}"

    def part(self, name: str, view: View) -> str:
        return f"{self.home}/look/{self.version.number}/{name}?{view.query()}"


def links(thing: LibraryItem) -> list[tuple[str, str]]:
    return [("Quick looks", f"{thing.address}/look")] if thing.library == "data" else []


def analyses(thing: LibraryItem, record_type: str) -> list[tuple[str, str]]:
    if thing.library != "data":
        return []
    return [("quick look", f"{thing.address}/look?{urlencode({'type': record_type})}")]


def routes(repository: Repository) -> list[Route]:
    pages = _Pages(repository)
    home, part = "/d/{thing}/look", "/d/{thing}/look/{number:int}"
    return [
        Route(home, pages.page),
        Route(f"{part}/view.json", pages.data),
        Route(f"{part}/picture.svg", pages.svg),
        Route(f"{part}/picture.png", pages.png),
        Route(f"{part}/view.csv", pages.numbers),
        Route(f"{part}/records.csv", pages.records),
    ]


class _Pages:
    """Each answers a request in a thread of its own."""

    def __init__(self, repository: Repository) -> None:
        self._repository = repository
        self._asking = Asking()
        self._shown = lru_cache(KEPT)(self._show)
        self._made = Lock()
        self._being_made: dict[tuple[Any, ...], Lock] = {}

    def page(self, request: Request) -> Response:
        text = request.query_params.get("v", "")
        number = int(text) if text.isdecimal() and len(text) < 10 else None
        if text and number is None:
            raise InputError(f"v: expected the number of a version, got {text[:20]}")
        looked = self._looked(request, number)
        view = _complete(looked, read_view(request.query_params.multi_items()))
        address = looked.address(view)
        if f"{request.url.path}?{request.url.query}" != address:
            return RedirectResponse(address, 303)
        return page(
            request,
            "look.html",
            directory=TEMPLATES,
            scripts=SCRIPTS,
            style=asset_address("looks.css"),
            looked=looked,
            view=view,
            about=quote(address, safe=""),
            **_form(looked, view),
        )

    def data(self, request: Request) -> Response:
        """The charts of a view, as assets/looks.js draws them."""
        looked, view = self._view(request)
        content = packed_json(self._of(looked, view).packed())
        headers = {"cache-control": "private, no-cache"}
        return Response(content, media_type="application/json", headers=headers)

    def svg(self, request: Request) -> Response:
        looked, view = self._view(request)
        content = picture.svg(self._of(looked, view), looked.thing.title)
        return _attached(content, "image/svg+xml", f"{looked.thing.id}-{view.look}.svg")

    def png(self, request: Request) -> Response:
        looked, view = self._view(request)
        content = picture.png(self._of(looked, view), looked.thing.title)
        return _attached(content, "image/png", f"{looked.thing.id}-{view.look}.png")

    def numbers(self, request: Request) -> Response:
        looked, view = self._view(request)
        shown = self._of(looked, view)
        rows = _as_csv(shown.columns, shown.rows())
        headers = _headers(f"{looked.thing.id}-{view.look}.csv")
        return StreamingResponse(rows, media_type="text/csv", headers=headers)

    def records(self, request: Request) -> Response:
        """The selected records with the wanted fields (`field`; all if there is none)."""
        looked, view = self._view(request)
        table = _prepared(looked, view.type).table
        fields = request.query_params.getlist("field")[:MOST_FIELDS]
        stored = list(table.fields)
        names = [table.get(name, stored).name for name in fields]
        wanted = {
            "what": "rows",
            "table": to_json(table),
            "fields": names,
            "selection": vars(Selection.of_view(table, view)),
        }
        rows = self._asking.stream(self._repository.directory(looked.version), wanted)
        headers = _headers(f"{looked.thing.id}-{table.name}.csv")
        return StreamingResponse(rows, media_type="text/csv", headers=headers)

    def _view(self, request: Request) -> tuple[Looked, View]:
        looked = self._looked(request, request.path_params["number"])
        return looked, _complete(looked, read_view(request.query_params.multi_items()))

    def _looked(self, request: Request, number: int | None) -> Looked:
        """Raises HTTPException 404."""
        identifier = request.path_params["thing"]
        thing, version = version_or_404(
            self._repository, request, identifier, number, library="data"
        )
        derived = self._repository.derived(version)
        try:
            tables = read_prepared(derived / DIRECTORY)
        except FileNotFoundError:
            raise HTTPException(404, NOT_MADE) from None
        return Looked(thing, version, tables, read_levels(derived / PLAYBACK))

    def _of(self, looked: Looked, view: View) -> Shown:
        """Made once, also if several readers ask for it at the same time."""
        key = (looked.version.thing, looked.version.number, view)
        with self._made:
            mine = self._being_made.setdefault(key, Lock())
        try:
            with mine:
                return self._shown(*key)
        finally:
            with self._made:
                self._being_made.pop(key, None)

    def _show(self, thing: str, number: int, view: View) -> Shown:
        """What a reader sees who may; versions never change."""
        repository = self._repository
        with repository.connection() as connection:
            version = repository.things.version(connection, thing, number)
        if version is None:
            raise HTTPException(404)
        derived = repository.derived(version)
        prepared = read_prepared(derived / DIRECTORY).get(view.type)
        levels = read_levels(derived / PLAYBACK) if view.look == LEVEL else None
        data_set = repository.directory(version)
        return show(prepared, levels, view, lambda request: self._asking.ask(data_set, request))


# ---- The view that an address without one means ----


def _complete(looked: Looked, view: View) -> View:
    """With the record type and field that it does not name. Raises InputError, HTTPException 404
    for a record type that there is not."""
    if view.look == LEVEL:
        if looked.levels is None:
            raise InputError("this data set does not say what programs and the system did")
        return view.with_(type="")
    if not looked.tables:
        raise HTTPException(404, "This data set has no records to look at.")
    if not view.type:
        view = view.with_(type=_most_telling(looked.tables))
    prepared = _prepared(looked, view.type)
    if view.look == RATE and prepared.grid is None:
        view = view.with_(look=PAIR)
    if view.look == RATE and not view.of and view.show not in ("mean", "most"):
        view = view.with_(of=usual_field(prepared.table))
    return view


def _most_telling(tables: Mapping[str, Prepared]) -> str:
    """The record type with most records that says when and where, else when, else the largest."""

    def rank(name: str) -> tuple[bool, bool, int]:
        table = tables[name].table
        return tables[name].grid is not None, table.nodes.count > 1, table.rows

    return max(tables, key=rank)


def _prepared(looked: Looked, name: str) -> Prepared:
    found = looked.tables.get(name)
    if found is None:
        known = ", ".join(looked.tables) or "none"
        raise HTTPException(404, f"There are no records of type {name}; there are: {known}.")
    return found


# ---- The form ----


def _form(looked: Looked, view: View) -> dict[str, Any]:
    table = looked.tables[view.type].table if view.type else None
    nodes = looked.levels.nodes if view.look == LEVEL and looked.levels else None
    nodes = table.nodes if table is not None else nodes
    x, y = "", ""
    if table is not None and view.look in (PAIR, RECORD):
        usual = view.with_(y="") if array_of(table, view) else view
        x, y = (one.name for one in pair_fields(table, usual))
    axes = [*table.numbers, *table.names] if table else []
    return {
        "looks": _looks(looked, view),
        "types": [one.table for one in looked.tables.values()],
        "shows": SHOWN,
        "table": table,
        "across": axes,
        "up": [*axes, *table.arrays] if table and view.look == RECORD else axes,
        "x": x,
        "y": view.y or y,
        "only": dict(view.only),
        "has_more": any(getattr(view, name) not in (None, ()) for name in MORE),
        "nodes": nodes,
        "near": _near(nodes, view),
        "pages": _pages(nodes, view),
        "downloads": [
            ("picture.png", "Picture (PNG)"),
            ("picture.svg", "Picture (SVG)"),
            ("view.csv", "Numbers of this view (CSV)"),
            *([("records.csv", "These records (CSV)")] if table else []),
        ],
    }


def _looks(looked: Looked, view: View) -> list[tuple[str, str, bool]]:
    """(title, address, whether it is this one) of the looks that the data set has."""
    time = View(begin=view.begin, end=view.end)
    records = time.with_(type=view.type, nodes=view.nodes, node=view.node)
    found = []
    for look, title in LOOKS.items():
        if _has(looked, view, look):
            kept = time if LEVEL in (look, view.look) else records
            found.append((title, looked.address(kept.with_(look=look)), look == view.look))
    return found


def _has(looked: Looked, view: View, look: str) -> bool:
    if look == LEVEL:
        return looked.levels is not None
    if look == RATE and view.type:
        return looked.tables[view.type].grid is not None
    return bool(looked.tables)


def _near(nodes: Nodes | None, view: View) -> list[tuple[str, str]]:
    """(word, setting of the address) of the nodes beside the one that is enlarged, and of all."""
    if nodes is None or not view.node:
        return []
    number = nodes.chosen(view.node)[0]
    found = [("All together", urlencode({"node": ""}))]
    for word, one in (("Previous", number - 1), ("Next", number + 1)):
        if 0 <= one < nodes.count:
            setting = urlencode({"node": nodes.key(one)})
            found.append((f"{word}: {nodes.name(one)}", setting))
    return found


def _pages(nodes: Nodes | None, view: View) -> list[tuple[str, str]]:
    """The same of other small pictures, where there are more than a page has."""
    if nodes is None or view.node or view.look != RATE:
        return []
    chosen = nodes.chosen(view.nodes)
    found = []
    for word, first in (("Earlier", view.first - MOST_SMALL), ("More", view.first + MOST_SMALL)):
        if -MOST_SMALL < first < len(chosen):
            found.append((f"{word} nodes", urlencode({"first": max(first, 0) or ""})))
    return found


# ---- Files ----


def _headers(name: str) -> dict[str, str]:
    return {
        "content-disposition": f'attachment; filename="{name}"',
        "cache-control": "private, no-cache",
        "x-content-type-options": "nosniff",
    }


def _attached(content: bytes, kind: str, name: str) -> Response:
    return Response(content, media_type=kind, headers=_headers(name))


def _as_csv(columns: Sequence[str], rows: Iterable[Sequence[Any]]) -> Iterator[str]:
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(columns)
    for row in rows:
        writer.writerow(row)
        if text.tell() > 1 << 16:
            yield text.getvalue()
            text.seek(0)
            text.truncate()
    yield text.getvalue()
