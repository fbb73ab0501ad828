"""Who may do what: roles, which tokens give, and the check of each request."""

from __future__ import annotations

import hmac
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from enum import IntEnum
from typing import Annotated

from fastapi import Depends, HTTPException, Request
from fastapi.security import HTTPAuthorizationCredentials, HTTPBearer

SAFE_METHODS = ("GET", "HEAD", "OPTIONS")
BEARER = HTTPBearer(auto_error=False, description="the token of the file that the server made")


class Role(IntEnum):
    """What a token permits; each role includes those before it."""

    READ = 1  # requests that change nothing
    CONTROL = 2  # all requests


@dataclass(frozen=True)
class Access:
    """Tokens and their roles."""

    roles: Mapping[str, Role]

    def role_of(self, given: str) -> Role | None:
        """None for a wrong token. The time does not tell which part of it was right."""
        found = None
        for token, role in self.roles.items():
            if hmac.compare_digest(given.encode(), token.encode()):
                found = role
        return found


Guard = Callable[[Request, HTTPAuthorizationCredentials | None], Awaitable[None]]


async def routine(request: Request) -> None:
    """A dependency of routes whose requests come all the time: the audit log has only those that
    are refused."""
    request.scope["sesame.routine"] = True


def guard(access: Access) -> Guard:
    """A dependency of routes: refuses a wrong token with 401, and with 403 a request that changes
    something from a role that may only read. The role is noted for the audit log."""

    async def check(
        request: Request,
        given: Annotated[HTTPAuthorizationCredentials | None, Depends(BEARER)],
    ) -> None:
        role = access.role_of(given.credentials if given is not None else "")
        if role is None:
            raise HTTPException(401, "wrong token, or none")
        request.scope["sesame.role"] = role.name.lower()
        if role < Role.CONTROL and request.method not in SAFE_METHODS:
            raise HTTPException(403, "this token permits reading only")

    return check
