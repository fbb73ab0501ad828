"""Which threads a reader may see: those all of whose things he may see, unless a reviewer has
hidden them."""

from __future__ import annotations

from sqlalchemy import ColumnElement, and_, exists, not_, true

from sesame.repository.store import Reader, Repository, schema
from sesame.repository.store.talk_tables import talk_thing, talk_thread


def listed_threads(repository: Repository, reader: Reader | None) -> ColumnElement[bool]:
    """For lists, feeds and counts: what is unlisted is not in them."""
    return _those(repository.visible_to(reader), reader)


def readable_threads(repository: Repository, reader: Reader | None) -> ColumnElement[bool]:
    """For every reader who has the address."""
    return _those(repository.readable_by(reader), reader)


def _those(visible: ColumnElement[bool], reader: Reader | None) -> ColumnElement[bool]:
    thing = schema.thing
    unseen = exists().where(
        talk_thing.c.thread == talk_thread.c.id,
        not_(exists().where(thing.c.id == talk_thing.c.thing, visible)),
    )
    is_open = true() if reader is not None and reader.may_review else not_(talk_thread.c.hidden)
    return and_(not_(unseen), is_open)
