"""The tables of a repository, in SQLite or PostgreSQL. All parts add theirs here, so that there is
one history of migrations."""

from __future__ import annotations

from datetime import UTC, datetime

from sqlalchemy import (
    JSON,
    BigInteger,
    Boolean,
    Column,
    DateTime,
    Dialect,
    Float,
    ForeignKey,
    ForeignKeyConstraint,
    Integer,
    MetaData,
    String,
    Table,
    Text,
    TypeDecorator,
    UniqueConstraint,
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
    Column("trusted", Boolean, nullable=False, default=False),  # its uploads need no review
    Column("disabled", Boolean, nullable=False, default=False),
    Column("password", Text),  # its argon2 hash; null: signs in at a provider, or not at all
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
    # Who answers questions about it, and what its files are; of the upload form.
    Column("contact", Text, nullable=False, default=""),
    Column("contact_mail", Text, nullable=False, default=""),
    Column("file_type", Text, nullable=False, default=""),
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

# ---- Sign-in. Times are s since 1970. ----

# An account of an OpenID Connect provider.
identity = Table(
    "identity",
    METADATA,
    Column("issuer", String(200), primary_key=True),
    Column("subject", String(255), primary_key=True),
    Column("account", ForeignKey("account.id", ondelete="CASCADE"), nullable=False),
)
session = Table(
    "session",
    METADATA,
    Column("digest", String(64), primary_key=True),  # sha256 of the cookie
    Column("account", ForeignKey("account.id", ondelete="CASCADE"), nullable=False, index=True),
    Column("seen", Float, nullable=False),
    Column("ends", Float, nullable=False),
)
access_token = Table(
    "access_token",
    METADATA,
    Column("digest", String(64), primary_key=True),  # sha256 of the token
    Column("account", ForeignKey("account.id", ondelete="CASCADE"), nullable=False, index=True),
    Column("name", String(100), nullable=False),
    Column("scope", String(20), nullable=False),  # the role that it has at most
    Column("created", Float, nullable=False),
    Column("ends", Float, nullable=False),
)
# Failed attempts to sign in.
attempt = Table(
    "attempt",
    METADATA,
    Column("id", Integer, primary_key=True),
    Column("name", String(64), nullable=False, index=True),
    Column("peer", String(64), nullable=False, index=True),
    Column("time", Float, nullable=False, index=True),
)
# Sign-ins at an OpenID Connect provider that have not come back.
sign_in = Table(
    "sign_in",
    METADATA,
    Column("digest", String(64), primary_key=True),  # sha256 of the browser's cookie
    Column("state", String(64), nullable=False),
    Column("nonce", String(64), nullable=False),
    Column("verifier", String(128), nullable=False),
    Column("next", String(2000), nullable=False),
    Column("ends", Float, nullable=False),
)

# ---- Uploads, reviews, mail. Times are s since 1970. ----

upload = Table(
    "upload",
    METADATA,
    Column("id", String(26), primary_key=True),
    Column("account", ForeignKey("account.id", ondelete="CASCADE"), nullable=False),
    Column("key", String(64), nullable=False),  # the same for the same files and account
    Column("state", String(20), nullable=False),  # see uploads/state.py
    Column("request", Text, nullable=False),  # JSON: title and so on, and the files
    Column("result", Text, nullable=False),  # JSON
    Column("thing", String(8)),
    Column("version", Integer),
    Column("created", Float, nullable=False),
    Column("changed", Float, nullable=False),
    UniqueConstraint("account", "key"),
)
review = Table(
    "review",
    METADATA,
    Column("id", Integer, primary_key=True),
    Column("thing", String(8), nullable=False, index=True),
    Column("reviewer", ForeignKey("account.id", ondelete="SET NULL")),
    Column("decision", String(20), nullable=False),  # accepted, asked, refused
    Column("reason", Text, nullable=False),
    Column("time", Float, nullable=False),
)
mail = Table(
    "mail",
    METADATA,
    Column("id", Integer, primary_key=True),
    Column("recipient", String(254), nullable=False),
    Column("subject", String(200), nullable=False),
    Column("text", Text, nullable=False),
    Column("created", Float, nullable=False),
    Column("next_try", Float, nullable=False),
    Column("tries", Integer, nullable=False),
)
