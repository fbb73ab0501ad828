"""Real MPI programs that come with Sesame: what there is, building one, running one."""

from sesame.workloads.build import Built, Compiler, build, find_compiler
from sesame.workloads.catalogue import Workload, catalogue, find_workload
from sesame.workloads.record import record
from sesame.workloads.run import BenchRun, run_here, run_simulated

__all__ = [
    "BenchRun",
    "Built",
    "Compiler",
    "Workload",
    "build",
    "catalogue",
    "find_compiler",
    "find_workload",
    "record",
    "run_here",
    "run_simulated",
]
