"""What a data set was made with: its machine model and its workload as things, with links.

A model is found by the content of its machine file, so that runs on the same machine lead to the
same model. It is as visible as the data set that it was first made from.
"""

from __future__ import annotations

import json
import tempfile
from pathlib import Path

from sqlalchemy import select

from sesame.errors import InputError
from sesame.repository.store import LibraryItem, Link, NewThing, Repository, Version, schema
from sesame.workloads.catalogue import find_workload


def fill(repository: Repository, thing: LibraryItem, version: Version) -> None:
    """Adds the things and links that are missing; of an accepted data set only."""
    if thing.state != "accepted" or thing.library != "data":
        return
    target = version.info.get("target_system") or {}
    text, name = target.get("machine_file"), str(target.get("name") or "a machine")
    if isinstance(text, str) and text:
        about = "The machine model of a simulated run. Its address stands for a machine."
        new = _new(thing, "model", name, about)
        _link(repository, version, "simulated_on", new, "machine.toml", text, {})
    workload = (version.info.get("result") or {}).get("workload")
    try:
        known = find_workload(str(workload)) if workload else None
    except InputError:
        return
    if known is not None:
        info = {"workload": known.name, "run": f"sesame bench run {known.name}"}
        new = _new(thing, "tool", known.name, known.purpose)
        _link(repository, version, "made_with", new, "workload.json", json.dumps(info), info)


def _new(thing: LibraryItem, library: str, title: str, description: str) -> NewThing:
    return NewThing(
        library,
        thing.owner,
        title,
        description,
        visibility=thing.visibility,
        public_from=thing.public_from,
        state="accepted",
    )


def _link(
    repository: Repository,
    version: Version,
    relation: str,
    new: NewThing,
    name: str,
    content: str,
    info: dict[str, str],
) -> None:
    """Links to the thing with this content that is as visible, or to a new one."""
    with tempfile.TemporaryDirectory() as scratch:
        (Path(scratch) / name).write_text(content, encoding="utf-8")
        stored = repository.store_directory(Path(scratch), info=dict(info))
    columns, versions = schema.thing.c, schema.version.c
    with repository.connection() as connection:
        found = connection.scalars(
            select(columns.id)
            .join(schema.version, versions.thing == columns.id)
            .where(
                versions.content_hash == stored.content_hash,
                columns.library == new.library,
                columns.owner == new.owner,
                columns.visibility == new.visibility,
                columns.public_from.is_(new.public_from)
                if new.public_from is None
                else columns.public_from == new.public_from,
                columns.state == "accepted",
            )
        ).first()
        if found is None:
            found = repository.things.add(connection, new).id
            repository.things.add_version(connection, found, stored)
        repository.things.add_link(connection, Link(version.thing, version.number, relation, found))
