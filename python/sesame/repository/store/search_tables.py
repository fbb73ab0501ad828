"""Tables of the search: entries, their figures and record types, and the full-text index.

An entry is whatever a search finds: a thing, a message, a page of the documentation. Things that
were added or changed are listed by triggers in `search_pending`, so code that changes a thing need
not know of the search.
"""

from __future__ import annotations

from sqlalchemy import (
    Boolean,
    Column,
    Connection,
    Float,
    ForeignKey,
    Index,
    Integer,
    String,
    Table,
    Text,
    UniqueConstraint,
    event,
    text,
)

from sesame.repository.store.schema import METADATA, UtcTime

search_entry = Table(
    "search_entry",
    METADATA,
    Column("id", Integer, primary_key=True),
    Column("kind", String(20), nullable=False),  # of query.LIBRARIES
    Column("item", String(80), nullable=False),  # id of the thing, message or page
    # Who may see the thing may see the entry; a page has none.
    Column("thing", String(8), index=True),
    # Of a message about several things: the others are those of its thread.
    Column("thread", String(8), index=True),
    Column("several", Boolean, nullable=False, default=False),
    Column("address", String(2000), nullable=False),
    Column("title", Text, nullable=False),
    Column("body", Text, nullable=False),
    Column("system", String(300), nullable=False, default=""),
    Column("instrument", String(200), nullable=False, default=""),
    Column("program", String(200), nullable=False, default=""),
    Column("person", String(400), nullable=False, default=""),
    Column("started", String(40), nullable=False, default=""),
    Column("changed", UtcTime, nullable=False),
    UniqueConstraint("kind", "item"),
)
Index("search_entry_kind", search_entry.c.kind, search_entry.c.id)
search_number = Table(
    "search_number",
    METADATA,
    Column("entry", ForeignKey("search_entry.id", ondelete="CASCADE"), primary_key=True),
    Column("name", String(80), primary_key=True),
    Column("value", Float, nullable=False),
    Index("search_number_name", "name", "value", "entry"),
)
search_record = Table(
    "search_record",
    METADATA,
    Column("entry", ForeignKey("search_entry.id", ondelete="CASCADE"), primary_key=True),
    Column("name", String(80), primary_key=True),
    Column("field", String(80), primary_key=True),  # "" for the record type itself
    Index("search_record_name", "name", "field", "entry"),
    Index("search_record_field", "field", "entry"),
)
search_pending = Table("search_pending", METADATA, Column("thing", String(8), primary_key=True))

_SQLITE = (
    """CREATE VIRTUAL TABLE IF NOT EXISTS search_text USING fts5(
        title, body, person, content='search_entry', content_rowid='id',
        tokenize='porter unicode61 remove_diacritics 2', prefix='2 3')""",
    """CREATE TRIGGER IF NOT EXISTS search_text_add AFTER INSERT ON search_entry BEGIN
        INSERT INTO search_text(rowid, title, body, person)
        VALUES (new.id, new.title, new.body, new.person); END""",
    """CREATE TRIGGER IF NOT EXISTS search_text_remove AFTER DELETE ON search_entry BEGIN
        INSERT INTO search_text(search_text, rowid, title, body, person)
        VALUES ('delete', old.id, old.title, old.body, old.person); END""",
    """CREATE TRIGGER IF NOT EXISTS search_text_change AFTER UPDATE ON search_entry BEGIN
        INSERT INTO search_text(search_text, rowid, title, body, person)
        VALUES ('delete', old.id, old.title, old.body, old.person);
        INSERT INTO search_text(rowid, title, body, person)
        VALUES (new.id, new.title, new.body, new.person); END""",
)
_POSTGRES = (
    """ALTER TABLE search_entry ADD COLUMN IF NOT EXISTS words tsvector GENERATED ALWAYS AS (
        setweight(to_tsvector('english', title), 'A') ||
        setweight(to_tsvector('simple', person), 'B') ||
        setweight(to_tsvector('english', body), 'D')) STORED""",
    "CREATE INDEX IF NOT EXISTS search_entry_words ON search_entry USING gin (words)",
    """CREATE OR REPLACE FUNCTION search_note() RETURNS trigger AS $$ BEGIN
        IF TG_TABLE_NAME = 'version' THEN
            INSERT INTO search_pending VALUES (NEW.thing) ON CONFLICT DO NOTHING;
        ELSIF TG_OP = 'DELETE' THEN
            INSERT INTO search_pending VALUES (OLD.id) ON CONFLICT DO NOTHING;
        ELSE
            INSERT INTO search_pending VALUES (NEW.id) ON CONFLICT DO NOTHING;
        END IF; RETURN NULL; END $$ LANGUAGE plpgsql""",
)
# On what a thing is listed: what happens to it, and new versions.
_NOTED = (
    ("thing", "INSERT", "new.id"),
    ("thing", "UPDATE", "new.id"),
    ("thing", "DELETE", "old.id"),
    ("version", "INSERT", "new.thing"),
)


def create_index(connection: Connection) -> None:
    """Makes the full-text index and the triggers where they are missing. The tables `thing` and
    `version` must exist."""
    sqlite = connection.dialect.name == "sqlite"
    for statement in _SQLITE if sqlite else _POSTGRES:
        connection.execute(text(statement))
    for table, what, value in _NOTED:
        name = f"search_note_{table}_{what.lower()}"
        if sqlite:
            connection.execute(
                text(
                    f"CREATE TRIGGER IF NOT EXISTS {name} AFTER {what} ON {table} BEGIN "
                    f"INSERT OR IGNORE INTO search_pending VALUES ({value}); END"
                )
            )
        else:
            connection.execute(
                text(
                    f"CREATE OR REPLACE TRIGGER {name} AFTER {what} ON {table} "
                    "FOR EACH ROW EXECUTE FUNCTION search_note()"
                )
            )


@event.listens_for(METADATA, "after_create")
def _after_create(_: object, connection: Connection, **__: object) -> None:
    create_index(connection)
