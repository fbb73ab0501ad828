"""Probes: the interface `Probes`, and LoadedProbes, the probes in the running kernel.

LoadedProbes wraps the library libsesame-probes (probes/probes.h).
"""

from __future__ import annotations

import ctypes
import json
import threading
import time
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
from sesame.measurement.bounds import MOST_OF_CLASS, plain
from sesame.measurement.detail import Detail

# As in probes/cell.h.
MAX_POINTS, MAX_GROUPS = 16, 8
RING_BYTES = 8 << 20
# Events with these points are messages: a CPU reached its quota; a new object was assigned a class.
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
        ("index", "u8"),
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
# Limits of size groups in bytes. A size belongs to the first group with a larger limit, else to
# the last group.
NO_LIMIT = 2**64 - 1
DEFAULT_LIMITS = (512, 4096, 16384, 65536, 262144, 1048576, 4194304)


@dataclass(frozen=True)
class Point:
    name: str
    meaning: str
    finest: Detail
    is_sum: bool  # counts the events of other points again


@dataclass(frozen=True)
class Absence:
    """A quantity that users may look for but no kernel offers as events, and why."""

    name: str
    meaning: str
    why: str


@dataclass(frozen=True)
class Subsystem:
    name: str
    meaning: str
    points: tuple[Point, ...]
    classes: tuple[str, ...]  # an empty one gets its name at run time (LoadedProbes.classes)
    groups: int
    where: str  # meaning of the field `where` of its events
    what: str  # meaning of the field `what` of its events
    absent: tuple[Absence, ...] = ()
    guessed_ns: tuple[float, ...] = ()  # cost of an event by detail, until calibrated
    untraced: str = ""  # why its points cannot write a trace, and what can


Messages = set[tuple[int, str]]  # QUOTA_REACHED or CLASS_ASSIGNED, and the subsystem


class Source(Protocol):
    """A source of events and messages of subsystems."""

    def fileno(self) -> int:
        """A descriptor that is readable when there is something to take."""

    def take(self, buffer: NDArray[np.void]) -> tuple[Messages, NDArray[np.void]]:
        """Messages, and events in `buffer`; both empty when all has been taken."""


@dataclass(frozen=True)
class ChangeCheck:
    """Tells the library's thread how to find, during an idle period, whether a subsystem counted
    anything: it reads the loaded probes (`handle`), or compares the modification time of
    `directory` (a file descriptor) with `changed_ns`."""

    handle: int | None = None
    directory: int = -1
    changed_ns: int = 0


