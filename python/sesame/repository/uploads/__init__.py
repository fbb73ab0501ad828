"""Uploads: received in parts, imported in a confined process, reviewed.

Its modules are imported when they are used: `sesame push` and the process that imports need few.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from fastapi import APIRouter
    from markupsafe import Markup
    from starlette.applications import Starlette
    from starlette.routing import Route

    from sesame.repository.store import LibraryItem, Reader, Repository


def routes(repository: Repository) -> list[Route]:
    from sesame.repository.uploads import pages

    return pages.routes(repository)


def panel(repository: Repository, thing: LibraryItem, reader: Reader | None) -> Markup | None:
    """On the home page of what waits: its review."""
    from sesame.repository.uploads import pages

    return pages.panel(repository, thing, reader)


def api(repository: Repository) -> APIRouter:
    from sesame.repository.uploads.endpoints import make_api
    from sesame.repository.uploads.service import Uploads

    return make_api(repository, Uploads(repository))


async def work(app: Starlette) -> Any:
    """Imports what has arrived, and sends mail."""
    from sesame.repository.uploads.publishing import work

    await work(app)
