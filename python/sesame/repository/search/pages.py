"""The page of the search, its suggestions, and its part of the API."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Any
from urllib.parse import urlencode

from fastapi import APIRouter
from fastapi import Query as Parameter
from pydantic import BaseModel
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from sesame.errors import InputError
from sesame.repository.page import page
from sesame.repository.search.documentation import index_documentation
from sesame.repository.search.find import MOST_PAGES, MOST_RANKED, Found, find
from sesame.repository.search.query import FILTERS, LIBRARIES, MOST_CHARACTERS, Query, parse
from sesame.repository.search.suggest import Suggestion, correct, suggest
from sesame.repository.search.sync import bring_up_to_date
from sesame.repository.store import Reader, Repository

TEMPLATES = Path(__file__).parent / "templates"
NAMES = {
    "data": "data sets",
    "tool": "tools",
    "model": "models",
    "document": "documents",
    "report": "reports",
    "message": "messages",
    "page": "documentation",
}
# Fields of the form beside the words: filter, and what the label says.
FORM = {
    "system": "system",
    "instrument": "instrument",
    "program": "program",
    "person": "person",
    "date": "date",
    "record": "record type or field",
}
HIDDEN = ("in",)  # what other pages' forms send


def search(
    repository: Repository, reader: Reader | None, text: str, number: int = 1
) -> tuple[Query, Found]:
    """Raises InputError where the text is no search."""
    query = parse(text)
    bring_up_to_date(repository)
    with repository.connection() as connection:
        return query, find(connection, query, repository.visible_to(reader), number)


def routes(repository: Repository) -> list[Route]:
    index_documentation(repository)

    async def show(request: Request) -> Response:
        return await run_in_threadpool(_show, repository, request)

    async def suggestions(request: Request) -> Response:
        typed = request.query_params.get("q", "")[:MOST_CHARACTERS]
        found = await run_in_threadpool(_suggestions, repository, request.state.reader, typed)
        return JSONResponse([asdict(one) for one in found])

    return [Route("/search", show), Route("/search/suggest", suggestions)]


def _suggestions(repository: Repository, reader: Reader | None, typed: str) -> list[Suggestion]:
    bring_up_to_date(repository)
    with repository.connection() as connection:
        return suggest(connection, typed, repository.visible_to(reader))


def _show(repository: Repository, request: Request) -> Response:
    text = _text_of_form(request)
    number = request.query_params.get("page", "1")
    content: dict[str, Any] = {"found": None, "wrong": None, "corrected": ""}
    try:
        at = int(number) if number.isdecimal() and len(number) < 4 else 1
        query, found = search(repository, request.state.reader, text, at)
        if not query.is_empty:
            content["found"] = found
            content["has_filter"] = bool(query.libraries)
            if not found.hits:
                content["corrected"] = _corrected(repository, request, query, text)
    except InputError as error:
        content["wrong"] = error.message
    return page(
        request,
        "search.html",
        directory=TEMPLATES,
        scripts=("search.js",),
        status=400 if content["wrong"] else 200,
        text=text,
        names=NAMES,
        singular={kind: name.removesuffix("s") for kind, name in NAMES.items()},
        filters=FILTERS,
        form=FORM,
        most_ranked=MOST_RANKED,
        most_pages=MOST_PAGES,
        address=lambda **changed: "/search?" + urlencode({"q": text, **changed}),
        only=lambda kind: f"{text} in:{kind}",
        **content,
    )


def _text_of_form(request: Request) -> str:
    """The search, with the filters of the form at its end: one text is the whole of it."""
    given = request.query_params
    parts = [given.get("q", "").strip()]
    for name in (*FORM, *HIDDEN):
        if value := given.get(name, "").strip().replace('"', ""):
            parts.append(f'{name}:"{value}"' if " " in value else f"{name}:{value}")
    return " ".join(part for part in parts if part)


def _corrected(repository: Repository, request: Request, query: Query, text: str) -> str:
    with repository.connection() as connection:
        near = correct(connection, query, repository.visible_to(request.state.reader))
    for word, other in near.items():
        at = text.lower().find(word)
        text = text[:at] + other + text[at + len(word) :] if at >= 0 else text
    return text if near else ""


class HitAnswer(BaseModel):
    kind: str
    id: str
    address: str
    title: str
    excerpt: str
    system: str
    instrument: str
    person: str
    started: str


class SearchAnswer(BaseModel):
    counts: dict[str, int]
    is_cut: bool  # more were found than were counted
    is_ranked: bool
    page: int
    hits: list[HitAnswer]


class SuggestionAnswer(BaseModel):
    text: str
    about: str
    address: str


def api(repository: Repository) -> APIRouter:
    router = APIRouter()

    @router.get("/search", responses={400: {"description": "The search is wrong; it says why"}})
    def run_search(
        request: Request,
        q: Annotated[str, Parameter(max_length=MOST_CHARACTERS)],
        page: Annotated[int, Parameter(ge=1, le=MOST_PAGES)] = 1,
    ) -> SearchAnswer:
        """What matches all words and filters, 20 a page. Filters: system, instrument, program,
        person, date, record, field, in, sort; figures as `ranks>512`."""
        _, found = search(repository, request.state.reader, q, page)
        hits = [
            HitAnswer(
                kind=one.kind,
                id=one.item,
                address=one.address,
                title=one.title,
                excerpt="".join(part for part, _ in one.excerpt),
                system=one.system,
                instrument=one.instrument,
                person=one.person,
                started=one.started,
            )
            for one in found.hits
        ]
        return SearchAnswer(
            counts=found.counts,
            is_cut=found.is_cut,
            is_ranked=found.is_ranked,
            page=found.page,
            hits=hits,
        )

    @router.get("/search/suggestions")
    def run_suggestions(
        request: Request, q: Annotated[str, Parameter(max_length=MOST_CHARACTERS)]
    ) -> list[SuggestionAnswer]:
        """Ways to complete a search."""
        found = _suggestions(repository, request.state.reader, q)
        return [SuggestionAnswer(**asdict(one)) for one in found]

    return router


assert set(NAMES) == set(LIBRARIES)
