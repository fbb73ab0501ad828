"""Threads and their messages: reading for one reader, writing, moderation.

What a reader may not see does not exist for these functions: they return None or nothing.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from sqlalchemy import ColumnElement, Connection, delete, exists, func, insert, select, update

from sesame.errors import InputError
from sesame.repository.discussion.images import note_uses
from sesame.repository.discussion.markdown import parse
from sesame.repository.discussion.places import Subject
from sesame.repository.discussion.visible import listed_threads, readable_threads
from sesame.repository.store import Reader, Repository, schema
from sesame.repository.store.identifiers import new_identifier
from sesame.repository.store.search_index import Entry, put_entry, remove_entry
from sesame.repository.store.talk_tables import talk_message, talk_thing, talk_thread, talk_watch

MOST_TITLE, MOST_TEXT, MOST_REASON = 200, 40_000, 500
MOST_MESSAGES = 1000  # of a thread
MOST_AT_ONCE, AT_ONCE = 30, timedelta(minutes=10)  # messages of one person
PAGE = 50
_T, _M = talk_thread.c, talk_message.c
_NAME = func.coalesce(func.nullif(schema.account.c.display_name, ""), schema.account.c.name)


@dataclass(frozen=True)
class Thread:
    id: str
    title: str
    place: str
    author: int
    author_name: str
    created: datetime
    last: datetime
    messages: int
    locked: bool
    hidden: bool

    @property
    def address(self) -> str:
        return f"/talk/{self.id}"


@dataclass(frozen=True)
class Message:
    id: str
    thread: str
    author: int
    author_name: str
    text: str
    created: datetime
    edited: datetime | None
    hidden: bool
    reason: str

    @property
    def address(self) -> str:
        return f"/talk/{self.thread}#m-{self.id}"


def _threads() -> Any:
    joined = talk_thread.join(schema.account, schema.account.c.id == _T.author)
    return select(talk_thread, _NAME.label("author_name")).select_from(joined)


def _messages() -> Any:
    joined = talk_message.join(schema.account, schema.account.c.id == _M.author)
    return select(talk_message, _NAME.label("author_name")).select_from(joined)


def list_threads(
    repository: Repository, reader: Reader | None, thing: str | None = None, page: int = 1
) -> list[Thread]:
    """The most recent first; about one thing, or all that are listed."""
    if thing is None:
        where: ColumnElement[bool] = listed_threads(repository, reader)
    else:
        about = exists().where(talk_thing.c.thread == _T.id, talk_thing.c.thing == thing)
        where = readable_threads(repository, reader) & about
    query = _threads().where(where).order_by(_T.last.desc(), _T.id).limit(PAGE + 1)
    with repository.connection() as connection:
        found = connection.execute(query.offset((page - 1) * PAGE))
        return [Thread(**row._mapping) for row in found]


def get_thread(repository: Repository, reader: Reader | None, identifier: str) -> Thread | None:
    query = _threads().where(_T.id == identifier, readable_threads(repository, reader))
    with repository.connection() as connection:
        row = connection.execute(query).first()
    return None if row is None else Thread(**row._mapping)


def get_message(repository: Repository, reader: Reader | None, identifier: str) -> Message | None:
    joined = exists().where(_T.id == _M.thread, readable_threads(repository, reader))
    with repository.connection() as connection:
        row = connection.execute(_messages().where(_M.id == identifier, joined)).first()
    return None if row is None else Message(**row._mapping)


def messages_of(repository: Repository, thread: Thread) -> list[Message]:
    """In the order of writing. Who shows them leaves out the text of hidden ones."""
    query = _messages().where(_M.thread == thread.id).order_by(_M.created, _M.id)
    with repository.connection() as connection:
        found = connection.execute(query.limit(MOST_MESSAGES))
        return [Message(**row._mapping) for row in found]


def latest_messages(
    repository: Repository, reader: Reader | None, threads: Sequence[str], most: int = 40
) -> list[Message]:
    query = _messages().where(_M.thread.in_(threads), ~_M.hidden)
    with repository.connection() as connection:
        found = connection.execute(query.order_by(_M.created.desc()).limit(most))
        return [Message(**row._mapping) for row in found]


# Writing. Who calls these has checked that the reader may contribute.


def check_text(text: str, what: str, most: int) -> str:
    """Raises InputError."""
    text = text.replace("\r\n", "\n").replace("\0", "").strip()
    if not text:
        raise InputError(f"the {what} is empty")
    if len(text) > most:
        raise InputError(f"the {what} has {len(text):,} characters, at most {most:,} are kept")
    return text


def start_thread(
    repository: Repository, reader: Reader, title: str, text: str, place: Subject | None
) -> Message:
    """`place`: what it is about; all its things must be readable. Raises InputError."""
    title = " ".join(check_text(title, "title", MOST_TITLE).split())
    text = check_text(text, "message", MOST_TEXT)
    things = place.things if place is not None else ()
    now = schema.now()
    identifier = new_identifier()
    row = {
        "id": identifier,
        "title": title,
        "place": place.address if place is not None else "",
        "author": reader.id,
        "created": now,
        "last": now,
        "messages": 0,
        "locked": False,
        "hidden": False,
    }
    with repository.connection() as connection:
        _check_rate(connection, reader)
        _check_readable(repository, connection, reader, things)
        connection.execute(insert(talk_thread).values(row))
        if things:
            rows = [{"thread": identifier, "thing": one} for one in things]
            connection.execute(insert(talk_thing), rows)
        owners = select(schema.thing.c.owner).where(schema.thing.c.id.in_(things)).distinct()
        for one in {reader.id, *connection.scalars(owners)}:
            connection.execute(insert(talk_watch).values(thread=identifier, account=one))
        return _add(connection, identifier, reader, text)


def reply(repository: Repository, reader: Reader, thread: Thread, text: str) -> Message:
    """Raises InputError."""
    text = check_text(text, "message", MOST_TEXT)
    if thread.locked and not reader.may_review:
        raise InputError("this thread is locked: it takes no more messages")
    if thread.messages >= MOST_MESSAGES:
        raise InputError(f"a thread has at most {MOST_MESSAGES} messages; start another one")
    with repository.connection() as connection:
        _check_rate(connection, reader)
        watch(connection, thread.id, reader, True)
        return _add(connection, thread.id, reader, text)


def edit(repository: Repository, reader: Reader, message: Message, text: str) -> None:
    """By its author. Raises InputError."""
    text = check_text(text, "message", MOST_TEXT)
    with repository.connection() as connection:
        changed = update(talk_message).where(_M.id == message.id)
        connection.execute(changed.values(text=text, edited=schema.now()))
        note_uses(connection, reader, message.id, parse(text).images)
        index_thread(connection, message.thread)


def _check_rate(connection: Connection, reader: Reader) -> None:
    since = schema.now() - AT_ONCE
    recent = (_M.author == reader.id) & (_M.created > since)
    count = connection.scalar(select(func.count()).select_from(talk_message).where(recent)) or 0
    if count >= MOST_AT_ONCE:
        minutes = int(AT_ONCE.total_seconds() / 60)
        raise InputError(f"{count} messages in {minutes} minutes: wait before you write more")


def _check_readable(
    repository: Repository, connection: Connection, reader: Reader, things: Sequence[str]
) -> None:
    readable = repository.readable_by(reader)
    query = select(schema.thing.c.id).where(schema.thing.c.id.in_(things), readable)
    known = set(connection.scalars(query))
    if missing := [one for one in things if one not in known]:
        raise InputError(f"{missing[0]}: there is no such thing, or you may not read it")


def _add(connection: Connection, thread: str, reader: Reader, text: str) -> Message:
    now = schema.now()
    row: dict[str, Any] = {
        "id": new_identifier(),
        "thread": thread,
        "author": reader.id,
        "text": text,
        "created": now,
        "edited": None,
        "hidden": False,
        "reason": "",
    }
    connection.execute(insert(talk_message).values(row))
    changed = update(talk_thread).where(_T.id == thread)
    connection.execute(changed.values(last=now, messages=_T.messages + 1))
    note_uses(connection, reader, row["id"], parse(text).images)
    index_thread(connection, thread)
    return Message(**row, author_name=reader.name)


def watch(connection: Connection, thread: str, reader: Reader, wanted: bool) -> None:
    key = (talk_watch.c.thread == thread) & (talk_watch.c.account == reader.id)
    is_there = connection.execute(select(talk_watch).where(key)).first() is not None
    if wanted and not is_there:
        connection.execute(insert(talk_watch).values(thread=thread, account=reader.id))
    elif not wanted:
        connection.execute(delete(talk_watch).where(key))


def is_watching(repository: Repository, thread: str, reader: Reader | None) -> bool:
    if reader is None:
        return False
    key = (talk_watch.c.thread == thread) & (talk_watch.c.account == reader.id)
    with repository.connection() as connection:
        return connection.execute(select(talk_watch).where(key)).first() is not None


# Moderation, by reviewers.


def set_locked(repository: Repository, thread: Thread, locked: bool) -> None:
    with repository.connection() as connection:
        connection.execute(update(talk_thread).where(_T.id == thread.id).values(locked=locked))


def hide_thread(repository: Repository, thread: Thread, hidden: bool) -> None:
    with repository.connection() as connection:
        connection.execute(update(talk_thread).where(_T.id == thread.id).values(hidden=hidden))
        index_thread(connection, thread.id)


def hide_message(repository: Repository, message: Message, hidden: bool, reason: str) -> None:
    """Raises InputError: a message is hidden with a reason."""
    if hidden:
        reason = " ".join(check_text(reason, "reason", MOST_REASON).split())
    values = {"hidden": hidden, "reason": reason if hidden else ""}
    with repository.connection() as connection:
        connection.execute(update(talk_message).where(_M.id == message.id).values(values))
        index_thread(connection, message.thread)


def index_thread(connection: Connection, identifier: str) -> None:
    """Brings the search up to date: all messages of a thread that are not hidden."""
    thread = connection.execute(_threads().where(_T.id == identifier)).one()
    things = connection.scalars(
        select(talk_thing.c.thing).where(talk_thing.c.thread == identifier)
    ).all()
    main = next((one for one in things if one in thread.place), None)
    for row in connection.execute(_messages().where(_M.thread == identifier)).all():
        if row.hidden or thread.hidden:
            remove_entry(connection, "message", row.id)
            continue
        put_entry(
            connection,
            Entry(
                kind="message",
                item=row.id,
                address=f"/talk/{identifier}#m-{row.id}",
                title=thread.title,
                body=row.text,
                changed=row.created,
                thing=main,
                thread=identifier,
                several=len(things) > 1,
                person=row.author_name,
                started=row.created.isoformat(),
            ),
        )
