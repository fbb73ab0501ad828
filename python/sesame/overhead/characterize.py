"""A node model from measured lengths: a distribution fitted to each, and the doubts about it.

found = characterise(read_lengths(path), name="job")
text = node_toml(found)
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from sesame.errors import InputError
from sesame.overhead.daemon_runs import DaemonCosts
from sesame.overhead.distributions import Distribution
from sesame.overhead.fits import Fitted, fit_lengths
from sesame.overhead.model import (
    FAIR,
    Daemon,
    Instrumentation,
    MainProcess,
    Node,
    NodeModel,
    ProcessClass,
)
from sesame.overhead.occupancy import (
    CPU,
    DAEMON,
    DISK,
    INTERARRIVAL,
    MAIN,
    NETWORK,
    PAUSE,
    Lengths,
)
from sesame.settings import setting
from sesame.trust import Doubt, Reason

NO_DAEMON = "no daemon ran during the measurement, so its costs are 0 in the model"


@dataclass(frozen=True)
class FittedQuantity:
    """One quantity of one class, and the distribution fitted to its lengths."""

    class_: str
    quantity: str
    fitted: Fitted

    @property
    def name(self) -> str:
        return f"{self.class_}: {self.quantity}"


@dataclass(frozen=True)
class Characterised:
    """A node model, and what it was made from."""

    model: NodeModel
    parts: tuple[FittedQuantity, ...]
    source: Lengths
    doubts: tuple[Doubt, ...]  # about the model as a whole

    def all_doubts(self) -> Iterator[tuple[str, Doubt]]:
        """What is doubtful (empty for the whole), and why."""
        for doubt in self.doubts:
            yield "", doubt
        for part in self.parts:
            for doubt in part.fitted.doubts:
                yield part.name, doubt

    def with_costs(self, costs: DaemonCosts) -> Characterised:
        """The same with the costs of sesamed that its runs have shown."""
        doubts = tuple(one for one in self.doubts if one.text != NO_DAEMON)
        return dataclasses.replace(self, model=costs.in_model(self.model), doubts=doubts)

    def as_json(self) -> dict[str, Any]:
        return {
            "model": self.model.as_toml(),
            "seconds": self.source.seconds,
            "processors": self.source.processors,
            "commands": self.source.commands,
            "doubts": [doubt.as_json() for doubt in self.doubts],
            "parts": [
                {"class": part.class_, "quantity": part.quantity, **part.fitted.as_json()}
                for part in self.parts
            ],
        }


def characterise(
    lengths: Lengths,
    name: str,
    seed: int = 1,
    progress: Callable[[str], None] = lambda _: None,
) -> Characterised:
    """Fits each quantity of each class. Raises InputError if there is nothing to fit."""
    parts = []
    for class_, quantities in lengths.classes.items():
        for quantity, values in quantities.items():
            progress(f"{class_}: {quantity}")
            if (values > 0).any():
                parts.append(FittedQuantity(class_, quantity, fit_lengths(values, seed)))
    if not parts:
        raise InputError("nothing to characterise: no request has a length above 0")
    found = _FittedQuantities(parts)
    doubts = [*lengths.doubts]
    processes = tuple(_processes(found, lengths))
    instrumentation, daemon = _daemon(found)
    if daemon is None:
        daemon, instrumentation = Daemon(), Instrumentation()
        hint = f"name it with {setting('daemon')}, or write collect and forward into [daemon]"
        doubts.append(Doubt(Reason.INCOMPLETE_INPUT, NO_DAEMON, hint))
    # Measured waits contain queueing, so these requests must not queue once more.
    channels = max(1, *lengths.counts.values()) if lengths.has_waits and lengths.counts else 1
    node = Node(
        processors=lengths.processors,
        scheduler=FAIR,
        network_channels=channels,
        disk_channels=channels,
    )
    main = MainProcess(cpu=found.get(MAIN, CPU), network=found.get(MAIN, NETWORK))
    model = NodeModel(name, "", node, processes, instrumentation, daemon, main)
    return Characterised(model, tuple(parts), lengths, tuple(doubts))


class _FittedQuantities:
    def __init__(self, parts: list[FittedQuantity]) -> None:
        self._by_key = {(part.class_, part.quantity): part for part in parts}

    def has(self, class_: str, quantity: str) -> bool:
        return (class_, quantity) in self._by_key

    def get(self, class_: str, quantity: str) -> Distribution:
        """What was fitted, or nothing (a constant of 0)."""
        part = self._by_key.get((class_, quantity))
        return MainProcess().cpu if part is None else part.fitted.distribution

    def lengths(self, class_: str, quantity: str) -> np.ndarray[Any, Any]:
        return self._by_key[class_, quantity].fitted.lengths


def _processes(found: _FittedQuantities, lengths: Lengths) -> Iterator[ProcessClass]:
    """The classes. Processes that alternate are the application; the first is instrumented."""
    is_instrumented = not found.has(DAEMON, INTERARRIVAL)
    for name in lengths.classes:
        if name in (DAEMON, MAIN):
            continue
        is_open = found.has(name, INTERARRIVAL)
        cpu = found.get(name, CPU)
        yield ProcessClass(
            name=name,
            cpu=cpu,
            network=found.get(name, NETWORK),
            disk=found.get(name, DISK),
            count=1 if is_open else lengths.counts.get(name, 1),
            instrumented=is_instrumented and not is_open and found.has(name, CPU),
            interarrival=found.get(name, INTERARRIVAL) if is_open else None,
            pause=found.get(name, PAUSE) if not is_open else MainProcess().cpu,
        )
        is_instrumented = is_instrumented and is_open


def _daemon(found: _FittedQuantities) -> tuple[Instrumentation, Daemon | None]:
    """The daemon as it was measured: it works for a sample at intervals of its own. All that it
    does for a sample is `collect`, since a measurement cannot tell that from forwarding."""
    if not found.has(DAEMON, CPU):
        return Instrumentation(), None
    daemon = Daemon(collect=found.get(DAEMON, CPU), network=found.get(DAEMON, NETWORK))
    if not found.has(DAEMON, INTERARRIVAL):
        return Instrumentation(), daemon
    period = float(np.median(found.lengths(DAEMON, INTERARRIVAL)))
    return Instrumentation(sampling_period=period), dataclasses.replace(daemon, source="timer")


def node_toml(found: Characterised, source: str) -> str:
    """The text of node.toml: the model, and before it the doubts as comments."""
    lines = [f"Characterised from {source}: {found.source.seconds:.4g} s."]
    for what, doubt in found.all_doubts():
        lines.append(f"Doubtful: {what + ': ' if what else ''}{doubt}")
    wrapped = [f"# {' '.join(line.split())}" for line in lines]
    return "\n".join([*wrapped, "", found.model.as_toml()])
