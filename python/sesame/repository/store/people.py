"""Who sends a request, as far as the store needs it."""

from __future__ import annotations

from dataclasses import dataclass

READER, CONTRIBUTOR, REVIEWER, ADMINISTRATOR = (
    "reader",
    "contributor",
    "reviewer",
    "administrator",
)


@dataclass(frozen=True)
class Reader:
    """An account that has signed in. Anonymous readers are None."""

    id: int
    name: str
    role: str = READER

    @property
    def may_review(self) -> bool:
        return self.role in (REVIEWER, ADMINISTRATOR)

    @property
    def may_contribute(self) -> bool:
        return self.role != READER

    @property
    def may_administer(self) -> bool:
        return self.role == ADMINISTRATOR
