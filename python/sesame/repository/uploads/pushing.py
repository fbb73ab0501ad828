"""Sends a data set, or another tool's files, to a repository; continues what was broken off.

It needs the standard library only, so that `sesame push` works on the nodes of a cluster.
"""

from __future__ import annotations

import hashlib
import http.client
import io
import json
import ssl
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from sesame.errors import InputError, SesameError

CHUNK = 8 << 20  # bytes of one request
SMALLEST_CHUNK = 64 << 10
TRIES = 6  # without any progress
FIRST_WAIT_S = 0.5  # doubles with each try
TIMEOUT_S = 120.0
POLL_S = 0.1

Progress = Callable[[str, int, int], None]
"""What is done, bytes so far, bytes in all."""


class PushError(SesameError):
    """The repository is not reached, or does not accept this."""

    exit_status = 2


class _Answered(PushError):
    """An answer that is an error."""

    def __init__(self, status: int, message: str, hint: str | None) -> None:
        super().__init__(message, hint=hint)
        self.status = status


class Connection:
    """Requests to one repository, one after the other. A broken connection is opened again by the
    next request."""

    def __init__(self, address: str, token: str | None) -> None:
        """Raises InputError for an address that is none."""
        parts = urlsplit(address if "://" in address else f"http://{address}")
        if parts.scheme not in ("http", "https") or not parts.hostname:
            raise InputError(f"{address}: expected http://HOST:PORT or https://HOST")
        self.address = f"{parts.scheme}://{parts.netloc}{parts.path.rstrip('/')}"
        self._prefix = parts.path.rstrip("/")
        self._token = token
        try:
            port = parts.port
        except ValueError:
            raise InputError(f"{address}: expected a port up to 65535") from None
        if parts.scheme == "https":
            context = ssl.create_default_context()
            self._http: http.client.HTTPConnection = http.client.HTTPSConnection(
                parts.hostname, port, timeout=TIMEOUT_S, context=context
            )
        else:
            self._http = http.client.HTTPConnection(parts.hostname, port, timeout=TIMEOUT_S)

    def call(
        self,
        method: str,
        path: str,
        body: Any = None,
        headers: Mapping[str, str] | None = None,
    ) -> Any:
        """The JSON of an answer. Raises OSError or HTTPException for a broken connection, PushError
        for an answer that is an error."""
        sent = {"accept": "application/json", **(headers or {})}
        if self._token:
            sent["authorization"] = f"Bearer {self._token}"
        if isinstance(body, dict):
            body = json.dumps(body).encode()
            sent["content-type"] = "application/json"
        try:
            self._http.request(method, f"{self._prefix}/api/v1{path}", body, sent)
            answer = self._http.getresponse()
            content = answer.read()
        except BaseException:
            self._http.close()
            raise
        if answer.status >= 300:
            raise _error(answer.status, content)
        return json.loads(content) if content else None

    def close(self) -> None:
        self._http.close()


def _error(status: int, content: bytes) -> _Answered:
    try:
        found = json.loads(content)
        message, hint = str(found["error"]), found.get("hint")
    except (ValueError, KeyError, TypeError, AttributeError):
        message, hint = f"the server answers with status {status}", None
    if status == 401 and not hint:
        hint = "make a token at /account of the repository and give it in SESAME_TOKEN"
    return _Answered(status, message, hint)


@dataclass(frozen=True)
class Local:
    """A file to send."""

    path: str
    file: Path
    bytes: int
    sha256: str


def local_files(path: Path, progress: Progress) -> list[Local]:
    """The files of a directory, or one file, with their hashes. Raises InputError."""
    if path.is_dir():
        found = sorted(one for one in path.rglob("*") if one.is_file() and not one.is_symlink())
        named = [(one.relative_to(path).as_posix(), one) for one in found]
    elif path.is_file():
        named = [(path.name, path)]
    else:
        raise InputError("there is no such file", path=str(path))
    if not named:
        raise InputError("this directory has no files", path=str(path))
    try:
        total = sum(file.stat().st_size for _, file in named)
        done, made = 0, []
        for name, file in named:
            size, digest = 0, hashlib.sha256()
            with file.open("rb") as opened:
                while chunk := opened.read(CHUNK):
                    digest.update(chunk)
                    size += len(chunk)
                    progress("hash", done + size, total)
            done += size
            made.append(Local(name, file, size, digest.hexdigest()))
    except OSError as error:
        raise InputError(f"cannot read: {error.strerror}", path=str(error.filename)) from error
    return made


