"""The catalogue of workloads, read from workloads/catalogue.toml beside their sources."""

from __future__ import annotations

import difflib
import tomllib
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from sesame.errors import InputError

HERE = Path(__file__).parent
TREE = HERE.resolve().parents[2]  # in a source tree, also of an editable installation
IN_TREE = (TREE / "workloads/catalogue.toml").is_file()
SOURCES = TREE / "workloads" if IN_TREE else HERE / "sources"
PAGES = TREE / "docs/workloads" if IN_TREE else HERE / "pages"


@dataclass(frozen=True)
class Workload:
    """An entry of the catalogue."""

    name: str
    purpose: str
    suite: str
    ranks: str  # valid numbers of ranks, in words
    options: dict[str, str]  # of the program: their values, in words
    language: str = "C++"

    def page(self) -> str:
        """The workload's page of the documentation, Markdown."""
        return (PAGES / f"{self.name}.md").read_text(encoding="utf-8")


@cache
def all_workloads() -> dict[str, Workload]:
    """The catalogue by name."""
    tables = tomllib.loads((SOURCES / "catalogue.toml").read_text(encoding="utf-8"))
    return {name: Workload(name=name, **table) for name, table in tables.items()}


def find_workload(name: str) -> Workload:
    """The workload of this name. Raises InputError, with the most similar name, if none has it."""
    if name in all_workloads():
        return all_workloads()[name]
    near = difflib.get_close_matches(name, all_workloads(), n=1)
    raise InputError(
        f"no workload called {name}, there are: {', '.join(all_workloads())}",
        hint=f"did you mean {near[0]}?" if near else "`sesame bench list` describes them",
    )