class Probes(Protocol):
    """The probes of one subsystem, as the governor, a session and the daemon use them.

    Points are given by their index in `subsystem.points`. Costs and quotas are in ns.
    """

    subsystem: Subsystem
    limits: tuple[int, ...]  # of size groups, in bytes

    @property
    def source(self) -> Source: ...
    @property
    def environment(self) -> Mapping[str, str]:
        """Environment variables that a program needs to be measured."""

    @property
    def classes(self) -> tuple[str, ...]:
        """The names of classes now; "" for a class that is not in use."""

    def free_classes(self) -> None:
        """Frees classes that are no longer in use. Call it before `read`."""

    def totals(self) -> dict[str, NDArray[np.uint64]]:
        """Sums [point, class] by field of cells, since loading."""

    @property
    def cells(self) -> NDArray[np.void]:
        """The counters (CELL) as [CPU, point, class, group]."""

    @property
    def accounts(self) -> NDArray[np.void]:
        """The account (ACCOUNT) of each CPU."""

    def pause(self, *, paused: bool) -> None:
        """Stops or resumes counting; points stay attached."""

    def wait(self) -> None:
        """Waits until no probe that runs now can change a counter."""

    def set_cost(self, point: int, ns: float) -> None:
        """Sets the cost of an event on top of its run."""

    def set_run_cost(self, ns: float) -> None:
        """Sets the cost of a run."""

    def set_quota(self, ns: float) -> None:
        """Sets the quota of each CPU from now on; reaching it sends QUOTA_REACHED."""

    def set_limits(self, limits: tuple[int, ...]) -> None:
        """Sets the limits of size groups, ascending and fewer than there are groups."""

    def missing(self, point: int) -> str | None:
        """Why the point is not supported here; None if it is."""

    def substituted(self, point: int) -> str | None:
        """What is counted otherwise here, and why; None if nothing."""

    def set(self, point: int, detail: Detail, *, tracing: bool = False) -> None:
        """Attaches a point at this detail; OFF detaches it. Raises SesameError."""

    def detail(self, point: int) -> Detail: ...
    def is_tracing(self, point: int) -> bool: ...
    def read(self) -> bytes:
        """The cells with events since the last call, each a CELL_READING."""

    def sums(self, out: NDArray[np.uint64]) -> None:
        """Fills in [CPU]: ns charged, runs, and events of each point, since loading."""

    def change_check(self) -> ChangeCheck | None:
        """How to find whether anything was counted; None while there is no way."""

    @property
    def presented_and_lost(self) -> tuple[int, int]:
        """The numbers of events to be traced, and of those lost."""

    def close(self) -> None:
        """Detaches and unloads the probes."""


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
        ("substituted", text, [handle, number]),
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
    """All subsystems with probes, by name, supported by this kernel or not."""
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


def _hint() -> str:
    if not Path("/sys/kernel/btf/vmlinux").exists():
        return (
            "use a kernel built with CONFIG_DEBUG_INFO_BTF, or `sesame trace`, which records one "
            "program without it"
        )
    if library().sesame_probes_has_rights():
        return (
            "a container, or a policy of the kernel (lockdown, SELinux), may forbid it even to root"
        )
    return "without root, use a daemon that root has started: `sesame measure record`"


