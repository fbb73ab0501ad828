"""Images in messages: checked and encoded anew before they are kept.

The account that pastes an image sees it; others see it when it is in a message that they may read.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from typing import Any, BinaryIO

from sqlalchemy import Connection, and_, exists, false, func, insert, or_, select, true

from sesame.errors import InputError
from sesame.repository.discussion import image_process
from sesame.repository.discussion.visible import readable_threads
from sesame.repository.store import Reader, Repository, schema
from sesame.repository.store.identifiers import ALPHABET
from sesame.repository.store.talk_tables import talk_image, talk_message, talk_thread, talk_use

MOST_BYTES = 12 << 20
SECONDS = 40
MOST_A_DAY = 200  # images of one person
ID_LENGTH = 16


@dataclass(frozen=True)
class Picture:
    type: str
    width: int
    height: int
    data: bytes


def convert(data: bytes) -> Picture:
    """Raises InputError where it is no image that we take."""
    if len(data) > MOST_BYTES:
        raise InputError(f"an image has at most {MOST_BYTES >> 20} MiB, got {len(data):,} bytes")
    # By its file: its package would load all of the pages, which takes half a second.
    command = [sys.executable, "-I", image_process.__file__]
    try:
        done = subprocess.run(command, input=data, capture_output=True, timeout=SECONDS)
    except subprocess.TimeoutExpired:
        raise InputError("the image takes too long to read") from None
    line, _, made = done.stdout.partition(b"\n")
    head: dict[str, Any]
    try:
        head = json.loads(line) if done.returncode == 0 else {"wrong": "it cannot be read"}
    except ValueError:
        head = {"wrong": "it cannot be read"}
    if "wrong" in head:
        raise InputError(
            f"the image: {head['wrong']}", hint="paste a PNG, JPEG, WebP or GIF, or a screenshot"
        )
    return Picture(head["type"], head["width"], head["height"], made)


def keep(repository: Repository, reader: Reader, data: bytes) -> str:
    """Checks and keeps an image; returns its id. Raises InputError."""
    with repository.connection() as connection:
        since = schema.now() - timedelta(days=1)
        mine = (talk_image.c.owner == reader.id) & (talk_image.c.created > since)
        count = connection.scalar(select(func.count()).select_from(talk_image).where(mine)) or 0
    if count >= MOST_A_DAY:
        raise InputError(f"you have added {count} images today, at most {MOST_A_DAY} are taken")
    made = convert(data)
    with tempfile.NamedTemporaryFile() as file:
        file.write(made.data)
        file.flush()
        sha256 = repository.files.put(Path(file.name))
    identifier = _new_id()
    row = {
        "id": identifier,
        "sha256": sha256,
        "owner": reader.id,
        "type": made.type,
        "width": made.width,
        "height": made.height,
        "bytes": len(made.data),
        "created": schema.now(),
    }
    with repository.connection() as connection:
        connection.execute(insert(talk_image).values(row))
    return identifier


def _new_id() -> str:
    import secrets

    return "".join(secrets.choice(ALPHABET) for _ in range(ID_LENGTH))


def open_image(
    repository: Repository, reader: Reader | None, identifier: str
) -> tuple[str, BinaryIO] | None:
    """Type and content of an image that the reader may see."""
    used = exists().where(
        talk_use.c.image == talk_image.c.id,
        talk_use.c.message == talk_message.c.id,
        talk_message.c.thread == talk_thread.c.id,
        or_(~talk_message.c.hidden, true() if _may_review(reader) else false()),
        readable_threads(repository, reader),
    )
    own = talk_image.c.owner == (reader.id if reader else -1)
    query = select(talk_image.c.type, talk_image.c.sha256).where(
        and_(talk_image.c.id == identifier, or_(own, used))
    )
    with repository.connection() as connection:
        row = connection.execute(query).first()
    return None if row is None else (row.type, repository.files.open(row.sha256))


def _may_review(reader: Reader | None) -> bool:
    return reader is not None and reader.may_review


def note_uses(connection: Connection, reader: Reader, message: str, images: list[str]) -> None:
    """Keeps which images a message shows: those that its author has added, or that are shown in
    a message already are seen with it."""
    connection.execute(talk_use.delete().where(talk_use.c.message == message))
    own = select(talk_image.c.id).where(
        talk_image.c.id.in_(images), talk_image.c.owner == reader.id
    )
    rows = [{"image": one, "message": message} for one in connection.scalars(own)]
    if rows:
        connection.execute(insert(talk_use), rows)
