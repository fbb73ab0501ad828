"""The configuration of a site (TOML): database, storage, address, workers, mail and sign-in.

docs/how-to/repository.md has an example.
"""

from __future__ import annotations

import os
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any

from sesame.errors import InputError
from sesame.extras import require

DEFAULT_LISTEN = "127.0.0.1:7120"
MOST_WORKERS = 64
# Of the table [s3], and what s3fs calls them.
S3_KEYS = {"endpoint": "endpoint_url", "key": "key", "secret": "secret"}


@dataclass(frozen=True)
class Site:
    """What a file of `sesame serve --config` says. Paths are relative to the file."""

    database: str
    files: str
    title: str = "Sesame repository"
    address: str = ""  # of the site in links that leave it: https://host
    listen: str = DEFAULT_LISTEN
    certificate: Path | None = None
    key: Path | None = None
    cache: Path = Path("cache")
    workers: int = 1
    s3: Mapping[str, str] = field(default_factory=dict)
    mail: Mapping[str, Any] = field(default_factory=dict)
    openid: Mapping[str, Any] = field(default_factory=dict)

    @property
    def file_options(self) -> dict[str, Any]:
        """The options of the storage's file system (fsspec)."""
        options: dict[str, Any] = {
            S3_KEYS[name]: value for name, value in self.s3.items() if name in S3_KEYS
        }
        if "region" in self.s3:
            options["client_kwargs"] = {"region_name": self.s3["region"]}
        return options


def read_site(path: Path) -> Site:
    """Raises InputError with the key that is wrong."""
    try:
        found = tomllib.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise InputError(f"cannot read: {error.strerror}", path=str(path)) from error
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise InputError(f"not TOML: {error}", path=str(path)) from error
    _check_keys(found, path)
    base = path.resolve().parent
    for name in ("certificate", "key", "cache"):
        found[name] = base / found[name] if name in found else None
    found["cache"] = found["cache"] or base / "cache"
    if "://" not in found["files"]:
        found["files"] = str(base / found["files"])
    elif found["files"].startswith("s3://"):
        require("s3", "storage on S3")
    scheme, _, rest = found["database"].partition("://")
    if scheme == "postgresql":
        require("postgresql", "a PostgreSQL database")
    elif scheme == "sqlite" and rest.startswith("/") and rest != "/":
        found["database"] = f"sqlite:///{base / rest[1:]}"
    else:
        # It may have a password, which is not shown.
        expected = "expected postgresql://… or sqlite:///FILE"
        raise InputError(f"database: {expected}, got {scheme}://…", path=str(path))
    return Site(**found)


def _check_keys(found: Mapping[str, Any], path: Path) -> None:
    known = {one.name for one in fields(Site)}
    for name, value in found.items():
        if name not in known:
            expected = ", ".join(sorted(known))
            raise InputError(f"unknown key {name}, expected one of {expected}", path=str(path))
        wanted: type = dict if name in ("s3", "mail", "openid") else str
        wanted = int if name == "workers" else wanted
        if type(value) is not wanted:
            noun = {dict: "a table", int: "a whole number", str: "a text"}[wanted]
            raise InputError(f"{name}: expected {noun}, got {value!r}", path=str(path))
    for name in ("database", "files"):
        if not found.get(name):
            raise InputError(f"there is no {name}", path=str(path))
    if unknown := set(found.get("s3", {})) - {*S3_KEYS, "region"}:
        expected = ", ".join([*S3_KEYS, "region"])
        raise InputError(
            f"s3: unknown key {min(unknown)}, expected one of {expected}", path=str(path)
        )
    if not 1 <= found.get("workers", 1) <= MOST_WORKERS:
        raise InputError(f"workers: expected 1 to {MOST_WORKERS}", path=str(path))


def make_cache(site: Site) -> None:
    """Makes the directory of the cache, for its owner only: it has what is private."""
    try:
        site.cache.mkdir(parents=True, exist_ok=True, mode=0o700)
        if not os.access(site.cache, os.W_OK):
            raise PermissionError(13, "no permission to write")
    except OSError as error:
        raise InputError(f"cache: cannot write: {error.strerror}", path=str(site.cache)) from error
