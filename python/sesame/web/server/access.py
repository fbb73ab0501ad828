"""Access control: finds the client of each request, and whether its role permits the request."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from starlette.requests import Request
from starlette.types import Scope

from sesame.errors import SesameError
from sesame.web.server.roles import Client, Permission, Role
from sesame.web.server.token_file import TokenFile
from sesame.web.server.tokens import OwnToken, make_token

SAFE_METHODS = ("GET", "HEAD", "OPTIONS")
CLIENT = "sesame.client"  # the key of a request's client in its scope
CERTIFICATE = "sesame.certificate"  # in scope["state"]: the name in the client's certificate


class Tokens(Protocol):
    def client_of(self, token: bytes) -> Client | None:
        """The client with this token; None for a wrong one."""


@dataclass(frozen=True)
class FixedTokens:
    clients: Mapping[str, Client]

    def client_of(self, token: bytes) -> Client | None:
        return self.clients.get(token.decode("latin-1"))


@dataclass(frozen=True)
class Rule:
    """What requests need: one of `needs`. `path`: a regular expression of the whole path."""

    method: str
    path: str
    needs: Permission

    def applies(self, scope: Scope) -> bool:
        return bool(scope["method"] == self.method and re.fullmatch(self.path, scope["path"]))


@dataclass(frozen=True)
class Access:
    """The tokens of a server and what its requests need: what the first rule says that applies;
    else READ if they change nothing, else CONTROL. Open paths need no token.

    A client without a token may have a certificate that the server has verified: it then is the
    node of that name.
    """

    tokens: Sequence[Tokens]
    rules: Sequence[Rule] = ()
    open_paths: frozenset[str] = frozenset()
    is_public: bool = False  # requests need no token; what they may do is decided elsewhere

    def check(self, scope: Scope) -> int:
        """The status to refuse a request with, or 0: 401 without a valid token, 403 if its role
        does not permit the request. It needs the headers only, so that nothing of a request without
        a token is read. The client is stored in the scope."""
        if self.is_public or scope["path"] in self.open_paths:
            return 0
        client = self._client_of(scope)
        if client is None:
            return 401
        scope[CLIENT] = client
        return 0 if client.may(self._needs(scope)) else 403

    def _client_of(self, scope: Scope) -> Client | None:
        token = _token_of(scope)
        if token:
            found = (one.client_of(token) for one in self.tokens)
            return next((one for one in found if one is not None), None)
        name = scope.get("state", {}).get(CERTIFICATE)
        return Client(name, Role.NODE) if name else None

    def _needs(self, scope: Scope) -> Permission:
        is_safe = scope["method"] in SAFE_METHODS
        needs = (rule.needs for rule in self.rules if rule.applies(scope))
        return next(needs, Permission.READ if is_safe else Permission.CONTROL)


def _token_of(scope: Scope) -> bytes:
    """The token of a request; empty if it has none."""
    value: bytes = dict(scope["headers"]).get(b"authorization", b"")
    scheme, _, token = value.partition(b" ")
    return token.strip() if scheme.lower() == b"bearer" else b""


@dataclass(frozen=True)
class TokenPlaces:
    """The files of a server's tokens: its own token, and those that `sesame token` writes."""

    own: Path
    others: Path

    def open(self, say: Callable[[str], None]) -> list[Tokens]:
        """Makes the server's own token if there are neither. Raises InputError, OutputError."""
        tokens: list[Tokens] = [TokenFile(self.others, say)]
        if not self.others.exists():
            make_token(self.own)
        if self.own.exists():
            tokens.insert(0, OwnToken(self.own, say))
        return tokens

    def describe(self) -> str:
        return f"token in {self.own if self.own.exists() else self.others}"

    def advice(self) -> str | None:
        """What to do while all clients use the server's own token; None if they do not."""
        if self.others.exists():
            return None
        return (
            f"{self.own} permits everything; to give each client a token with a name, a role and "
            "an end: `sesame token add --help`"
        )


def client_of(request: Request) -> Client:
    """The client of a request; of one that has passed `Access.check`."""
    found = request.scope.get(CLIENT)
    if not isinstance(found, Client):
        raise SesameError("a request without a client")
    return found
