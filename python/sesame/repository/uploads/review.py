"""Review: what is not from a trusted contributor waits until a reviewer has decided."""

from __future__ import annotations

import time
from dataclasses import dataclass

from sqlalchemy import Connection, insert, select

from sesame.errors import InputError
from sesame.repository.accounts.account import Account
from sesame.repository.provenance import fill
from sesame.repository.store import LibraryItem, Repository, schema
from sesame.repository.uploads.mail import queue_mail
from sesame.web.server.roles import PERMISSIONS, Permission, Role

ACCEPTED, ASKED, REFUSED, AGAIN = "accepted", "asked", "refused", "waiting"
WORDS = {
    ACCEPTED: "accepted",
    ASKED: "a reviewer asks back about",
    REFUSED: "refused",
    AGAIN: "waits again:",
}
LONGEST_REASON = 5000


@dataclass(frozen=True)
class Decision:
    """`reviewer`: the name of who decided, or of the owner who answered."""

    decision: str
    reason: str
    reviewer: str
    time: float


def waiting(repository: Repository, reader: Account) -> list[LibraryItem]:
    """What waits for a reviewer, the oldest first. Nothing for others."""
    if not reader.may_review:
        return []
    with repository.connection() as connection:
        found = repository.things.find(connection, schema.thing.c.state == "waiting", 500)
    return found[::-1]


def history(repository: Repository, thing: LibraryItem) -> list[Decision]:
    """All decisions about a thing, the oldest first."""
    row = schema.review.c
    query = (
        select(row.decision, row.reason, schema.account.c.name, row.time)
        .join(schema.account, schema.account.c.id == row.reviewer, isouter=True)
        .where(row.thing == thing.id)
        .order_by(row.id)
    )
    with repository.connection() as connection:
        return [
            Decision(decision, reason, name or "a former account", when)
            for decision, reason, name, when in connection.execute(query)
        ]


def decide(
    repository: Repository,
    reviewer: Account,
    thing: LibraryItem,
    decision: str,
    reason: str,
    site: str = "",
) -> None:
    """A reviewer accepts, asks back or refuses. Only an administrator decides about an own upload.
    Raises InputError."""
    if not reviewer.may_review:
        raise InputError("your role permits no review")
    if thing.owner == reviewer.id and not reviewer.may_administer:
        raise InputError("another reviewer decides about what you have uploaded")
    if decision not in (ACCEPTED, ASKED, REFUSED):
        raise InputError(f"decision: expected {ACCEPTED}, {ASKED} or {REFUSED}")
    reason = _checked_reason(reason)
    if decision != ACCEPTED and not reason:
        raise InputError("reason: say why, the owner gets it by mail")
    with repository.connection() as connection:
        _note(connection, repository, reviewer, thing, decision, reason)
        owner = schema.account.c
        mail = connection.scalar(select(owner.email).where(owner.id == thing.owner))
        head = f"{thing.title}\n{site}{thing.address}"
        text = f"{head}\n\n{WORDS[decision]} by {reviewer.title}.\n\n{reason}\n"
        queue_mail(connection, mail or "", f"{WORDS[decision]} {thing.title}", text)
        now = repository.things.get(connection, thing.id)
        versions = repository.things.versions(connection, thing.id)
    if now is not None:
        for version in versions:
            fill(repository, now, version)  # does nothing unless it was accepted


def answer(
    repository: Repository, owner: Account, thing: LibraryItem, reason: str, site: str = ""
) -> None:
    """The owner answers a question, and the thing waits again. Raises InputError."""
    if thing.owner != owner.id or thing.state != ASKED or not owner.may_contribute:
        raise InputError("no reviewer has asked you about this")
    with repository.connection() as connection:
        _note(connection, repository, owner, thing, AGAIN, _checked_reason(reason))
        tell_reviewers(connection, owner, thing, site)


def _note(
    connection: Connection,
    repository: Repository,
    who: Account,
    thing: LibraryItem,
    decision: str,
    reason: str,
) -> None:
    """Raises InputError if another reviewer has decided meanwhile."""
    now = repository.things.get(connection, thing.id)
    if now is None or now.state != thing.state:
        raise InputError("another reviewer has decided about this", hint="load the page again")
    repository.things.change(connection, thing.id, state=decision)
    connection.execute(
        insert(schema.review).values(
            thing=thing.id, reviewer=who.id, decision=decision, reason=reason, time=time.time()
        )
    )


def _checked_reason(reason: str) -> str:
    if len(reason) > LONGEST_REASON or "\0" in reason:
        raise InputError(f"reason: expected a text of at most {LONGEST_REASON} characters")
    return reason.strip()


def tell_reviewers(
    connection: Connection, owner: Account, thing: LibraryItem, site: str = ""
) -> None:
    """Queues a mail to each reviewer. `site`: its address, if it is known."""
    reviewing = [str(one) for one in Role if PERMISSIONS[one] & Permission.REVIEW]
    row = schema.account.c
    query = select(row.email).where(
        row.role.in_(reviewing), row.email != "", row.disabled.is_(False), row.id != owner.id
    )
    for mail in connection.scalars(query).all():
        text = (
            f"{owner.title} has uploaded:\n\n{thing.title}\n\nIt waits at {site}{thing.address}.\n"
        )
        queue_mail(connection, mail, f"to review: {thing.title}", text)
