"""Steps that run Sesame's workloads: figures with units, and a verified answer."""

from __future__ import annotations

import sys
from collections.abc import Sequence

from sesame.evaluation.site import Step

BENCH = (sys.executable, "-m", "sesame.evaluation.bench_probe")
BUILD_S = 1800.0  # at least, that the first build of a workload may take
MEASURE = (sys.executable, "-m", "sesame.evaluation.measures")


def measure_command(name: str) -> tuple[str, ...]:
    return (*MEASURE, name)


def workload_names() -> list[str]:
    from sesame.workloads.catalogue import all_workloads

    return list(all_workloads())


def local_bench(
    name: str,
    workload: str,
    ranks: int,
    options: Sequence[str],
    timeout: float,
    *,
    twice: bool = False,
    prefix: str = "",
) -> Step:
    """Builds and runs a workload on this machine. `twice`: from the disk, and again."""
    command = (*BENCH, "twice" if twice else "run", workload, str(ranks), *options)
    return Step(name, command, timeout, False, 0, reads="figures", prefix=prefix)


def launched_bench(
    name: str, workload: str, ranks: int, options: Sequence[str], timeout: float, prefix: str
) -> list[Step]:
    """Builds here, runs with the target's launcher, reads the report here; the directory of the
    probe is the same in both places."""
    report = f"{workload}.json"
    run = (f"./{workload}", *options, "--report", report)
    return [
        Step(f"build {workload}", (*BENCH, "build", workload), max(timeout, BUILD_S), False, 0),
        Step(name, run, timeout, True, 0, ranks=ranks),
        Step(
            f"read {report}",
            (*BENCH, "read", report),
            timeout,
            False,
            0,
            reads="figures",
            prefix=prefix,
        ),
    ]
