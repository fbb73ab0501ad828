"""The documentation of formats, models and workloads, as pages of the repository."""

from __future__ import annotations

import posixpath
import re
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from markupsafe import Markup
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from sesame.repository.markdown import slug_of, to_html
from sesame.repository.page import page

HERE = Path(__file__).parent
_TREE = HERE.resolve().parents[2] / "docs"  # in a source tree, also of an editable installation
DIRECTORY = _TREE if (_TREE / "formats/records.md").is_file() else HERE / "manual"
SECTIONS = ("formats", "models", "workloads")
RECORDS = "formats/records"


@dataclass(frozen=True)
class Document:
    name: str  # "formats/records"
    title: str
    text: str

    @property
    def address(self) -> str:
        return f"/docs/{self.name}"


@cache
def documents() -> dict[str, Document]:
    """All pages by name."""
    found = {}
    for section in SECTIONS:
        for file in sorted((DIRECTORY / section).glob("*.md")):
            text = file.read_text(encoding="utf-8")
            title = re.search(r"^# (.*)$", text, re.M)
            name = f"{section}/{file.stem}"
            found[name] = Document(name, title[1] if title else file.stem, text)
    return found


@cache
def _record_sections() -> dict[str, str]:
    """The section of each record type: Markdown without its heading."""
    parts = re.split(r"^## (.*)$", documents()[RECORDS].text, flags=re.M)
    titles, texts = parts[1::2], parts[2::2]
    return {title: text for title, text in zip(titles, texts, strict=True) if " " not in title}


def about_record_type(name: str) -> Markup | None:
    """What the documentation says about a record type, if it has a section."""
    text = _record_sections().get(name)
    return None if text is None else to_html(text, link=lambda to: _link(RECORDS, to), top=2)


@cache
def pages_about(name: str) -> tuple[tuple[str, str], ...]:
    """(title, address) of the pages that document a record type: its section first, then pages of
    models and formats that name it in code."""
    found = []
    if name in _record_sections():
        found.append((f"Record type {name}", f"/docs/{RECORDS}#{slug_of(name)}"))
    if "_" in name:  # other names, such as `io`, are words of many pages
        for one in documents().values():
            if one.name != RECORDS and f"`{name}`" in one.text:
                found.append((one.title, one.address))
    return tuple(found)


def _link(name: str, address: str) -> str:
    """Where a link of a page leads here; pages that the repository lacks are its list of pages."""
    if re.match(r"[a-z]+:", address) or address.startswith("#"):
        return address
    path, _, anchor = address.partition("#")
    target = posixpath.normpath(posixpath.join(posixpath.dirname(name), path)).removesuffix(".md")
    if target not in documents():
        return "/docs/"
    return f"/docs/{target}" + (f"#{anchor}" if anchor else "")


def _list(request: Request) -> Response:
    sections = {
        name: [one for one in documents().values() if one.name.startswith(f"{name}/")]
        for name in SECTIONS
    }
    return page(request, "documents.html", sections=sections)


def _show(request: Request) -> Response:
    found = documents().get(request.path_params["name"])
    if found is None:
        raise HTTPException(404)
    text = re.sub(r"\A# .*\n", "", found.text)
    html = to_html(text, link=lambda to: _link(found.name, to), anchors=True)
    return page(request, "document.html", title=found.title, html=html)


ROUTES = [Route("/docs/", _list), Route("/docs/{name:path}", _show)]
