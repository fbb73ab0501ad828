"""The model of a node that runs an application and an instrumentation system (node.toml).

    model = read_model("node.toml")            # or the name of a shipped model: "paradyn"
    model = model.with_settings({"sampling_period": "10ms", "policy": "batch"})

docs/models/overhead.md explains the model and lists each key. Times are in seconds.
"""

from __future__ import annotations

import dataclasses
import difflib
import re
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from sesame.errors import InputError
from sesame.overhead.distributions import Distribution, constant
from sesame.overhead.keys import KeyedError, key, keys_of, quoted, read_table, written

SHIPPED = Path(__file__).parent / "models"
MOST_FILE_BYTES = 16 << 20
MOST_PROCESSES = 10_000_000  # in memory at a time
FORWARD, BATCH = "forward", "batch"
ROUND_ROBIN, FAIR = "round robin", "fair"
NOTHING = constant(0.0)


@dataclass(frozen=True)
class Node:
    """The resources of a node, and how many nodes send to one main process."""

    nodes: int = key("count", 1, "nodes that send to the main process")
    detailed_nodes: int | None = key(
        "count",
        None,
        "nodes simulated one by one; messages of the others are copies of theirs",
    )
    processors: int = key("count", 1, "processors of a node", most=4096)
    scheduler: str = key(
        "choice", ROUND_ROBIN, "who has a processor next", choices=(ROUND_ROBIN, FAIR)
    )
    quantum: float = key(
        "time", 0.010, "round robin: the longest uninterrupted use of a processor", least=1e-9
    )
    period: float = key("time", 0.006, "fair: each ready process runs once in it", least=1e-6)
    granularity: float = key("time", 0.00075, "fair: the shortest slice", least=1e-9)
    context_switch: float = key("time", 0.0, "processor time of a switch to another process")
    network_channels: int = key("count", 1, "network requests of a node served at a time")
    disk_channels: int = key("count", 1, "disk requests of a node served at a time")
    latency: float = key("time", 0.0, "a message's time between the networks of two nodes")


@dataclass(frozen=True)
class ProcessClass:
    """Processes that repeat: processor, network, disk, pause. With an `interarrival` time they are
    instead requests that arrive at random, each served once."""

    name: str = key("text", meaning="what results call the class")
    cpu: Distribution = key("distribution", NOTHING, "length of a processor request")
    count: int = key("count", 1, "processes of the class on a node", least=0, most=1_000_000)
    instrumented: bool = key("flag", False, "its processes are sampled and traced")
    interarrival: Distribution | None = key(
        "distribution", None, "requests arrive at such intervals, for each of `count` sources"
    )
    network: Distribution = key("distribution", NOTHING, "length of a network request")
    disk: Distribution = key("distribution", NOTHING, "length of a disk request")
    pause: Distribution = key("distribution", NOTHING, "time without any request")
    weight: float = key(
        "number", 1024.0, "fair: share of a processor; Linux gives 1024 to nice 0", least=1
    )

    def __post_init__(self) -> None:
        if self.instrumented and self.interarrival is not None:
            raise InputError("requests with an interarrival time cannot be instrumented")
        if self.instrumented and self.cpu == NOTHING:
            raise InputError("an instrumented process needs cpu, since it writes samples after it")
        if self.interarrival == NOTHING:
            raise InputError("interarrival: expected a positive time")
        used = (self.cpu, self.network, self.disk)
        if all(length == NOTHING for length in used):
            raise InputError("expected at least one of cpu, network and disk")


# For models, as of a node that nothing measured, where only the costs are known.
NO_PERIOD_HINT = 'set one, for instance sampling_period = "10ms" in [instrumentation]'


