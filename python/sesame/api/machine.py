"""`sesame.Machine`: load a machine model, change its keys, save it."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from sesame import native
from sesame.api.arguments import check_one, mapping_of
from sesame.errors import InputError, OutputError
from sesame.machines import as_file, find_machine, shipped
from sesame.settings import setting

Value = str | int | float | bool | Sequence[str | int | float]
# Kinds of keys whose values a machine file writes without quotes.
BARE = {"count", "number", "index", "share", "flag", "counts", "numbers", "indices"}


@dataclass(frozen=True)
class Machine:
    """A machine model: a machine file, and the keys that were changed since it was loaded.

    >>> machine = sesame.Machine.load("infiniband").set({"network.latency": "2us"})
    >>> sesame.simulate("./app", ranks=64, machine=machine)

    Keys are those of docs/formats/machine.md; `Machine.keys()` has them with their meaning. Values
    carry their unit as text ("2us", "10 GB/s"); counts and ratios are numbers.
    """

    path: Path
    settings: tuple[tuple[str, str], ...] = ()

    def __post_init__(self) -> None:
        if not isinstance(self.path, Path):
            raise InputError(
                f"Machine({self.path!r}): expected the path of a machine file",
                hint=f"Machine.load({self.path!r}) takes also the name of a model",
            )

    @staticmethod
    def load(name: str | Path) -> Machine:
        """A model that comes with Sesame, by its name, or a machine file.

        Raises InputError for an unknown name, with the most similar one, and for an invalid file,
        with the line.
        """
        machine = Machine(find_machine(str(name)).resolve())
        machine.model  # noqa: B018  (raises for a wrong file)
        return machine

    @staticmethod
    def names() -> list[str]:
        """The models that come with Sesame."""
        return list(shipped())

    @staticmethod
    def keys() -> dict[str, str]:
        """Every key that a machine may have, and what it means."""
        return {key["key"]: key["meaning"] for key in native.machine_keys()}

    def set(self, changes: Mapping[str, Value]) -> Machine:
        """Returns a copy of this machine with other values of some keys.

        Raises InputError for an unknown key, or a value that the key cannot have.
        """
        changed = mapping_of("settings", changes)
        old = {key: value for key, value in self.settings if key not in changed}
        new = {key: value_text(value) for key, value in changed.items()}
        machine = Machine(self.path, tuple((old | new).items()))
        machine.model  # noqa: B018
        return machine

    @property
    def overrides(self) -> tuple[str, ...]:
        """The changed keys as text: KEY=VALUE."""
        return tuple(f"{key}={value}" for key, value in self.settings)

    @property
    def model(self) -> dict[str, Any]:
        """The whole model in SI units: seconds, bytes, bytes per second."""
        found: dict[str, Any] = native.read_machine(str(self.path), list(self.overrides))
        return found

    @property
    def name(self) -> str:
        return str(self.model["name"])

    def save(self, path: str | Path, *, force: bool = False) -> Path:
        """Writes a machine file with the changed keys; comments are kept.

        Raises OutputError if the file exists (`force` replaces it) or cannot be written, InputError
        for a change that must be made in the file by hand.
        """
        path = Path(path)
        if path.exists() and not force:
            raise OutputError(
                f"{path}: already there", hint=f"{setting('force', True)} writes over it"
            )
        text = self.path.read_text(encoding="utf-8")
        for key, value in (*self.settings, *self._moved_segments(text)):
            text = _changed(text, key, value)
        text = _without_marks(text, [key for key, _ in self.settings])
        try:
            with as_file(text) as file:
                read = native.read_machine(str(file))
            same = {**read, "path": ""} == {**self.model, "path": ""}
        except InputError:
            same = False
        if not same:
            changed = ", ".join(key for key, _ in self.settings)
            raise InputError(
                f"cannot write these changes into {self.path.name}: {changed}",
                hint=f"copy {self.path} and change the keys there",
            )
        try:
            path.write_text(text, encoding="utf-8")
        except OSError as error:
            raise OutputError(f"{path}: cannot write: {error.strerror}") from error
        return path

    def _moved_segments(self, text: str) -> Iterator[tuple[str, str]]:
        """The keys that move with the latency or bandwidth of their table, with their values."""
        changed = dict(self.settings)
        for table, key in (("network", "network"), ("node.network", "node_network")):
            model = self.model[key]
            if f"{table}.latency" not in changed and f"{table}.bandwidth" not in changed:
                continue
            count = len(re.findall(rf"^\s*\[\[{re.escape(table)}\.segment\]\]", text, re.MULTILINE))
            moved = {f"{table}.stream_bandwidth": model["stream_bandwidth_bytes_per_s"]}
            for number, segment in enumerate(model["segments"][:count]):
                name = f"{table}.segment.{number}"
                moved[f"{name}.bandwidth"] = segment["bandwidth_bytes_per_s"]
                if f"{name}.latency" not in changed:
                    yield f"{name}.latency", f"{round(segment['latency_s'] * 1e12)} ps"
            for name, bandwidth in moved.items():
                if bandwidth and name not in changed:
                    yield name, f"{bandwidth!r} B/s"

    def __repr__(self) -> str:
        changed = f" with {', '.join(self.overrides)}" if self.settings else ""
        return f"<sesame.Machine {self.name}{changed}>"


def machine_of(machine: str | Path | Machine | None) -> Machine:
    """The machine itself, or the model of that name or file. Raises InputError without one."""
    if machine is None:
        some = ", ".join(list(shipped())[:3])
        raise InputError(
            "machine is missing: expected the name of a model, a machine file or a sesame.Machine",
            hint=f'for instance machine="infiniband"; there are {some} and others: '
            "sesame.Machine.names()",
        )
    kinds, several = (str, Path, Machine), "sesame.series takes several"
    check_one("machine", machine, kinds, "the name of a model or a machine file", several)
    return machine if isinstance(machine, Machine) else Machine.load(machine)


def machines_by_label(
    machine: str | Path | Machine | Sequence[str | Path | Machine] | None,
) -> dict[str, Machine]:
    """One machine or several, by a name that differs: that of the model; of models with the same
    name it has the changed keys or the path, too. Raises InputError without any, or for a machine
    that is given twice."""
    if machine is None or isinstance(machine, str | Path | Machine):
        machine = [machine_of(machine)]
    machines = [machine_of(one) for one in machine] or [machine_of(None)]
    names = [one.name for one in machines]
    found: dict[str, Machine] = {}
    for one, name in zip(machines, names, strict=True):
        twins = [other for other in machines if other.name == name]
        parts = [name]
        if len({other.path for other in twins}) > 1:
            parts.append(str(one.path))
        if len({other.settings for other in twins}) > 1:
            parts += one.overrides
        label = " ".join(parts)
        if label in found:
            raise InputError(f"{setting('machine')}: {label} is given twice")
        found[label] = one
    return found


def value_text(value: Value) -> str:
    """The value as text, as a machine file has it without quotes."""
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, str | int | float):
        return str(value)
    return f"[{','.join(map(str, value))}]"


def _changed(text: str, key: str, value: str) -> str:
    """The text of a machine file with the key's line replaced, or a line added to its table."""
    lines = text.split("\n")
    parts = key.split(".")
    written = _as_toml(key, value)
    for split in range(len(parts) - 1, -1, -1):
        table, name = ".".join(parts[:split]), ".".join(parts[split:])
        begin, end = _table(lines, table)
        for i in range(begin, end):
            if re.match(rf"\s*{re.escape(name)}\s*=", lines[i]):
                lines[i] = f"{name} = {written}"
                return "\n".join(lines)
    table, name = ".".join(parts[:-1]), parts[-1]
    begin, end = _table(lines, table)
    if begin == end == len(lines):
        return "\n".join([*lines, f"[{table}]", f"{name} = {written}", ""])
    return "\n".join([*lines[:begin], f"{name} = {written}", *lines[begin:]])


