"""Finds entries: one interface over SQLite's FTS5 and PostgreSQL's tsvector.

What a reader may not see is neither found nor counted.
"""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from sqlalchemy import (
    ColumnElement,
    Connection,
    Select,
    and_,
    column,
    exists,
    func,
    literal_column,
    not_,
    or_,
    select,
    table,
    text,
)

from sesame.repository.search.query import Query
from sesame.repository.store.schema import thing
from sesame.repository.store.search_tables import search_entry, search_number, search_record
from sesame.repository.store.talk_tables import talk_thing

PAGE = 20
MOST_RANKED = 3000  # more are not counted, and the newest are shown first
MOST_PAGES = 50
EXCERPT = 240  # characters
_BEGIN = re.compile(r"\w{2,}\*")  # the begin of a word
_E = search_entry.c
_search_text = table("search_text", column("rowid"))


@dataclass(frozen=True)
class Hit:
    kind: str
    item: str
    address: str
    title: str
    excerpt: list[tuple[str, bool]]  # parts of the text, and whether a part matches
    system: str
    instrument: str
    person: str
    started: str
    changed: datetime


@dataclass(frozen=True)
class Found:
    hits: list[Hit]
    counts: dict[str, int]  # by kind, together at most MOST_RANKED + 1
    is_cut: bool  # there are more than MOST_RANKED
    is_ranked: bool
    page: int

    @property
    def total(self) -> int:
        return sum(self.counts.values())

    @property
    def has_more(self) -> bool:
        return self.page < MOST_PAGES and (self.is_cut or self.total > self.page * PAGE)


def find(
    connection: Connection, query: Query, visible: ColumnElement[bool], page: int = 1
) -> Found:
    """One page of what matches. `visible` is the clause for rows of `thing`."""
    page = max(1, min(page, MOST_PAGES))
    match = _match(query, connection.dialect.name)
    base = _joined(match).where(*_conditions(query), seen(visible))
    score = literal_column("0.0") if match is None else match.score
    wanted = base.with_only_columns(_E.id, _E.kind, score).limit(MOST_RANKED + 1)
    scored = list(connection.execute(wanted))
    is_cut = len(scored) > MOST_RANKED
    counts = Counter(str(kind) for _, kind, _ in scored)
    if query.libraries:
        scored = [one for one in scored if one[1] in query.libraries]
        counts = Counter({kind: counts[kind] for kind in query.libraries if counts[kind]})
    is_ranked = match is not None and not query.newest_first and not is_cut
    shown = slice((page - 1) * PAGE, page * PAGE)
    if is_cut:
        libraries = [_E.kind.in_(query.libraries)] if query.libraries else []
        newest = base.with_only_columns(_E.id).where(*libraries).order_by(_newest(match))
        chosen = list(connection.scalars(newest.limit(PAGE).offset(shown.start)))
    else:
        scored.sort(key=lambda one: (one[2], -one[0]) if is_ranked else -one[0])
        chosen = [one[0] for one in scored[shown]]
    rows = {
        row.id: row for row in connection.execute(select(search_entry).where(_E.id.in_(chosen)))
    }
    hits = [_hit(rows[number], query.words) for number in chosen]
    return Found(hits, dict(counts), is_cut, is_ranked, page)


def seen(visible: ColumnElement[bool]) -> ColumnElement[bool]:
    """Which entries are seen by readers who see the `visible` rows of `thing`."""
    ours = exists().where(thing.c.id == _E.thing, visible)
    others = exists().where(
        talk_thing.c.thread == _E.thread,
        not_(exists().where(thing.c.id == talk_thing.c.thing, visible)),
    )
    return and_(or_(_E.thing.is_(None), ours), or_(not_(_E.several), not_(others)))


def _joined(match: _Match | None) -> Select[Any]:
    if match is None:
        return select().select_from(search_entry)
    if match.is_sqlite:
        joined = _search_text.join(search_entry, _E.id == _search_text.c.rowid)
        return select().select_from(joined).where(match.condition)
    return select().select_from(search_entry).where(match.condition)


