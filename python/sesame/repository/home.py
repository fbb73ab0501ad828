"""The home pages of things: what, where, when, with what; versions, citations, files."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import JSONResponse, PlainTextResponse, Response
from starlette.routing import Route

from sesame.repository import parts, summary
from sesame.repository.cite import Cited, bibtex, datacite, info_text
from sesame.repository.documentation import pages_about
from sesame.repository.markdown import to_html
from sesame.repository.page import page
from sesame.repository.store import LibraryItem, Link, Reader, Repository, Version
from sesame.repository.store.things import PAGES
from sesame.web.page import anchor, page_policy

MOST_FILES = 200  # that a page lists
# How a link reads on the page that it leads from, and on the one that it leads to.
FORWARD = {
    "made_with": "made with",
    "simulated_on": "simulated on",
    "calibrated_by": "calibrated by",
    "derived_from": "made from",
    "describes": "describes",
}
BACKWARD = {
    "made_with": "made this",
    "simulated_on": "simulated on this",
    "calibrated_by": "calibrated by this",
    "derived_from": "made from this",
    "describes": "describes this",
}
# https://datacite-metadata-schema.readthedocs.io/en/4.6/appendices/appendix-1/relationType/
DATACITE_RELATIONS = {
    "made_with": "Requires",
    "simulated_on": "Requires",
    "calibrated_by": "IsDerivedFrom",
    "derived_from": "IsDerivedFrom",
    "describes": "Documents",
}


def routes(repository: Repository) -> list[Route]:
    pages = _Pages(repository)
    found = []
    for letter in sorted(set(PAGES.values())):
        base = f"/{letter}/{{thing}}"
        for start in (base, f"{base}/v/{{number:int}}"):
            found.append(Route(start, pages.home))
            found.append(Route(f"{start}/report", pages.report))
            found.append(Route(f"{start}/cite.bib", pages.bibtex))
            found.append(Route(f"{start}/cite.json", pages.datacite))
            found.append(Route(f"{start}/info.txt", pages.info_text))
    return found


class _Pages:
    """Everything about one version of one thing, for a reader who may read it."""

    def __init__(self, repository: Repository) -> None:
        self._repository = repository

    def _find(self, request: Request) -> tuple[LibraryItem, Version, list[Version]]:
        """Raises HTTPException 404."""
        thing = self._repository.readable(request.state.reader, request.path_params["thing"])
        letter = request.url.path.split("/")[1]
        if thing is None or PAGES[thing.library] != letter:
            raise HTTPException(404)
        with self._repository.connection() as connection:
            versions = self._repository.things.versions(connection, thing.id)
        number = request.path_params.get("number")
        version = next((one for one in versions if number in (None, one.number)), None)
        if version is None:
            raise HTTPException(404)
        return thing, version, versions

    def _cited(self, request: Request, thing: LibraryItem, version: Version) -> Cited:
        base = request.app.state.address or str(request.base_url).rstrip("/")
        return Cited(
            thing,
            version,
            self._repository.account_name(thing.owner),
            request.app.state.site_title,
            f"{base}{thing.address}/v/{version.number}",
        )

    def home(self, request: Request) -> Response:
        repository, reader = self._repository, request.state.reader
        thing, version, versions = self._find(request)
        with repository.connection() as connection:
            files = repository.things.files(connection, version)
        derived = repository.derived(version)
        found = summary.read_summary(derived) if thing.library == "data" else None
        cited = self._cited(request, thing, version)
        return page(
            request,
            "home.html",
            thing=thing,
            shown=version,
            versions=versions,
            files=files[:MOST_FILES],
            file_count=len(files),
            owner=cited.author,
            may_change=repository.may_change(reader, thing),
            description=to_html(
                thing.description or str(version.info.get("description") or ""), top=3
            ),
            record_types=_record_types(thing, version, found),
            summary=found,
            links=[*_own_links(thing, version, found), *parts.links(thing)],
            related=_related(repository, thing, version, reader),
            panels=parts.panels(repository, thing, reader),
            facts=_facts(thing, version, reader),
            cited=cited,
            bibtex=bibtex(cited),
        )

    def report(self, request: Request) -> Response:
        """The report, made at import; it has its own policy, since it is one file."""
        _, version, _ = self._find(request)
        file = summary.report_file(self._repository.derived(version))
        if file is None:
            raise HTTPException(404, "There is no report of this version.")
        text = file.read_text(encoding="utf-8")
        headers = {"content-security-policy": f"{page_policy()}; sandbox allow-scripts"}
        return Response(text, media_type="text/html", headers=headers)

    def bibtex(self, request: Request) -> Response:
        thing, version, _ = self._find(request)
        return PlainTextResponse(bibtex(self._cited(request, thing, version)))

    def datacite(self, request: Request) -> Response:
        thing, version, _ = self._find(request)
        cited = self._cited(request, thing, version)
        base = cited.url.removesuffix(f"{thing.address}/v/{version.number}")
        related = [
            (DATACITE_RELATIONS[relation], base + to.address)
            for relation, to in _linked(self._repository, thing, version, request.state.reader)
        ]
        return JSONResponse(datacite(cited, related))

    def info_text(self, request: Request) -> Response:
        thing, version, _ = self._find(request)
        with self._repository.connection() as connection:
            files = self._repository.things.files(connection, version)
        return PlainTextResponse(info_text(self._cited(request, thing, version), files))


def _own_links(
    thing: LibraryItem, version: Version, found: dict[str, Any] | None
) -> list[tuple[str, str]]:
    if found is None or not found["has_report"]:
        return []
    return [("Report", f"{thing.address}/v/{version.number}/report")]


def _record_types(
    thing: LibraryItem, version: Version, found: dict[str, Any] | None
) -> list[dict[str, Any]]:
    types = version.info.get("record_types") or {}
    views = found["views"] if found is not None else []
    report = f"{thing.address}/v/{version.number}/report"
    return [
        {
            "name": name,
            "rows": one.get("rows", 0),
            "meaning": one.get("meaning", ""),
            "pages": pages_about(name)[:3],
            "analyses": [
                *parts.analyses(thing, name),
                *(
                    (view["name"], f"{report}#{anchor(view['name'])}")
                    for view in views
                    if name in view["needs"]
                ),
            ],
        }
        for name, one in types.items()
    ]


def _linked(
    repository: Repository, thing: LibraryItem, version: Version, reader: Reader | None
) -> list[tuple[str, LibraryItem]]:
    """(relation, thing) of the links from a version to what the reader may read."""
    with repository.connection() as connection:
        found = repository.things.links_from(connection, thing.id)
    links = [one for one in found if one.version == version.number]
    return _readable(repository, links, reader, lambda one: one.to_thing)


def _readable(
    repository: Repository, links: Sequence[Link], reader: Reader | None, end: Any
) -> list[tuple[str, LibraryItem]]:
    found = {(one.relation, end(one)) for one in links}
    things = [(name, repository.readable(reader, to)) for name, to in sorted(found)]
    return [(name, thing) for name, thing in things if thing is not None]


def _related(
    repository: Repository, thing: LibraryItem, version: Version, reader: Reader | None
) -> list[tuple[str, list[LibraryItem]]]:
    """What it was made with and from, and what was made with and from it, by relation."""
    with repository.connection() as connection:
        back = repository.things.links_to(connection, thing.id, 500)
    pairs = [
        *((FORWARD[name], one) for name, one in _linked(repository, thing, version, reader)),
        *(
            (BACKWARD[name], one)
            for name, one in _readable(repository, back, reader, lambda link: link.thing)
        ),
    ]
    found: dict[str, list[LibraryItem]] = {}
    for name, one in pairs:
        found.setdefault(name, []).append(one)
    return list(found.items())


def _facts(thing: LibraryItem, version: Version, reader: Reader | None) -> list[tuple[str, str]]:
    """The mail address of the contact is shown to who has signed in."""
    info = version.info
    instrument, host = info.get("instrument") or {}, info.get("host") or {}
    pairs = [
        ("kind", info.get("kind")),
        ("instrument", f"{instrument.get('name', '')} {instrument.get('version', '')}".strip()),
        ("target system", (info.get("target_system") or {}).get("name")),
        ("host", f"{host.get('name', '')} {host.get('system', '')}".strip()),
        ("ranks", info.get("ranks") or None),
        ("command", " ".join(map(str, info.get("command") or []))),
        ("started", info.get("begin_time")),
        ("outcome", (info.get("result") or {}).get("outcome")),
        ("merged with", "; ".join(_merged(info))),
        ("contact", thing.contact or info.get("contact")),
        ("mail", thing.contact_mail if reader is not None else ""),
        ("file type", thing.file_type),
        ("how to run", info.get("run")),
        ("licence", thing.licence),
        ("size", f"{version.size:,} bytes"),
    ]
    return [(name, str(value)) for name, value in pairs if value not in (None, "")]


def _merged(info: Mapping[str, Any]) -> list[str]:
    """Titles of the records of the system that were merged into a data set."""
    found = info.get("merged_with")
    listed = found if isinstance(found, list) else []
    return [str(one.get("title")) for one in listed if isinstance(one, Mapping)]
