"""The head of a data set: what was recorded, with what, where and when (info.json).

Writers pass an `Info`, and readers return one. Every data set declares its `Kind`; the writer
refuses an `Info` that lacks what its kind requires (REQUIRED). Data sets of format version 2 may
lack the kind: `kind_of_old` derives it, and nothing else does.

Times carry their unit in their name, as everywhere. `begin_time` is ISO 8601 in UTC.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields
from enum import StrEnum
from functools import cached_property
from typing import Any


class Kind(StrEnum):
    """How the records of a data set came to be."""

    SIMULATED = "simulated"  # a run on a machine model: times are those of the target system
    SERIES = "series"  # simulated runs over numbers of ranks or values of machine keys
    TRACED = "traced"  # a real run, recorded by the tracer
    IMPORTED = "imported"  # a real run, recorded by another tool
    REPLAYED = "replayed"  # the I/O of a traced run, done again on a real file system
    MEASURED = "measured"  # what the kernels of one or more nodes did
    BENCH = "bench"  # a workload that checks its own answer, run here or simulated
    CHARACTERISED = "characterised"  # what the requests to a disk or of an application are like
    REPRODUCED = "reproduced"  # experiments of a published report, run again


# Runs whose records are those of docs/formats/traced-calls.md.
RUNS_WITH_CALLS = frozenset({Kind.TRACED, Kind.IMPORTED, Kind.REPLAYED})

_ALL = ("title", "instrument.name", "instrument.version", "host.name", "begin_time")
_SIMULATED = ("ranks", "target_system.name", "target_system.machine_file", "scenario")
# What an info.json must have, by keys; `a.b` is the key b of a.
REQUIRED: dict[Kind, tuple[str, ...]] = {
    Kind.SIMULATED: (*_ALL, *_SIMULATED, "compute", "result.predicted_time_s", "result.outcome"),
    Kind.SERIES: (*_ALL, "target_system.name", "scenario", "result.varied"),
    Kind.TRACED: (*_ALL, "ranks", "result.outcome", "raw"),
    # Not every tool says where and when it recorded.
    Kind.IMPORTED: ("title", "instrument.name", "importer.name", "ranks", "result.outcome", "raw"),
    Kind.REPLAYED: (*_ALL, "ranks", "result.outcome"),
    Kind.MEASURED: _ALL,
    Kind.BENCH: (*_ALL, "ranks", "target_system.name", "result.workload", "result.time_s"),
    Kind.CHARACTERISED: _ALL,
    Kind.REPRODUCED: (*_ALL, "result.experiments"),
}


@dataclass(frozen=True)
class Instrument:
    """What recorded or imported the data: `sesame trace`, `Darshan`, …"""

    name: str
    version: str

    @staticmethod
    def ours(name: str) -> Instrument:
        """A verb of this version of Sesame."""
        import sesame

        return Instrument(name, sesame.__version__)


@dataclass(frozen=True)
class HostMachine:
    """The machine that recorded; for several nodes the name of the first and the number of the
    others."""

    name: str
    system: str = ""
    processors: int | None = None  # that the measured command could use

    @staticmethod
    def here(*, with_processors: bool = False) -> HostMachine:
        processors = len(os.sched_getaffinity(0)) if with_processors else None
        kernel = os.uname()
        system = f"{kernel.sysname}-{kernel.release}-{kernel.machine}"
        return HostMachine(kernel.nodename, f"{system}-with-{_c_library()}", processors)

    @staticmethod
    def of_nodes(names: Sequence[str], system: str = "") -> HostMachine:
        first = names[0] if names else ""
        return HostMachine(
            first if len(names) < 2 else f"{first} and {len(names) - 1} more", system
        )


@dataclass(frozen=True)
class Info(Mapping[str, Any]):
    """info.json. The keys that all data sets have are typed attributes.

    As a mapping it has every key of the file as in JSON: `info["result"]["outcome"]`. `more` holds
    keys that only some kinds have (docs/formats/dataset.md).
    """

    kind: Kind
    title: str
    instrument: Instrument
    host: HostMachine
    begin_time: str | None = None
    description: str = ""
    contact: str = ""
    importer: Instrument | None = None
    target_system: Mapping[str, Any] | None = None  # name and machine_file
    ranks: int | None = None
    command: Sequence[str] = ()
    compute: str | None = None
    seed: int | None = None
    scenario: Mapping[str, Any] | None = None
    result: Mapping[str, Any] = field(default_factory=dict)
    past_error: Mapping[str, Any] | None = None  # of the machine model, when the run was predicted
    notes: Sequence[str] = ()
    doubts: Sequence[Mapping[str, Any]] = ()
    raw: Mapping[str, Any] | None = None
    more: Mapping[str, Any] = field(default_factory=dict)
    record_types: Mapping[str, Any] = field(default_factory=dict)  # added by the writer

    def missing(self) -> list[str]:
        """The keys that this kind requires and that are absent or empty."""
        return [key for key in REQUIRED[self.kind] if self._at(key) in (None, "")]

    def as_json(self) -> dict[str, Any]:
        """A copy for json.dump, without unknown values."""
        return dict(self._json)

    @cached_property
    def _json(self) -> dict[str, Any]:
        found: dict[str, Any] = {}
        for one in fields(self):
            value = getattr(self, one.name)
            if one.name == "more":
                found |= value
            elif isinstance(value, Instrument | HostMachine):
                found[one.name] = {k: v for k, v in vars(value).items() if v is not None}
            elif isinstance(value, Kind):
                found[one.name] = value.value
            elif value is not None and not (one.name in ("notes", "doubts") and not value):
                found[one.name] = _plain(value)
        return found

    def _at(self, key: str) -> Any:
        value: Any = self._json
        for part in key.split("."):
            value = value.get(part) if isinstance(value, Mapping) else None
        return value

    def __getitem__(self, key: str) -> Any:
        return self._json[key]

    def __iter__(self) -> Iterator[str]:
        return iter(self._json)

    def __len__(self) -> int:
        return len(self._json)

    @staticmethod
    def from_json(found: Mapping[str, Any]) -> Info:
        """Reads the content of info.json; missing values are empty. Raises ValueError for an
        unknown kind."""
        keys = {one.name for one in fields(Info)} - {"more"}
        known = {key: value for key, value in found.items() if key in keys and value is not None}
        kind = Kind(found["kind"]) if found.get("kind") in set(Kind) else kind_of_old(found)
        more = {key: value for key, value in found.items() if key not in keys}
        known |= {"kind": kind, "title": found.get("title") or "", "more": more}
        known["instrument"] = _instrument(found.get("instrument"))
        if found.get("importer"):
            known["importer"] = _instrument(found["importer"])
        host = found.get("host") or {}
        known["host"] = HostMachine(
            host.get("name", ""), host.get("system", ""), host.get("processors")
        )
        return Info(**known)


def kind_of_old(found: Mapping[str, Any]) -> Kind:
    """The kind of a data set of format version 2, which declares none, or `import`. Raises
    ValueError."""
    declared, result = found.get("kind"), found.get("result") or {}
    if declared == "import":
        return Kind.IMPORTED
    if declared is not None:
        raise ValueError(f"kind {declared}, expected one of {', '.join(Kind)}")
    tables = found.get("record_types") or {}
    if (found.get("instrument") or {}).get("name") == "sesame replay" or "replayed" in tables:
        return Kind.REPLAYED
    if "predicted_time_s" in result or "call_total" in tables or "call" in tables:
        return Kind.SIMULATED
    if any(name in tables for name in ("kernel_summary", "kernel_event", "kernel_trace")):
        return Kind.MEASURED
    return Kind.TRACED


def _c_library() -> str:
    """As `glibc2.36`. The module platform reads it from the interpreter's file and starts uname,
    which takes longer than all else that the head of a data set needs."""
    return (os.confstr("CS_GNU_LIBC_VERSION") or "unknown").replace(" ", "")


def _instrument(found: Any) -> Instrument:
    return Instrument(*(str((found or {}).get(key, "")) for key in ("name", "version")))


def _plain(value: Any) -> Any:
    """As JSON reads it back: lists for tuples, dictionaries for other mappings."""
    if isinstance(value, Mapping):
        return {key: _plain(part) for key, part in value.items()}
    if isinstance(value, Sequence) and not isinstance(value, str):
        return [_plain(part) for part in value]
    return value
