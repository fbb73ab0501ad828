"""The MPI programs shipped with Sesame: catalogue, building, running."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sesame.lazy import names_of

if TYPE_CHECKING:
    from sesame.workloads.build import Built, Compiler, build_workload, find_compiler
    from sesame.workloads.catalogue import Workload, all_workloads, find_workload
    from sesame.workloads.matrices import in_extended_form, read_matrix, write_extended
    from sesame.workloads.record import write_run
    from sesame.workloads.run import BenchRun, run_copies, run_here, run_simulated
else:
    __getattr__ = names_of(__name__)

__all__ = [
    "BenchRun",
    "Built",
    "Compiler",
    "Workload",
    "all_workloads",
    "build_workload",
    "find_compiler",
    "find_workload",
    "in_extended_form",
    "read_matrix",
    "run_copies",
    "run_here",
    "run_simulated",
    "write_extended",
    "write_run",
]
