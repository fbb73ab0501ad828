"""How messages name a setting: as an argument of the library, or as the surface in use spells it.

A message says `setting("stack_size", "8MiB")`, which reads `stack_size='8MiB'` in a program and
`--stack-size 8MiB` on the command line. Names are those of the library's arguments. A surface wraps
what it does in `spelled(as_option)`, since the text is made where the message is.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from os import PathLike, fspath
from pathlib import PurePath
from shlex import quote

Value = str | int | float | bool | PathLike[str] | Mapping[str, str] | Sequence[object] | None
Spelling = Callable[[str, Value], str]


def as_argument(name: str, value: Value = None) -> str:
    """An argument of Python: `repeat=7`, `mappings={'/data': '.'}`; without a value `repeat=`."""
    if value is None:
        return f"{name}="
    return f"{name}={fspath(value) if isinstance(value, PurePath) else value!r}"


def as_option(name: str, value: Value = None) -> str:
    """An option of the command line: `--repeat 7`, `--map /scratch=.`; a flag for True, and
    `--no-NAME` for False."""
    if value is False:
        return f"--no-{name.replace('_', '-')}"
    option = OPTIONS.get(name, f"--{name.replace('_', '-')}")
    if value is None or value is True:
        return option
    if isinstance(value, Mapping):
        return " ".join(f"{option} {quote(f'{key}={one}')}" for key, one in value.items())
    if isinstance(value, Sequence) and not isinstance(value, str):
        value = ",".join(map(str, value))
    return f"{option} {quote(str(value))}"


# Options whose name is not that of the argument.
OPTIONS = {
    "directory": "--dir",
    "environment": "--env",
    "interval_s": "--interval",
    "mappings": "--map",
    "output": "-o",
    "points": "--only",
    "private_libraries": "--private-library",
    "ranks": "-n",
    "settings": "--set",
    "traced": "--trace",
}

_spelling: Spelling = as_argument


def setting(name: str, value: Value = None) -> str:
    """The setting, and the value that it was given or should be given, as the user spells it."""
    return _spelling(name, value)


def spelling() -> str:
    """What settings are now, for the simulator's own messages: "options" or "arguments"."""
    return "options" if _spelling is as_option else "arguments"


@contextmanager
def spelled(spelling: Spelling) -> Iterator[None]:
    """Spells settings like this in the block, in all threads."""
    global _spelling
    before, _spelling = _spelling, spelling
    try:
        yield
    finally:
        _spelling = before
