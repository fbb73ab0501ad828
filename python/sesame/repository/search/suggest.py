"""Suggestions while a reader types, and after a search that found nothing.

They are made of what the reader may see, never of the index of all words.
"""

from __future__ import annotations

import difflib
import re
from dataclasses import dataclass

from sqlalchemy import ColumnElement, Connection, select

from sesame.repository.search.find import find, seen
from sesame.repository.search.query import FILTERS, LIBRARIES, Query, normal
from sesame.repository.store.search_tables import search_entry, search_number, search_record

MOST = 8
MOST_SCANNED = 20_000  # entries whose words are compared with a misspelt one
COLUMNS = ("system", "instrument", "program", "person")
_E = search_entry.c


@dataclass(frozen=True)
class Suggestion:
    """`text` replaces the whole search; an `address` leads to what is named instead."""

    text: str
    about: str
    address: str = ""


def suggest(connection: Connection, typed: str, visible: ColumnElement[bool]) -> list[Suggestion]:
    """Ways to complete what has been typed: filters, their values, figures, titles."""
    before, last = _last_term(typed)
    if not last:
        return []
    name, colon, started = last.partition(":")
    if colon and name in FILTERS:
        values = _values(connection, name, started.strip('"'), visible)
        return [Suggestion(f"{before}{name}:{_quoted(value)}", FILTERS[name]) for value in values]
    found = [
        Suggestion(f"{before}{one}:", about)
        for one, about in FILTERS.items()
        if one.startswith(last.lower())
    ]
    found += [
        Suggestion(f"{before}{one}>", "a figure of a data set")
        for one in _figures(connection, last, visible)
    ]
    if re.fullmatch(r"\w{2,}", last):
        query = Query(words=[*before.split(), f"{last}*"])
        hits = [(hit.title, hit.address) for hit in find(connection, query, visible).hits]
        for title, address in dict.fromkeys([*_titled(connection, typed, visible), *hits]):
            found.append(Suggestion(typed, title, address))
    return found[:MOST]


def _titled(
    connection: Connection, typed: str, visible: ColumnElement[bool]
) -> list[tuple[str, str]]:
    """Titles that contain what has been typed, the newest first, and their addresses."""
    named = _E.title.icontains(typed.strip(), autoescape=True)
    query = select(_E.title, _E.address).where(named, seen(visible)).order_by(_E.changed.desc())
    return [(title, address) for title, address in connection.execute(query.limit(MOST))]


def _last_term(typed: str) -> tuple[str, str]:
    match = re.search(r'(?:[a-z]+:"[^"]*|[^\s"]+)$', typed)
    return (typed[: match.start()], match.group()) if match else (typed, "")


def _quoted(value: str) -> str:
    return f'"{value}"' if re.search(r"\s", value) else value


def _values(
    connection: Connection, name: str, started: str, visible: ColumnElement[bool]
) -> list[str]:
    if name == "in":
        return [one for one in LIBRARIES if one.startswith(started)]
    if name == "sort":
        return ["new"]
    if name in COLUMNS:
        column = search_entry.c[name]
        query = select(column).where(column.icontains(started, autoescape=True), column != "")
    elif name in ("record", "field"):
        of = search_record.c
        column = of.name if name == "record" else of.field
        query = select(column).join(search_entry, of.entry == _E.id)
        query = query.where(column.istartswith(started, autoescape=True), column != "")
    else:
        return []
    query = query.where(seen(visible)).distinct().order_by(column).limit(MOST)
    return list(connection.scalars(query))


def _figures(connection: Connection, started: str, visible: ColumnElement[bool]) -> list[str]:
    name = normal(started)
    if len(name) < 2:
        return []
    of = search_number.c
    query = (
        select(of.name)
        .join(search_entry, of.entry == _E.id)
        .where(of.name >= name, of.name < f"{name}\x7f", seen(visible))
        .distinct()
        .order_by(of.name)
        .limit(3)
    )
    return list(connection.scalars(query))


def correct(connection: Connection, query: Query, visible: ColumnElement[bool]) -> dict[str, str]:
    """For words of a search that found nothing: the nearest words that the reader could find."""
    rows = connection.execute(
        select(_E.title, *(_E[one] for one in COLUMNS))
        .where(seen(visible))
        .order_by(_E.id.desc())
        .limit(MOST_SCANNED)
    )
    known = {word for row in rows for text in row for word in re.findall(r"\w{3,}", text.lower())}
    said = [*query.words, *(value for _, value in query.matches)]
    words = {word for text in said for word in re.findall(r"\w{3,}", text.lower())}
    near = {word: difflib.get_close_matches(word, known, 1, 0.75) for word in words - known}
    return {word: found[0] for word, found in near.items() if found}
