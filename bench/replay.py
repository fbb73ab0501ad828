"""How well a replay predicts run times, on the file system of the trace and on another one.

Each program runs and is traced on each target, and is replayed there and on the targets beside it
in the list, all in turns. Printed are the error of the median replay against the median real run
on the target of the replay, beside it how far these real runs are from their own median (the
noise), and the error of fio replaying the same data calls with their timing. Needs root, to create
and remove the targets (bench/targets.py). All programs and targets take twenty minutes.

    python bench/replay.py [--repeat 3] [--only token-ring,paced] [--targets tmpfs,delayed]
"""

from __future__ import annotations

import argparse
import statistics
import subprocess
import tempfile
from collections import defaultdict
from contextlib import ExitStack
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path

from fio_replay import fio_seconds
from runs import error, mounted, noise, real_seconds, replay, trace

from sesame.workloads import build_workload, find_compiler, find_workload

HERE = Path(__file__).parent
SAME_MEDIAN, SAME_WORST, OTHER_MEDIAN, LATE_P99_S = 0.03, 0.08, 0.10, 50e-6
# Each with its neighbours, in both directions.
DEFAULT_TARGETS = "throttled,tmpfs,delayed,ext4,xfs,gluster"
PROGRAMS = {
    "token-ring": ["150", "1500", "{dir}"],
    "sesame-sort": ["--count", "3000000", "--dir", "{dir}"],
    "bt-posix": ["--class", "W", "--io", "posix", "--io-file", "{dir}/bt.out"],
    "bt-full": ["--class", "W", "--io", "full", "--io-file", "{dir}/bt.out"],
    "paced": ["4000", "{dir}"],
    "chatter": ["300000", "{dir}/chatter.log"],
}
RANKS = {"bt-posix": 1, "bt-full": 1}  # squares only; the others take both cores
Pair = tuple[str, str]


@dataclass
class Times:
    """Seconds of one program: real runs by target, replays and fio by pair of targets."""

    real: dict[str, list[float]] = field(default_factory=lambda: defaultdict(list))
    replay: dict[Pair, list[float]] = field(default_factory=lambda: defaultdict(list))
    fio: dict[Pair, list[float]] = field(default_factory=lambda: defaultdict(list))
    lateness_p99: list[float] = field(default_factory=list)
    floor_p99: list[float] = field(default_factory=list)  # of threads that only wait


def programs(directory: Path) -> dict[str, Path]:
    compiler = find_compiler("mpicxx.mpich")
    built = {name: build_workload(find_workload(name), compiler).program for name in ("bt",)}
    built["sesame-sort"] = build_workload(find_workload("sesame-sort"), compiler).program
    for name in ("token_ring", "paced", "chatter"):
        source, made = HERE / f"programs/{name}.c", directory / name
        subprocess.run(["mpicc.mpich", "-O2", str(source), "-o", str(made)], check=True)
        built[name.replace("_", "-")] = made
    return built | {"bt-posix": built["bt"], "bt-full": built["bt"]}


def wait_floor(directory: Path) -> Path:
    source, made = HERE / "programs/wait_floor.c", directory / "wait-floor"
    subprocess.run(["cc", "-O2", "-pthread", str(source), "-o", str(made)], check=True)
    return made


def command_of(name: str, program: Path, directory: Path) -> list[str]:
    options = [option.format(dir=directory) for option in PROGRAMS[name]]
    return [str(program), *options]


def measure(
    name: str,
    program: Path,
    places: dict[str, Path],
    pairs: list[Pair],
    repeat: int,
    directory: Path,
) -> Times:
    times = Times()
    ranks = RANKS.get(name, 2)
    for _ in range(repeat):
        for a, place in places.items():
            times.real[a].append(real_seconds(ranks, command_of(name, program, place)))
            run = directory / "run.sesame"  # one trace has the noise of one run: each time anew
            trace(ranks, command_of(name, program, place), run)
            for b in (b for one, b in pairs if one == a):
                played = replay(run, place, places[b])
                times.replay[a, b].append(played["replayed_time_s"])
                times.lateness_p99.append(played["lateness_after_compute_p99_s"])
                floor = subprocess.check_output([directory / "wait-floor", str(ranks)], text=True)
                times.floor_p99.append(1e-9 * int(floor))
                if b != a and (seconds := fio_seconds(run, places[b])) is not None:
                    times.fio[a, b].append(seconds)
    return times


def show(name: str, times: Times, errors: dict[str, list[float]]) -> None:
    """A line for each pair; real runs on the second one are what is predicted."""
    for (a, b), replays in times.replay.items():
        real = times.real[b]
        off = error(replays, real)
        errors["same" if a == b else "other"].append(abs(off))
        line = f"{name:11} {a:>9} -> {b:9} real {statistics.median(real):7.3f} s, noise "
        line += f"{noise(real):5.1%}, replay {off:+7.1%}"
        if times.fio[a, b]:
            errors["fio"].append(abs(fio := error(times.fio[a, b], real)))
            line += f", fio {fio:+7.1%}"
        print(line, flush=True)
    late = statistics.median(times.lateness_p99)
    floor = statistics.median(times.floor_p99)
    errors["late"].append(late)
    errors["floor"].append(floor)
    line = f"{name:11} late after computation: p99 {late * 1e6:.0f} us, threads that only look at "
    print(f"{line}the clock: {floor * 1e6:.0f} us", flush=True)


def sum_up(errors: dict[str, list[float]]) -> None:
    same, other = errors["same"], errors["other"]
    is_reached = statistics.median(same) <= SAME_MEDIAN and max(same) <= SAME_WORST
    print(
        f"same file system: median error {statistics.median(same):.1%}, worst {max(same):.1%}: "
        f"{verdict(is_reached)} (targets {SAME_MEDIAN:.0%}, {SAME_WORST:.0%})"
    )
    if other:
        print(
            f"another file system: median error {statistics.median(other):.1%}, worst "
            f"{max(other):.1%}: {verdict(statistics.median(other) <= OTHER_MEDIAN)} (target "
            f"{OTHER_MEDIAN:.0%}); fio: {statistics.median(errors['fio']):.1%}, worst "
            f"{max(errors['fio']):.1%}"
        )
    late, floor = max(errors["late"]), statistics.median(errors["floor"])
    print(
        f"late after computation: p99, worst program, {late * 1e6:.0f} us: "
        f"{verdict(late <= LATE_P99_S)} (target {LATE_P99_S * 1e6:.0f} us; threads that only look "
        f"at the clock: {floor * 1e6:.0f} us)"
    )


def verdict(is_reached: bool) -> str:
    return "reached" if is_reached else "MISSED"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--repeat", type=int, default=3)
    parser.add_argument("--only", default=",".join(PROGRAMS))
    parser.add_argument("--targets", default=DEFAULT_TARGETS)
    arguments = parser.parse_args()
    targets = arguments.targets.split(",")
    pairs = [(a, a) for a in targets]
    pairs += [pair for a, b in pairwise(targets) for pair in ((a, b), (b, a))]
    errors: dict[str, list[float]] = defaultdict(list)
    with ExitStack() as stack:
        directory = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="sesame-")))
        built = programs(directory)
        wait_floor(directory)
        places = stack.enter_context(mounted(set(targets)))
        for name in arguments.only.split(","):
            times = measure(name, built[name], places, pairs, arguments.repeat, directory)
            show(name, times, errors)
    sum_up(errors)


if __name__ == "__main__":
    main()
