"""Checks of arguments that a type checker would find, since not everybody has one."""

from __future__ import annotations

import operator
import os
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, SupportsIndex, cast

from sesame.errors import InputError


def words_of(name: str, value: object, example: str, *, numbers: bool = True) -> list[str]:
    """The argument `name`, a list of text, paths and, with `numbers`, integers, as text.

    Raises InputError for anything else, also for a single text, which would be split into letters.
    """
    hint = f"for instance {name}={example}"
    if isinstance(value, str | bytes) or not isinstance(value, Sequence):
        raise InputError(f"{name}: expected a list, got {value!r}", hint=hint)
    for word in value:
        is_number = numbers and isinstance(word, int | float) and not isinstance(word, bool)
        if not (isinstance(word, str | os.PathLike) or is_number):
            kinds = "text, numbers or paths" if numbers else "text"
            raise InputError(f"{name}: expected {kinds}, got {word!r}", hint=hint)
    return [str(word) for word in value]


def mapping_of(
    name: str, value: object, example: str = '{"network.latency": "2us"}'
) -> Mapping[str, Any]:
    """The argument `name`, values by the keys of a machine. Raises InputError for anything else."""
    if isinstance(value, Mapping):
        return value
    raise InputError(
        f"{name}: expected a mapping of keys to values, got {value!r}",
        hint=f"for instance {name}={example}",
    )


def check_one(
    name: str, value: object, kinds: tuple[type, ...], expected: str, several: str
) -> None:
    """Raises InputError if the argument `name` is not of `kinds`; `several`: where a list of them
    belongs."""
    if value is None or (isinstance(value, kinds) and not isinstance(value, bool)):
        return
    is_list = isinstance(value, Sequence) and not isinstance(value, str)
    raise InputError(
        f"{name}: expected {expected}, got {value!r}", hint=several or None if is_list else None
    )


def counts_of_ranks(ranks: object) -> list[int] | None:
    """The argument `ranks` of a series, a number or a list of numbers; None: none is given. Raises
    InputError for anything else."""
    if ranks is None:
        return None
    if isinstance(ranks, str | bytes):
        raise InputError(f"ranks: expected numbers, got {ranks!r}", hint="for instance [16, 64]")
    counts = ranks if isinstance(ranks, Iterable) else [ranks]
    found = []
    for count in counts:
        check_one("ranks", count, (SupportsIndex,), "a number", "")
        found.append(operator.index(cast(SupportsIndex, count)))
    return found or None
