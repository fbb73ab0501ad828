"""The parts of a repository: packages beside this module, each with what it has of
`routes(repository)`, `panel(repository, thing, reader)`, `links(thing)`, `api(repository)`."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from functools import cache
from importlib import import_module
from importlib.util import find_spec
from pkgutil import walk_packages
from types import ModuleType
from typing import Any

from fastapi import APIRouter
from markupsafe import Markup
from starlette.routing import BaseRoute

from sesame.repository.store import LibraryItem, Reader, Repository

NAMES = ("accounts", "uploads", "playback", "looks", "compare", "records", "search", "discussion")


@cache
def parts() -> tuple[ModuleType, ...]:
    names = [f"{__package__}.{name}" for name in NAMES]
    return tuple(import_module(name) for name in names if find_spec(name))


def load() -> None:
    """Imports all modules of the parts. Processes that are forked later start ten times as fast,
    and share their memory."""
    for part in parts():
        for found in walk_packages(part.__path__, f"{part.__name__}."):
            import_module(found.name)
    with suppress(ImportError):
        import_module("pydantic.v1")  # fastapi asks whether types are of this version


def _those_with(name: str) -> list[Any]:
    found = (getattr(part, name, None) for part in parts())
    return [one for one in found if one is not None]


def routes(repository: Repository) -> list[BaseRoute]:
    return [route for make in _those_with("routes") for route in make(repository)]


def apis(repository: Repository) -> list[APIRouter]:
    return [make(repository) for make in _those_with("api")]


def panels(repository: Repository, thing: LibraryItem, reader: Reader | None) -> list[Markup]:
    """What each part shows on the home page of a thing."""
    found = [make(repository, thing, reader) for make in _those_with("panel")]
    return [one for one in found if one]


def links(thing: LibraryItem) -> Sequence[tuple[str, str]]:
    """(title, address) of pages about a thing."""
    return [link for make in _those_with("links") for link in make(thing)]


def analyses(thing: LibraryItem, record_type: str) -> list[tuple[str, str]]:
    """(title, address) of what parts show of a record type of a data set."""
    return [link for make in _those_with("analyses") for link in make(thing, record_type)]


def work() -> list[Any]:
    """What each part does beside requests: functions of the application, which are cancelled at the
    end."""
    return _those_with("work")
