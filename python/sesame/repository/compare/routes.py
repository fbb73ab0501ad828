"""The pages `/compare` (choose data sets) and `/compare?d=ID&d=ID…`. The address is the state."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from sqlalchemy import select
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from sesame.comparison import Difference
from sesame.comparison.page import sections_of
from sesame.errors import InputError
from sesame.repository.api import version_or_404
from sesame.repository.compare import recorded, study
from sesame.repository.compare.sides import Compared, difference_of, label_of
from sesame.repository.page import page
from sesame.repository.store import LibraryItem, Repository, schema

TEMPLATES = Path(__file__).parent / "templates"
SCRIPTS = ("uPlot.iife.min.js", "marks.js", "chart.js", "table.js")
LEAST, MOST = 2, 20  # data sets compared
LISTED = 100  # data sets to choose from


def routes(repository: Repository) -> list[Route]:
    def compare(request: Request) -> Response:
        wanted = list(dict.fromkeys(request.query_params.getlist("d")))
        if len(wanted) < LEAST:
            return _choose(repository, request, wanted)
        if len(wanted) > MOST:
            raise HTTPException(400, f"Expected {LEAST} to {MOST} data sets, got {len(wanted)}.")
        return _compare(request, [_compared(repository, request, one) for one in wanted])

    return [Route("/compare", compare)]


def links(thing: LibraryItem) -> list[tuple[str, str]]:
    return [("Compare", f"/compare?d={thing.id}")] if thing.library == "data" else []


def _choose(repository: Repository, request: Request, chosen: list[str]) -> Response:
    """The newest data sets, those of the same program first if one is chosen already."""
    columns, versions = schema.thing.c, schema.version.c
    reader = request.state.reader
    where = repository.visible_to(reader) & (columns.library == "data")
    first = [repository.readable(reader, one) for one in chosen]
    if any(one is None or one.library != "data" for one in first):
        raise HTTPException(404)
    with repository.connection() as connection:
        found = repository.things.find(connection, where & ~columns.id.in_(chosen), LISTED)
        things = [*(one for one in first if one is not None), *found]
        query = select(versions.thing, versions.info).where(
            versions.thing.in_([one.id for one in things])
        )
        infos = {row.thing: row.info for row in connection.execute(query.order_by(versions.number))}
    rows = [
        {
            "thing": one,
            "chosen": one.id in chosen,
            "kind": infos.get(one.id, {}).get("kind", ""),
            "program": " ".join(map(str, infos.get(one.id, {}).get("command") or [])),
            "ranks": infos.get(one.id, {}).get("ranks"),
        }
        for one in things
    ]
    return page(
        request,
        "choose.html",
        directory=TEMPLATES,
        rows=rows,
        is_short=bool(request.query_params.get("d")) and len(chosen) < LEAST,
        most=MOST,
        listed=LISTED,
    )


def _compared(repository: Repository, request: Request, wanted: str) -> Compared:
    """`wanted` is an identifier, or one with a version: `3f2k8qzr@2`. Raises HTTPException."""
    identifier, _, text = wanted.partition("@")
    if text and not (text.isdecimal() and len(text) < 10):
        raise HTTPException(404)
    number = int(text) if text else None
    thing, version = version_or_404(repository, request, identifier, number, library="data")
    return Compared(thing, version, repository.directory(version))


def _compare(request: Request, compared: list[Compared]) -> Response:
    query = request.query_params
    grouped = query.get("alone") != "1"
    difference, reason = None, ""
    try:
        difference = difference_of(compared, grouped=grouped)
    except InputError as error:
        reason = error.reason
    of_infos = recorded.sections_of([one.version.info for one in compared])
    content = _of_runs(difference, query) if difference else _of_others()
    return page(
        request,
        "compare.html",
        directory=TEMPLATES,
        scripts=SCRIPTS,
        compared=[
            {"label": label_of(i), "title": one.title, "address": one.address}
            for i, one in enumerate(compared)
        ],
        identifiers=query.getlist("d"),
        grouped=grouped,
        reason=reason,
        recorded=of_infos,
        beside=_beside(compared),
        headline=None,
        **content,
    )


def _of_others() -> dict[str, Any]:
    return {"sections": [], "doubts": [], "sides": [], "figures": [], "settings": []}


def _of_runs(difference: Difference, query: Any) -> dict[str, Any]:
    figures, settings = study.figures_of(difference), study.settings_of(difference)
    figure = figures.get(query.get("figure", ""), figures[study.TIME])
    over = settings.get(query.get("over", "")) or study.usual_setting(settings)
    of_study = study.section_of(difference, figure, over, settings)
    return {
        "sections": [of_study, *sections_of(difference)],
        "doubts": [doubt.as_json() for doubt in difference.doubts],
        "sides": [
            (side.label, ", ".join(run.title for run in side.runs), len(side.runs))
            for side in difference.sides
        ],
        "figures": [(name, name == figure.name) for name in figures],
        "settings": [(name, name == over.name) for name in settings],
    }


def _beside(compared: list[Compared]) -> str:
    """Where the first two are played side by side."""
    first, second = compared[:2]
    return f"{first.thing.address}/play?with={second.thing.id}"
