"""What a thread or a link is about: an address of this repository, and the things in it.

The address is kept as it is, so that whatever has an address can be talked about: a thing, a view
with all its settings, a range of records, a comparison.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from urllib.parse import parse_qsl, unquote, urlsplit

from sesame.errors import InputError
from sesame.repository.store.identifiers import ALPHABET, LENGTH, is_identifier

MOST_CHARACTERS = 2000
MOST_THINGS = 20
_ID = f"[{ALPHABET}]{{{LENGTH}}}"
_THING = re.compile(rf"/(?P<letter>[dtmr])/(?P<id>{_ID})(?P<rest>/[\w./-]*)?")
_OTHER = re.compile(r"/compare(?:/[\w./-]*)?|/records/[\w.-]{1,100}|/search|/talk/(?:[\w-]+)?")
# Where text becomes a link. Punctuation at the end belongs to the sentence.
ADDRESS = re.compile(
    rf"(?<![\w/.@:])(?P<path>/(?:[dtmr]/{_ID}|compare\b|records/\w|talk/{_ID})[^\s<>\"'`|\\^]*)"
)


@dataclass(frozen=True)
class Subject:
    """`address` begins with /. `things` are the identifiers in it, the first is its main one."""

    address: str
    things: tuple[str, ...]
    part: str = ""  # what of the thing: "look", "play", …
    record_type: str = ""
    thread: str = ""

    @property
    def is_thing(self) -> bool:
        """Whether it is the home page of a thing."""
        return bool(self.things) and not self.part and "?" not in self.address


def read_place(text: str, host: str = "") -> Subject:
    """The place of an address of this repository; with scheme and `host`, or without. Raises
    InputError."""
    place = _place(text.strip(), host)
    if place is None:
        raise InputError(
            f"{text[:100]}: expected an address of this repository, such as /d/3f2k8abc or "
            "/compare?d=3f2k8abc&d=9x7w1def"
        )
    return place


def find_place(text: str, host: str = "") -> Subject | None:
    """The same, None for any other address."""
    return _place(text.strip(), host)


def _place(text: str, host: str) -> Subject | None:
    if len(text) > MOST_CHARACTERS or any(ord(one) < 33 or one in '<>"\\^`' for one in text):
        return None
    try:
        parts = urlsplit(text)
    except ValueError:
        return None
    if parts.scheme or parts.netloc:
        if parts.scheme not in ("http", "https") or not host or parts.netloc != host:
            return None
        text = text.split(parts.netloc, 1)[1] or "/"
    if not text.startswith("/") or text.startswith("//") or ".." in unquote(parts.path).split("/"):
        return None
    return _known(text, parts.path, parts.query)


def _known(address: str, path: str, query: str) -> Subject | None:
    main = _THING.fullmatch(path.rstrip("/") or path)
    if main is None and not _OTHER.fullmatch(path):
        return None
    try:
        values = [value for _, value in parse_qsl(query, max_num_fields=200)]
    except ValueError:
        return None
    found = dict.fromkeys([main["id"]] if main else [])
    for value in values:
        found |= dict.fromkeys(one for one in re.split(r"[,\s]", value) if is_identifier(one))
    if len(found) > MOST_THINGS:
        return None
    part = ((main["rest"] or "").strip("/").partition("/")[0] if main else path.split("/")[1]) or ""
    if main and part == "v":
        part = ""
    record = path.split("/")[2] if path.startswith("/records/") else ""
    thread = path.split("/")[2] if path.startswith("/talk/") else ""
    return Subject(address, tuple(found), part, record, thread if is_identifier(thread) else "")
