"""How well a model calibrated on a device predicts programs there that it was not calibrated with.

For each target: `sesame machine calibrate --dir` makes a machine file of it; then programs run for
real, in the simulator on that machine, and traced and played on it, in turns. Printed are the real
median, how far real runs are from it (the noise), and the errors of both predictions: of the
medians and, as what else runs on the machine makes real runs longer only, of the fastest. From real
times the time to start MPI is subtracted: the median of a program that does nothing else.
Needs root, to create and remove the targets (bench/targets.py).

    python bench/storage_accuracy.py [--repeat 3] [--only token-ring,paced] [--targets delayed]
"""

from __future__ import annotations

import argparse
import json
import statistics
import subprocess
import tempfile
from collections import defaultdict
from pathlib import Path

import targets
from runs import SESAME, error, noise, real_seconds, trace

from sesame.workloads import build_workload, find_compiler, find_workload

HERE = Path(__file__).parent
MOST_ERROR = 0.15
# Priority over the ranks, but not over the kernel's own threads: a sync waits for those.
DEVICES_FIRST = ["setsid", "nice", "-n", "-19"]
# Ranks and options. What a program reads or writes differs from what the calibration does.
PROGRAMS = {
    "token-ring": (2, "60 1500 {dir}"),
    "paced": (2, "1500 {dir}"),
    "iow-each": (1, "--mode write --size 48KiB --operations 60 --sync each"),
    "iow-each-2": (2, "--mode write --size 48KiB --operations 40 --files each --sync each"),
    "iow-end": (1, "--mode write --size 384KiB --operations 100 --sync end"),
    "iow-clear": (1, "--mode both --size 192KiB --operations 100 --clear"),
    "iow-mpi": (2, "--mode write --interface mpi --size 96KiB --operations 40 --sync each"),
    "sesame-sort": (2, "--count 3000000 --dir {dir}"),
    "bt-posix": (1, "--class W --io posix --io-file {dir}/bt.out"),
    "bt-full": (1, "--class W --io full --io-file {dir}/bt.out"),
}
OF_IOW = " --repeat 1 --dir {dir}"


def programs(directory: Path) -> dict[str, Path]:
    compiler = find_compiler("mpicxx.mpich")
    built = {
        name: build_workload(find_workload(name), compiler).program
        for name in ("bt", "iow", "sesame-sort")
    }
    for name in ("token_ring", "paced"):
        made = directory / name
        source = str(HERE / f"programs/{name}.c")
        subprocess.run(["mpicc.mpich", "-O2", source, "-o", str(made)], check=True)
        built[name.replace("_", "-")] = made
    return built


def program_of(name: str, built: dict[str, Path]) -> Path:
    return built[name] if name in built else built[name.split("-")[0]]


def simulated(machine: Path, *what: str | Path) -> float:
    """Predicted time of a program with its options, or of a traced run."""
    command = [*SESAME, "simulate", "--machine", str(machine), "--json", *map(str, what)]
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    return float(json.loads(done.stdout)["predicted_time_s"])


def calibrate(place: Path, output: Path) -> None:
    options = ["--file", str(output), "--force", "--dir", str(place), "--mpi", "mpicxx.mpich"]
    subprocess.run([*SESAME, "machine", "calibrate", *options], check=True)


def measure(
    ranks: int, command: list[str], machine: Path, repeat: int, starting: float, directory: Path
) -> dict[str, list[float]]:
    times: dict[str, list[float]] = defaultdict(list)
    for _ in range(repeat):
        times["real"].append(real_seconds(ranks, command) - starting)
        times["program"].append(simulated(machine, "-n", str(ranks), "--", *command))
        trace(ranks, command, directory / "run.sesame")
        times["trace"].append(simulated(machine, directory / "run.sesame"))
    return times


def show(target: str, name: str, times: dict[str, list[float]]) -> dict[str, float]:
    real = times["real"]
    line = f"{target:10} {name:12} real {statistics.median(real):7.3f} s, noise {noise(real):5.1%}"
    errors: dict[str, float] = {}
    for way in ("program", "trace"):
        errors[way] = error(times[way], real)
        errors[f"{way}, fastest"] = error([min(times[way])], [min(real)])
        line += f", {way} {statistics.median(times[way]):7.3f} s {errors[way]:+7.1%}"
        line += f" (fastest {errors[f'{way}, fastest']:+7.1%})"
    print(line, flush=True)
    return errors


def sum_up(errors: dict[str, list[float]]) -> None:
    for way, all_errors in errors.items():
        worst = max(all_errors, key=abs)
        within = sum(abs(off) <= MOST_ERROR for off in all_errors)
        median = statistics.median(map(abs, all_errors))
        print(
            f"{way}: median error {median:.1%}, worst {worst:+.1%}; {within} of {len(all_errors)} "
            f"within {MOST_ERROR:.0%}: {'reached' if within == len(all_errors) else 'MISSED'}"
        )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--repeat", type=int, default=3)
    parser.add_argument("--only", default=",".join(PROGRAMS))
    parser.add_argument("--targets", default="limited,throttled,delayed")
    parser.add_argument("--keep", type=Path, help="a directory that gets the machine files")
    arguments = parser.parse_args()
    targets.FIRST = DEVICES_FIRST
    errors: dict[str, list[float]] = defaultdict(list)
    with tempfile.TemporaryDirectory(prefix="sesame-") as name:
        directory = Path(name)
        built = programs(directory)
        starting = {
            ranks: statistics.median(
                real_seconds(ranks, [str(built["token-ring"]), "0", "0", str(directory)])
                for _ in range(arguments.repeat)
            )
            for ranks in (1, 2)
        }
        for target in arguments.targets.split(","):
            with targets.TARGETS[target]() as place:
                machine = (arguments.keep or directory) / f"{target}.toml"
                calibrate(place, machine)
                for name in arguments.only.split(","):
                    ranks, options = PROGRAMS[name]
                    options += OF_IOW if name.startswith("iow") else ""
                    words = options.format(dir=place).split()
                    command = [str(program_of(name, built)), *words]
                    times = measure(
                        ranks, command, machine, arguments.repeat, starting[ranks], directory
                    )
                    for way, off in show(target, name, times).items():
                        errors[way].append(off)
    sum_up(errors)


if __name__ == "__main__":
    main()
