"""Tables 3.1 to 3.9 of Banerjee, MPIOR, 2012, with our tracer, our replayer and this machine.

The thesis has three applications and two file systems. For each application it gives a table of
errors on the one file system, one of errors on the other, and one of times. So does this, with
programs that do what the thesis says of its applications (bench/programs) on two of the file
systems of bench/targets.py, for which it must be root. In turns: a real run and a traced one on
each file system, then replays of both recordings on both, and of the one with all messages kept.

    python bench/thesis_tables.py [--repeat 5] [--only pseudo,lammps] [--file-systems tmpfs,delayed]
        [--markdown docs/models/replay-validation.md]
"""

from __future__ import annotations

import argparse
import datetime
import os
import shutil
import statistics
import subprocess
import tempfile
from collections import defaultdict
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path

from runs import data_set, mounted, noise, real_seconds, replay, traced_seconds
from targets import TARGETS

HERE = Path(__file__).parent
RANKS = 2
GRID_BYTES = 1 << 20
REAL, TRACED, PRUNED, UNPRUNED, OTHER = "real", "traced", "replayed", "unpruned", "from the other"
COLUMNS = (REAL, TRACED, PRUNED, UNPRUNED, OTHER)
# This program writes the part of the file after this line.
MARK = "<!-- What follows is written by bench/thesis_tables.py --markdown. -->"


@dataclass
class Application:
    title: str
    source: str
    options: list[str]
    first_table: int
    # Average and standard deviation of the thesis's errors: traced, replayed, and replayed from the
    # other file system, on NFS and on PanFS. Signs are ours: positive is longer than the real run.
    thesis: dict[str, list[tuple[float, float]]]


APPLICATIONS = {
    "pseudo": Application(
        "Pseudo", "pseudo", ["80", "3500", "65536"], 1,
        {"NFS": [(1.48, 1.97), (-3.22, 3.61), (-3.55, 5.88)],
         "PanFS": [(4.14, 2.36), (7.18, 2.24), (7.37, 6.13)]},
    ),
    "lammps": Application(
        "LAMMPS", "lammps_like", ["400", "1500", "2000"], 4,
        {"NFS": [(22.4, 8.56), (20.38, 8.34), (20.59, 8.8)],
         "PanFS": [(22.44, 8.45), (20.37, 8.26), (20.17, 7.94)]},
    ),
    "cfd": Application(
        "GenIDLEST", "cfd_like", ["400", "1500", "32768"], 7,
        {"NFS": [(-0.54, 3.67), (-1.09, 3.03), (2.13, 7.89)],
         "PanFS": [(-4.06, 2.58), (-2.18, 2.07), (0.16, 3.68)]},
    ),
}  # fmt: skip


@dataclass
class Measured:
    """Seconds of one application, by file system and column; one for each repetition."""

    seconds: dict[str, dict[str, list[float]]] = field(
        default_factory=lambda: defaultdict(lambda: defaultdict(list))
    )
    kept: int = 0
    dropped: int = 0


def built(name: str, directory: Path) -> Path:
    program = directory / name
    source = HERE / f"programs/{APPLICATIONS[name].source}.c"
    subprocess.run(["mpicc.mpich", "-O2", "-w", str(source), "-o", str(program)], check=True)
    return program


def command(application: Application, program: Path, place: Path) -> list[str]:
    """The command, for a new directory: every run begins with one."""
    directory = place / "run"
    shutil.rmtree(directory, ignore_errors=True)
    directory.mkdir()
    (directory / "grid").write_bytes(bytes(GRID_BYTES))
    return [str(program), *application.options, str(directory)]


def record(raw: Path, application: Application, program: Path, place: Path) -> float:
    shutil.rmtree(raw, ignore_errors=True)
    raw.mkdir()
    return traced_seconds(RANKS, command(application, program, place), raw)


def measure(
    application: Application, program: Path, places: dict[str, Path], repeat: int, directory: Path
) -> Measured:
    measured = Measured()
    names = list(places)
    for _ in range(repeat):
        for name, place in places.items():
            times = measured.seconds[name]
            times[REAL].append(real_seconds(RANKS, command(application, program, place)))
            times[TRACED].append(record(directory / "raw", application, program, place))
            kept = data_set(directory / "raw", directory / f"{name}.sesame", "thesis")
            measured.kept, measured.dropped = kept["kept"], kept["dropped"]
            data_set(directory / "raw", directory / f"{name}.all.sesame", "none")
        for name, other in (names, reversed(names)):
            times, place = measured.seconds[name], places[name]
            for column, recorded, origin in (
                (PRUNED, name, name),
                (UNPRUNED, f"{name}.all", name),
                (OTHER, other, other),
            ):
                run = directory / f"{recorded}.sesame"
                times[column].append(replay(run, places[origin], place)["replayed_time_s"])
    return measured


def errors(times: dict[str, list[float]], column: str) -> list[float]:
    """In percent of the median real run: those of the real runs themselves are their noise."""
    middle = statistics.median(times[REAL])
    return [100 * (one / middle - 1) for one in times[column]]


def rows_to_table(rows: list[list[str]]) -> str:
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    lines = [
        "| " + " | ".join(f"{cell:{width}}" for cell, width in zip(row, widths, strict=True)) + " |"
        for row in rows
    ]
    lines.insert(1, "|" + "|".join("-" * (width + 2) for width in widths) + "|")
    return "\n".join(lines)


