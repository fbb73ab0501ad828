"""The tables of a repository, in SQLite or PostgreSQL. All parts add theirs here, so that there is
one history of migrations."""

from __future__ import annotations

from datetime import UTC, datetime

from sqlalchemy import (
    JSON,
    BigInteger,
    Column,
    DateTime,
    Dialect,
    ForeignKey,
    ForeignKeyConstraint,
    Integer,
    MetaData,
    String,
    Table,
    Text,
    TypeDecorator,
)

METADATA = MetaData(
    naming_convention={
        "ix": "ix_%(table_name)s_%(column_0_N_name)s",
        "uq": "uq_%(table_name)s_%(column_0_N_name)s",
        "fk": "fk_%(table_name)s_%(column_0_N_name)s",
        "pk": "pk_%(table_name)s",
    }
)

LIBRARIES = ("data", "tool", "model", "document", "report")
VISIBILITIES = ("private", "unlisted", "public")
STATES = ("waiting", "accepted", "asked", "refused")
RELATIONS = ("made_with", "simulated_on", "calibrated_by", "derived_from", "describes")


class UtcTime(TypeDecorator[datetime]):
    """A time in UTC; SQLite stores no zones."""

    impl = DateTime(timezone=True)
    cache_ok = True

    def process_bind_param(self, value: datetime | None, dialect: Dialect) -> datetime | None:
        if value is None:
            return None
        in_utc = value.astimezone(UTC)
        return in_utc.replace(tzinfo=None) if dialect.name == "sqlite" else in_utc

    def process_result_value(self, value: datetime | None, dialect: Dialect) -> datetime | None:
        if value is None:
            return None
        return value.replace(tzinfo=UTC) if value.tzinfo is None else value.astimezone(UTC)


def now() -> datetime:
    return datetime.now(UTC)


account = Table(
    "account",
    METADATA,
    Column("id", Integer, primary_key=True),
    Column("name", String(64), nullable=False, unique=True),
    Column("display_name", Text, nullable=False, default=""),
    Column("email", Text, nullable=False, default=""),
    Column("role", String(16), nullable=False),
    Column("created", UtcTime, nullable=False, default=now),
)

thing = Table(
    "thing",
    METADATA,
    Column("id", String(8), primary_key=True),
    Column("library", String(16), nullable=False, index=True),
    Column("owner", ForeignKey("account.id"), nullable=False, index=True),
    Column("title", Text, nullable=False),
    Column("description", Text, nullable=False, default=""),  # Markdown
    Column("licence", Text, nullable=False, default=""),  # an SPDX expression
    Column("visibility", String(16), nullable=False, index=True),
    Column("public_from", UtcTime),
    Column("state", String(16), nullable=False, index=True),
    Column("created", UtcTime, nullable=False, default=now, index=True),
    # What `sesame serve DIR` found under this path of DIR; null for uploads.
    Column("source", Text, unique=True),
)

version = Table(
    "version",
    METADATA,
    Column("thing", ForeignKey("thing.id", ondelete="CASCADE"), primary_key=True),
    Column("number", Integer, primary_key=True, autoincrement=False),
    Column("created", UtcTime, nullable=False, default=now),
    Column("content_hash", String(64), nullable=False, index=True),
    Column("info", JSON, nullable=False),
    Column("size", BigInteger, nullable=False),
    Column("note", Text, nullable=False, default=""),
)

file = Table(
    "file",
    METADATA,
    Column("thing", String(8), primary_key=True),
    Column("version", Integer, primary_key=True, autoincrement=False),
    Column("path", Text, primary_key=True),
    Column("sha256", String(64), nullable=False, index=True),
    Column("bytes", BigInteger, nullable=False),
    ForeignKeyConstraint(
        ["thing", "version"], ["version.thing", "version.number"], ondelete="CASCADE"
    ),
)

# The record types of each data set, so that pages and search need not read every info.json.
record_type = Table(
    "record_type",
    METADATA,
    Column("thing", String(8), primary_key=True),
    Column("version", Integer, primary_key=True, autoincrement=False),
    Column("name", Text, primary_key=True, index=True),
    Column("rows", BigInteger, nullable=False),
    ForeignKeyConstraint(
        ["thing", "version"], ["version.thing", "version.number"], ondelete="CASCADE"
    ),
)

link = Table(
    "link",
    METADATA,
    Column("id", Integer, primary_key=True),
    Column("thing", String(8), nullable=False, index=True),
    Column("version", Integer, nullable=False),
    Column("relation", String(16), nullable=False),
    Column("to_thing", ForeignKey("thing.id", ondelete="CASCADE"), nullable=False, index=True),
    ForeignKeyConstraint(
        ["thing", "version"], ["version.thing", "version.number"], ondelete="CASCADE"
    ),
)
