"""A scenario, the input of the simulator process (docs/formats/scenario.md)."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from sesame.simulation.compute import Compute
from sesame.trust import Doubt


@dataclass(frozen=True)
class Scenario:
    """The input of one simulation: program, machine and settings."""

    program: str  # path
    arguments: tuple[str, ...]
    ranks: int
    machine: Path  # machine file
    overrides: tuple[str, ...] = ()  # KEY=VALUE, each replaces a value in the machine file
    placement: str = "block"  # block, cyclic or file:PATH
    compute: Compute = field(default_factory=Compute)
    label_output: bool = False
    program_stdout: str = "stdout"
    stack_size_bytes: int = 8 << 20
    private_libraries: tuple[str, ...] = ()
    environment: tuple[tuple[str, str], ...] = ()
    working_directory: Path | None = None
    seed: int = 1
    shuffle: int | None = None  # seed of the order in which ready ranks run; None: in a fixed order
    workers: int = 1  # processes that simulate together (docs/models/parallel.md)
    hosts: tuple[str, ...] = ()  # that have workers beside this one
    launcher: str = ""  # the command that starts one of them
    protocol: str = "quantum"  # between them
    quantum_ps: int = 0  # of this protocol; 0: the look-ahead
    inexact: bool = False  # whether the quantum may be longer than that
    # What workers assume about receives from any source: any, members, tags or expected.
    sources: str = "any"
    expected_sources: Path | None = None  # a file of sesame.simulation.sources, for "expected"
    # Whether receives that name their source wait for safety, too, for comparisons of protocols.
    confirm_receives: bool = False
    files_directory: Path | None = None  # where simulated files are kept; None: they are removed
    discard_data: bool = False  # keep only the sizes of simulated files, not their data
    # Path and size of files that existed before a traced run. If set, the program sees no real
    # files.
    initial_files: tuple[tuple[str, int], ...] | None = None
    # Arguments of further copies (Compute.copies); None: those of the program.
    arguments_of_copies: tuple[str, ...] | None = None
    sensitivity: bool = False  # how the time depends on the machine, and the critical path
    may_be_processes: bool = False  # ranks, if the program asks for what fibers have not
    traced_open_mpi: bool = False  # a traced run is simulated, and its program used Open MPI
    # Not for the simulator: the traced run that is simulated, and notes for the user.
    trace: str | None = None
    traced_program: str | None = None  # the program whose recorded calls are played
    notes: tuple[str, ...] = ()
    doubts: tuple[Doubt, ...] = ()

    @property
    def name(self) -> str:
        return Path(self.trace or self.program).name

    @property
    def command(self) -> list[str]:
        return [self.program, *self.arguments] if self.trace is None else [self.trace]

    def to_json(self) -> dict[str, Any]:
        """The scenario without what is specific to one run: output directory and progress pipe."""
        directory, files = self.working_directory, self.files_directory
        return {
            "program": self.program,
            "arguments": list(self.arguments),
            "ranks": self.ranks,
            "machine": str(self.machine),
            "overrides": list(self.overrides),
            "placement": self.placement,
            "compute": self.compute.to_json(),
            "label_output": self.label_output,
            "program_stdout": self.program_stdout,
            "stack_size_bytes": self.stack_size_bytes,
            "private_libraries": list(self.private_libraries),
            "environment": dict(self.environment),
            "working_directory": None if directory is None else str(directory),
            "seed": self.seed,
            "shuffle": self.shuffle,
            "files_directory": "" if files is None else str(files),
            "discard_data": self.discard_data,
            "initial_files": None if self.initial_files is None else dict(self.initial_files),
            "may_be_processes": self.may_be_processes,
            "traced_open_mpi": self.traced_open_mpi,
            **({"sensitivity": True} if self.sensitivity else {}),
            "workers": self.workers,
            "protocol": self.protocol,
            "quantum_ps": self.quantum_ps,
            "inexact": self.inexact,
            "sources": self.sources,
            "confirm_receives": self.confirm_receives,
        }
