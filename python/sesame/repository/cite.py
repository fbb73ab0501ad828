"""How to cite a version of a thing: BibTeX, and JSON of DataCite's schema 4; and its info file in
flat text, as the SESAME repository had (final report, 6.3.1)."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from sesame.repository.store import LibraryItem, Version
from sesame.repository.store.things import StoredFile

TYPES = {
    "data": "Dataset",
    "tool": "Software",
    "model": "Model",
    "document": "Text",
    "report": "Report",
}
# https://datacite-metadata-schema.readthedocs.io/en/4.6/
DATACITE = "http://datacite.org/schema/kernel-4"
_BIBTEX_SPECIAL = re.compile(r"([#$%&_{}])")


@dataclass(frozen=True)
class Cited:
    """A version with what a citation says besides."""

    thing: LibraryItem
    version: Version
    author: str
    site: str
    url: str  # the permanent address of the version

    @property
    def year(self) -> int:
        return self.version.created.year


def bibtex(cited: Cited) -> str:
    key = f"sesame-{cited.thing.id}-{cited.version.number}"
    fields = {
        "author": f"{{{_in_bibtex(cited.author)}}}",
        "title": f"{{{_in_bibtex(cited.thing.title)}}}",
        "year": str(cited.year),
        "version": str(cited.version.number),
        "howpublished": _in_bibtex(cited.site),
        "url": cited.url,
        "note": f"sha256 {cited.version.content_hash}",
    }
    lines = [f"  {name} = {{{value}}}" for name, value in fields.items()]
    return f"@misc{{{key},\n" + ",\n".join(lines) + "\n}\n"


def _in_bibtex(text: str) -> str:
    plain = " ".join(text.replace("\\", " ").split())
    return _BIBTEX_SPECIAL.sub(r"\\\1", plain)


def datacite(cited: Cited, related: Sequence[tuple[str, str]] = ()) -> dict[str, Any]:
    """`related`: (relation of DataCite, URL)."""
    thing, version = cited.thing, cited.version
    found: dict[str, Any] = {
        "schemaVersion": DATACITE,
        "identifiers": [{"identifier": cited.url, "identifierType": "URL"}],
        "creators": [{"name": cited.author}],
        "titles": [{"title": thing.title}],
        "publisher": {"name": cited.site},
        "publicationYear": str(cited.year),
        "types": {"resourceTypeGeneral": TYPES[thing.library], "resourceType": thing.library},
        "version": str(version.number),
        "dates": [{"date": version.created.isoformat(), "dateType": "Available"}],
        "sizes": [f"{version.size} bytes"],
    }
    if begin := version.info.get("begin_time"):
        found["dates"].append({"date": str(begin), "dateType": "Collected"})
    if thing.licence:
        found["rightsList"] = [{"rights": thing.licence}]
    if thing.description:
        found["descriptions"] = [{"description": thing.description, "descriptionType": "Abstract"}]
    if related:
        found["relatedIdentifiers"] = [
            {"relationType": kind, "relatedIdentifier": url, "relatedIdentifierType": "URL"}
            for kind, url in related
        ]
    return found


def info_text(cited: Cited, files: Sequence[StoredFile]) -> str:
    """The info file: name and value on each line, then the record types with their fields."""
    thing, version, info = cited.thing, cited.version, cited.version.info
    instrument, host = info.get("instrument") or {}, info.get("host") or {}
    pairs = [
        ("Address", cited.url),
        ("Data set title", thing.title),
        ("Contributor", cited.author),
        ("Contact", thing.contact or info.get("contact")),
        ("File type", thing.file_type),
        ("Licence", thing.licence),
        ("Version", f"{version.number} of {version.created.isoformat()}"),
        ("Size", f"{version.size} bytes in {len(files)} files"),
        ("Content hash", f"sha256 {version.content_hash}"),
        ("Kind", info.get("kind")),
        ("System type", (info.get("target_system") or {}).get("name") or host.get("system")),
        ("Host name", host.get("name")),
        ("Ranks", info.get("ranks")),
        ("Instrument", f"{instrument.get('name', '')} {instrument.get('version', '')}".strip()),
        ("Command", " ".join(map(str, info.get("command") or []))),
        ("Begin date", info.get("begin_time")),
    ]
    lines = [f"{name + ':':<16}{_one_line(value)}" for name, value in pairs if value]
    lines += ["", "Description:", *(f"  {line}" for line in thing.description.splitlines())]
    lines += ["", "Files:", *(f"  {one.sha256}  {one.bytes:>14}  {one.path}" for one in files)]
    for name, described in (info.get("record_types") or {}).items():
        meaning = _one_line(described.get("meaning", ""))
        lines += ["", f"Record type: {name}", f"  Records: {described.get('rows', 0)}"]
        lines += [f"  Meaning: {meaning}", "  Fields:"]
        for field in described.get("fields") or []:
            texts = [_one_line(field.get(key, "")) for key in ("name", "type", "unit", "meaning")]
            lines.append("    {:<24}{:<10}{:<8}{}".format(*texts).rstrip())
    return "\n".join(lines) + "\n"


def _one_line(value: Any) -> str:
    return " ".join(str(value).split())
