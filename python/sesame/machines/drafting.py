"""Writes a machine file from a few answers: what is given has its source beside it, what is not is
taken from a similar model and marked as assumed."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from sesame import native
from sesame.errors import InputError
from sesame.machines import find_machine

SHAPES = {
    "crossbar": "crossbar",
    "mesh": "mesh:8,8",
    "torus": "torus:8,8,8",
    "fat_tree": "fat_tree:32,32",
    "hyperx": "hyperx:8,8,16",
    "dragonfly": "dragonfly:8,16,16",
}
MOST_NUMBERS = 64  # of a topology: more dimensions or levels than any machine has
OVERHEADS = ("send_overhead", "receive_overhead")


@dataclass(frozen=True)
class Question:
    """What is asked: the option, the question and an example of an answer."""

    name: str
    text: str
    example: str
    key: str = ""  # of the machine file, with which the answer is checked
    topology: str = ""  # asked only of this kind


QUESTIONS = (
    Question("nodes", "How many nodes?", "256", "nodes"),
    Question("cores", "How many ranks does a node take?", "64", "node.cores"),
    Question("latency", "Half round trip of a small message between two nodes?", "1.5 us"),
    Question(
        "bandwidth",
        "Bandwidth of large messages between two nodes?",
        "12 GB/s",
        "network.bandwidth",
    ),
    Question("node_latency", "Half round trip of a small message inside a node?", "0.5 us"),
    Question(
        "node_bandwidth",
        "Bandwidth of large messages inside a node?",
        "6 GB/s",
        "node.network.bandwidth",
    ),
    Question("cards", "How many network cards has a node?", "1", "network.card.number"),
    Question(
        "card_bandwidth",
        "Bandwidth of a card, for all its ranks together?",
        "25 GB/s",
        "network.card.bandwidth",
    ),
    Question("topology", "Topology?", "fat_tree:32,32"),
    Question(
        "uplinks",
        "Links up from a switch of each level but the top? Fewer than below are oversubscription",
        "16",
        "topology.uplinks",
        "fat_tree",
    ),
    Question(
        "global_links",
        "Links between each two groups?",
        "16",
        "topology.global_links",
        "dragonfly",
    ),
    Question(
        "sharing",
        "What do messages of different ranks share: none, interface (cards) or links?",
        "interface",
        "network.sharing",
    ),
    Question(
        "compute_ratio",
        "Computation: the machine's time / this host's?",
        "1",
        "node.compute_ratio",
    ),
)


@dataclass(frozen=True)
class Draft:
    """The answers; an empty text is none. `like` is the model from which the rest is taken."""

    name: str
    like: str
    source: str
    answers: Mapping[str, str]

    def text(self) -> str:
        """The machine file. Raises InputError for a topology that cannot be."""
        model = native.read_machine(str(find_machine(self.like)))
        body = [
            _Table("", self._top()),
            _Table("node", self._node(model)),
            _Table("node.network", self._network(model["node_network"], "node_")),
            _Table("network", [*self._network(model["network"], ""), self._sharing(model)]),
            _Table("network.card", self._card()),
            _Table("topology", self._topology()),
        ]
        assumed = [key for table in body for key in table.assumed()]
        sources = [f"[1] {self.source}"] if self._is_given() else []
        sources.append(f"[2] the model {self.like} of Sesame, with its sources")
        description = f"Written by `sesame machine new`, like {self.like}"
        lines = [
            f"# {description}: replace what is assumed by measurements.",
            "",
            f"name = {json.dumps(self.name)}",
            f"description = {json.dumps(description)}",
            f"sources = {_list(sources)}",
            f"assumed = {_list(assumed)}" if assumed else "",
            *(table.text() for table in body if table.lines),
        ]
        return "\n".join(lines).replace("\n\n\n", "\n\n") + "\n"

    def _is_given(self) -> bool:
        return any(self.answers.values())

    def _top(self) -> list[_Line]:
        nodes = self.answers.get("nodes", "")
        shape = self.answers.get("topology", "")
        if not nodes and (shape and shape != "crossbar"):
            return []  # the topology says it
        return [_given("nodes", nodes)] if nodes else [_assumed("nodes", "64", "a choice")]

    def _node(self, model: dict[str, Any]) -> list[_Line]:
        return [
            self._answer("cores", "cores", str(model["cores"])),
            self._answer("compute_ratio", "compute_ratio", "1", "cores as fast as this host's"),
        ]

    def _network(self, like: dict[str, Any], prefix: str) -> list[_Line]:
        latency = self.answers.get(f"{prefix}latency", "")
        lines = [
            self._answer(f"{prefix}latency", "latency", _duration(like["latency_s"])),
            self._answer(f"{prefix}bandwidth", "bandwidth", _bandwidth(like)),
        ]
        share = 1.0
        if latency and like["latency_s"]:
            share = min(1.0, native.parse_duration_ps(latency) / 1e12 / like["latency_s"])
        for name in OVERHEADS:
            if like[f"{name}_s"]:
                lines.append(self._taken(name, _duration(share * like[f"{name}_s"])))
        if like["hop_latency_s"]:
            lines.append(self._taken("hop_latency", _duration(like["hop_latency_s"])))
        if like["eager_limit_bytes"] is not None:
            lines.append(_assumed("eager_limit", str(like["eager_limit_bytes"]), self._like()))
        return lines

    def _sharing(self, model: dict[str, Any]) -> _Line:
        """Ranks of a node share its cards unless each has one. A number of links has an effect
        only if messages share links, a rate of the card only if they share it."""
        if self.answers.get("uplinks") or self.answers.get("global_links"):
            return self._answer("sharing", "sharing", "links", "their number is given")
        if self.answers.get("card_bandwidth"):
            return self._answer("sharing", "sharing", "interface", "the rate of a card is given")
        ranks = int(self.answers.get("cores") or model["cores"])
        if ranks > int(self.answers.get("cards") or 1):
            return self._answer("sharing", "sharing", "interface", "ranks share a card")
        return self._answer("sharing", "sharing", "none", "each rank has a card")

    def _card(self) -> list[_Line]:
        lines = [self._answer("cards", "number", "1", "a choice")]
        if bandwidth := self.answers.get("card_bandwidth", ""):
            lines.append(_given("bandwidth", _value(bandwidth)))
        return lines

    def _topology(self) -> list[_Line]:
        shape = self.answers.get("topology", "")
        mark = _given if shape else _assumed
        values = topology_values(shape or "crossbar")
        lines = [mark(key, value, "" if shape else "a choice") for key, value in values.items()]
        if uplinks := self.answers.get("uplinks", ""):
            lines.append(_given("uplinks", f"[{uplinks}]"))
        if links := self.answers.get("global_links", ""):
            lines.append(_given("global_links", links))
        return lines

    def _answer(self, option: str, key: str, otherwise: str, why: str = "") -> _Line:
        answer = self.answers.get(option, "")
        if answer:
            return _given(key, _value(answer))
        return _assumed(key, _value(otherwise), why or self._like())

    def _taken(self, key: str, value: str) -> _Line:
        return _assumed(key, _value(value), self._like())

    def _like(self) -> str:
        return f"as {self.like} [2]"


@dataclass(frozen=True)
class _Line:
    key: str
    value: str
    comment: str
    is_assumed: bool


@dataclass(frozen=True)
class _Table:
    name: str
    lines: list[_Line]

    def assumed(self) -> list[str]:
        prefix = f"{self.name}." if self.name else ""
        return [f"{prefix}{line.key}" for line in self.lines if line.is_assumed]

    def text(self) -> str:
        head = [f"\n[{self.name}]"] if self.name else []
        return "\n".join(
            [*head, *(f"{line.key} = {line.value}  # {line.comment}" for line in self.lines)]
        )


def topology_values(shape: str) -> dict[str, str]:
    """The keys of a topology that is written as KIND:NUMBERS, as fat_tree:32,32."""
    kind, _, numbers = shape.replace(" ", "").partition(":")
    counts = {"crossbar": (0, 0), "hyperx": (2, MOST_NUMBERS), "dragonfly": (3, 3)}
    least, most = counts.get(kind, (1, MOST_NUMBERS))
    parts = numbers.split(",") if numbers else []
    is_right = all(re.fullmatch(r"[1-9]\d*", part) for part in parts)
    if kind not in SHAPES or not is_right or not least <= len(parts) <= most:
        raise InputError(
            f"unknown topology {shape!r}, expected one such as {', '.join(SHAPES.values())}",
            hint="mesh and torus: nodes along each dimension; fat_tree: children of a switch, "
            "leaf level first; hyperx: routers along each dimension, nodes of a router; "
            "dragonfly: groups, routers of a group, nodes of a router",
        )
    values = {"kind": json.dumps(kind)}
    if kind in ("mesh", "torus"):
        values["dims"] = f"[{', '.join(parts)}]"
    elif kind == "fat_tree":
        values["arity"] = f"[{', '.join(parts)}]"
    elif kind == "hyperx":
        values |= {"dims": f"[{', '.join(parts[:-1])}]", "nodes_per_router": parts[-1]}
    elif kind == "dragonfly":
        values |= dict(zip(("groups", "routers", "nodes_per_router"), parts, strict=True))
    return values


def is_asked(question: Question, answers: Mapping[str, str]) -> bool:
    """Whether the question has a meaning for the topology that was answered."""
    kind = answers.get("topology", "").partition(":")[0].strip()
    return not question.topology or question.topology == kind


def check_answer(question: Question, answer: str) -> None:
    """Raises InputError if the model cannot have this answer."""
    if question.name == "topology":
        topology_values(answer)
    elif question.name.endswith("latency"):
        native.parse_duration_ps(answer)
    elif question.topology:
        more = r"(\s*,\s*[1-9]\d*)*" if question.name == "uplinks" else ""
        if not re.fullmatch(rf"[1-9]\d*{more}", answer):
            numbers = "whole numbers" if more else "a whole number"
            raise InputError(
                f"wrong value for {question.key}, expected {numbers} such as "
                f"{question.example}, got {answer!r}"
            )
    else:
        key = question.key
        overrides = ["nodes=1", "topology=", "topology.kind=crossbar", "storage=", "node.storage="]
        native.read_machine(str(find_machine("infiniband")), [*overrides, f"{key}={answer}"])


def _given(key: str, value: str, _: str = "") -> _Line:
    return _Line(key, value, "[1]", is_assumed=False)


def _assumed(key: str, value: str, why: str) -> _Line:
    return _Line(key, value, f"assumed: {why}", is_assumed=True)


def _value(text: str) -> str:
    """A number as it is, a quantity in quotes."""
    return text if re.fullmatch(r"[\d.]+", text) else json.dumps(text)


def _list(texts: list[str]) -> str:
    return "[\n" + "".join(f"  {json.dumps(text, ensure_ascii=False)},\n" for text in texts) + "]"


def _duration(seconds: float) -> str:
    return f"{round(seconds * 1e12)} ps" if seconds < 1e-9 else f"{seconds * 1e9:.6g} ns"


def _bandwidth(network: dict[str, Any]) -> str:
    return f"{network['bandwidth_bytes_per_s'] / 1e9:.6g} GB/s"


def write(path: Path, text: str) -> None:
    """Writes the file if it is a valid machine file; otherwise, or if that fails, none."""
    draft = path.with_name(f".{path.stem}.part.toml")
    try:
        draft.write_text(text, encoding="utf-8")
        native.read_machine(str(draft))
        draft.replace(path)
    except InputError as error:  # it names the draft, which is deleted
        message = re.sub(rf"^{re.escape(str(draft))}(:\d+)?: ", "", error.message)
        raise InputError(message, hint=error.hint) from error
    finally:
        draft.unlink(missing_ok=True)
