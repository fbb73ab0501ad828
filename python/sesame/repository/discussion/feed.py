"""Feeds of new messages (Atom, RFC 4287)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from xml.etree import ElementTree as Xml

ATOM = "http://www.w3.org/2005/Atom"
MEDIA_TYPE = "application/atom+xml"
_XML = "http://www.w3.org/XML/1998/namespace"


@dataclass(frozen=True)
class Item:
    address: str
    title: str
    author: str
    created: datetime
    changed: datetime
    html: str


def atom(base: str, address: str, title: str, items: Sequence[Item]) -> bytes:
    """`base`: scheme and host of the server; the addresses begin with /."""
    Xml.register_namespace("", ATOM)
    feed = Xml.Element(f"{{{ATOM}}}feed", {f"{{{_XML}}}base": base})
    newest = max((one.changed for one in items), default=datetime(1970, 1, 1, tzinfo=UTC))
    _add(feed, "id", base + address)
    _add(feed, "title", title)
    _add(feed, "updated", newest.isoformat())
    Xml.SubElement(feed, f"{{{ATOM}}}link", rel="self", href=base + address)
    for one in items:
        entry = Xml.SubElement(feed, f"{{{ATOM}}}entry")
        _add(entry, "id", base + one.address)
        _add(entry, "title", one.title)
        _add(entry, "updated", one.changed.isoformat())
        _add(entry, "published", one.created.isoformat())
        Xml.SubElement(entry, f"{{{ATOM}}}link", rel="alternate", href=base + one.address)
        author = Xml.SubElement(entry, f"{{{ATOM}}}author")
        _add(author, "name", one.author)
        _add(entry, "content", one.html).set("type", "html")
    return bytes(Xml.tostring(feed, encoding="utf-8", xml_declaration=True))


def _add(parent: Xml.Element, name: str, text: str) -> Xml.Element:
    made = Xml.SubElement(parent, f"{{{ATOM}}}{name}")
    # XML has no control characters.
    made.text = "".join(one for one in text if one >= " " or one in "\n\t")
    return made
