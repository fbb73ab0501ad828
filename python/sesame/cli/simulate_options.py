"""What the command line of `sesame simulate` gives."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class SimulateOptions:
    """A field for each option and argument; texts are not checked yet."""

    # what is run
    program: str  # or a traced run
    arguments: tuple[str, ...]
    ranks: str | None
    environment: tuple[str, ...]
    cwd: Path | None
    label: bool
    stack_size: str
    private_libraries: tuple[str, ...]
    ranks_as: str | None
    mappings: tuple[str, ...]
    # where it is run
    machine: tuple[str, ...]
    overrides: tuple[str, ...]
    placement: str
    collective: str | None
    files: Path | None
    discard_data: bool
    # how it is run
    sweeps: tuple[str, ...]
    compute: str | None
    repeat: int
    scale_compute: float | None
    seed: int
    shuffle: int | None
    workers: int
    protocol: str
    hosts: str
    launcher: str
    sources: str
    sensitivity: bool
    # what is written
    output: Path | None
    report: Path | None
    plot: Path | None
    as_json: bool
    explain: bool
    no_records: bool
    keep_raw: bool
    force: bool