@dataclass(frozen=True)
class Instrumentation:
    """What instrumented processes record."""

    sampling_period: float | None = key(
        "time", None, "each process writes a sample in each period", least=1e-7
    )
    records_per_request: float = key(
        "number", 0.0, "trace records that a process writes after each processor request", most=1e4
    )
    sample_cpu: Distribution = key(
        "distribution", NOTHING, "processor time that a process needs to write a sample or record"
    )
    instrumentation_period: float | None = key(
        "time", None, "the daemons change the instrumentation at such intervals", least=1e-6
    )

    @property
    def is_on(self) -> bool:
        return self.sampling_period is not None or self.records_per_request > 0


@dataclass(frozen=True)
class Daemon:
    """The daemons of a node: collect samples and forward them to the main process."""

    daemons: int = key("count", 1, "daemons of a node; processes are dealt out to them", most=4096)
    source: str = key(
        "choice",
        "pipes",
        "whose samples: instrumented processes write them into pipes, or the daemon's own timer "
        "makes one in each sampling period",
        choices=("pipes", "timer"),
    )
    collect: Distribution = key("distribution", NOTHING, "processor time to collect a sample")
    poll: Distribution = key(
        "distribution", NOTHING, "further processor time for each pipe that the daemon watches"
    )
    forward: Distribution = key("distribution", NOTHING, "processor time to send a message")
    network: Distribution = key("distribution", NOTHING, "length of a message's network request")
    waits_for_network: bool = key("flag", False, "the daemon blocks until its message is sent")
    policy: str = key(
        "choice",
        FORWARD,
        "a message for each sample (collect-and-forward) or for a batch (batch-and-forward)",
        choices=(FORWARD, BATCH),
    )
    batch_size: int = key("count", 32, "samples of a batch", most=1_000_000)
    batch_age: float | None = key("time", None, "a batch is sent when its oldest sample is so old")
    pipe: int = key(
        "count", 64, "samples that a process's pipe holds; a full one blocks the process"
    )
    insertion: Distribution = key(
        "distribution", NOTHING, "processor time to change the instrumentation of a process"
    )
    stop: Distribution = key(
        "distribution",
        NOTHING,
        "further processor time for each other process, stopped during a change",
    )
    change_time: float = key(
        "time", 0.0, "for which processes stay stopped after the processor time of a change"
    )
    weight: float = key("number", 1024.0, "as of a process class", least=1)


@dataclass(frozen=True)
class MainProcess:
    """The process, on a node of its own, that receives the messages of all daemons."""

    cpu: Distribution = key("distribution", NOTHING, "processor time for a message")
    cpu_per_sample: Distribution = key("distribution", NOTHING, "and for each sample in it")
    network: Distribution = key("distribution", NOTHING, "occupancy of its network by a message")


