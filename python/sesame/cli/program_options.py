"""Options of the verbs that simulate a program: the same words and meaning in each."""

from __future__ import annotations

import click

from sesame.errors import InputError
from sesame.settings import setting

set_option = click.option(
    "--set",
    "overrides",
    multiple=True,
    metavar="KEY=VALUE",
    help="Change a key of the machine, for instance network.latency=1us.",
)
private_library_option = click.option(
    "--private-library",
    "private_libraries",
    multiple=True,
    metavar="PATTERN",
    help="Give each rank its own copy of the libraries that match; for libraries with state.",
)
environment_option = click.option(
    "--env",
    "environment",
    multiple=True,
    metavar="NAME=VALUE",
    help="Set a variable in the program's environment.",
)


def read_variables(texts: tuple[str, ...]) -> tuple[tuple[str, str], ...]:
    """Names and values given by --env. Raises InputError."""
    return tuple(map(_variable, texts))


def read_assignments(name: str, texts: tuple[str, ...], form: str = "KEY=VALUE") -> dict[str, str]:
    """The values by key of a setting whose option may be repeated; the last one counts. Raises
    InputError."""
    found = {}
    for text in texts:
        key, equals, value = text.partition("=")
        if not (key and equals and value):
            raise InputError(f"{setting(name, text)}: expected {form}")
        found[key] = value
    return found


def _variable(text: str) -> tuple[str, str]:
    name, equals, value = text.partition("=")
    if not (name and equals):
        raise InputError(f"--env {text}: expected NAME=VALUE")
    return name, value
