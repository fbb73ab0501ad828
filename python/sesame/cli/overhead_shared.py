"""What the verbs of `sesame overhead` share."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from sesame.cli.console import console
from sesame.errors import InputError

if TYPE_CHECKING:
    from rich.table import Table

    from sesame.overhead import NodeModel


def model_of(name: str, options: Mapping[str, Any]) -> NodeModel:
    """The model of this name or file, with what `--set` changes. Raises InputError."""
    from sesame.overhead import read_model

    settings = {}
    for text in options["settings"]:
        setting, equals, value = text.partition("=")
        if not equals:
            raise InputError(f"--set {text}: expected NAME=VALUE")
        settings[setting] = value
    return read_model(name).with_settings(settings)


def finite(value: Any) -> Any:
    """The value with null for numbers that JSON does not have."""
    if isinstance(value, dict):
        return {key: finite(one) for key, one in value.items()}
    if isinstance(value, list | tuple):
        return [finite(one) for one in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value


class Status:
    """A line on a terminal's stderr that says what is being done; a function that changes it."""

    def __init__(self) -> None:
        self._status = console(stderr=True, highlight=False).status("starting")

    def __enter__(self) -> Callable[[str], None]:
        from rich.markup import escape

        self._status.start()
        return lambda text: self._status.update(escape(text))

    def __exit__(self, *_: object) -> None:
        self._status.stop()


def print_table(table: Table) -> None:
    console(highlight=False).print(table)
