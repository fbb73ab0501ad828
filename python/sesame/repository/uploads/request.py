"""What the user says about an upload: the fields of its form, checked."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, date, datetime, time
from typing import Any

from sesame.errors import InputError
from sesame.repository.accounts.store import checked_line, checked_mail
from sesame.repository.store.schema import RELATIONS
from sesame.repository.uploads.manifest import Manifest, parse_manifest

LIBRARIES = ("data", "tool", "model", "document", "report")
VISIBILITIES = ("private", "unlisted", "public")
LICENCE = re.compile(r"[A-Za-z0-9.+() -]{0,100}")  # an SPDX expression
THING = re.compile(r"[0-9a-hjkmnp-tv-z]{8}")
LINKED = re.compile(rf"(?:[^\s=]*/[dtmr]/)?({THING.pattern})(?:/v/\d{{1,9}})?/?")
MOST_LINKS = 50
LONGEST_DESCRIPTION = 200_000
LATEST_YEAR = 2200


@dataclass(frozen=True)
class UploadRequest:
    """`contact` and `contact_mail`: who answers questions about it. `kind`: of the files (data,
    source code, graphics, text). `version_of`: the thing that gets a new version, or "".
    `links`: relation and thing of what it was made with or from. `public_from`: s since 1970."""

    title: str
    description: str
    licence: str
    visibility: str
    library: str
    public_from: float | None
    contact: str
    contact_mail: str
    kind: str
    version_of: str
    links: list[list[str]]
    manifest: Manifest

    def as_json(self) -> dict[str, Any]:
        return {**vars(self), "manifest": None, "files": self.manifest.as_json()}


def parse_request(given: Mapping[str, Any], most_bytes: int) -> UploadRequest:
    """Raises InputError, which names the field."""
    description = _text(given, "description")
    if len(description) > LONGEST_DESCRIPTION:
        raise InputError(f"description: expected at most {LONGEST_DESCRIPTION} characters")
    title = checked_line(_text(given, "title"), "title")
    version_of = _text(given, "version_of")
    if not title and not version_of:
        raise InputError("title: expected a title")
    if version_of and not THING.fullmatch(version_of):
        raise InputError(f"version_of: expected 8 characters, got {version_of[:20]!r}")
    licence = _text(given, "licence")
    if not LICENCE.fullmatch(licence):
        raise InputError("licence: expected an SPDX identifier such as CC-BY-4.0")
    files = given.get("files", [])
    if not isinstance(files, list) or not all(isinstance(one, Mapping) for one in files):
        raise InputError("files: expected a list of path, bytes and sha256")
    return UploadRequest(
        title=title,
        description=_without_nul(description),
        licence=licence,
        visibility=_one_of(given, "visibility", VISIBILITIES, "private"),
        library=_one_of(given, "library", LIBRARIES, "data"),
        public_from=_time(_text(given, "public_from")),
        contact=checked_line(_text(given, "contact"), "contact"),
        contact_mail=checked_mail(_text(given, "contact_mail")),
        kind=checked_line(_text(given, "kind"), "kind", 40),
        version_of=version_of,
        links=_links(_text(given, "links")),
        manifest=parse_manifest(files, most_bytes),
    )


def _links(text: str) -> list[list[str]]:
    """Of words such as `calibrated_by=3f2k8x0a`; the address of a thing may be whole."""
    found = []
    for word in text.replace(",", " ").split():
        relation, _, place = word.partition("=")
        match = LINKED.fullmatch(place)
        if relation not in RELATIONS or match is None:
            expected = ", ".join(RELATIONS)
            raise InputError(
                f"links: expected RELATION=ID, got {word[:60]!r}; relations: {expected}"
            )
        found.append([relation, match[1]])
    if len(found) > MOST_LINKS:
        raise InputError(f"links: expected at most {MOST_LINKS}")
    return found


def _text(given: Mapping[str, Any], name: str) -> str:
    value = given.get(name)
    if value is None:
        return ""
    if not isinstance(value, str):
        raise InputError(f"{name}: expected a text")
    try:
        value.encode()
    except UnicodeEncodeError:
        raise InputError(f"{name}: expected whole characters") from None
    return value


def _without_nul(text: str) -> str:
    """PostgreSQL stores no NUL."""
    if "\0" in text:
        raise InputError("description: expected a text without NUL characters")
    return text


def _one_of(given: Mapping[str, Any], name: str, known: tuple[str, ...], default: str) -> str:
    value = _text(given, name) or default
    if value not in known:
        raise InputError(f"{name}: expected one of {', '.join(known)}")
    return value


def _time(text: str) -> float | None:
    """The begin of a day (UTC), or a time with its zone."""
    if not text:
        return None
    try:
        if re.fullmatch(r"\d{4}-\d{2}-\d{2}", text):
            found = datetime.combine(date.fromisoformat(text), time(), UTC)
        else:
            found = datetime.fromisoformat(text)
        if found.tzinfo is None or not 1970 <= found.year < LATEST_YEAR:
            raise ValueError
        return found.timestamp()
    except (ValueError, OverflowError):
        raise InputError(f"public_from: expected YYYY-MM-DD, got {text[:40]!r}") from None
