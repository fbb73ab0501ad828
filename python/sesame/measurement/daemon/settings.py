"""The settings of a daemon, which come from options, the settings file, and HTTP requests."""

from __future__ import annotations

import tomllib
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from sesame.errors import InputError
from sesame.measurement.daemon.node import LEVELS
from sesame.measurement.defaults import DEFAULT_INTERVAL_S, MOST_IN_BATCH, SHORTEST_INTERVAL_S


@dataclass
class Settings:
    interval: float = DEFAULT_INTERVAL_S
    """Seconds from one reading to the next."""
    batch: int = 6
    """Readings that are made and delivered together while the node is idle."""
    destination: str = ""
    """Where readings go: the URL of a collector, or a directory; empty: nowhere."""
    destination_token_file: str = ""
    destination_ca: str = ""
    """File of the collector's CA certificate, unless a public CA signed the certificate."""
    destination_certificate: str = ""
    """File of the node's certificate, by which the collector knows it; instead of a token."""
    destination_key: str = ""
    destinations: dict[str, dict[str, str]] = field(default_factory=dict)
    """Other destinations by name, which requests may choose: `address` and, as above without
    `destination_`, `token_file`, `ca`, `certificate`, `key`."""
    levels: dict[str, str] = field(default_factory=dict)
    """Levels by `all`, subsystem or subsystem.point; the more specific one takes precedence."""
    size_groups: dict[str, list[int]] = field(default_factory=dict)


EXPECTED: dict[str, type | tuple[type, ...]] = {
    "interval": (int, float),
    "batch": int,
    "destination": str,
    "destination_token_file": str,
    "destination_ca": str,
    "destination_certificate": str,
    "destination_key": str,
    "destinations": dict,
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
    if not SHORTEST_INTERVAL_S <= settings.interval <= 86400:
        raise InputError(
            f"interval: expected {SHORTEST_INTERVAL_S} to 86400 seconds, got {settings.interval}"
        )
    if not 1 <= settings.batch <= MOST_IN_BATCH:
        raise InputError(f"batch: expected 1 to {MOST_IN_BATCH} readings, got {settings.batch}")
    check_destination(settings.destination)
    for name, entry in settings.destinations.items():
        _check_entry(name, entry)
    for name, level in settings.levels.items():
        if level not in LEVELS:
            raise InputError(f"levels.{name}: expected off, summary or trace, got {level!r}")
    for name, limits in settings.size_groups.items():
        if not isinstance(limits, list) or not all(_is_size(limit) for limit in limits):
            raise InputError(f"size_groups.{name}: expected a list of sizes in bytes")


DESTINATION = {  # fields of the settings, by the keys of an entry of `destinations`
    "address": "destination",
    "token_file": "destination_token_file",
    "ca": "destination_ca",
    "certificate": "destination_certificate",
    "key": "destination_key",
}


def destination_of(settings: Settings) -> dict[str, str]:
    """The settings that describe the destination."""
    return {name: getattr(settings, name) for name in DESTINATION.values()}


def destination_named(name: str, configured: Settings) -> dict[str, str]:
    """The settings for a destination that a request names: one of the list in the settings file,
    the configured one, or none (""). Requests must not choose files or addresses, since the daemon
    may read files and reach hosts that its clients cannot. Raises InputError."""
    if name and name == configured.destination:
        return destination_of(configured)
    entry = configured.destinations.get(name, {}) if name else {}
    if name and not entry:
        known = ", ".join(configured.destinations)
        raise InputError(
            f"destination: {name} is not in [destinations] of the daemon's settings file",
            hint=f"there are {known}" if known else "add it there, and send SIGHUP",
        )
    return {field: entry.get(key, "") for key, field in DESTINATION.items()}


def _check_entry(name: str, entry: Any) -> None:
    if not isinstance(entry, dict) or not all(isinstance(one, str) for one in entry.values()):
        raise InputError(f"destinations.{name}: expected a table of texts")
    for key in entry:
        if key not in DESTINATION:
            raise InputError(
                f"destinations.{name}: unknown key {key}", hint=f"keys: {', '.join(DESTINATION)}"
            )
    if not entry.get("address"):
        raise InputError(f"destinations.{name}: expected an address")
    check_destination(entry["address"])


def check_destination(destination: str) -> None:
    if "://" in destination and not destination.startswith(("http://", "https://")):
        raise InputError(
            f"destination: {destination}: expected http://HOST:PORT, https://HOST:PORT or a "
            "directory"
        )


def _is_size(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and 0 < value < 2**63
