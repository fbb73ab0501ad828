"""Probes in the running kernel: what there is, switched on and off, and what they have counted.

The library libsesame-probes does it (probes/probes.h); this is its only caller.
"""

from __future__ import annotations

import ctypes
import json
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from types import MappingProxyType
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from sesame.errors import InputError, SesameError
from sesame.installed import find_installed
from sesame.measurement.detail import Detail

# As in probes/cell.h.
MAX_POINTS, MAX_GROUPS = 16, 8
RING_BYTES = 8 << 20
# Points of events that are messages: an allowance is spent; something new was given a class.
QUOTA_REACHED, CLASS_ASSIGNED = 0xFFFF, 0xFFFE
ACCOUNT = np.dtype([("charged_ns", "u8"), ("quota_ns", "u8"), ("runs", "u8"), ("unused", "u8")])
CELL = np.dtype(
    [
        ("count", "u8"),
        ("bytes", "u8"),
        ("timed", "u8"),
        ("total_ns", "u8"),
        ("max_ns", "u8", 2),
    ]
)
SUMMED = ("count", "bytes", "timed", "total_ns")
# As struct cell_reading in probes/probes.h.
CELL_READING = np.dtype(
    [
        ("place", "u8"),
        ("count", "u8"),
        ("bytes", "u8"),
        ("timed", "u8"),
        ("total_ns", "u8"),
        ("max_ns", "u8"),
    ]
)
EVENT = np.dtype(
    [
        ("time_ns", "u8"),
        ("duration_ns", "u8"),
        ("where", "u8"),
        ("bytes", "u8"),
        ("what", "u4"),
        ("pid", "u4"),
        ("point", "u2"),
        ("class", "u2"),
        ("cpu", "u2"),
        ("subsystem", "u2"),
        ("command", "S16"),
        ("process", "u4"),
        ("unused", "u4"),
    ]
)
# Sizes below each belong to its group; the last group has the rest.
NO_LIMIT = 2**64 - 1
DEFAULT_LIMITS = (512, 4096, 16384, 65536, 262144, 1048576, 4194304)


@dataclass(frozen=True)
class Point:
    name: str
    meaning: str
    finest: Detail
    is_sum: bool  # its events are those of other points again


@dataclass(frozen=True)
class Absence:
    """What one might look for and no kernel shows as events."""

    name: str
    meaning: str
    why: str


@dataclass(frozen=True)
class Subsystem:
    name: str
    meaning: str
    points: tuple[Point, ...]
    classes: tuple[str, ...]  # an empty one is named while it runs (LoadedProbes.classes)
    groups: int
    where: str
    what: str
    absent: tuple[Absence, ...] = ()
    guessed_ns: tuple[float, ...] = ()  # what an event costs by detail, until it is calibrated
    untraced: str = ""  # why none of its points writes a trace, and what does


Messages = set[tuple[int, str]]  # QUOTA_REACHED or CLASS_ASSIGNED, and the subsystem that says so


class Source(Protocol):
    """Where subsystems say something of their own accord."""

    def fileno(self) -> int:
        """Readable when there is something to take."""

    def take(self, room: NDArray[np.void]) -> tuple[Messages, NDArray[np.void]]:
        """Messages and events, these in `room`; nothing of both when all has been taken."""


@dataclass(frozen=True)
class Still:
    """How the library's own thread sees whether a subsystem has anything new: it reads what is
    loaded, or a directory has changed."""

    handle: int | None = None
    directory: int = -1
    changed_ns: int = 0


