"""The bounds of all that a daemon sends: the one place where readings and blocks are checked.

What passes `check_reading` or `check_block` can be written as a data set: every value fits its
column, and no sum or difference of times leaves 64 bits. Names are free of control characters, so
that they can be printed. A time is at least 0 and below `BEYOND_NS`, on the node's clock as well as
with the offset added: until the year 2116.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sesame.measurement.defaults import BEYOND_NS
from sesame.measurement.processors import COLUMNS

MOST_SUBSYSTEMS = 64
MOST_POINTS = 256  # of a subsystem
MOST_CLASSES = 1 << 16  # of a subsystem
MOST_GROUPS = 64
MOST_PROCESSORS = 1 << 16
MOST_PHASES = 10_000
MOST_EVENTS = 1 << 22  # of a block
# Of a reading or block that is sent to a collector; a daemon's blocks have 2.4 MB. A relay replaces
# the offset in an item, which may get longer, and the result must fit into a request, too.
MOST_ITEM_BYTES = 4 << 20
MOST_BODY_BYTES = 8 << 20  # of a request to a collector
MOST_ITEMS = 1024  # of such a request; a relay sends 128
CELL_FIELDS = 6  # as in probes.CELL_READING
MOST_OF_NAME = 200  # characters
MOST_SHOWN = 60  # characters of a wrong value in a message

Check = Callable[[Any], None]


class UnfitError(ValueError):
    """A record with a value out of bounds; the message names the field."""


class ForeignError(ValueError):
    """Not a record of this version of Sesame."""


def _shown(value: Any) -> str:
    is_small = isinstance(value, str | int | float | None) and len(str(value)) <= MOST_SHOWN
    return repr(value) if is_small else f"a {type(value).__name__}"


def whole(least: int, beyond: int) -> Check:
    def check(value: Any) -> None:
        if type(value) is not int or not least <= value < beyond:
            raise UnfitError(f": expected {least} to {beyond - 1}, got {_shown(value)}")

    return check


def text(most: int, least: int = 0) -> Check:
    def check(value: Any) -> None:
        if type(value) is not str or not least <= len(value) <= most or not _is_plain(value):
            expected = f"{least} to {most} characters without control characters"
            raise UnfitError(f": expected {expected}, got {_shown(value)}")

    return check


def _is_plain(value: str) -> bool:
    """No control characters, and no half of a character, which UTF-8 does not have."""
    return value.isprintable() or not any(
        ord(one) < 32 or 127 <= ord(one) < 160 or 0xD800 <= ord(one) < 0xE000 for one in value
    )


def plain(value: str, most: int) -> str:
    """The text with control characters as \\ooo, as in /proc/self/mountinfo, cut to `most`."""
    if value.isprintable() and len(value) <= most:
        return value
    return "".join(one if _is_plain(one) else f"\\{ord(one):03o}" for one in value[:most])[:most]


def numbers(least: int, beyond: int, most: int) -> Check:
    """A list of integers."""

    def check(value: Any) -> None:
        if type(value) is not list or len(value) > most:
            raise UnfitError(f": expected at most {most} integers, got {_shown(value)}")
        if value and (set(map(type, value)) != {int} or min(value) < least or max(value) >= beyond):
            raise UnfitError(f": expected integers from {least} to {beyond - 1}")

    return check


def every(one: Check, most: int) -> Check:
    """A list whose elements pass `one`."""

    def check(value: Any) -> None:
        if type(value) is not list or len(value) > most:
            raise UnfitError(f": expected a list of at most {most}, got {_shown(value)}")
        for element in value:
            one(element)

    return check


def by_name(one: Check, most: int = MOST_SUBSYSTEMS) -> Check:
    """A mapping from names to values that pass `one`."""

    def check(value: Any) -> None:
        if type(value) is not dict or len(value) > most:
            raise UnfitError(f": expected at most {most} names, got {_shown(value)}")
        try:
            for name, element in value.items():
                NAME(name)
                one(element)
        except UnfitError as error:
            raise _within(name, error) from None

    return check


def record(**fields: Check) -> Check:
    """A mapping with exactly these keys."""
    names, checks = fields.keys(), tuple(fields.items())

    def check(value: Any) -> None:
        if type(value) is not dict or value.keys() != names:
            raise ForeignError("expected a reading or block of this version of sesame")
        try:
            for name, one in checks:
                one(value[name])
        except UnfitError as error:
            raise _within(name, error) from None

    return check


def triple(*each: Check) -> Check:
    def check(value: Any) -> None:
        if type(value) is not list or len(value) != len(each):
            raise UnfitError(f": expected a list of {len(each)}, got {_shown(value)}")
        for one, element in zip(each, value, strict=True):
            one(element)

    return check


def _within(name: str, error: UnfitError) -> UnfitError:
    """The error with the name of the field in front. The name may be what is wrong."""
    text = str(error)
    return UnfitError(f"{plain(name, MOST_OF_NAME)}{'' if text.startswith(':') else '.'}{text}")


NODE, START, NAME = text(255, 1), text(64, 1), text(MOST_OF_NAME, 1)
MOST_OF_CLASS = 4200  # characters of its name, which has the path of a mount
CLASS = text(MOST_OF_CLASS)
TIME, COUNT = whole(0, BEYOND_NS), whole(0, BEYOND_NS)
CHANGE = whole(-BEYOND_NS + 1, BEYOND_NS)
OFFSET = record(offset_ns=CHANGE, uncertainty_ns=TIME)
PACKED = text(1 << 24)  # base64
LAYOUT = record(
    subsystem=NAME,
    points=every(NAME, MOST_POINTS),
    classes=every(CLASS, MOST_CLASSES),
    groups=whole(1, MOST_GROUPS + 1),
    limits=numbers(0, 2**64, MOST_GROUPS),
)
PHASE = record(name=NAME, begin_ns=TIME, end_ns=TIME, pid=whole(0, 2**32))
READING = record(
    node=NODE,
    start=START,
    sequence=COUNT,
    begin_ns=TIME,
    end_ns=TIME,
    cpu_ns=COUNT,
    dropped=COUNT,
    offset=OFFSET,
    cells=by_name(PACKED),
    details=by_name(numbers(0, 256, MOST_POINTS)),
    active_ns=by_name(COUNT),
    costs=by_name(record(detail=whole(0, 256), events=COUNT, estimated_ns=CHANGE)),
    layouts=by_name(lambda _: None),  # `layout_of` checks each different one once
    processors=record(
        cpu=numbers(0, 1 << 16, MOST_PROCESSORS),
        **{name: numbers(-BEYOND_NS + 1, BEYOND_NS, MOST_PROCESSORS) for name in COLUMNS},
    ),
    phases=every(PHASE, MOST_PHASES),
)
BLOCK_HEAD = record(
    node=NODE,
    start=START,
    before=COUNT,
    seen=COUNT,
    begin_ns=TIME,
    end_ns=TIME,
    names=every(
        triple(NAME, every(NAME, MOST_POINTS), every(CLASS, MOST_CLASSES)), MOST_SUBSYSTEMS
    ),
    offset=OFFSET,
    since=COUNT,
    discarded=COUNT,
)


def check_reading(parts: Any) -> None:
    """Raises ForeignError or UnfitError unless these are the parts of a reading; `check_cells` and
    LAYOUT check what is packed in them."""
    READING(parts)
    offset_ns = parts["offset"]["offset_ns"]
    check_interval(parts["begin_ns"], parts["end_ns"], offset_ns)
    for phase in parts["phases"]:
        check_interval(phase["begin_ns"], phase["end_ns"], offset_ns)
    if len({len(column) for column in parts["processors"].values()}) != 1:
        raise UnfitError("processors: expected columns of the same length")
    active = parts["active_ns"].keys()
    if not parts["layouts"].keys() | parts["costs"].keys() <= active:
        raise UnfitError("active_ns: expected a value for each subsystem")
    measured = parts["cells"].keys() & parts["details"].keys()
    if not parts["layouts"].keys() <= measured:
        raise UnfitError("layouts: expected cells and details of each subsystem")
    if any(packed and name not in parts["layouts"] for name, packed in parts["cells"].items()):
        raise UnfitError("cells: expected a layout for all of them")


def check_interval(begin_ns: int, end_ns: int, offset_ns: int) -> None:
    if end_ns < begin_ns:
        raise UnfitError("end_ns: expected a time after begin_ns")
    if begin_ns + offset_ns < 0 or end_ns + offset_ns >= BEYOND_NS:
        raise UnfitError("offset_ns: expected times from 1970 to 2116")


def check_events(events: NDArray[np.void], offset_ns: int) -> None:
    if len(events):
        first, last = int(events["time_ns"].min()), int(events["time_ns"].max())
        check_interval(first, last, offset_ns)
        if last >= BEYOND_NS:
            raise UnfitError("time_ns: expected times from 1970 to 2116")


def check_cells(
    cells: tuple[int, ...], points: int, classes: int, groups: int, limits: int, details: int
) -> None:
    """Raises UnfitError unless all cells have a point, class and size group, and a detail. `cells`:
    the fields of all cells, one after the other."""
    numbers = cells[::CELL_FIELDS]
    if not numbers:
        return
    if max(numbers) >= points * classes * groups or points > details:
        raise UnfitError("cells: expected numbers of points and classes of the layout")
    if groups - 1 > limits and max(number % groups for number in numbers) > limits:
        raise UnfitError("cells: expected size groups of the layout")
    if max(cells) >= BEYOND_NS:
        raise UnfitError(f"cells: expected values below {BEYOND_NS}")


def check_block(head: Any, events: NDArray[np.void]) -> None:
    """Raises ForeignError or UnfitError unless these are the parts of a block."""
    BLOCK_HEAD(head)
    offset_ns = head["offset"]["offset_ns"]
    check_interval(head["begin_ns"], head["end_ns"], offset_ns)
    if not head["before"] <= head["seen"]:
        raise UnfitError("seen: expected at least `before`")
    if not len(events) <= min(head["seen"] - head["before"], MOST_EVENTS):
        raise UnfitError("bytes: more events than were seen")
    if head["since"] > head["seen"]:
        raise UnfitError("since: expected at most `seen`")
    check_events(events, offset_ns)
