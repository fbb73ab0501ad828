"""Published measurements of real machines beside what their models predict.

Runs programs/published.c in the simulator for each entry of published.toml, without computation,
and prints a table for each machine. With --write the tables replace those of
docs/models/published.md. Needs mpicc.

    python bench/published.py [--only csd3,efa] [--write]
"""

import argparse
import re
import subprocess
import sys
import tempfile
import tomllib
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from message_rate import build, find_mpicc

HERE = Path(__file__).parent
PAGE = HERE.parent / "docs" / "models" / "published.md"
MARKS = ("<!-- tables: python bench/published.py --write -->", "<!-- end of tables -->")
WITHIN = 0.20
NAMES = {
    "latency": ("half round trip", "us"),
    "bandwidth": ("bandwidth, one way", "MB/s"),
    "both_ways": ("bandwidth, both ways", "MB/s"),
    "rate": ("message rate", "M/s"),
}


@dataclass(frozen=True)
class Measurement:
    machine: str
    what: str
    ranks: int
    per_node: int
    values: list[list[float]]
    source: str
    settings: list[str] = field(default_factory=list)
    remark: str = ""
    fitted: str | list[int] = field(default_factory=list)

    def is_fitted(self, size: float) -> bool:
        """Whether constants of the model come from this value, so that it checks the fit only."""
        return self.fitted == "all" or int(size) in self.fitted

    @property
    def title(self) -> str:
        name, _ = NAMES.get(self.what, (self.what.capitalize(), "us"))
        where = f"{self.ranks} ranks, {self.per_node} a node"
        return f"{name}, {where}" + (f"; {self.remark}" if self.remark else "")

    @property
    def unit(self) -> str:
        return NAMES.get(self.what, ("", "us"))[1]

    def shown(self, value: float) -> str:
        return f"{value / 1e6 if self.what == 'rate' else value:.3g}"


def measurements(only: set[str]) -> list[Measurement]:
    entries = tomllib.loads((HERE / "published.toml").read_text())["measurement"]
    return [_measurement(entry) for entry in entries if not only or entry["machine"] in only]


def _measurement(entry: dict[str, Any]) -> Measurement:
    renamed = {"from": "source", "set": "settings"}
    return Measurement(**{renamed.get(key, key): value for key, value in entry.items()})


def predict(program: Path, one: Measurement) -> list[float]:
    settings = [f"node.cores={one.per_node}", *one.settings]
    command = [sys.executable, "-m", "sesame", "simulate", "-n", str(one.ranks)]
    command += ["--machine", one.machine, "--compute", "none", "--no-records", "--json"]
    command += [argument for setting in settings for argument in ("--set", setting)]
    command += ["--", str(program), one.what, *(str(int(size)) for size, _ in one.values)]
    done = subprocess.run(command, capture_output=True, text=True)
    rows = dict(re.findall(r"^(\d+) (\S+)$", done.stdout + done.stderr, re.MULTILINE))
    if done.returncode != 0 or len(rows) != len(one.values):
        raise SystemExit(f"{' '.join(command)}\n{done.stderr}")
    return [float(rows[str(int(size))]) for size, _ in one.values]


@dataclass
class Count:
    """How many values are within WITHIN, and of how many."""

    good: int = 0
    all: int = 0

    def add(self, is_good: bool) -> None:
        self.good, self.all = self.good + is_good, self.all + 1

    def __str__(self) -> str:
        return f"{self.good} of {self.all}"


def tables(
    found: Iterable[tuple[Measurement, list[float]]],
) -> tuple[list[str], dict[bool, Count]]:
    """Lines of the tables, and the counts of values that were fitted (True) and predicted."""
    lines: list[str] = []
    machine, counts = "", {True: Count(), False: Count()}
    for one, predicted in found:
        if one.machine != machine:
            machine = one.machine
            lines += ["", f"### {machine}", ""]
            lines += ["| what | bytes | measured | model | error | | source |"]
            lines += ["|---|---|---|---|---|---|---|"]
        for (size, measured), value in zip(one.values, predicted, strict=True):
            error = value / measured - 1
            inside = abs(error) <= WITHIN
            is_fitted = one.is_fitted(size)
            counts[is_fitted].add(inside)
            mark = f"{error:+.0%}".replace("%", " %")
            lines.append(
                f"| {one.title} | {int(size):,} | {one.shown(measured)} {one.unit} | "
                f"{one.shown(value)} {one.unit} | {mark if inside else f'**{mark}**'} | "
                f"{'fitted' if is_fitted else ''} | {one.source} |"
            )
    return lines, counts


def write(text: str) -> None:
    page = PAGE.read_text(encoding="utf-8")
    before, _, rest = page.partition(MARKS[0])
    _, _, after = rest.partition(MARKS[1])
    PAGE.write_text(f"{before}{MARKS[0]}\n{text}\n\n{MARKS[1]}{after}", encoding="utf-8")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--only", default="", help="machines, separated by commas")
    parser.add_argument("--write", action="store_true", help="replace the tables of the page")
    options = parser.parse_args()
    only = set(filter(None, options.only.split(",")))
    if options.write and only:
        parser.error("--write writes all tables: leave --only out")
    compiler = find_mpicc()
    chosen = measurements(only)
    with tempfile.TemporaryDirectory() as name, ThreadPoolExecutor(2) as pool:
        program = build(compiler, "published", Path(name))
        predicted = list(pool.map(lambda one: predict(program, one), chosen))
    lines, counts = tables(zip(chosen, predicted, strict=True))
    summary = (
        f"{counts[False]} predictions are within {WITHIN:.0%}, and {counts[True]} values that "
        "constants were taken from."
    ).replace("%", " %")
    text = "\n".join([summary, *lines])
    if options.write:
        write(text)
    print(text)


if __name__ == "__main__":
    main()
