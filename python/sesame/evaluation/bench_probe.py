"""A workload as a step of a probe, in a process of its own:

run NAME RANKS OPTIONS…    builds it, runs it on this machine, writes its figures
twice NAME RANKS OPTIONS…  runs it from the disk first, then from memory
build NAME                 builds it, and copies it to the working directory
read FILE                  writes the figures of a report that it wrote

Figures and curves are in the file figures.json of the working directory.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sesame.errors import SesameError
from sesame.evaluation.benchmarks import FIGURES
from sesame.evaluation.reference_machines import CLASS, reference_times

if TYPE_CHECKING:
    from sesame.workloads import Built

BETWEEN_PROCESSES = ("pipe", "unix", "tcp")  # tables of the workload ipc
# Of a curve, that are series of their own and searched for changes. Its plot and jumps have all.
MOST_POINTS = 64


def run(name: str, ranks: str, *options: str) -> None:
    from sesame.workloads import run_here

    done = run_here(_built(name), int(ranks), options, output_to_stderr=True)
    _answer(done.report)


def twice(name: str, ranks: str, *options: str) -> None:
    """The difference of the two times is what paging the program in takes, as table 8 of the
    Paragon report has it."""
    from sesame.workloads import run_here

    built = _built(name)
    _evict(built.program)
    times = []
    for _ in range(2):
        began = time.monotonic()
        report = run_here(built, int(ranks), options, output_to_stderr=True).report
        times.append(time.monotonic() - began)
    names = ("first run", "second run", "paging in")
    values = (*times, times[0] - times[1])
    figures = [
        {"name": name, "value": value, "unit": "s"}
        for name, value in zip(names, values, strict=True)
    ]
    _write({"verified": report["verified"], "figures": figures})


def _evict(program: Path) -> None:
    """Asks the kernel to drop the pages of a program and its libraries, those that no other
    process uses (posix_fadvise(2))."""
    done = subprocess.run(["ldd", str(program)], capture_output=True, text=True, check=False)
    for path in {str(program), *re.findall(r"=> (/\S+)", done.stdout)}:
        file = os.open(path, os.O_RDONLY)
        try:
            os.posix_fadvise(file, 0, 0, os.POSIX_FADV_DONTNEED)
        finally:
            os.close(file)


def build(name: str) -> None:
    shutil.copy(_built(name).program, ".")


def read(file: str) -> None:
    _answer(json.loads(Path(file).read_text(encoding="utf-8")))


def _built(name: str) -> Built:
    from sesame.workloads import build_workload, find_compiler, find_workload

    return build_workload(find_workload(name), find_compiler())


def _answer(report: dict[str, Any]) -> None:
    from sesame.analysis.findings import with_findings

    full = with_findings(report)
    curves = list(_curves(full["tables"]))
    figures = [{"name": "time", "value": full["time_s"], "unit": "s"}, *full["figures"]]
    figures += _regression(full["tables"].get("segments", {}))
    figures += _curve(full["tables"].get("bandwidth", {})) + _points(curves)
    figures += _knees(full["tables"].get("levels", {}))
    figures += _jumps(full["tables"])
    figures += _ratios(full)
    _write({"verified": full["verified"], "figures": figures, "curves": curves})


def _write(answer: dict[str, Any]) -> None:
    """The output would be cut: curves are long."""
    Path(FIGURES).write_text(json.dumps(answer) + "\n", encoding="utf-8")


def _regression(table: dict[str, Any]) -> list[dict[str, Any]]:
    """Latency and bandwidth by segmented regression, each with half its interval of 95 %."""
    if not table:
        return []
    column = {name: part["values"] for name, part in table.items()}
    slope, width = column["slope"][-1], column["slope_interval"][-1]
    figures = [
        ("latency by regression", column["latency"][0], "s"),
        ("latency by regression, half interval", column["latency_interval"][0], "s"),
        ("worst residual of the regression", 100 * max(column["worst_residual"]), "%"),
        ("segments of the regression", len(column["slope"]), "1"),
    ]
    if slope > width:
        figures += [
            ("bandwidth by regression", 1 / slope, "B/s"),
            ("bandwidth by regression, half interval", width / slope**2, "B/s"),
        ]
    return _figures(figures)


def _curve(table: dict[str, Any]) -> list[dict[str, Any]]:
    """The bandwidth of the messages of each size; a report plots figures of such names."""
    if not {"size", "bandwidth"} <= set(table):
        return []
    pairs = zip(table["size"]["values"], table["bandwidth"]["values"], strict=True)
    unit = table["bandwidth"]["unit"]
    return _figures(
        [(f"bandwidth at {size:.0f} B", value, unit) for size, value in pairs if size > 0]
    )


def _points(curves: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """At most MOST_POINTS of each curve, as figures."""
    return _figures(
        [
            (f"{curve['name']} at {x:.0f} {curve['x_unit']}", y, curve["unit"])
            for curve in curves
            for x, y in _thinned(list(zip(curve["x"], curve["y"], strict=True)))
        ]
    )


def _curves(tables: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """The bandwidth between processes, and the time to touch pages, over their numbers (figures 7
    and 8 of the Paragon report), with all points."""
    for table in BETWEEN_PROCESSES:
        sizes, times = _columns(tables.get(table, {}), "size", "message")
        rates = [size / time_s for size, time_s in zip(sizes, times, strict=True)]
        if rates:
            names = {"name": f"{table} bandwidth", "unit": "B/s", "x_unit": "B"}
            yield {**names, "x": sizes, "y": rates}
    for touch in ("first", "second"):
        pages, times = _columns(tables.get("pages", {}), "pages", touch)
        if pages:
            names = {"name": f"{touch} touch", "unit": "s", "x_unit": "pages"}
            yield {**names, "x": pages, "y": times}


def _columns(table: dict[str, Any], x: str, y: str) -> tuple[list[float], list[float]]:
    return (table[x]["values"], table[y]["values"]) if {x, y} <= set(table) else ([], [])


def _thinned(pairs: list[tuple[float, float]]) -> list[tuple[float, float]]:
    return pairs[:: -(-len(pairs) // MOST_POINTS)] if pairs else []


def _jumps(tables: dict[str, Any]) -> list[dict[str, Any]]:
    """Where the time of a message between processes steps (figure 7 of the Paragon report), and
    where the cost of a page changes (figure 8)."""
    from sesame.analysis.segments import breaks_of, fit_segments

    rows = []
    for table in BETWEEN_PROCESSES:
        if {"size", "message"} <= set(tables.get(table, {})):
            sizes, times = (tables[table][name]["values"] for name in ("size", "message"))
            steps = [one for one in breaks_of(fit_segments(sizes, times)) if one.is_step]
            for number, one in enumerate(steps, 1):
                rows.append((f"{table}: jump {number} above", one.before, "B"))
                rows.append((f"{table}: jump {number}", one.step, "s"))
    if "pages" in tables:
        pages = tables["pages"]["pages"]["values"]
        for name in ("first", "second"):
            segments = fit_segments(pages, tables["pages"][name]["values"])
            for number, segment in enumerate(segments[:-1], 1):
                rows.append((f"{name} touch: knee {number}", segment.last, "1"))
    return _figures(rows)


def _ratios(report: dict[str, Any]) -> list[dict[str, Any]]:
    """How many times as fast as the machines of the Paragon report."""
    if report.get("parameters", {}).get("class") != CLASS:
        return []
    times = reference_times(report["workload"])
    return _figures(
        [(f"speed over {name}", time / report["time_s"], "1") for name, time in times.items()]
    )


def _knees(table: dict[str, Any]) -> list[dict[str, Any]]:
    """The working set where each cache ends, as copying shows it."""
    if not table:
        return []
    rows = zip(table["kind"]["values"], table["up_to"]["values"], strict=True)
    sizes = [size for kind, size in rows if kind == "copy"][:-1]
    return _figures([(f"copy: knee {i}", size, "B") for i, size in enumerate(sizes, 1)])


def _figures(rows: Sequence[tuple[str, float, str]]) -> list[dict[str, Any]]:
    return [{"name": name, "value": value, "unit": unit} for name, value, unit in rows]


def main() -> int:
    actions: dict[str, Callable[..., None]] = {
        "run": run,
        "twice": twice,
        "build": build,
        "read": read,
    }
    try:
        actions[sys.argv[1]](*sys.argv[2:])
    except SesameError as error:
        print(f"error: {error}", file=sys.stderr)
        return error.exit_status
    return 0


if __name__ == "__main__":
    sys.exit(main())
