"""A client of repositories: finds things, and downloads them by their address.

It needs the standard library only. A download is kept in the user's cache under its content hash,
so that it is made once and never changes.

>>> from sesame.repository.client import Client
>>> Client("https://perf.example.org").things("data")
"""

from __future__ import annotations

import hashlib
import http.client
import json
import os
import re
import shutil
import tempfile
import urllib.error
import urllib.request
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Any
from urllib.parse import quote

from sesame.errors import InputError, OutputError
from sesame.web.server.listening import is_loopback

TIMEOUT_S = 60.0
CHUNK = 1 << 20
LARGEST_ANSWER = 256 << 20
TOKEN = "SESAME_TOKEN"  # the variable of a token for what is not public
ADDRESS = re.compile(
    r"(?P<scheme>https?://)?(?P<host>\[[0-9a-fA-F:]+\]|[A-Za-z0-9][A-Za-z0-9.-]*)"
    r"(?P<port>:\d{1,5})?/(?P<letter>[dtmr])/(?P<thing>[0-9a-z]{8})(?:/v/(?P<version>\d{1,9}))?/?"
)


@dataclass(frozen=True)
class Address:
    """An address of a thing, or of one of its versions."""

    server: str
    letter: str
    thing: str
    version: int | None


def parse_address(text: str) -> Address | None:
    """None if the text is no address of a thing. Without a scheme it is https, or http on this
    machine."""
    match = ADDRESS.fullmatch(text)
    if match is None:
        return None
    host = match["host"] + (match["port"] or "")
    local = is_loopback(f"{match['host'].strip('[]')}:1") if "[" not in host else True
    scheme = match["scheme"] or ("http://" if local else "https://")
    number = None if match["version"] is None else int(match["version"])
    return Address(f"{scheme}{host}", match["letter"], match["thing"], number)


class Client:
    """Raises InputError for what the repository refuses, with its reason."""

    def __init__(self, server: str, token: str | None = None) -> None:
        """`token`: by default that of the variable SESAME_TOKEN, if it is set."""
        self._server = server.rstrip("/")
        self._token = token if token is not None else os.environ.get(TOKEN, "").strip()

    def things(self, library: str | None = None, most: int = 100) -> list[Mapping[str, Any]]:
        """The newest things that you may see."""
        query = f"?most={most}" + (f"&library={quote(library)}" if library else "")
        found: list[Mapping[str, Any]] = self._json(f"/things{query}")["things"]
        return found

    def version(self, thing: str, number: int | None = None) -> Mapping[str, Any]:
        """A version with its info.json and files; by default the newest."""
        found: Mapping[str, Any] = self._json(
            f"/things/{quote(thing)}/" + ("newest" if number is None else f"versions/{number}")
        )
        return found

    def download(self, version: Mapping[str, Any], target: Path) -> None:
        """Downloads the files of a version into the new directory `target`, which appears when it
        is complete and all hashes are right."""
        target.parent.mkdir(parents=True, exist_ok=True)
        partial = Path(tempfile.mkdtemp(prefix=f".{target.name}.", dir=target.parent))
        try:
            for one in version["files"]:
                self._download_file(version, one, partial)
            partial.chmod(0o755)
            partial.rename(target)
        except OSError as error:
            raise OutputError(f"{target}: cannot write: {error.strerror or error}") from error
        finally:
            shutil.rmtree(partial, ignore_errors=True)

    def _download_file(
        self, version: Mapping[str, Any], one: Mapping[str, Any], directory: Path
    ) -> None:
        name = PurePosixPath(str(one["path"]))
        if name.is_absolute() or ".." in name.parts or not name.parts:
            raise InputError(f"{self._server}: the path {name} leaves its directory")
        file = directory / name
        file.parent.mkdir(parents=True, exist_ok=True)
        path = f"/things/{version['thing']}/versions/{version['number']}/files/{quote(str(name))}"
        digest = hashlib.sha256()
        with self._open(path) as answer, file.open("wb") as stream:
            while part := answer.read(CHUNK):
                digest.update(part)
                stream.write(part)
        if digest.hexdigest() != one["sha256"]:
            raise InputError(f"{self._server}: {name} arrived damaged", hint="try again")

    def _json(self, path: str) -> Any:
        with self._open(path) as answer:
            try:
                return json.loads(answer.read(LARGEST_ANSWER))
            except ValueError:
                raise InputError(f"{self._server}: this is no repository") from None

    def _open(self, path: str) -> Any:
        request = urllib.request.Request(f"{self._server}/api/v1{path}")
        if self._token:
            request.add_unredirected_header("Authorization", f"Bearer {self._token}")
        try:
            return urllib.request.urlopen(request, timeout=TIMEOUT_S)
        except urllib.error.HTTPError as error:
            with error:
                hint = None
                if error.code in (401, 403, 404) and not self._token:
                    hint = f"what is not public needs a token in the variable {TOKEN}"
                reason = {404: "there is no such thing, or you may not read it"}.get(error.code)
                raise InputError(
                    f"{self._server}: {reason or f'refused with status {error.code}'}", hint=hint
                ) from None
        except (OSError, http.client.HTTPException) as error:
            reason = str(getattr(error, "reason", error))
            raise InputError(f"{self._server}: cannot be reached: {reason}") from error


def cache_directory() -> Path:
    base = os.environ.get("XDG_CACHE_HOME") or str(Path.home() / ".cache")
    return Path(base) / "sesame" / "repository"


def resolve(text: str) -> str:
    """The local path of what an address names: a data set's directory, a model's machine file. For
    a workload its name. Any other text is returned as it is. Raises InputError."""
    place = parse_address(text)
    if place is None or Path(text).exists():
        return text
    client = Client(place.server)
    version = client.version(place.thing, place.version)
    if place.letter == "t" and (name := version["info"].get("workload")):
        return str(name)
    if not re.fullmatch("[0-9a-f]{64}", str(version["content_hash"])):
        raise InputError(f"{place.server}: this is no repository")
    kept = cache_directory() / version["content_hash"] / f"{place.thing}.sesame"
    if not kept.is_dir():
        client.download(version, kept)
    if place.letter != "m":
        return str(kept)
    files = sorted(kept.glob("*.toml"))
    if len(files) != 1:
        raise InputError(f"{text}: expected one machine file (*.toml), found {len(files)}")
    return str(files[0])


def resolve_arguments(words: list[str]) -> list[str]:
    """The words of a command line with addresses resolved: whole words, values of `--option=…` and
    `recorded:…`; not what follows `--`, which is a program's."""
    end = words.index("--") if "--" in words else len(words)
    if not words or words[0] in ("pull", "push", "serve"):
        return words
    return [_resolve_word(word) for word in words[:end]] + words[end:]


def _resolve_word(word: str) -> str:
    prefix = re.match(r"(--[a-z-]+=)?(recorded:)?", word)
    assert prefix is not None
    return prefix[0] + resolve(word[prefix.end() :])
