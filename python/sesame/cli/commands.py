"""The commands of a group, each imported at its first use, since importing all takes long."""

from __future__ import annotations

import pkgutil
from collections.abc import Iterator, Mapping, MutableMapping

import click


class Commands(MutableMapping[str, click.Command]):
    """Commands by name. Some are given as `sesame.cli.info:info` and imported at their first
    use."""

    def __init__(self, modules: Mapping[str, str]) -> None:
        self._modules = dict(modules)
        self._loaded: dict[str, click.Command] = {}

    def __getitem__(self, name: str) -> click.Command:
        if name not in self._loaded:
            self._loaded[name] = pkgutil.resolve_name(self._modules[name])
        return self._loaded[name]

    def __setitem__(self, name: str, command: click.Command) -> None:
        self._loaded[name] = command

    def __delitem__(self, name: str) -> None:
        raise TypeError("a command stays in its group")

    def __iter__(self) -> Iterator[str]:
        return iter({**self._modules, **self._loaded})

    def __len__(self) -> int:
        return len({**self._modules, **self._loaded})


def words_of(command: click.Command, words: tuple[str, ...] = ()) -> Iterator[tuple[str, ...]]:
    """The words after `sesame` of the command and of all its subcommands; imports them."""
    yield words
    if isinstance(command, click.Group):
        for name, below in command.commands.items():
            yield from words_of(below, (*words, name))
