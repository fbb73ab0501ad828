"""Real MPI programs that come with Sesame: what there is, building one, running one."""

from sesame.workloads.build import Built, Compiler, build_workload, find_compiler
from sesame.workloads.catalogue import Workload, all_workloads, find_workload
from sesame.workloads.record import write_run
from sesame.workloads.run import BenchRun, run_copies, run_here, run_simulated

__all__ = [
    "BenchRun",
    "Built",
    "Compiler",
    "Workload",
    "all_workloads",
    "build_workload",
    "find_compiler",
    "find_workload",
    "run_copies",
    "run_here",
    "run_simulated",
    "write_run",
]