class LoadedProbes:
    """The probes of one subsystem, loaded and attached to nothing until a point is set."""

    environment: Mapping[str, str] = MappingProxyType({})

    def __init__(self, name: str) -> None:
        """Raises InputError with the reason if the kernel refuses them."""
        self.subsystem = subsystems()[name]
        self._handle = library().sesame_probes_load(name.encode())
        if not self._handle:
            raise InputError(_last_error(), hint=_hint())
        self._cpus = self._map_cells()
        self._readings = np.empty(self.cells[0].size, CELL_READING)
        self._naming = threading.Lock()
        self._class_text, self._classes = b"", self.subsystem.classes
        self._are_named = not all(self._classes)  # some classes get names at run time
        self._before = {field: np.zeros_like(sums) for field, sums in self._summed().items()}
        self._settings = library().sesame_probes_settings(self._handle).contents
        self.limits: tuple[int, ...] = ()
        self.set_limits(DEFAULT_LIMITS)

    def _map_cells(self) -> NDArray[np.void]:
        """Accounts and cells by CPU, in memory that the kernel changes at any time."""
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
        """The names of classes now, valid for cells read before this call and events until now."""
        if not self._are_named:
            return self._classes
        with self._naming:
            return self._named()

    def _named(self) -> tuple[str, ...]:
        text: bytes = library().sesame_probes_classes(self._handle)
        if text != self._class_text:
            self._class_text = text
            # Any user may mount a file system at a path with control characters (unshare -Urm).
            names = text.decode(errors="replace").split("\n")
            self._classes = tuple(plain(name, MOST_OF_CLASS) for name in names)
        return self._classes

    def free_classes(self) -> None:
        """Frees classes without events since the reading before the last. Call it before `read`."""
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
        """Sums [point, class] by field of cells, since loading or since the class was freed."""
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
            # Unused groups stay empty: no size reaches their limit.
            limit = limits[number] if number < len(limits) else NO_LIMIT
            self._settings.limits[number] = limit

    def missing(self, point: int) -> str | None:
        """Why this kernel does not support the point; None if it does."""
        text = library().sesame_probes_missing(self._handle, point)
        return text.decode() if text else None

    def substituted(self, point: int) -> str | None:
        """What is counted otherwise by a substitute in this kernel, and why; None if nothing."""
        text = library().sesame_probes_substituted(self._handle, point)
        return text.decode() if text else None

    def set(self, point: int, detail: Detail, *, tracing: bool = False) -> None:
        if library().sesame_probes_set(self._handle, point, detail, tracing):
            raise SesameError(_last_error())

    def pause(self, *, paused: bool) -> None:
        """Stops or resumes counting; what begins before it is resumed is not timed. Pause around
        several calls of `set`, so that points that are sums count the same events as the points
        they add up."""
        if not paused:
            self._settings.since_ns = time.monotonic_ns()
        self._settings.paused = paused

    def wait(self) -> None:
        """Waits until all eBPF programs that run now have ended; some 10 ms."""
        library().sesame_probes_wait()

    def set_run_cost(self, ns: float) -> None:
        """Sets the cost of a run, which is charged to the CPU's account."""
        self._settings.run_ns = round(ns)

    def set_cost(self, point: int, ns: float) -> None:
        """Sets the cost of an event on top of its run."""
        self._settings.cost_ns[point] = round(ns)

    def set_quota(self, ns: float) -> None:
        """Sets the quota of each CPU from now on; the first to reach it sends QUOTA_REACHED."""
        library().sesame_probes_set_quota(self._handle, round(ns))

    def detail(self, point: int) -> Detail:
        return Detail(self._settings.detail[point])

    def is_tracing(self, point: int) -> bool:
        return bool(self._settings.tracing[point])

    def read(self) -> bytes:
        """The cells with events since the last call, each a CELL_READING."""
        with self._naming:
            count = library().sesame_probes_read(self._handle, self._readings.ctypes.data)
        return self._readings[:count].tobytes()

    def sums(self, out: NDArray[np.uint64]) -> None:
        stride = out.strides[0] // out.itemsize
        library().sesame_probes_sums(self._handle, out.ctypes.data, stride)

    def change_check(self) -> ChangeCheck:
        return ChangeCheck(self._handle)

    @property
    def presented_and_lost(self) -> tuple[int, int]:
        """The numbers of events to be traced, and of those lost because the ring was full."""
        return int(self._settings.presented), int(self._settings.lost)

    def close(self) -> None:
        if self._handle:
            self._cpus = np.zeros_like(self._cpus)
            library().sesame_probes_unload(self._handle)
            self._handle = None


@contextmanager
def loaded(names: list[str]) -> Iterator[dict[str, LoadedProbes]]:
    """Loads the probes of these subsystems, and unloads them at the end of the block."""
    probes: dict[str, LoadedProbes] = {}
    try:
        for name in names:
            probes[name] = LoadedProbes(name)
        yield probes
    finally:
        for one in probes.values():
            one.close()


class _Events:
    """The ring buffer of all subsystems in the kernel. At least one probe must be loaded."""

    def fileno(self) -> int:
        descriptor: int = library().sesame_probes_events_descriptor()
        if descriptor < 0:
            raise SesameError(_last_error())
        return descriptor

    def take(self, buffer: NDArray[np.void]) -> tuple[Messages, NDArray[np.void]]:
        count = library().sesame_probes_events(buffer.ctypes.data, len(buffer))
        if count < 0:
            raise SesameError(_last_error())
        events = buffer[:count]
        is_message = events["point"] >= CLASS_ASSIGNED
        if not is_message.any():
            return set(), events
        names = list(subsystems())
        pairs = zip(
            events["point"][is_message].tolist(),
            events["subsystem"][is_message].tolist(),
            strict=True,
        )
        return {(message, names[number]) for message, number in pairs}, events[~is_message]


@cache
def _events() -> _Events:
    return _Events()
