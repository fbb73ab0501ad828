"""Steps that run Sesame's workloads: figures with units, and a verified answer."""

from __future__ import annotations

import sys
from collections.abc import Sequence

from sesame.evaluation.site import Step, Target

BENCH = (sys.executable, "-m", "sesame.evaluation.bench_probe")
FIGURES = "figures.json"  # that bench_probe writes
BUILD_S = 1800.0  # at least, that the first build of a workload may take
MEASURE = (sys.executable, "-m", "sesame.evaluation.measures")


NAS_CODES = ("ep", "is", "cg", "mg", "ft", "bt", "sp", "lu")
ON_SQUARES = ("bt", "sp")  # run on square numbers of ranks; the others on powers of two


def nas_ranks(code: str, ranks: int) -> int:
    """The most ranks, up to `ranks`, on which a code runs."""
    return int(ranks**0.5) ** 2 if code in ON_SQUARES else 1 << (ranks.bit_length() - 1)


def is_local(target: Target) -> bool:
    """Whether a workload is started with the mpiexec of this machine."""
    return target.queue is None and target.launcher[:1] in ((), ("mpiexec",))


def bench_steps(
    name: str,
    workload: str,
    ranks: int,
    options: Sequence[str],
    timeout: float,
    target: Target,
    *,
    prefix: str = "",
) -> list[Step]:
    """A workload on a target."""
    if is_local(target):
        return [local_bench(name, workload, ranks, options, timeout, prefix=prefix)]
    return launched_bench(name, workload, ranks, options, timeout, prefix)


def measure_command(name: str) -> tuple[str, ...]:
    return (*MEASURE, name)


def sesamed_command(address: str, token_file: str, ca: str) -> tuple[str, ...]:
    return (sys.executable, "-m", "sesame.evaluation.node_daemon", address, token_file, ca)


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
    return Step(name, command, timeout, False, 0, reads="figures", prefix=prefix, file=FIGURES)


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
            file=FIGURES,
        ),
    ]