@dataclass(frozen=True)
class _Match:
    """The full-text condition of a query, and how well a row matches: the least is the best."""

    condition: Any
    score: Any
    is_sqlite: bool


def _newest(match: _Match | None) -> ColumnElement[Any]:
    if match is not None and match.is_sqlite:  # the order of the index itself costs nothing
        return _search_text.c.rowid.desc()
    return _E.id.desc()


def _match(query: Query, dialect: str) -> _Match | None:
    if not query.words:
        return None
    if dialect == "sqlite":
        condition = text("search_text MATCH :match").bindparams(match=_fts5(query.words))
        return _Match(condition, literal_column("bm25(search_text, 8.0, 1.0, 4.0)"), True)
    wanted = _tsquery(query.words)
    words: ColumnElement[Any] = literal_column("search_entry.words")
    return _Match(words.op("@@")(wanted), -func.ts_rank(words, wanted), False)


def _fts5(words: list[str]) -> str:
    """The words for MATCH: each a phrase; `allred*` is the begin of a word."""
    return " ".join(f'"{_plain(word)}"{" *" if _BEGIN.fullmatch(word) else ""}' for word in words)


def _plain(word: str) -> str:
    return re.sub(r'["*\0]', " ", word)


def _tsquery(words: list[str]) -> ColumnElement[Any]:
    """The same for PostgreSQL. Names are indexed without stemming, so each word is both."""
    whole: ColumnElement[Any] | None = None
    for word in words:
        one: ColumnElement[Any] = func.phraseto_tsquery("english", _plain(word)).op("||")(
            func.phraseto_tsquery("simple", _plain(word))
        )
        if _BEGIN.fullmatch(word):
            one = func.to_tsquery("simple", f"{word[:-1]}:*")
        whole = one if whole is None else whole.op("&&")(one.self_group())
    assert whole is not None
    return whole


def _conditions(query: Query) -> list[ColumnElement[bool]]:
    found: list[ColumnElement[bool]] = []
    for name, value in query.matches:
        found.append(search_entry.c[name].icontains(value, autoescape=True))
    for record in query.records:
        of = search_record.c
        wanted = [of.field == record.field]
        if record.name:
            wanted.append(of.name == record.name)
        found.append(_E.id.in_(select(of.entry).where(*wanted)))
    for number in query.numbers:
        n = search_number.c
        compared = n.value.bool_op(number.sign)(number.value)
        found.append(_E.id.in_(select(n.entry).where(n.name == number.name, compared)))
    if query.begin:
        found.append(_E.started >= query.begin)
    if query.end:
        found.append(and_(_E.started < query.end, _E.started != ""))
    return found


def _hit(row: Any, words: list[str]) -> Hit:
    return Hit(
        row.kind,
        row.item,
        row.address,
        row.title,
        excerpt(row.body, words),
        row.system,
        row.instrument,
        row.person,
        row.started,
        row.changed,
    )


def excerpt(body: str, words: list[str]) -> list[tuple[str, bool]]:
    """The part of a text around the first match, cut at matches."""
    stems = [re.escape(word[: max(3, len(word) - 3)] if word.isalpha() else word) for word in words]
    flat = " ".join(body.split())
    if not stems:
        return [(flat[:EXCERPT], False)] if flat else []
    pattern = re.compile(rf"\b(?:{'|'.join(stems)})\w*", re.I)
    first = pattern.search(flat)
    begin = max(0, first.start() - EXCERPT // 3) if first else 0
    if begin:
        begin = flat.rfind(" ", 0, begin) + 1
    shown = flat[begin : begin + EXCERPT]
    parts: list[tuple[str, bool]] = [("… ", False)] if begin else []
    at = 0
    for match in pattern.finditer(shown):
        parts += [(shown[at : match.start()], False), (match.group(), True)]
        at = match.end()
    parts.append((shown[at:] + (" …" if begin + EXCERPT < len(flat) else ""), False))
    return [part for part in parts if part[0]]