def error_table(times: dict[str, list[float]]) -> str:
    statistic: dict[str, Callable[[list[float]], float]] = {
        "median": statistics.median,
        "maximum": max,
        "minimum": min,
        "average": statistics.mean,
        "standard deviation": statistics.pstdev,
    }
    rows = [["", *COLUMNS]]
    for name, of in statistic.items():
        sign = "" if of is statistics.pstdev else "+"
        rows.append([name, *(f"{of(errors(times, column)):{sign}.2f}" for column in COLUMNS)])
    return rows_to_table(rows)


def time_table(measured: Measured) -> str:
    rows = [["run", *(f"{name}: {column}" for name in measured.seconds for column in COLUMNS)]]
    columns = [times[column] for times in measured.seconds.values() for column in COLUMNS]
    for number, seconds in enumerate(zip(*columns, strict=True), 1):
        rows.append([str(number), *(f"{one:.3f}" for one in seconds)])
    rows.append(["median", *(f"{statistics.median(column):.3f}" for column in columns)])
    return rows_to_table(rows)


def thesis_said(application: Application, number: int, system: str) -> str:
    traced, same, other = (
        f"{average:+.2f} ± {deviation:.2f}" for average, deviation in application.thesis[system]
    )
    return (
        f"Thesis, table 3.{number}, {application.title} on {system}, average and standard "
        f"deviation over its configurations: traced {traced}, replayed {same}, "
        f"from the other {other}."
    )


def against_traced(times: dict[str, list[float]]) -> str:
    """The error of the replayer alone, without the noise between runs."""
    pairs = zip(times[PRUNED], times[TRACED], strict=True)
    found = [100 * (replayed / traced - 1) for replayed, traced in pairs]
    return (
        "Each replay against the very run that was traced: median "
        f"{statistics.median(found):+.2f} %, from {min(found):+.2f} to {max(found):+.2f} %."
    )


def tables(application: Application, measured: Measured) -> str:
    first, names = application.first_table, list(measured.seconds)
    parts = []
    for number, name, other, system in zip(
        (first, first + 1), names, reversed(names), application.thesis, strict=True
    ):
        parts += [
            f"**Table 3.{number}: errors of {application.title} on {name}**, in percent of the "
            f"median real run; the other is {other}.",
            error_table(measured.seconds[name]),
            against_traced(measured.seconds[name]),
            thesis_said(application, number, system),
        ]
    messages = measured.kept + measured.dropped
    parts += [
        f"**Table 3.{first + 2}: times of {application.title}**, in seconds. Pruning kept "
        f"{measured.kept} of {messages} records of messages.",
        time_table(measured),
    ]
    return "\n\n".join(parts)


def summary(all_measured: list[Measured]) -> str:
    """What the thesis's abstract says: the average error of replays."""
    all_times = [times for measured in all_measured for times in measured.seconds.values()]
    parts = []
    for column in COLUMNS[1:]:
        found = [abs(statistics.median(errors(times, column))) for times in all_times]
        parts.append(f"{column} {statistics.mean(found):.1f} % (largest {max(found):.1f} %)")
    noises = [100 * noise(times[REAL]) for times in all_times]
    return (
        f"Errors of the medians, averaged over all: {', '.join(parts)}. Real runs are "
        f"{statistics.mean(noises):.1f} % (largest {max(noises):.1f} %) from their own median. "
        "The thesis's abstract: replays below 30 % on average."
    )


def conditions(repeat: int, load: float) -> str:
    now = datetime.datetime.now(datetime.UTC)
    return (
        f"Measured on {now:%Y-%m-%d}, each run {repeat} times with {RANKS} ranks on "
        f"{os.cpu_count()} processors; the machine's load was {load:.1f} before and "
        f"{os.getloadavg()[0]:.1f} after, of which about {RANKS} are the measurement's own."
    )


def write_markdown(path: Path, text: str) -> None:
    head = path.read_text().split(MARK)[0] if path.exists() else ""
    path.write_text(f"{head}{MARK}\n\n{text}\n")


def options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--repeat", type=int, default=5)
    parser.add_argument("--only", default=",".join(APPLICATIONS))
    parser.add_argument("--file-systems", default="tmpfs,delayed")
    parser.add_argument("--markdown", type=Path, help="replace the tables in this file")
    chosen = parser.parse_args()
    chosen.only, chosen.file_systems = chosen.only.split(","), chosen.file_systems.split(",")
    if unknown := [name for name in chosen.only if name not in APPLICATIONS]:
        parser.error(f"--only {unknown[0]}: expected some of {', '.join(APPLICATIONS)}")
    if unknown := [name for name in chosen.file_systems if name not in TARGETS]:
        parser.error(f"--file-systems {unknown[0]}: expected two of {', '.join(TARGETS)}")
    if len(set(chosen.file_systems)) != 2:
        parser.error("--file-systems: expected two that differ, as tmpfs,delayed")
    if chosen.repeat < 1:
        parser.error(f"--repeat {chosen.repeat}: expected 1 or more")
    return chosen


def main() -> None:
    chosen = options()
    load = os.getloadavg()[0]
    texts, all_measured = [], []
    with ExitStack() as stack:
        directory = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="sesame-")))
        found = stack.enter_context(mounted(set(chosen.file_systems)))
        places = {name: found[name] for name in chosen.file_systems}
        for name in chosen.only:
            application, program = APPLICATIONS[name], built(name, directory)
            measured = measure(application, program, places, chosen.repeat, directory)
            all_measured.append(measured)
            texts.append(tables(application, measured))
            print(f"\n{texts[-1]}", flush=True)
    texts = [conditions(chosen.repeat, load), *texts, summary(all_measured)]
    print(f"\n{texts[-1]}\n\n{texts[0]}")
    if chosen.markdown:
        write_markdown(chosen.markdown, "\n\n".join(texts))


if __name__ == "__main__":
    main()