def push(
    path: Path, connection: Connection, description: Mapping[str, Any], progress: Progress
) -> dict[str, Any]:
    """Sends what is at `path` and waits until it is imported. `description`: title, licence,
    visibility and so on, as `POST /uploads` takes them. Returns the state of the upload, with the
    `address` of what was made. Raises InputError, PushError."""
    files = local_files(path, progress)
    listed = [{"path": one.path, "bytes": one.bytes, "sha256": one.sha256} for one in files]
    sender = _Sender(connection, files, progress)
    started = sender.retried(
        lambda: connection.call("POST", "/uploads", {**description, "files": listed})
    )
    if started["state"] == "failed":  # of an earlier time
        sender.retried(lambda: connection.call("DELETE", f"/uploads/{started['id']}"))
        started = sender.retried(
            lambda: connection.call("POST", "/uploads", {**description, "files": listed})
        )
    state = sender.send(started)
    if state["state"] == "failed":
        raise PushError(f"{path}: {state['error']}", hint=state.get("hint"))
    return state


class _Sender:
    def __init__(self, connection: Connection, files: list[Local], progress: Progress) -> None:
        self._connection, self._files, self._progress = connection, files, progress
        self._chunk = CHUNK

    def retried(self, request: Callable[[], Any]) -> Any:
        """The request, repeated while the connection breaks or the server is busy."""
        for attempt in range(TRIES):
            try:
                return request()
            except _Answered as error:
                if error.status not in (502, 503, 504) or attempt == TRIES - 1:
                    raise
            except (OSError, http.client.HTTPException) as error:
                if attempt == TRIES - 1:
                    raise PushError(
                        f"{self._connection.address}: cannot be reached: {_reason(error)}",
                        hint="run the same command again: it continues where it was",
                    ) from error
            time.sleep(FIRST_WAIT_S * 2**attempt)
        raise AssertionError

    def send(self, state: dict[str, Any]) -> dict[str, Any]:
        """Sends what is missing, twice if something arrived damaged; waits for the import."""
        address = f"/uploads/{state['id']}"
        for last in (False, True):
            if state["state"] == "receiving":
                self._send_missing(address, state)
            try:
                if state["state"] == "receiving":
                    state = self.retried(lambda: self._connection.call("POST", f"{address}/finish"))
                break
            except _Answered as error:
                if error.status != 409 or last:
                    raise
                state = self.retried(lambda: self._connection.call("GET", address))
        while state["state"] in ("waiting", "importing"):
            self._progress("import", 0, 0)
            time.sleep(POLL_S)
            state = self.retried(lambda: self._connection.call("GET", address))
        return state

    def _send_missing(self, address: str, state: dict[str, Any]) -> None:
        missing = {one["number"]: one["offset"] for one in state["missing"]}
        total = sum(self._files[one].bytes for one in missing)
        done = sum(missing.values())
        for number, offset in missing.items():
            for sent in self._send_file(address, number, offset):
                self._progress("send", done + sent - offset, total)
            done += self._files[number].bytes - offset

    def _send_file(self, address: str, number: int, offset: int) -> Any:
        """Yields how much of the file has arrived."""
        local = self._files[number]
        failures = 0
        with local.file.open("rb") as file:
            while offset < local.bytes:
                file.seek(offset)
                chunk = file.read(self._chunk)
                if not chunk:
                    raise InputError("the file became shorter while it was sent", path=local.path)
                before = offset
                offset = self._send_chunk(f"{address}/files/{number}", offset, chunk)
                failures = 0 if offset > before else failures + 1
                if failures == TRIES:
                    raise PushError(
                        f"{self._connection.address}: the connection breaks again and again",
                        hint="run the same command again: it continues where it was",
                    )
                if failures:
                    time.sleep(FIRST_WAIT_S * 2**failures)
                yield offset

    def _send_chunk(self, address: str, offset: int, chunk: bytes) -> int:
        """Returns the offset at the server, also after a break."""
        headers = {
            "upload-offset": str(offset),
            "content-type": "application/octet-stream",
            "content-length": str(len(chunk)),
        }
        try:
            answer = self._connection.call("PATCH", address, io.BytesIO(chunk), headers)
            return int(answer["offset"])
        except _Answered as error:
            if error.status in (408, 413) and self._chunk > SMALLEST_CHUNK:
                self._chunk //= 2
            elif error.status not in (409, 423, 502, 503, 504):
                raise
        except (OSError, http.client.HTTPException):
            pass
        state = self.retried(lambda: self._connection.call("GET", address))
        return int(state["offset"])


def _reason(error: Exception) -> str:
    return getattr(error, "strerror", None) or str(error) or type(error).__name__
