"""What a link leads to, as readers see it: title, kind, description and picture."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from sqlalchemy import select

from sesame.repository.discussion.places import Subject
from sesame.repository.discussion.threads import Thread, get_thread
from sesame.repository.store import LibraryItem, Reader, Repository, schema

PARTS = {"look": "view", "play": "play-back", "records": "records", "compare": "comparison"}
MOST_CARDS = 4  # of one message
MOST_ABOUT = 160


@dataclass(frozen=True)
class Card:
    address: str
    title: str
    kind: str
    about: str = ""
    picture: str = ""  # its address


def cards_of(
    repository: Repository, reader: Reader | None, places: Iterable[Subject]
) -> dict[str, Card]:
    """By address; none of what the reader may not see."""
    wanted = list(dict.fromkeys(places))
    things = _things(repository, reader, {one for each in wanted for one in each.things})
    found: dict[str, Card] = {}
    for place in wanted:
        card = _card(repository, reader, place, things)
        if card is not None:
            found[place.address] = card
    return found


def _things(
    repository: Repository, reader: Reader | None, identifiers: set[str]
) -> dict[str, LibraryItem]:
    if not identifiers:
        return {}
    columns = schema.thing.c
    query = select(schema.thing).where(columns.id.in_(identifiers), repository.readable_by(reader))
    with repository.connection() as connection:
        return {row.id: LibraryItem(**row._mapping) for row in connection.execute(query)}


def _card(
    repository: Repository, reader: Reader | None, place: Subject, things: dict[str, LibraryItem]
) -> Card | None:
    known = [things[one] for one in place.things if one in things]
    if len(known) < len(place.things):
        return None
    if place.thread:
        thread: Thread | None = get_thread(repository, reader, place.thread)
        return None if thread is None else Card(place.address, thread.title, "thread")
    if place.record_type:
        return Card(place.address, f"Record type {place.record_type}", "documentation")
    if not known:
        return None
    main = known[0]
    title = " and ".join(one.title for one in known[:3]) + (" …" if len(known) > 3 else "")
    kind = PARTS.get(place.part, "") or {"data": "data set"}.get(main.library, main.library)
    about = " ".join(main.description.split())
    picture = f"/talk/picture/{main.id}" if main.library == "data" else ""
    return Card(place.address, title, kind, about[:MOST_ABOUT], picture)