class Probes(Protocol):
    """The probes of one subsystem, as whoever reads and switches them sees them."""

    subsystem: Subsystem
    limits: tuple[int, ...]

    @property
    def source(self) -> Source: ...
    @property
    def environment(self) -> Mapping[str, str]:
        """What a program's environment needs for it to be measured, beyond its own."""

    @property
    def classes(self) -> tuple[str, ...]: ...
    def free_classes(self) -> None: ...
    def totals(self) -> dict[str, NDArray[np.uint64]]: ...
    @property
    def cells(self) -> NDArray[np.void]: ...
    @property
    def accounts(self) -> NDArray[np.void]: ...
    def pause(self, *, paused: bool) -> None: ...
    def wait(self) -> None: ...
    def set_cost(self, point: int, ns: float) -> None: ...
    def set_run_cost(self, ns: float) -> None: ...
    def set_quota(self, ns: float) -> None: ...
    def set_limits(self, limits: tuple[int, ...]) -> None: ...
    def missing(self, point: int) -> str | None: ...
    def set(self, point: int, detail: Detail, *, tracing: bool = False) -> None: ...
    def detail(self, point: int) -> Detail: ...
    def is_tracing(self, point: int) -> bool: ...
    def read(self) -> bytes: ...
    def sums(self, out: NDArray[np.uint64]) -> None:
        """Fills in [CPU]: ns spent, runs, the events of each point; since these were loaded."""

    def still(self) -> Still | None:
        """None while that cannot be seen."""

    @property
    def presented_and_lost(self) -> tuple[int, int]: ...
    def close(self) -> None: ...


class _Settings(ctypes.Structure):
    _fields_ = [
        ("detail", ctypes.c_uint8 * MAX_POINTS),
        ("tracing", ctypes.c_uint8 * MAX_POINTS),
        ("run_ns", ctypes.c_uint32),
        ("epoch", ctypes.c_uint32),
        ("finest", ctypes.c_uint32),
        ("paused", ctypes.c_uint32),
        ("since_ns", ctypes.c_uint64),
        ("classless", ctypes.c_uint32),
        ("reader", ctypes.c_uint32),
        ("limits", ctypes.c_uint64 * MAX_GROUPS),
        ("cost_ns", ctypes.c_uint32 * MAX_POINTS),
        ("subsystem", ctypes.c_uint32),
        ("presented", ctypes.c_uint64),
        ("lost", ctypes.c_uint64),
    ]


@cache
def library() -> ctypes.CDLL:
    path = find_installed("libsesame-probes.so")
    try:
        library = ctypes.CDLL(str(path))
    except OSError as error:
        raise SesameError(
            f"{path}: cannot be loaded: {error}",
            hint="it needs libbpf: sudo apt-get install libbpf1",
        ) from error
    text, handle, number = ctypes.c_char_p, ctypes.c_void_p, ctypes.c_uint
    for name, result, arguments in (
        ("describe", text, []),
        ("error", text, []),
        ("has_rights", ctypes.c_int, []),
        ("load", handle, [text]),
        ("unload", None, [handle]),
        ("missing", text, [handle, number]),
        ("wait", None, []),
        ("classes", text, [handle]),
        ("free_classes", ctypes.c_int, [handle]),
        ("set", ctypes.c_int, [handle, number, number, ctypes.c_int]),
        ("cells", handle, [handle, ctypes.POINTER(number), ctypes.POINTER(ctypes.c_size_t)]),
        ("settings", ctypes.POINTER(_Settings), [handle]),
        ("set_quota", None, [handle, ctypes.c_uint64]),
        ("read", number, [handle, handle]),
        ("sums", None, [handle, handle, number]),
        ("compare", None, [handle, handle, number, handle, number, handle]),
        ("read_device", ctypes.c_int, [ctypes.c_int, number, number, ctypes.c_long]),
        ("load_nothing", ctypes.c_int, []),
        ("attach", ctypes.c_int, [ctypes.c_int, text]),
        ("events_descriptor", ctypes.c_int, []),
        ("events", ctypes.c_long, [handle, ctypes.c_size_t]),
        ("idle_open", handle, [number, number, number]),
        ("idle_close", None, [handle]),
        ("idle_descriptor", ctypes.c_int, [handle]),
        ("idle_start", None, [handle, handle]),
        ("idle_stop", number, [handle, handle, handle]),
    ):
        function = getattr(library, f"sesame_probes_{name}")
        function.restype, function.argtypes = result, arguments
    return library


def _point(name: str, meaning: str, finest: int, sum: int) -> Point:
    return Point(name, meaning, Detail(finest), bool(sum))