def _without_marks(text: str, keys: Sequence[str]) -> str:
    """The text without these keys in its list `assumed`: their values are the caller's."""
    found = re.search(r"^assumed = \[[^\]]*\]", text, re.MULTILINE)
    if found is None:
        return text
    marks = found[0]
    for key in keys:
        marks = re.sub(rf'\n?[ ]*"{re.escape(key)}",?', "", marks)
    marks = "" if not re.search(r'"', marks) else marks
    return text[: found.start()] + marks + text[found.end() :]


def _table(lines: Sequence[str], table: str) -> tuple[int, int]:
    """The lines [begin, end) of a table after its header; an empty range at the end of the file if
    the table is missing. `network.segment.1` is the second [[network.segment]]."""
    heads = [i for i, line in enumerate(lines) if line.lstrip().startswith("[")]
    heads = [i for i in heads if re.match(r"\s*\[\[?[\w.]+\]\]?\s*(#.*)?$", lines[i])]
    if not table:
        return 0, heads[0] if heads else len(lines)
    name, _, number = table.rpartition(".")
    if number.isdigit():
        listed = [i for i in heads if re.match(rf"\s*\[\[{re.escape(name)}\]\]", lines[i])]
        if int(number) >= len(listed):
            return len(lines), len(lines)
        begin = listed[int(number)]
        return begin + 1, next((i for i in heads if i > begin), len(lines))
    for i, at in enumerate(heads):
        if re.match(rf"\s*\[{re.escape(table)}\]", lines[at]):
            return at + 1, heads[i + 1] if i + 1 < len(heads) else len(lines)
    return len(lines), len(lines)


def _as_toml(key: str, value: str) -> str:
    known = re.sub(r"\.\d+\.", ".N.", key)
    kind = next((one["kind"] for one in native.machine_keys() if one["key"] == known), "text")
    if kind in BARE:
        return value
    if kind == "texts":
        return json.dumps([part.strip(" \"'") for part in value.strip("[] ").split(",")])
    return json.dumps(value, ensure_ascii=False)
