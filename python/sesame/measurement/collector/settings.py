"""The settings of a collector, which come from options and the settings file."""

from __future__ import annotations

import re
import tomllib
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from sesame import native
from sesame.errors import InputError
from sesame.measurement.collector.quota import DEFAULT_BYTES
from sesame.measurement.collector.retention import Keeping
from sesame.settings import setting

SECONDS = {"m": 60, "h": 3600, "d": 86_400, "w": 7 * 86_400, "y": 365 * 86_400}
LONGEST_MINUTES = 1440.0


@dataclass
class Settings:
    """Names and meanings are those of the options of `sesame collect`."""

    output: str = ""
    listen: str = "127.0.0.1:7118"
    token_file: str = ""
    certificate: str = ""
    key: str = ""
    client_ca: str = ""
    segment: float = 10.0  # minutes
    keep: str = ""
    keep_size: str = ""
    node_size: str = ""
    forward_to: str = ""
    forward_token_file: str = ""
    forward_ca: str = ""
    forward_certificate: str = ""
    forward_key: str = ""
    nodes: list[str] = field(default_factory=list)
    nodes_token_file: str = ""
    nodes_ca: str = ""
    interval: float = 10.0

    @property
    def keeping(self) -> Keeping:
        """Raises InputError."""
        return Keeping(
            _age("keep", self.keep) if self.keep else None,
            _size("keep_size", self.keep_size) if self.keep_size else None,
        )

    @property
    def node_bytes(self) -> int:
        """Raises InputError."""
        return _size("node_size", self.node_size) if self.node_size else DEFAULT_BYTES

    def check(self) -> None:
        """Raises InputError."""
        if not self.output:
            raise InputError(
                "expected a directory for data sets", hint=f"give {setting('output', 'DIR')}"
            )
        if not 0 < self.segment <= LONGEST_MINUTES:
            raise InputError(f"segment: expected at most {LONGEST_MINUTES:g} minutes and above 0")
        if not 0 < self.interval <= 86_400:
            raise InputError("interval: expected at most 86400 seconds and above 0")
        if self.forward_to and not (self.forward_token_file or self.forward_certificate):
            raise InputError(
                f"forward_to: {self.forward_to} needs a token of that collector",
                hint=f"give {setting('forward_token_file', 'FILE')}; "
                "`sesame token add --collector --role relay` makes one",
            )
        _ = self.keeping, self.node_bytes


KINDS: dict[str, type | tuple[type, ...]] = {"float": (int, float), "str": str, "list[str]": list}


def read_settings(path: Path) -> dict[str, Any]:
    """The settings in a file. Raises InputError."""
    try:
        with path.open("rb") as file:
            given = tomllib.load(file)
    except OSError as error:
        raise InputError(error.strerror or "cannot be read", path=str(path)) from error
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise InputError(f"not valid TOML: {error}", path=str(path)) from error
    known = {name: str(kind) for name, kind in Settings.__annotations__.items()}
    for key, value in given.items():
        if key not in known:
            hint = f"settings: {', '.join(known)}"
            raise InputError(f"unknown setting {key}", path=str(path), hint=hint)
        is_right = isinstance(value, KINDS[known[key]]) and not isinstance(value, bool)
        if isinstance(value, list):
            is_right = is_right and all(isinstance(one, str) for one in value)
        if not is_right:
            raise InputError(f"{key}: {value!r} has the wrong type", path=str(path))
    return given


def _age(name: str, text: str) -> float:
    """Seconds."""
    match = re.fullmatch(r"(\d{1,6}(?:\.\d{1,3})?)\s*([mhdwy])", text)
    if match is None or float(match[1]) == 0:
        raise InputError(
            f"{name}: {text}: expected a time with a unit", hint="for instance 90m, 12h, 30d, 1y"
        )
    return float(match[1]) * SECONDS[match[2]]


def _size(name: str, text: str) -> int:
    try:
        size: int = native.parse_size_bytes(text)
    except InputError as error:
        raise InputError(f"{name}: {text}: {error.message}", hint=error.hint) from error
    return size
