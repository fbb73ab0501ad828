"""The discussion on the home page of a thing."""

from __future__ import annotations

from pathlib import Path
from urllib.parse import quote

from markupsafe import Markup

from sesame.repository.discussion.threads import list_threads
from sesame.repository.store import LibraryItem, Reader, Repository
from sesame.web.page import template

MOST = 5
TEMPLATES = Path(__file__).parent / "templates"


def panel(repository: Repository, thing: LibraryItem, reader: Reader | None) -> Markup:
    found = list_threads(repository, reader, thing.id)
    return Markup(
        template("panel.html", TEMPLATES).render(
            threads=found[:MOST],
            has_more=len(found) > MOST,
            about=quote(thing.address, safe=""),
            may_write=reader is not None and reader.may_contribute,
        )
    )
