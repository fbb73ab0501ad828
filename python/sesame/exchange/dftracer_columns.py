"""Converts a block of lines of a DFTracer trace to columns, one element for each file call.

Arrow parses a whole block, with the types that the fields had in earlier events. If Arrow refuses
the block, its lines are parsed one by one: that accepts more, and finds the invalid lines.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import cached_property
from operator import itemgetter
from typing import Any

import numpy as np
import numpy.typing as npt
import orjson
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.json as pj

from sesame.exchange.dftracer_calls import CALLS_OF_FILES, call_name, check, is_transfer

COMPLETE = {"X", 1}
NEWLINE = ord("\n")
MOST_PID = (1 << 31) - 1
LATEST = 1 << 62  # ns; also the largest size and position
NONE = -(1 << 62)  # a missing argument
HEAD = ("name", "pid", "tid", "ts", "dur", "args")
EVENT = itemgetter(*HEAD)
TEXTS, NUMBERS = ("name", "cat"), ("ph", "pid", "tid", "ts", "dur")
KEYS = ("hhash", "hostname", "fhash", "fname")
SIZES = ("offset", "size", "count", "num", "ret", "ret_len")
TYPES = {int: pa.int64(), str: pa.string()}

Event = dict[str, Any]
Ints = npt.NDArray[np.int64]
Key = str | int  # stands for a path or string: its hash, or the text itself


@dataclass
class Coded:
    """A dictionary-encoded column: `values[codes]`."""

    values: list[Any]  # in the order of appearance
    codes: Ints


@dataclass
class Block:
    """The file calls of a block as columns, and its other events."""

    host: Coded
    pid: Ints
    tid: Ints
    begin: Ints  # in the trace's unit
    duration: Ints
    name: Coded
    path: Coded
    is_hash: list[bool]  # of the paths' values
    is_transfer: npt.NDArray[np.bool_]
    offset: Ints  # -1: not recorded
    size: Ints
    bytes: Ints
    arguments: dict[int, Event]  # of calls that transfer nothing, by their index in the columns
    others: list[Event]

    def __len__(self) -> int:
        return len(self.pid)


class Types:
    """The types of the fields that Arrow reads, learnt from events."""

    def __init__(self) -> None:
        self._seen: dict[str, set[type]] = {}

    def learn(self, calls: Iterable[Event]) -> None:
        for event in calls:
            arguments = event.get("args", {})
            for names, values in ((NUMBERS, event), ((*KEYS, *SIZES), arguments)):
                for name in names:
                    if values.get(name) is not None:
                        self._seen.setdefault(name, set()).add(type(values[name]))

    def schema(self) -> pa.Schema | None:
        """The schema for Arrow; None before the first call, or where a field has mixed types."""
        if not self._seen or any(
            len(types) > 1 or not types <= TYPES.keys() for types in self._seen.values()
        ):
            return None
        keys = [(name, self._type(name, str)) for name in KEYS]
        sizes = [(name, self._type(name, int)) for name in SIZES]
        return pa.schema(
            [
                *((name, pa.string()) for name in TEXTS),
                *((name, self._type(name, int)) for name in NUMBERS),
                ("args", pa.struct(keys + sizes)),
            ]
        )

    def _type(self, name: str, usual: type) -> pa.DataType:
        return TYPES[next(iter(self._seen.get(name, {usual})))]


def read_lines(data: bytes, count: int, schema: pa.Schema) -> Block:
    """Parses by Arrow. Raises ValueError or another built-in error where a line may be invalid."""
    if not data.isascii():
        data.decode()  # Arrow does not check fields that it skips
    events = pj.read_json(
        pa.BufferReader(data),
        pj.ReadOptions(use_threads=False, block_size=len(data) + 1),
        pj.ParseOptions(explicit_schema=schema, unexpected_field_behavior="ignore"),
    )
    if len(events) != count:
        raise ValueError("empty lines, or several events in a line")
    complete = [
        one
        for one in COMPLETE
        if isinstance(one, int) == pa.types.is_int64(schema.field("ph").type)
    ]
    is_call = _array(
        pc.and_(
            pc.is_in(events["ph"], pa.array(complete, schema.field("ph").type)),
            pc.is_in(events["cat"], pa.array(CALLS_OF_FILES)),
        )
    )
    rows = np.flatnonzero(is_call)
    lines = _Lines(data)
    others = [lines.event(row) for row in np.flatnonzero(~is_call).tolist()]
    calls = events if not others else events.filter(pa.array(is_call))
    arguments = (
        calls["args"].combine_chunks() if len(calls) else pa.array([], schema.field("args").type)
    )
    if arguments.null_count:
        raise ValueError("a call without arguments")
    fields = {name: arguments.field(name) for name in (*KEYS, *SIZES)}
    return _block(
        host=_keys(fields["hhash"], fields["hostname"])[0],
        name=_coded(calls["name"]),
        paths=_keys(fields["fhash"], fields["fname"]),
        numbers=[_numbers(calls[name]) for name in NUMBERS[1:]],
        event=lambda at: lines.event(int(rows[at]))["args"],
        size=lambda name, default, _: _numbers(fields[name], default),
        others=others,
    )


def of_events(events: list[Event]) -> tuple[Block, list[Event]]:
    """The same from single events, and the file calls among them. Raises on an invalid event."""
    calls = [e for e in events if e["ph"] in COMPLETE and e["cat"] in CALLS_OF_FILES]
    others: list[Event] = []
    if len(calls) < len(events):
        known = set(map(id, calls))
        others = [event for event in events if id(event) not in known]
    for event in calls:
        event.setdefault("args", {})
    heads = zip(*map(EVENT, calls), strict=True) if calls else [()] * len(HEAD)
    name, pid, tid, ts, dur, arguments = map(list, heads)
    gets = [one.get for one in arguments]
    hosts, _ = _first_of(gets, "hhash", "hostname")
    paths, hashed = _first_of(gets, "fhash", "fname")
    path = _listed(paths)
    block = _block(
        host=_listed(hosts),
        name=_listed(name),
        paths=(path, [value in hashed for value in path.values]),
        numbers=list(map(_ints, (pid, tid, ts, dur))),
        event=lambda at: arguments[at],
        size=lambda name, default, wanted: _arguments(gets, name, default, wanted),
        others=others,
    )
    return block, calls


def _block(
    *,
    host: Coded,
    name: Coded,
    paths: tuple[Coded, list[bool]],
    numbers: list[Ints],
    event: Callable[[int], Event],
    size: Callable[[str, int, npt.NDArray[np.bool_]], Ints],
    others: list[Event],
) -> Block:
    pid, tid, begin, duration = numbers
    for values, most in ((pid, MOST_PID), (tid, LATEST), (begin, LATEST), (duration, LATEST)):
        in_range(values, most)
    transfers = np.array([is_transfer(one) for one in name.values], bool)[name.codes]
    arguments = {at: event(at) for at in np.flatnonzero(~transfers).tolist()}
    for at, one in arguments.items():
        check(call_name(name.values[name.codes[at]]), one)

    def of_transfers(key: str, default: int) -> Ints:
        return size(key, default, transfers)

    item = of_transfers("size", 1)
    asked = _either(of_transfers("count", NONE), lambda: of_transfers("num", 0))
    moved = _either(of_transfers("ret", NONE), lambda: of_transfers("ret_len", 0))
    sizes, moved = (
        np.where(transfers, _product(np.maximum(values, 0), item), 0) for values in (asked, moved)
    )
    if moved.sum(dtype=float) > LATEST:
        raise OverflowError("bytes beyond 62 bits")
    return Block(
        host=host,
        pid=pid,
        tid=tid,
        begin=begin,
        duration=duration,
        name=name,
        path=paths[0],
        is_hash=paths[1],
        is_transfer=transfers,
        offset=np.where(transfers, np.maximum(of_transfers("offset", -1), -1), -1),
        size=sizes,
        bytes=moved,
        arguments=arguments,
        others=others,
    )


def in_range(values: Ints, most: int) -> Ints:
    if len(values) and (values.min() < 0 or values.max() > most):
        raise ValueError(f"a number out of range, expected 0 to {most}")
    return values


def coded_numbers(values: Ints) -> Coded:
    """Numbers as a dictionary-encoded column."""
    if len(values) and (values == values[0]).all():
        return Coded([int(values[0])], np.zeros(len(values), np.int64))
    return _coded(pa.chunked_array([pa.array(values)]))


# Of Arrow


class _Lines:
    """The lines of a block as events. The ends of lines are looked for at first use."""

    def __init__(self, data: bytes) -> None:
        self._data = data

    def event(self, number: int) -> Event:
        begin = int(self._ends[number - 1]) + 1 if number else 0
        found = orjson.loads(self._data[begin : self._ends[number]])
        if not isinstance(found, dict):
            raise TypeError("no object")
        return found

    @cached_property
    def _ends(self) -> Ints:
        ends = np.flatnonzero(np.frombuffer(self._data, np.uint8) == NEWLINE)
        return np.append(ends, len(self._data))


def _array(column: Any) -> Any:
    whole = column.combine_chunks() if isinstance(column, pa.ChunkedArray) else column
    return whole.to_numpy(zero_copy_only=False)


def _numbers(column: Any, default: int | None = None) -> Ints:
    if pa.types.is_string(column.type):
        column = pc.cast(column, pa.int64())
    if column.null_count:
        if default is None:
            raise ValueError("an event without one of its numbers")
        column = pc.fill_null(column, default)
    return np.asarray(_array(column), np.int64)


def _coded(column: Any, missing: str | None = None) -> Coded:
    encoded = pc.dictionary_encode(column, null_encoding="encode")
    if isinstance(encoded, pa.ChunkedArray):
        encoded = encoded.combine_chunks()
    values = encoded.dictionary.to_pylist()
    if missing is None and None in values:
        raise ValueError("an event without a name")
    return Coded(
        [missing if value is None else value for value in values],
        np.asarray(_array(encoded.indices), np.int64),
    )


def _keys(hashed: Any, plain: Any) -> tuple[Coded, list[bool]]:
    """The hashes of texts, or else the texts, or else ""; and for each value if it is a hash."""
    if hashed.null_count and plain.null_count < len(plain):
        if hashed.null_count < len(hashed):
            raise ValueError("hashes and texts")
        found = _coded(plain, "")
        return found, [False] * len(found.values)
    found = _coded(hashed, "")
    return found, [value != "" for value in found.values]


# Of events


def _listed(values: list[Any]) -> Coded:
    numbers = {value: number for number, value in enumerate(dict.fromkeys(values))}
    return Coded(list(numbers), np.array([numbers[value] for value in values], np.int64))


def _first_of(gets: list[Any], hashed: str, plain: str) -> tuple[list[Key], set[Key]]:
    """For each event the hash of a text, or else the text itself, or else ""; and all hashes."""
    found = [get(hashed) for get in gets]
    hashes = set(found) - {None}
    if None in found:
        pairs = zip(found, gets, strict=True)
        found = [get(plain, "") if value is None else value for value, get in pairs]
    return found, hashes


def _ints(values: list[Any]) -> Ints:
    try:
        return np.array(values, np.int64)
    except (TypeError, ValueError):
        return np.array([int(value) for value in values], np.int64)


def _arguments(gets: list[Any], key: str, default: int, wanted: npt.NDArray[np.bool_]) -> Ints:
    """An argument of each call as a number. Where a call is not wanted, any value is allowed."""
    values = [get(key, default) for get in gets]
    try:
        return np.array(values, np.int64)
    except (TypeError, ValueError, OverflowError):
        pairs = zip(values, wanted.tolist(), strict=True)
        numbers = [int(value) if is_so and value is not None else default for value, is_so in pairs]
        return np.array(numbers, np.int64)


def _either(values: Ints, others: Callable[[], Ints]) -> Ints:
    missing = values == NONE
    return np.where(missing, others(), values) if missing.any() else values


def _product(count: Ints, size: Ints) -> Ints:
    if (np.abs(count.astype(float) * size) > LATEST).any():
        raise OverflowError("bytes beyond 62 bits")
    return np.asarray(np.maximum(count * size, 0))
