"""Mail to those who watch a thread. It is queued with the message, in the same way as the mail of
reviews, and sent by the site's mail server."""

from __future__ import annotations

from collections.abc import Callable

from sqlalchemy import Connection, select
from starlette.requests import Request

from sesame.repository.discussion.threads import Message, Thread
from sesame.repository.discussion.visible import readable_threads
from sesame.repository.store import Reader, Repository, schema
from sesame.repository.store.talk_tables import talk_thread, talk_watch

MOST_TEXT = 4000
# Queues one mail within a transaction: recipient, subject, text.
Queue = Callable[[Connection, str, str, str], None]


def base_of(request: Request) -> str:
    """Scheme and host of addresses that leave this server: the site's own, if it is configured,
    since a client chooses the host of its request."""
    configured: str = getattr(request.app.state, "address", "")
    return configured.rstrip("/") or f"{request.url.scheme}://{request.url.netloc}"


def notify(
    repository: Repository, queue: Queue, thread: Thread, message: Message, base: str
) -> int:
    """Queues a mail for each who watches the thread, has an address, may read it and has not
    written the message; returns how many."""
    account, sent = schema.account.c, 0
    query = (
        select(account.id, account.name, account.role, account.email)
        .join(talk_watch, talk_watch.c.account == account.id)
        .where(talk_watch.c.thread == thread.id, account.id != message.author, account.email != "")
        .where(~account.disabled)
    )
    text = (
        f"{message.author_name} wrote in “{thread.title}”:\n\n{message.text[:MOST_TEXT]}\n\n"
        f"{base}{message.address}\n\nYou get this mail because you watch this thread. Its page has "
        "a button that ends this.\n"
    )
    with repository.connection() as connection:
        for row in connection.execute(query).all():
            reader = Reader(row.id, row.name, row.role)
            may = select(talk_thread.c.id).where(
                talk_thread.c.id == thread.id, readable_threads(repository, reader)
            )
            if connection.execute(may).first() is not None:
                queue(connection, row.email, f"New message: {thread.title}", text)
                sent += 1
    return sent
