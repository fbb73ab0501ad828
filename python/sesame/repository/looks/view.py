"""A view: what a quick look shows. It is its address, in one form only, so that the same view is
the same address."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass, field, fields, replace
from typing import Any
from urllib.parse import urlencode

from sesame.errors import InputError

RATE, PAIR, RECORD, LEVEL = "rate", "pair", "record", "level"
LOOKS = {
    RATE: "Count and rate",
    PAIR: "Two fields",
    RECORD: "Single records",
    LEVEL: "Program and system",
}
SHOWN = {
    "rate": "a second",
    "count": "in each interval",
    "sum": "since the begin",
    "mean": "mean of a record",
    "most": "largest of a record",
}
LINEAR, LOG = "linear", "log"
MOST_TEXT, MOST_ONLY, MOST_PARAMETERS = 200, 8, 40
LEAST_BINS, MOST_BINS = 8, 2000
MOST_NUMBER = 1 << 53


@dataclass(frozen=True)
class View:
    """Times are in seconds, other ranges in the unit of their field; None: all.

    `of`: a field of the record type `type`, or the records themselves. `node`: the one that is
    enlarged; `nodes`: those that are shown, as `0-7,12`. `only`: pairs of field and value that
    records must have. `first`: of small pictures or of the elements of an array.
    """

    look: str = RATE
    type: str = ""
    of: str = ""
    show: str = "rate"
    node: str = ""
    nodes: str = ""
    only: tuple[tuple[str, str], ...] = ()
    begin: float | None = field(default=None, metadata={"name": "from"})
    end: float | None = field(default=None, metadata={"name": "to"})
    x: str = ""
    y: str = ""
    xmin: float | None = None
    xmax: float | None = None
    ymin: float | None = None
    ymax: float | None = None
    xscale: str = LINEAR
    yscale: str = LINEAR
    bins: int | None = None
    first: int = 0
    row: int = 0

    def with_(self, **changes: Any) -> View:
        return replace(self, **changes)

    def within(self, begin: float, end: float) -> tuple[float, float]:
        """What it shows of a time range. Raises InputError if it shows none of it."""
        low = begin if self.begin is None else max(self.begin, begin)
        high = end if self.end is None else min(self.end, end)
        if not low < high:
            raise InputError(f"from, to: expected a part of {begin:.6g} s to {end:.6g} s")
        return low, high

    def query(self) -> str:
        """The parameters of its address, without those that are as usual."""
        found: list[tuple[str, str]] = []
        for one in fields(self):
            value = getattr(self, one.name)
            if one.name == "only":
                found += [("only", f"{name}:{text}") for name, text in value]
            elif value != one.default:
                found.append((_name(one), _text(value)))
        return urlencode(found)


def _name(one: Any) -> str:
    return str(one.metadata.get("name", one.name))


def _text(value: Any) -> str:
    return repr(value) if isinstance(value, float) else str(value)


def read_view(parameters: Iterable[tuple[str, str]]) -> View:
    """The view of an address. Names that are none of a view's are not looked at. Raises InputError
    with the parameter that is wrong."""
    given = list(parameters)
    if len(given) > MOST_PARAMETERS:
        raise InputError(f"expected at most {MOST_PARAMETERS} settings, got {len(given)}")
    known = {_name(one): one for one in fields(View)}
    values: dict[str, Any] = {}
    only = []
    for name, text in given:
        if name not in known or text == "":
            continue
        if len(text) > MOST_TEXT or not text.isprintable():
            raise InputError(f"{name}: expected at most {MOST_TEXT} printable characters")
        if name == "only":
            only.append(_pair(text))
        else:
            values[known[name].name] = _read(name, str(known[name].type), text)
    if len(only) > MOST_ONLY:
        raise InputError(f"only: expected at most {MOST_ONLY}, got {len(only)}")
    view = View(**values, only=tuple(dict.fromkeys(only)))
    _check(view)
    return view


def _pair(text: str) -> tuple[str, str]:
    name, colon, value = text.partition(":")
    if not colon or not name:
        raise InputError(f"only: expected FIELD:VALUE, got {text}")
    return name, value


def _read(name: str, kind: str, text: str) -> Any:
    if kind.startswith("str"):
        return text
    whole = kind.startswith("int")
    try:
        number = int(text) if whole else float(text)
    except ValueError:
        expected = "a whole number" if whole else "a number"
        raise InputError(f"{name}: expected {expected}, got {text}") from None
    if not math.isfinite(number) or (whole and not 0 <= number < MOST_NUMBER):
        raise InputError(f"{name}: expected a number that can be shown, got {text}")
    return number


def _check(view: View) -> None:
    for name, value, expected in (
        ("look", view.look, LOOKS),
        ("show", view.show, SHOWN),
        ("xscale", view.xscale, (LINEAR, LOG)),
        ("yscale", view.yscale, (LINEAR, LOG)),
    ):
        if value not in expected:
            raise InputError(f"{name}: expected one of {', '.join(expected)}, got {value}")
    for low, high, names in (
        (view.begin, view.end, ("from", "to")),
        (view.xmin, view.xmax, ("xmin", "xmax")),
        (view.ymin, view.ymax, ("ymin", "ymax")),
    ):
        if low is not None and high is not None and not low < high:
            raise InputError(f"{names[1]}: expected more than {names[0]} = {low!r}, got {high!r}")
    if view.bins is not None and not LEAST_BINS <= view.bins <= MOST_BINS:
        raise InputError(f"bins: expected {LEAST_BINS} to {MOST_BINS}, got {view.bins}")
