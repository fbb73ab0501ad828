"""An account, and what a request of it may do."""

from __future__ import annotations

from dataclasses import dataclass

from sesame.repository.store.people import Reader
from sesame.web.server.roles import PERMISSIONS, Permission, Role


@dataclass(frozen=True)
class Account(Reader):
    """A person or a program with a name here. `scope` limits the role: that of the token by which
    the request came. Uploads of a `trusted` one need no review."""

    display_name: str = ""
    email: str = ""
    trusted: bool = False
    disabled: bool = False
    scope: Role = Role.ADMINISTRATOR

    @property
    def title(self) -> str:
        return self.display_name or self.name

    def may(self, wanted: Permission) -> bool:
        """Whether role and scope both permit one of `wanted`."""
        return bool(PERMISSIONS[Role(self.role)] & PERMISSIONS[self.scope] & wanted)

    @property
    def may_contribute(self) -> bool:
        return self.may(Permission.CONTRIBUTE)

    @property
    def may_review(self) -> bool:
        return self.may(Permission.REVIEW)

    @property
    def may_administer(self) -> bool:
        return self.may(Permission.ADMINISTER)

    @property
    def needs_review(self) -> bool:
        """Whether what it uploads waits for a reviewer, whatever the scope of its token is."""
        return not (self.trusted or bool(PERMISSIONS[Role(self.role)] & Permission.REVIEW))