@dataclass(frozen=True)
class NodeModel:
    name: str
    description: str = ""
    node: Node = Node()
    processes: tuple[ProcessClass, ...] = ()
    instrumentation: Instrumentation = Instrumentation()
    daemon: Daemon = Daemon()
    main: MainProcess = MainProcess()

    def __post_init__(self) -> None:
        names = [process.name for process in self.processes]
        for name in {name for name in names if names.count(name) > 1}:
            raise InputError(f'two process classes are called "{name}"')
        if self.daemon.source == "timer" and self.instrumentation.sampling_period is None:
            raise InputError("a daemon with its own timer needs a sampling_period")
        detailed = self.detailed_nodes
        processes = sum(process.count for process in self.processes) + self.daemon.daemons
        if detailed * processes > MOST_PROCESSES:
            raise InputError(
                f"{detailed} nodes with {processes} processes each: expected at most "
                f"{MOST_PROCESSES} processes; simulate fewer nodes in detail (detailed_nodes)"
            )
        if detailed > self.node.nodes:
            raise InputError(
                f"detailed_nodes: expected at most the {self.node.nodes} nodes of the model, "
                f"got {detailed}"
            )

    @property
    def is_instrumented(self) -> bool:
        """Whether any samples, records or changes can occur."""
        changes = self.instrumentation.instrumentation_period is not None
        return self.instrumentation.is_on or changes

    @property
    def instrumented_processes(self) -> int:
        """On each node."""
        return sum(process.count for process in self.processes if process.instrumented)

    @property
    def detailed_nodes(self) -> int:
        """Nodes that are simulated in detail."""
        node = self.node
        return node.nodes if node.detailed_nodes is None else node.detailed_nodes

    @property
    def message_interval(self) -> float | None:
        """Mean time in s between two messages of a daemon that samples; None without samples."""
        period, daemon = self.instrumentation.sampling_period, self.daemon
        sampled = daemon.daemons if daemon.source == "timer" else self.instrumented_processes
        if period is None or sampled == 0:
            return None
        each = period * daemon.daemons / sampled  # between two samples of a daemon
        if daemon.policy != BATCH:
            return each
        full = daemon.batch_size * each
        return full if daemon.batch_age is None else min(full, daemon.batch_age + each)

    def without_instrumentation(self) -> NodeModel:
        """The detailed nodes, on which nothing is sampled, traced or inserted, for comparison."""
        detailed = self.detailed_nodes
        bare = tuple(dataclasses.replace(p, instrumented=False) for p in self.processes)
        return dataclasses.replace(
            self,
            node=dataclasses.replace(self.node, nodes=detailed, detailed_nodes=detailed),
            processes=bare,
            instrumentation=Instrumentation(),
            daemon=Daemon(),
            main=MainProcess(),
        )

    def with_settings(self, settings: Mapping[str, object]) -> NodeModel:
        """The model with other values of some SETTINGS, each a text as in node.toml or a number.
        Raises InputError that names the setting."""
        changes: dict[str, dict[str, Any]] = {}
        for name, value in settings.items():
            table, field, read = _read_setting(name, value)
            changes.setdefault(table, {})[field] = read
        parts: dict[str, Any] = {}
        for table, fields in changes.items():
            if table == "processes":
                sampled = _sampled_class(self)
                parts[table] = tuple(
                    dataclasses.replace(p, **fields) if p is sampled else p for p in self.processes
                )
            else:
                parts[table] = dataclasses.replace(getattr(self, table), **fields)
        return dataclasses.replace(self, **parts)

    def setting(self, name: str) -> Any:
        """The value of one of SETTINGS (times in s)."""
        table, field = _place_of(name)
        if table == "processes":
            return _sampled_class(self).count
        return getattr(getattr(self, table), field)

    def as_toml(self) -> str:
        """The text of a node.toml that `read_model` reads as this model."""
        lines = [f"name = {quoted(self.name)}"]
        if self.description:
            lines.append(f"description = {quoted(self.description)}")
        tables: list[tuple[str, object]] = [("[node]", self.node)]
        tables += [("[[process]]", process) for process in self.processes]
        tables += [("[instrumentation]", self.instrumentation), ("[daemon]", self.daemon)]
        tables.append(("[main]", self.main))
        for header, table in tables:
            body = written(table)
            lines += ["", header, *body] if body else []
        return "\n".join(lines) + "\n"


_TABLES: dict[str, type] = {
    "node": Node,
    "instrumentation": Instrumentation,
    "daemon": Daemon,
    "main": MainProcess,
}
# Short names of the command line and of experiments: where each is in the model.
SETTINGS: dict[str, tuple[str, str]] = {
    "processes": ("processes", "count"),
    **{
        name: (table, name)
        for table in ("node", "instrumentation", "daemon")
        for name, kind in keys_of(_TABLES[table]).items()
        if kind.name != "distribution" and name not in ("weight",)
    },
}


def shipped_models() -> dict[str, Path]:
    """Names and files of the models that come with Sesame."""
    return {path.stem: path for path in sorted(SHIPPED.glob("*.toml"))}


