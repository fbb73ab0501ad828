"""Access control: roles, the tokens that grant them, and the check of each request."""

from __future__ import annotations

import hmac
from collections.abc import Mapping
from dataclasses import dataclass
from enum import IntEnum

from fastapi import Request
from fastapi.security import HTTPBearer
from starlette.types import Scope

SAFE_METHODS = ("GET", "HEAD", "OPTIONS")
# Describes the token in /openapi.json; `Access.check` checks it.
BEARER = HTTPBearer(auto_error=False, description="the token of the file that the server made")


class Role(IntEnum):
    """What a token permits; each role includes those before it."""

    READ = 1  # requests that change nothing
    CONTROL = 2  # all requests


@dataclass(frozen=True)
class Access:
    """Tokens and their roles, and the paths that need no token."""

    roles: Mapping[str, Role]
    open_paths: frozenset[str] = frozenset({"/openapi.json"})

    def check(self, scope: Scope) -> int:
        """The status to refuse a request with, or 0: 401 for a wrong token, 403 for a request that
        changes something from a role that may only read. It needs the headers only, so that nothing
        of a request without a token is read. The role is stored for the audit log."""
        if scope["path"] in self.open_paths:
            return 0
        role = self.role_of(_token_of(scope))
        if role is None:
            return 401
        scope["sesame.role"] = role.name.lower()
        return 403 if role < Role.CONTROL and scope["method"] not in SAFE_METHODS else 0

    def role_of(self, given: bytes) -> Role | None:
        """None for a wrong token. The time does not tell which part of it was right."""
        found = None
        for token, role in self.roles.items():
            if hmac.compare_digest(given, token.encode()):
                found = role
        return found


def _token_of(scope: Scope) -> bytes:
    """The token of a request; empty if it has none."""
    value: bytes = dict(scope["headers"]).get(b"authorization", b"")
    scheme, _, token = value.partition(b" ")
    return token.strip() if scheme.lower() == b"bearer" else b""


async def routine(request: Request) -> None:
    """A dependency of routes with frequent requests: the audit log has only the refused ones."""
    request.scope["sesame.routine"] = True
