"""The values of a machine model: every key with its value in one unit, and a key for the whole.

Two files with the same values are the same model, however they write them: `0.66 us` is `660 ns`.
"""

from __future__ import annotations

import functools
import json
import re
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from sesame import native
from sesame.errors import InputError

# Keys that describe a model and do not change what it predicts.
DESCRIBING = ("name", "description", "sources", "assumed")
KEY_DIGITS = 16
_BITS = re.compile(r"([0-9.eE+-]+)\s*([kMGT]?)bit/s")
_PREFIXES = {"": 1.0, "k": 1e3, "M": 1e6, "G": 1e9, "T": 1e12}


def machine_values(text: str, overrides: Sequence[str] = ()) -> dict[str, str]:
    """The text of each value by its dotted key, as `network.latency`: the file `text` with
    `overrides` (KEY=VALUE). Keys of lists of tables have numbers, as `network.segment.0.up_to`."""
    values = dict(_flat(_parsed(text), ""))
    for override in overrides:
        key, _, value = override.partition("=")
        values = {k: v for k, v in values.items() if k != key and not k.startswith(f"{key}.")}
        if value:
            values[key] = _override_value(value)
    return {key: _text(value) for key, value in values.items()}


def machine_key(text: str, overrides: Sequence[str] = ()) -> str:
    """A hash of all values except those of DESCRIBING: models that predict the same have the same
    key."""
    import hashlib

    values = {
        key: in_one_unit(key, value)
        for key, value in machine_values(text, overrides).items()
        if key.split(".")[0] not in DESCRIBING
    }
    return hashlib.sha256(json.dumps(values, sort_keys=True).encode()).hexdigest()[:KEY_DIGITS]


def differing_values(
    models: Sequence[dict[str, str] | None],
) -> list[tuple[str, list[str | None]]]:
    """The keys whose values are not the same in all `models` that are known (from
    `machine_values`), with the value of each; None where the model or the key is missing."""
    known = [model for model in models if model is not None]
    keys = dict.fromkeys(key for model in known for key in model)
    return [
        (key, [None if model is None else model.get(key) for model in models])
        for key in keys
        if key.split(".")[0] not in DESCRIBING
        and len({in_one_unit(key, model.get(key)) for model in known}) > 1
    ]


def _parsed(text: str) -> dict[str, Any]:
    import tomllib

    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise InputError(f"not a machine file: {error}") from error


def _flat(table: dict[str, Any], prefix: str) -> Iterator[tuple[str, Any]]:
    for key, value in table.items():
        name = f"{prefix}{key}"
        if isinstance(value, dict):
            yield from _flat(value, f"{name}.")
        elif isinstance(value, list) and value and all(isinstance(item, dict) for item in value):
            for number, item in enumerate(value):
                yield from _flat(item, f"{name}.{number}.")
        else:
            yield name, value


def _override_value(text: str) -> Any:
    """Overrides may leave out the quotes of a text."""
    import tomllib

    try:
        return tomllib.loads(f"value = {text}")["value"]
    except tomllib.TOMLDecodeError:
        return text


def _text(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value)


def in_one_unit(key: str, text: str | None) -> object:
    """A value in picoseconds, bytes or bytes per second if its key has that kind; else as it is."""
    if text is None:
        return None
    kind = kinds_of_keys().get(general(key))
    try:
        if kind == "duration":
            return native.parse_duration_ps(text)
        if kind == "size":
            return native.parse_size_bytes(text)
        if kind == "bandwidth":
            return _bytes_per_s(text)
        return float(text) if kind in ("number", "share", "count") else text
    except (InputError, ValueError):
        return text


# Of kinds of keys: the unit for columns of data, and how many of `in_one_unit` make one.
UNITS = {"duration": ("s", 1e12), "size": ("B", 1.0), "bandwidth": ("B_per_s", 1.0)}


def numbers_of(key: str, texts: Iterable[str]) -> tuple[str, list[float]] | None:
    """Values of a key as numbers with their unit ("s", "B", "B_per_s", "" for none); None if the
    key, or one of the values, is no number."""
    values = [in_one_unit(key, text) for text in texts]
    if not all(isinstance(value, int | float) for value in values):
        return None
    unit, divisor = UNITS.get(kinds_of_keys().get(general(key), ""), ("", 1.0))
    return unit, [float(str(value)) / divisor for value in values]


def _bytes_per_s(text: str) -> float:
    bits = _BITS.fullmatch(text.strip())
    if bits is not None:
        return float(bits[1]) * _PREFIXES[bits[2]] / 8
    return float(native.parse_size_bytes(text.removesuffix("/s")))


def general(key: str) -> str:
    """A key as it is described: "network.segment.2.latency" as "network.segment.N.latency"."""
    return re.sub(r"\.\d+(?=\.|$)", ".N", key)


@functools.cache
def kinds_of_keys() -> dict[str, str]:
    """What each key of a machine file is: "duration", "bandwidth"."""
    return {described["key"]: described["kind"] for described in native.machine_keys()}
