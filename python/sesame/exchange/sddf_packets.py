"""What the readers of SDDF give: packets, and the bounds of what they accept."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import unquote

from sesame.errors import InputError
from sesame.exchange.sddf_format import Descriptor, Value

MOST_BYTES = 1 << 24  # of a packet; a larger length is damage
MOST_CELLS = 1 << 22  # of an array
MOST_DIMENSIONS = 16
MOST_FIELDS = 1 << 12  # of a record, and attributes of a packet


@dataclass(frozen=True)
class Attributes:
    """Attributes of the whole stream."""

    pairs: dict[str, str]


@dataclass(frozen=True)
class Data:
    described: Descriptor
    values: list[Value]


Packet = Attributes | Descriptor | Data


class Damage(Exception):
    """A message on what is wrong; `at` adds the file and the line."""

    def at(self, path: Path, line: int | None = None) -> InputError:
        return InputError(str(self), path=str(path), line=line)


def decoded(text: str, is_encoded: bool) -> str:
    """Text of our own writer is percent-encoded, that of others is as it stands."""
    return unquote(text) if is_encoded else text


def in_rows(cells: list[Any], shape: list[int]) -> list[Any]:
    """Nested lists of cells that are stored row by row."""
    if not cells:
        return []
    for size in reversed(shape[1:]):
        cells = [cells[at : at + size] for at in range(0, len(cells), size)]
    return cells
