"""Tables of the discussion."""

from __future__ import annotations

from sqlalchemy import Boolean, Column, ForeignKey, Index, Integer, String, Table, Text

from sesame.repository.store.schema import METADATA, UtcTime

talk_thread = Table(
    "talk_thread",
    METADATA,
    Column("id", String(8), primary_key=True),
    Column("title", String(200), nullable=False),
    Column("place", String(2000), nullable=False),  # the address that it is about; "" for none
    Column("author", ForeignKey("account.id"), nullable=False),
    Column("created", UtcTime, nullable=False),
    Column("last", UtcTime, nullable=False, index=True),  # when the last message was written
    Column("messages", Integer, nullable=False),
    Column("locked", Boolean, nullable=False),
    Column("hidden", Boolean, nullable=False),
)
# The things that a place is of: all of them must be visible to readers of the thread.
talk_thing = Table(
    "talk_thing",
    METADATA,
    Column("thread", ForeignKey("talk_thread.id", ondelete="CASCADE"), primary_key=True),
    Column("thing", String(8), primary_key=True),
    Index("talk_thing_thing", "thing"),
)
talk_message = Table(
    "talk_message",
    METADATA,
    Column("id", String(8), primary_key=True),
    Column("thread", ForeignKey("talk_thread.id", ondelete="CASCADE"), nullable=False),
    Column("author", ForeignKey("account.id"), nullable=False),
    Column("text", Text, nullable=False),  # Markdown
    Column("created", UtcTime, nullable=False),
    Column("edited", UtcTime),
    Column("hidden", Boolean, nullable=False),
    Column("reason", String(500), nullable=False),  # of a reviewer, why it is hidden
    Index("talk_message_thread", "thread", "created"),
)
# An image is kept once for each person who pasted it.
talk_image = Table(
    "talk_image",
    METADATA,
    Column("id", String(16), primary_key=True),  # random: it cannot be guessed
    Column("sha256", String(64), nullable=False),
    Column("owner", ForeignKey("account.id"), nullable=False, index=True),
    Column("type", String(20), nullable=False),
    Column("width", Integer, nullable=False),
    Column("height", Integer, nullable=False),
    Column("bytes", Integer, nullable=False),
    Column("created", UtcTime, nullable=False),
)
talk_use = Table(
    "talk_use",
    METADATA,
    Column("image", ForeignKey("talk_image.id", ondelete="CASCADE"), primary_key=True),
    Column("message", ForeignKey("talk_message.id", ondelete="CASCADE"), primary_key=True),
    Index("talk_use_message", "message"),
)
# Who gets mail about new messages.
talk_watch = Table(
    "talk_watch",
    METADATA,
    Column("thread", ForeignKey("talk_thread.id", ondelete="CASCADE"), primary_key=True),
    Column("account", ForeignKey("account.id", ondelete="CASCADE"), primary_key=True),
)
