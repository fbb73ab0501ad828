"""What a repository keeps: things with versions, their files, and who may read them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sesame.lazy import names_of

if TYPE_CHECKING:
    from sesame.repository.store.files import FileStore
    from sesame.repository.store.people import Reader
    from sesame.repository.store.repository import DATABASE, Repository
    from sesame.repository.store.things import LibraryItem, Link, NewThing, Version
else:
    __getattr__ = names_of(__name__)

__all__ = [
    "DATABASE",
    "FileStore",
    "LibraryItem",
    "Link",
    "NewThing",
    "Reader",
    "Repository",
    "Version",
]
