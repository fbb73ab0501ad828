"""What a quantum longer than the look-ahead saves, and how wrong the predicted time is then.

Simulates programs with several workers and quanta of 1 (exact), 2, 5, 10 and 100 times the
look-ahead. Prints for each the number of rounds and by how much the predicted time differs from the
exact one. An inexact run depends on which worker is faster, so it is repeated: the number is a
mean, the error the one that is furthest from zero. Computation takes fixed times. Load of the
machine changes no exact result, and the inexact ones as any order of the workers does.
Needs mpicc and mpicxx.

    python bench/quantum.py [--repeat 5] [--workers 4] [--only halo]
"""

import argparse
import statistics
import subprocess
import tempfile
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from message_rate import PROGRAMS, find_mpicc

from sesame.machines import find_machine
from sesame.simulation import Host, Scenario, simulate
from sesame.simulation.compute import parse_compute
from sesame.simulation.host import inspect_program
from sesame.workloads import build_workload, find_compiler, find_workload

FACTORS = (1, 2, 5, 10, 100)
NODE = "node.cores=4"


@dataclass(frozen=True)
class Case:
    """A program: a source file, or the name of a workload."""

    program: Path | str
    ranks: int
    arguments: tuple[str, ...]
    compute: str = "fixed:10us"
    sharing: str = "interface"

    @property
    def name(self) -> str:
        program = self.program.stem if isinstance(self.program, Path) else self.program
        return " ".join([program, *self.arguments, f"at {self.ranks}, {self.sharing}"])


HALO, MASTER = PROGRAMS / "halo.c", PROGRAMS / "anysource.c"
RANDOM = Path(__file__).parents[1] / "tests" / "programs" / "model" / "schedule.c"
CASES = [
    Case(HALO, 64, ("100",), sharing="none"),
    Case(HALO, 64, ("100",)),
    Case(MASTER, 64, ("20", "workers"), sharing="none"),
    Case(MASTER, 64, ("20", "workers")),
    *(Case(name, 16, ("--class", "S")) for name in ("cg", "bt", "lu")),
    # They sleep for times that differ between ranks.
    *(
        Case(RANDOM, 16, (str(seed), "60", "messages"), "none", sharing)
        for sharing, seeds in (("none", (1, 2, 3)), ("interface", (1,)))
        for seed in seeds
    ),
]


def build(program: Path | str, compiler: str, directory: Path) -> Path:
    if isinstance(program, str):
        found = find_compiler(compiler.replace("mpicc", "mpicxx"))
        return build_workload(find_workload(program), found).program
    built = directory / program.stem
    subprocess.run([compiler, "-O2", "-w", program, "-o", built], check=True)
    return built


def run(scenario: Scenario) -> dict[str, Any]:
    host = Host(inspect_program(scenario.program).simulator, stdout=subprocess.DEVNULL)
    result = simulate(scenario, host).result
    if result["exit_status"] != 0:
        raise SystemExit(f"failed: {' '.join(scenario.command)}")
    return result


def show(case: Case, scenario: Scenario, repeat: int) -> None:
    right = run(replace(scenario, workers=1))["predicted_time_s"]
    look_ahead_s = run(scenario)["parallel"]["look_ahead_s"]
    cells = []
    for factor in FACTORS:
        quantum_ps = round(factor * look_ahead_s * 1e12)
        inexact = replace(scenario, quantum_ps=quantum_ps, inexact=factor > 1)
        results = [run(inexact) for _ in range(repeat)]
        rounds = statistics.mean(one["parallel"]["rounds"] for one in results)
        errors = [one["predicted_time_s"] / right - 1 for one in results]
        cells.append(f"{rounds:,.0f}, {100 * max(errors, key=abs):.2g} %")
    print(f"| {case.name} | {1e3 * right:.2f} ms | {' | '.join(cells)} |", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--repeat", type=int, default=5)
    parser.add_argument("--workers", type=int, default=4)
    parser.add_argument("--only", default="", help="part of a case's name")
    options = parser.parse_args()
    compiler = find_mpicc()
    print(f"| | exact | {' | '.join(f'{factor} L' for factor in FACTORS)} |")
    print(f"|{'---|' * (len(FACTORS) + 2)}")
    with tempfile.TemporaryDirectory() as name:
        for case in CASES:
            if options.only not in case.name:
                continue
            scenario = Scenario(
                str(build(case.program, compiler, Path(name))),
                case.arguments,
                case.ranks,
                find_machine("infiniband"),
                overrides=(NODE, f"network.sharing={case.sharing}"),
                compute=parse_compute(case.compute),
                working_directory=Path(name),
                workers=options.workers,
            )
            show(case, scenario, options.repeat)


if __name__ == "__main__":
    main()
