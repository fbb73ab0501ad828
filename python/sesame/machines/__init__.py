"""The machine models that come with Sesame: one TOML file each, beside this one."""

from __future__ import annotations

import difflib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from sesame.errors import InputError

DIRECTORY = Path(__file__).parent


def shipped() -> dict[str, Path]:
    """Names and files of the shipped models."""
    return {path.stem: path for path in sorted(DIRECTORY.glob("*.toml"))}


def find_machine(name: str) -> Path:
    """The file of a shipped model by its name, or the path itself."""
    if name in shipped():
        return shipped()[name]
    path = Path(name)
    if path.is_file():
        return path
    if path.suffix == ".toml" or len(path.parts) > 1:
        reason = "this is a directory" if path.is_dir() else "no such machine file"
        raise InputError(reason, path=name)
    near = difflib.get_close_matches(name, shipped(), n=1)
    hint = f"did you mean {near[0]}? " if near else ""
    raise InputError(
        f"no machine model called {name}, there are: {', '.join(shipped())}",
        hint=f"{hint}A path to a machine file works, too",
    )


@contextmanager
def as_file(text: str) -> Iterator[Path]:
    """A machine file with this text; it is removed at the end."""
    import tempfile

    with tempfile.NamedTemporaryFile("w", suffix=".toml", encoding="utf-8") as file:
        file.write(text)
        file.flush()
        yield Path(file.name)
