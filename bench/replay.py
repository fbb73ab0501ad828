"""How well a replay predicts run times, on the file system of the trace and on another one.

For each program and pair of targets (A, B): real runs on A and on B, traced runs on A, replays of
these on A and on B, all in turns. Printed are the error of the median replay against the
median real run, beside it how far real runs are from their own median (the noise), and the error
of fio replaying the same data calls with their timing. Targets are made and taken away, for which
it must be root: tmpfs, ext4, xfs and btrfs on loop devices, FUSE (bindfs), and a device whose
requests are delayed by 2 ms (nbdkit behind a loop device with ext4).

    python bench/replay.py [--repeat 5] [--only token-ring,sesame-sort] [--pairs tmpfs:delayed,…]
"""

from __future__ import annotations

import argparse
import shutil
import statistics
import subprocess
import tempfile
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path

from fio_replay import fio_seconds
from runs import error, mounted, noise, real_seconds, replay, trace

from sesame.workloads import build_workload, find_compiler, find_workload

HERE = Path(__file__).parent
PAIRS = "tmpfs:tmpfs,tmpfs:delayed,delayed:tmpfs,tmpfs:ext4,ext4:tmpfs,ext4:xfs,xfs:btrfs,ext4:fuse"
SAME_MEDIAN, SAME_WORST, OTHER_MEDIAN = 0.03, 0.08, 0.10
PROGRAMS = {
    "token-ring": ["200", "1500", "{dir}"],
    "sesame-sort": ["--count", "600000", "--dir", "{dir}"],
    "bt-posix": ["--class", "S", "--io", "posix", "--io-file", "{dir}/bt.out"],
    "bt-full": ["--class", "S", "--io", "full", "--io-file", "{dir}/bt.out"],
    "chatter": ["300000", "{dir}/chatter.log"],
}
RANKS = {"bt-posix": 1, "bt-full": 1}  # squares only; the others take both cores


@dataclass
class Times:
    """Seconds of one program on a pair of targets."""

    real_a: list[float] = field(default_factory=list)
    real_b: list[float] = field(default_factory=list)
    replay_a: list[float] = field(default_factory=list)
    replay_b: list[float] = field(default_factory=list)
    fio_b: list[float] = field(default_factory=list)
    lateness_p99: list[float] = field(default_factory=list)


def programs(folder: Path) -> dict[str, Path]:
    compiler = find_compiler("mpicxx.mpich")
    built = {name: build_workload(find_workload(name), compiler).program for name in ("bt",)}
    built["sesame-sort"] = build_workload(find_workload("sesame-sort"), compiler).program
    for name in ("token_ring", "chatter"):
        source, made = HERE / f"programs/{name}.c", folder / name
        subprocess.run(["mpicc.mpich", "-O2", str(source), "-o", str(made)], check=True)
        built[name.replace("_", "-")] = made
    return built | {"bt-posix": built["bt"], "bt-full": built["bt"]}


def command_of(name: str, program: Path, directory: Path) -> list[str]:
    options = [option.format(dir=directory) for option in PROGRAMS[name]]
    return [str(program), *options]


def measure(name: str, program: Path, a: Path, b: Path, repeat: int, run: Path) -> Times:
    times = Times()
    ranks = RANKS.get(name, 2)
    on_a, on_b = command_of(name, program, a), command_of(name, program, b)
    for _ in range(repeat):
        trace(ranks, on_a, run)  # each time: one trace has the noise of one run
        times.real_a.append(real_seconds(ranks, on_a))
        here = replay(run, a, a)
        times.replay_a.append(here["replayed_time_s"])
        times.lateness_p99.append(here["lateness_after_compute_p99_s"])
        if a != b:
            times.real_b.append(real_seconds(ranks, on_b))
            times.replay_b.append(replay(run, a, b)["replayed_time_s"])
            fio = fio_seconds(run, b) if shutil.which("fio") else None
            times.fio_b += [] if fio is None else [fio]
    return times


def show(name: str, pair: str, times: Times, errors: dict[str, list[float]]) -> None:
    same = error(times.replay_a, times.real_a)
    errors["same"].append(abs(same))
    line = f"{name:12} {pair:14} A {statistics.median(times.real_a):7.3f} s, replay {same:+7.1%}, "
    line += f"noise {noise(times.real_a):5.1%}"
    if times.real_b:
        other = error(times.replay_b, times.real_b)
        errors["other"].append(abs(other))
        line += f" | B {statistics.median(times.real_b):7.3f} s, replay {other:+7.1%}, "
        line += f"noise {noise(times.real_b):5.1%}"
    if times.fio_b:
        line += f", fio {error(times.fio_b, times.real_b):+7.1%}"
    late = statistics.median(times.lateness_p99)
    print(f"{line} | late after computation, p99 {late * 1e6:.0f} us", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--repeat", type=int, default=5)
    parser.add_argument("--only", default=",".join(PROGRAMS))
    parser.add_argument("--pairs", default=PAIRS)
    arguments = parser.parse_args()
    pairs = [pair.split(":") for pair in arguments.pairs.split(",")]
    errors: dict[str, list[float]] = {"same": [], "other": []}
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="sesame-")))
        built = programs(folder)
        places = stack.enter_context(mounted({name for pair in pairs for name in pair}))
        for name in arguments.only.split(","):
            for a, b in pairs:
                run = folder / "run.sesame"
                times = measure(name, built[name], places[a], places[b], arguments.repeat, run)
                show(name, f"{a}:{b}", times, errors)
    same = errors["same"]
    reached = statistics.median(same) <= SAME_MEDIAN and max(same) <= SAME_WORST
    print(
        f"same file system: median error {statistics.median(same):.1%}, worst {max(same):.1%}: "
        f"{'reached' if reached else 'MISSED'} (targets {SAME_MEDIAN:.0%}, {SAME_WORST:.0%})"
    )
    if errors["other"]:
        median = statistics.median(errors["other"])
        print(
            f"another file system: median error {median:.1%}, worst {max(errors['other']):.1%}: "
            f"{'reached' if median <= OTHER_MEDIAN else 'MISSED'} (target {OTHER_MEDIAN:.0%})"
        )


if __name__ == "__main__":
    main()
