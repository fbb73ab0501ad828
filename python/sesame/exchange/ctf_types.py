"""Field types of the Common Trace Format, as a trace's metadata declares them."""

from __future__ import annotations

from dataclasses import dataclass, field

Path = tuple[str, ...]


@dataclass(frozen=True)
class Integer:
    """`order` is None for the byte order of the trace; `clock` is the name of a clock or empty."""

    size: int  # bits
    align: int  # bits
    is_signed: bool = False
    order: str | None = None  # "little", "big"
    is_text: bool = False  # one byte of a text
    clock: str = ""


@dataclass(frozen=True)
class Float:
    size: int
    align: int
    order: str | None = None


@dataclass(frozen=True)
class String:
    align: int = 8


@dataclass(frozen=True)
class Enumeration:
    container: Integer
    ranges: tuple[tuple[str, int, int], ...]  # name, first, last


@dataclass(frozen=True)
class Structure:
    fields: tuple[tuple[str, Type], ...]
    least_align: int = 1
    size: int = 0  # fields in all, also those inside


@dataclass(frozen=True)
class Variant:
    """One of `options`, named by the enumeration at `tag`."""

    tag: Path
    options: tuple[tuple[str, Type], ...]
    size: int = 0  # fields in all


@dataclass(frozen=True)
class Array:
    """`length` is a number, or the path of an integer."""

    element: Type
    length: int | Path


Type = Integer | Float | String | Enumeration | Structure | Variant | Array


@dataclass
class Event:
    """An event class: its parts in the order in which they are in a stream."""

    name: str
    common: Structure | None = None  # the context that all events of the stream have
    context: Structure | None = None
    fields: Structure | None = None


@dataclass
class Stream:
    packet_context: Structure | None = None
    event_header: Structure | None = None
    event_context: Structure | None = None
    events: dict[int, Event] = field(default_factory=dict)


@dataclass(frozen=True)
class Clock:
    ticks_per_s: int = 1_000_000_000
    offset_ticks: int = 0  # what a value of 0 means

    def nanoseconds(self, value: int) -> int:
        return (value + self.offset_ticks) * 1_000_000_000 // self.ticks_per_s


@dataclass
class Trace:
    order: str = "little"
    packet_header: Structure | None = None
    environment: dict[str, str | int] = field(default_factory=dict)
    clocks: dict[str, Clock] = field(default_factory=dict)
    streams: dict[int, Stream] = field(default_factory=dict)


def align_of(of: Type) -> int:
    """Alignment in bits."""
    match of:
        case Structure():
            return max([of.least_align, *(align_of(kind) for _, kind in of.fields)])
        case Enumeration():
            return of.container.align
        case Array():
            return align_of(of.element)
        case Variant():
            return 1  # that of the option
    return of.align


def least_bits(of: Type) -> int:
    """The fewest bits that a value takes."""
    match of:
        case Integer() | Float():
            return of.size
        case Enumeration():
            return of.container.size
        case String():
            return 8
        case Structure():
            return sum(least_bits(kind) for _, kind in of.fields)
        case Array():
            return of.length * least_bits(of.element) if isinstance(of.length, int) else 0
        case Variant():
            return min((least_bits(kind) for _, kind in of.options), default=0)
