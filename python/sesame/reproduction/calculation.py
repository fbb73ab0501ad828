"""An experiment of a published report that is calculated here, or that is about the simulator
itself."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from sesame.reproduction.outcome import Outcome

Show = Callable[[str], None]


@dataclass(frozen=True)
class Calculation:
    """`calculate` is called with a function that shows what is being done."""

    name: str
    title: str
    source: str
    calculate: Callable[[Show], Outcome]
