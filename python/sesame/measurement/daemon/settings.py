"""The settings of a daemon, which come from options, the settings file, and HTTP requests."""

from __future__ import annotations

import tomllib
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from sesame.errors import InputError
from sesame.measurement.daemon.node import LEVELS

SHORTEST_INTERVAL = 0.05
MOST_IN_BATCH = 360  # as many as a daemon keeps in memory


@dataclass
class Settings:
    interval: float = 10.0
    """Seconds from one reading to the next."""
    batch: int = 6
    """Readings that are made and delivered together while the node is idle."""
    destination: str = ""
    """Where readings go: the URL of a collector, or a directory; empty: nowhere."""
    destination_token_file: str = ""
    destination_ca: str = ""
    """File of the collector's CA certificate, unless a public CA signed the certificate."""
    levels: dict[str, str] = field(default_factory=dict)
    """Levels by `all`, subsystem or subsystem.point; the more specific one takes precedence."""
    size_groups: dict[str, list[int]] = field(default_factory=dict)


EXPECTED: dict[str, type | tuple[type, ...]] = {
    "interval": (int, float),
    "batch": int,
    "destination": str,
    "destination_token_file": str,
    "destination_ca": str,
    "levels": dict,
    "size_groups": dict,
}


def read_settings(path: Path) -> Settings:
    try:
        with path.open("rb") as file:
            given = tomllib.load(file)
    except OSError as error:
        raise InputError(error.strerror or "cannot be read", path=str(path)) from error
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise InputError(f"not valid TOML: {error}", path=str(path)) from error
    for key, value in given.items():
        if key not in EXPECTED:
            raise InputError(
                f"unknown setting {key}",
                path=str(path),
                hint=f"settings: {', '.join(EXPECTED)}",
            )
        if not isinstance(value, EXPECTED[key]) or isinstance(value, bool):
            raise InputError(f"{key}: {value!r} has the wrong type", path=str(path))
    settings = Settings(**given)
    try:
        check(settings)
    except InputError as error:
        raise InputError(error.message, path=str(path), hint=error.hint) from error
    return settings


def check(settings: Settings) -> None:
    if not SHORTEST_INTERVAL <= settings.interval <= 86400:
        raise InputError(
            f"interval: expected {SHORTEST_INTERVAL} to 86400 seconds, got {settings.interval}"
        )
    if not 1 <= settings.batch <= MOST_IN_BATCH:
        raise InputError(f"batch: expected 1 to {MOST_IN_BATCH} readings, got {settings.batch}")
    check_destination(settings.destination)
    for name, level in settings.levels.items():
        if level not in LEVELS:
            raise InputError(f"levels.{name}: expected off, summary or trace, got {level!r}")
    for name, limits in settings.size_groups.items():
        if not isinstance(limits, list) or not all(_is_size(limit) for limit in limits):
            raise InputError(f"size_groups.{name}: expected a list of sizes in bytes")


def check_destination(destination: str) -> None:
    if "://" in destination and not destination.startswith(("http://", "https://")):
        raise InputError(
            f"destination: {destination}: expected http://HOST:PORT, https://HOST:PORT or a "
            "directory"
        )


def _is_size(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and 0 < value < 2**63