@cache
def subsystems() -> dict[str, Subsystem]:
    """All that have probes, by name, whether this kernel allows them or not."""
    described: list[dict[str, Any]] = json.loads(library().sesame_probes_describe())
    return {
        one["name"]: Subsystem(
            one["name"],
            one["meaning"],
            tuple(_point(**point) for point in one["points"]),
            tuple(one["classes"]),
            one["groups"],
            one["where"],
            one["what"],
            tuple(Absence(**absence) for absence in one["absent"]),
        )
        for one in described
    }


def _last_error() -> str:
    text: bytes = library().sesame_probes_error()
    return text.decode()


def _way_on() -> str:
    if not Path("/sys/kernel/btf/vmlinux").exists():
        return (
            "kernels built with CONFIG_DEBUG_INFO_BTF have it; `sesame trace` sees one program "
            "without it"
        )
    if library().sesame_probes_has_rights():
        return (
            "a container, or a policy of the kernel (lockdown, SELinux), may forbid it to root too"
        )
    return "a daemon that root has started measures for others, too: `sesame measure record`"


class LoadedProbes:
    """The probes of one subsystem, loaded and attached to nothing until a point is set."""

    environment: Mapping[str, str] = MappingProxyType({})

    def __init__(self, name: str) -> None:
        """Raises InputError with the reason when the kernel does not take them."""
        self.subsystem = subsystems()[name]
        self._handle = library().sesame_probes_load(name.encode())
        if not self._handle:
            raise InputError(_last_error(), hint=_way_on())
        self._cpus = self._map_cells()
        self._pulled = np.empty(self.cells[0].size, CELL_READING)
        self._naming = threading.Lock()
        self._class_text, self._classes = b"", self.subsystem.classes
        self._are_named = not all(self._classes)  # while it runs
        self._before = {field: np.zeros_like(sums) for field, sums in self._summed().items()}
        self._settings = library().sesame_probes_settings(self._handle).contents
        self.limits: tuple[int, ...] = ()
        self.set_limits(DEFAULT_LIMITS)

    def _map_cells(self) -> NDArray[np.void]:
        """What was spent and counted, by CPU; changes while one looks."""
        cpus, stride = ctypes.c_uint(), ctypes.c_size_t()
        address = library().sesame_probes_cells(
            self._handle, ctypes.byref(cpus), ctypes.byref(stride)
        )
        one = self.subsystem
        shape = (len(one.points), len(one.classes), one.groups)
        per_cpu = np.dtype(
            {
                "names": ["spending", "cell"],
                "formats": [ACCOUNT, (CELL, shape)],
                "offsets": [0, ACCOUNT.itemsize],
                "itemsize": stride.value,
            }
        )
        memory = (ctypes.c_char * (stride.value * cpus.value)).from_address(address)
        cells: NDArray[np.void] = np.frombuffer(memoryview(memory).cast("B"), per_cpu)
        return cells

    @property
    def source(self) -> Source:
        return _events()

    @property
    def classes(self) -> tuple[str, ...]:
        """What they are called now: of what was pulled before, and of events until now."""
        if not self._are_named:
            return self._classes
        with self._naming:
            return self._named()

    def _named(self) -> tuple[str, ...]:
        text: bytes = library().sesame_probes_classes(self._handle)
        if text != self._class_text:
            self._class_text = text
            self._classes = tuple(text.decode(errors="replace").split("\n"))
        return self._classes

    def free_classes(self) -> None:
        """To be called before a reading: frees classes without events since the last but one."""
        if not self._are_named:
            return
        with self._naming:
            before = self._named()
            if not library().sesame_probes_free_classes(self._handle):
                return
            freed = [i for i, name in enumerate(self._named()) if before[i] and not name]
            for field, sums in self._summed().items():
                self._before[field][:, freed] = sums[:, freed]

    def totals(self) -> dict[str, NDArray[np.uint64]]:
        """[point, class] by field of cells: since these were loaded, or the class was freed."""
        return {field: sums - self._before[field] for field, sums in self._summed().items()}

    def _summed(self) -> dict[str, NDArray[np.uint64]]:
        return {field: self.cells[field].sum(axis=(0, 3)) for field in SUMMED}

    @property
    def cells(self) -> NDArray[np.void]:
        """[CPU, point, class, group]"""
        return self._cpus["cell"]

    @property
    def accounts(self) -> NDArray[np.void]:
        """[CPU]"""
        return self._cpus["spending"]

    def set_limits(self, limits: tuple[int, ...]) -> None:
        """Size groups, in bytes; at most one less than there are groups, growing."""
        self.limits = limits[: self.subsystem.groups - 1]
        for number in range(self.subsystem.groups - 1):
            # Groups that are not wanted stay empty: nothing is as large as their limit.
            limit = limits[number] if number < len(limits) else NO_LIMIT
            self._settings.limits[number] = limit

    def missing(self, point: int) -> str | None:
        """Why this kernel cannot have it."""
        text = library().sesame_probes_missing(self._handle, point)
        return text.decode() if text else None

    def set(self, point: int, detail: Detail, *, tracing: bool = False) -> None:
        if library().sesame_probes_set(self._handle, point, detail, tracing):
            raise SesameError(_last_error())

    def pause(self, *, paused: bool) -> None:
        """Around several `set`, so that points that are sums count the same events."""
        self._settings.paused = paused

    def wait(self) -> None:
        """Until programs that run at this moment, of any subsystem, are done; some 10 ms."""
        library().sesame_probes_wait()

    def set_run_cost(self, ns: float) -> None:
        """Of a program that has run; what CPUs spend is summed from it."""
        self._settings.run_ns = round(ns)

    def set_cost(self, point: int, ns: float) -> None:
        """Of an event, on top of that."""
        self._settings.cost_ns[point] = round(ns)

    def set_quota(self, ns: float) -> None:
        """Each CPU may spend so much from now on; the first to do so sends an event."""
        library().sesame_probes_set_quota(self._handle, round(ns))

    def detail(self, point: int) -> Detail:
        return Detail(self._settings.detail[point])

    def is_tracing(self, point: int) -> bool:
        return bool(self._settings.tracing[point])

    def read(self) -> bytes:
        """The cells with events since the last reading, each a CELL_READING."""
        with self._naming:
            count = library().sesame_probes_read(self._handle, self._pulled.ctypes.data)
        return self._pulled[:count].tobytes()

    def sums(self, out: NDArray[np.uint64]) -> None:
        stride = out.strides[0] // out.itemsize
        library().sesame_probes_sums(self._handle, out.ctypes.data, stride)

    def still(self) -> Still:
        return Still(self._handle)

    @property
    def presented_and_lost(self) -> tuple[int, int]:
        """Events that were to be traced, and those of them that found no room."""
        return int(self._settings.presented), int(self._settings.lost)

    def close(self) -> None:
        if self._handle:
            self._cpus = np.zeros_like(self._cpus)
            library().sesame_probes_unload(self._handle)
            self._handle = None


@contextmanager
def loaded(names: list[str]) -> Iterator[dict[str, LoadedProbes]]:
    probes: dict[str, LoadedProbes] = {}
    try:
        for name in names:
            probes[name] = LoadedProbes(name)
        yield probes
    finally:
        for one in probes.values():
            one.close()


class _Events:
    """What the programs in the kernel send, of all subsystems; probes must be loaded."""

    def fileno(self) -> int:
        descriptor: int = library().sesame_probes_events_descriptor()
        if descriptor < 0:
            raise SesameError(_last_error())
        return descriptor

    def take(self, room: NDArray[np.void]) -> tuple[Messages, NDArray[np.void]]:
        count = library().sesame_probes_events(room.ctypes.data, len(room))
        if count < 0:
            raise SesameError(_last_error())
        events = room[:count]
        said = events["point"] >= CLASS_ASSIGNED
        if not said.any():
            return set(), events
        names = list(subsystems())
        pairs = zip(events["point"][said].tolist(), events["subsystem"][said].tolist(), strict=True)
        return {(message, names[number]) for message, number in pairs}, events[~said]


@cache
def _events() -> _Events:
    return _Events()