def read_model(name: str | Path) -> NodeModel:
    """Reads a node.toml, or a shipped model by its name. Raises InputError with file and line."""
    path = shipped_models().get(str(name), Path(name))
    try:
        with path.open("rb") as file:
            data = file.read(MOST_FILE_BYTES + 1)
    except OSError as error:
        raise InputError(
            f"cannot read the node model: {error.strerror}",
            path=str(path),
            hint=f"there are the shipped models {', '.join(shipped_models())}",
        ) from error
    if len(data) > MOST_FILE_BYTES:
        raise InputError(f"expected at most {MOST_FILE_BYTES} bytes", path=str(path))
    try:
        return parse_model(data.decode(), str(path))
    except UnicodeDecodeError as error:
        raise InputError("not a node model: expected UTF-8 text", path=str(path)) from error


def parse_model(text: str, path: str = "node.toml") -> NodeModel:
    """The model of a node.toml's text; `path` is for messages."""
    try:
        values = tomllib.loads(text)
    except (tomllib.TOMLDecodeError, RecursionError) as error:
        line = re.search(r"line (\d+)", str(error))
        raise InputError(
            f"not a node model: {error}", path=path, line=int(line[1]) if line else None
        ) from error
    known = {"name", "description", "process", *_TABLES}
    for unknown in values.keys() - known:
        raise InputError(
            f"unknown key {unknown}, expected one of {', '.join(sorted(known))}",
            path=path,
            line=_line_of(text, "", 0, unknown),
        )
    tables = {
        name: _read_one(kind, values.get(name, {}), f"[{name}]", 0, text, path)
        for name, kind in _TABLES.items()
    }
    classes = values.get("process", [])
    if not isinstance(classes, list):
        raise InputError("expected tables [[process]]", path=path)
    read = [
        _read_one(ProcessClass, value, "[[process]]", number, text, path)
        for number, value in enumerate(classes)
    ]
    names = [values.get("name", Path(path).stem), values.get("description", "")]
    if not all(isinstance(name, str) for name in names):
        raise InputError("name and description: expected texts", path=path)
    try:
        return NodeModel(names[0], names[1], processes=tuple(read), **tables)
    except InputError as error:
        raise InputError(error.message, path=path) from error


def _read_one(kind: type, values: object, header: str, number: int, text: str, path: str) -> Any:
    """The dataclass of the `number`th table with this header."""
    if not isinstance(values, dict):
        raise InputError(f"expected a table {header}", path=path)
    try:
        return read_table(kind, values, header)
    except KeyedError as error:
        line = _line_of(text, header, number, error.key)
        raise InputError(error.message, path=path, line=line) from error


def _line_of(text: str, header: str, number: int, key: str) -> int | None:
    """The line of a key below the `number`th such header, or of the header for the key ""."""
    current, seen = "", 0
    for at, line in enumerate(text.splitlines(), 1):
        bare = re.sub(r"\s", "", line.split("#")[0])
        if bare.startswith("["):
            seen += current == header
            current = bare
            if bare == header and seen == number and not key:
                return at
        elif current == header and seen == number and re.match(rf"[\"']?{re.escape(key)}\b", bare):
            return at
    return None


def _place_of(name: str) -> tuple[str, str]:
    if name not in SETTINGS:
        near = difflib.get_close_matches(name, SETTINGS, n=1)
        raise InputError(
            f"unknown setting {name}, expected one of {', '.join(SETTINGS)}",
            hint=f"did you mean {near[0]}?" if near else None,
        )
    return SETTINGS[name]


def _read_setting(name: str, value: object) -> tuple[str, str, object]:
    """The table and the field that a setting is, and its value."""
    table, field = _place_of(name)
    kinds = keys_of(ProcessClass if table == "processes" else _TABLES[table])
    try:
        return table, field, kinds[field].read(value)
    except InputError as error:
        raise InputError(f"setting {name}: {error.message}") from error


def _sampled_class(model: NodeModel) -> ProcessClass:
    """The class whose number of processes the setting `processes` is: the only instrumented one,
    or the only one."""
    candidates = [p for p in model.processes if p.instrumented] or list(model.processes)
    if len(candidates) != 1:
        raise InputError(
            f"setting processes: expected one instrumented process class, got {len(candidates)}"
        )
    return candidates[0]
