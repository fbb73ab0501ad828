"""A repository without things: a copy of one that is made once, which takes a sixth of the time."""

from __future__ import annotations

import functools
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from sesame.repository.app import make_app
from sesame.repository.local import add_found
from sesame.repository.store import Repository


def new_repository(directory: Path) -> Repository:
    """In `directory`, which is made. Its tables are there, and its search knows the
    documentation."""
    shutil.copytree(_made().name, directory, dirs_exist_ok=True)
    return Repository.in_directory(directory)


def prepare_served(directory: Path) -> None:
    """Adds the data sets of `directory`/served to a repository, `directory`/repository. Tests get
    copies: preparing a data set takes a process, and a second."""
    made = new_repository(directory / "repository")
    add_found(made, directory / "served", print)
    made.close()


@contextmanager
def opened_copy(prepared: Path, directory: Path) -> Iterator[Repository]:
    """Of what prepare_served() made."""
    shutil.copytree(prepared, directory, dirs_exist_ok=True)
    opened = Repository.in_directory(directory / "repository")
    yield opened
    opened.close()


@functools.cache
def _made() -> tempfile.TemporaryDirectory[str]:
    """It is removed when the tests end."""
    directory = tempfile.TemporaryDirectory()
    repository = Repository.in_directory(Path(directory.name))
    make_app(repository)
    repository.close()
    return directory
