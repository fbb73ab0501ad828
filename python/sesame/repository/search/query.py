"""The language of searches: words, and filters such as `system:lumi` or `ranks>512`.

    lustre "collective write" system:lumi instrument:trace date:2026-01..2026-03 record:io.bytes
    ranks>512 predicted_time<2ms person:ann in:data sort:new

Everything is combined with "and". A word matches its inflections too; a text in quotation marks
matches as it stands.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from datetime import UTC, datetime

from sesame.errors import InputError

LIBRARIES = ("data", "tool", "model", "document", "report", "message", "page")
FILTERS = {
    "system": "a machine, simulated or real: system:lumi",
    "instrument": 'what recorded: instrument:"sesame trace"',
    "program": "the program that ran: program:lu",
    "person": "who uploaded it or wrote it: person:ann",
    "date": "when it was recorded: date:2026, date:2026-03, date:2026-01..2026-03, date:>2026-03",
    "record": "a record type, or one with a field: record:io, record:io.bytes",
    "field": "a field of any record type: field:wait_s",
    "in": f"a library: in:{', in:'.join(LIBRARIES)}",
    "sort": "sort:new shows the newest first",
}
MOST_CHARACTERS = 500
MOST_TERMS = 24
_COMPARISONS = {">": ">", "<": "<", ">=": ">=", "<=": "<=", "=": "="}
_SCALES = {
    "": 1.0,
    **{"k": 1e3, "M": 1e6, "G": 1e9, "T": 1e12},
    **{"Ki": 2.0**10, "Mi": 2.0**20, "Gi": 2.0**30, "Ti": 2.0**40},
    **{"s": 1.0, "ms": 1e-3, "us": 1e-6, "µs": 1e-6, "ns": 1e-9, "min": 60.0, "h": 3600.0},
}
_SCALES |= {f"{scale}B": value for scale, value in list(_SCALES.items()) if "s" not in scale}
_TERM = re.compile(
    r"""\s*(?:
      (?P<number>[A-Za-z][\w.-]*)\s*(?P<sign>[<>]=?|=)\s*
        (?P<value>[-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?)\s?(?P<scale>[A-Za-zµ]{0,3})(?=\s|$)
    | (?P<filter>[a-z]+):(?:"(?P<quoted>[^"]*)"|(?P<plain>[^\s"]+))
    | "(?P<phrase>[^"]*)"?
    | (?P<word>[^\s"]+)
    )""",
    re.X,
)


@dataclass(frozen=True)
class Number:
    """A condition on a figure: `ranks > 512`."""

    name: str
    sign: str
    value: float


@dataclass(frozen=True)
class Record:
    """A record type, a field, or both; an empty text is any."""

    name: str
    field: str


@dataclass
class Query:
    words: list[str] = field(default_factory=list)  # phrases too
    matches: list[tuple[str, str]] = field(default_factory=list)  # system, instrument, …: text
    records: list[Record] = field(default_factory=list)
    numbers: list[Number] = field(default_factory=list)
    begin: str = ""  # ISO dates: first, and first after
    end: str = ""
    libraries: list[str] = field(default_factory=list)
    newest_first: bool = False

    @property
    def is_empty(self) -> bool:
        return self == Query(newest_first=self.newest_first)


def normal(name: str) -> str:
    """The name of a figure as it is stored and looked for."""
    return re.sub(r"[^0-9a-z]+", "_", name.lower()).strip("_")[:80]


def parse(text: str) -> Query:
    """Raises InputError, which says what was expected."""
    if len(text) > MOST_CHARACTERS:
        raise InputError(f"a search has at most {MOST_CHARACTERS} characters, got {len(text)}")
    query = Query()
    terms = list(_TERM.finditer(text))
    if len(terms) > MOST_TERMS:
        raise InputError(f"a search has at most {MOST_TERMS} words and filters, got {len(terms)}")
    for term in terms:
        if term["number"]:
            query.numbers.append(_number(term))
        elif term["filter"] in FILTERS:
            _add_filter(query, term["filter"], (term["quoted"] or term["plain"] or "").strip())
        else:
            said = term["phrase"] if term["phrase"] is not None else term.group().strip()
            if any(character.isalnum() for character in said):
                query.words.append(said)
    return query


def _number(term: re.Match[str]) -> Number:
    scale = term["scale"]
    if scale not in _SCALES:
        known = ", ".join(one for one in _SCALES if one)
        raise InputError(f"{term.group().strip()}: unit {scale}, expected one of {known}")
    value = float(term["value"]) * _SCALES[scale]
    return Number(normal(term["number"]), _COMPARISONS[term["sign"]], value)


def _add_filter(query: Query, name: str, value: str) -> None:
    if not value:
        raise InputError(f"{name}: expected {FILTERS[name]}")
    if name == "in":
        if value not in LIBRARIES:
            raise InputError(f"in:{value}: expected one of {', '.join(LIBRARIES)}")
        query.libraries.append(value)
    elif name == "sort":
        if value not in ("new", "best"):
            raise InputError(f"sort:{value}: expected sort:new or sort:best")
        query.newest_first = value == "new"
    elif name == "date":
        query.begin, query.end = _dates(value)
    elif name in ("record", "field"):
        record, _, of = value.partition(".") if name == "record" else ("", "", value)
        query.records.append(Record(record, of))
    else:
        query.matches.append((name, value))


def _dates(text: str) -> tuple[str, str]:
    """The begin of the first day and that of the first day after, as ISO dates; "" is open."""
    if text[0] in "<>":
        begin, end = _span(text.lstrip("<>="), text)
        if text.startswith(">="):
            return begin, ""
        if text.startswith("<="):
            return "", end
        return (end, "") if text[0] == ">" else ("", begin)
    first, dots, last = text.partition("..")
    begin = _span(first, text)[0] if first else ""
    end = _span(last, text)[1] if last else ""
    return (begin, end) if dots else _span(text, text)


def _span(text: str, whole: str) -> tuple[str, str]:
    match = re.fullmatch(r"(\d{4})(?:-(\d{1,2}))?(?:-(\d{1,2}))?", text)
    try:
        if match is None:
            raise ValueError
        year, month, day = (int(one) if one else None for one in match.groups())
        assert year is not None
        begin = datetime(year, month or 1, day or 1, tzinfo=UTC)
        if day:
            end = datetime.fromtimestamp(begin.timestamp() + 86400, UTC)
        elif month:
            end = datetime(year + month // 12, month % 12 + 1, 1, tzinfo=UTC)
        else:
            end = datetime(year + 1, 1, 1, tzinfo=UTC)
    except ValueError:
        raise InputError(f"date:{whole}: expected {FILTERS['date'].partition(': ')[2]}") from None
    return begin.date().isoformat(), end.date().isoformat()
