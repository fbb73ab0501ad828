"""The pages `/records` and `/records/TYPE`."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from sqlalchemy import ColumnElement, Connection, Select, func, select
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from sesame.datasets import all_record_types
from sesame.repository import summary
from sesame.repository.page import page
from sesame.repository.records.documented import Analysis, Documented, documented, views_with
from sesame.repository.store import Repository, Version, schema

TEMPLATES = Path(__file__).parent / "templates"
MOST = 50  # data sets on a page
# Record types from which the play-back is made, or which it can colour nodes by.
WHEN_AND_WHERE = ({"rank", "node", "source"}, {"begin", "time", "send"})


def routes(repository: Repository) -> list[Route]:
    def listed(request: Request) -> Response:
        return _listed(repository, request)

    def one(request: Request) -> Response:
        return _one(repository, request, request.path_params["name"])

    return [Route("/records", listed), Route("/records/{name}", one)]


def _newest(where: ColumnElement[bool]) -> Select[Any]:
    """Record types of the newest version of each data set: columns thing, version, name, rows."""
    types, versions, things = schema.record_type.c, schema.version.c, schema.thing.c
    newest = (
        select(versions.thing, func.max(versions.number).label("number"))
        .group_by(versions.thing)
        .subquery()
    )
    joined = schema.record_type.join(
        newest, (types.thing == newest.c.thing) & (types.version == newest.c.number)
    ).join(schema.thing, things.id == types.thing)
    return (
        select(types.thing, types.version, types.name, types.rows).select_from(joined).where(where)
    )


def _listed(repository: Repository, request: Request) -> Response:
    """All record types, with how many data sets that the reader sees have each."""
    found = _newest(repository.visible_to(request.state.reader)).subquery()
    counted = select(found.c.name, func.count(), func.sum(found.c.rows)).group_by(found.c.name)
    with repository.connection() as connection:
        counts = {name: (sets, rows) for name, sets, rows in connection.execute(counted)}
    own = all_record_types()
    names = [*own, *sorted(set(counts) - set(own))]
    rows = [
        {
            "name": name,
            "meaning": own[name].meaning if name in own else "of a workload or another tool",
            "sets": counts.get(name, (0, 0))[0],
            "rows": counts.get(name, (0, 0))[1],
        }
        for name in names
    ]
    return page(request, "record_types.html", directory=TEMPLATES, rows=rows)


def _one(repository: Repository, request: Request, name: str) -> Response:
    """Raises HTTPException 404 for a type that neither the schema nor a data set of the reader
    knows."""
    text = request.query_params.get("first", "0")
    first = int(text) if text.isdecimal() and len(text) < 9 else 0
    where = repository.visible_to(request.state.reader) & (schema.record_type.c.name == name)
    with repository.connection() as connection:
        query = _newest(where).order_by(schema.thing.c.created.desc(), schema.thing.c.id)
        found = connection.execute(query.limit(MOST).offset(first)).all()
        total = connection.scalar(select(func.count()).select_from(_newest(where).subquery())) or 0
        versions = [repository.things.version(connection, one.thing, one.version) for one in found]
        rows = _rows(repository, connection, found)
    present = [version for version in versions if version is not None]
    recorded = present[0].info.get("record_types", {}).get(name) if present else None
    record = documented(name, recorded)
    if record is None:
        raise HTTPException(404)
    return page(
        request,
        "record_type.html",
        directory=TEMPLATES,
        record=record,
        rows=rows,
        total=total,
        first=first,
        most=MOST,
        analyses=_analyses(repository, record, present),
        example=rows[0]["thing"] if rows else None,
    )


def _rows(
    repository: Repository, connection: Connection, found: Sequence[Any]
) -> list[dict[str, Any]]:
    things = {one.thing: repository.things.get(connection, one.thing) for one in found}
    return [{"thing": things[one.thing], "rows": one.rows} for one in found]


def _analyses(
    repository: Repository, record: Documented, versions: Sequence[Version]
) -> list[Analysis]:
    """The views of the newest data set of each kind, and what else takes the type, each on the
    newest data set that has it."""
    found: dict[str, Analysis] = {}
    of_kinds: dict[str, Version] = {}
    for version in versions:
        of_kinds.setdefault(str(version.info.get("kind", "")), version)
    for kind, version in of_kinds.items():
        made = summary.read_summary(repository.derived(version)) or {"views": []}
        for name, about in views_with(kind, made["views"], record.name):
            title = f"{name} ({kind})" if len(of_kinds) > 1 else name
            found[title] = Analysis(title, about, command=f"sesame report {_short(version)}")
    if not versions:
        return list(found.values())
    home = f"/d/{versions[0].thing}"
    about = "Counts over time, and any two fields against each other."
    found["quick look"] = Analysis("quick look", about, f"{home}/look?type={record.name}")
    if _has_time_and_place(record):
        about = "Nodes of the machine coloured by a field of these records, over the run."
        key = f"{record.name}.records:rate"
        found["play-back"] = Analysis("play-back", about, f"{home}/play?field={key}")
    return list(found.values())


def _short(version: Version) -> str:
    return f"HOST/d/{version.thing}"


def _has_time_and_place(record: Documented) -> bool:
    names = {one["name"] for one in record.fields}
    stems = {name.rpartition("_")[0] for name in names}
    return bool(names & WHEN_AND_WHERE[0]) and bool(stems & WHEN_AND_WHERE[1])
