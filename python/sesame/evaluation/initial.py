"""A first site file, from what this machine has."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

from sesame.evaluation.benchmarks import NAS_CODES, nas_ranks

ANSWER_S = 10.0  # that Slurm may take
HEAD = """\
# What `sesame evaluate` does on this machine. docs/formats/site.md describes every key.
name = {name}
database = {database}      # beside this file
maintenance = "available"  # planned maintenance counts as available, or "unavailable"

[target.here]
launcher = "local"
ranks = {ranks}
"""
HELLO = """
[probe.hello]
target = "here"
interval = "1h"
availability = true  # a failure means that the target is down

[probe.hello.files]
"hello.c" = '''
#include <stdio.h>
int main(void) { return puts("Hello World") < 0; }
'''

[[probe.hello.step]]
name = "compile"
command = ["cc", "-o", "hello", "hello.c"]
timeout = "1min"

[[probe.hello.step]]
name = "run"
command = ["./hello"]
timeout = "10s"
launch = true
pattern = "^Hello World$"
"""
EP = """
[probe.ep]
target = "here"
interval = "1h"
availability = true

[[probe.ep.step]]
bench = "ep"
timeout = "30min"  # the first run builds it
"""
USE = """
[probe.use]
target = "here"
interval = "15min"
aspect = "utilisation"
"""
MEASURE = """
[[probe.use.step]]
measure = "{measure}"
"""
BENCHMARKS = """
# A target of its own, so that what is above does not wait for programs that take long. They are
# built once. On a machine with few processors what is above disturbs them while it runs: give all
# probes one target if steady times matter more than an hour of availability.
[target.benchmarks]
launcher = "local"
ranks = {ranks}
"""
BENCH_PROBE = """
[probe.{name}]
target = "benchmarks"
interval = "{interval}"
aspect = "{aspect}"
"""
BENCH_STEP = """
[[probe.{name}.step]]
bench = "{bench}"
timeout = "1h"
"""
SLURM = """
[target.nodes]
launcher = "slurm"
ranks = 1
queue_limit = "30min"

[probe.nodes]
target = "nodes"
interval = "1h"
availability = true

[[probe.nodes.step]]
name = "hostname"
command = ["hostname"]
launch = true
timeout = "1min"
"""


def site_text(path: Path) -> str:
    """The text of a site file for `path` that works here: only what is installed is probed."""
    ranks = max(len(os.sched_getaffinity(0)), 1)
    words = {
        "name": _quoted(os.uname().nodename or path.stem),
        "database": _quoted(f"{path.stem}.db"),
        "ranks": str(ranks),
    }
    has_workloads = shutil.which("cmake") and (
        shutil.which("mpicxx") or shutil.which("mpicxx.mpich")
    )
    parts = [HEAD.format(**words)]
    if shutil.which("cc"):
        parts.append(HELLO)
    if has_workloads:
        parts.append(EP)
    parts += [USE, *(MEASURE.format(measure=one) for one in ("users", "load", "memory"))]
    if _has_slurm():
        parts += [MEASURE.format(measure="slurm"), SLURM]
    if has_workloads:
        parts += [BENCHMARKS.format(**words), *_benchmarks(ranks)]
    return "".join(parts)


def _has_slurm() -> bool:
    """Whether a Slurm answers."""
    try:
        done = subprocess.run(["sinfo", "-h"], capture_output=True, check=False, timeout=ANSWER_S)
    except (OSError, subprocess.TimeoutExpired):
        return False
    return done.returncode == 0 and bool(done.stdout.strip())


def _benchmarks(ranks: int) -> Iterator[str]:
    """The measures of the Paragon report: message passing, communication between processes, memory,
    files, the NAS codes (do they work, how fast are they), EP's first and second run."""
    two = min(ranks, 2)
    yield _probe("messages", "1d", _step("messages", "messages", two, "--most", "2MiB"))
    # 1,000 messages of 32 bytes to 32 KiB in steps of 32, as the report has it: four minutes.
    yield _probe("ipc", "1d", _step("ipc", "ipc", 1, "--step", "32B"))
    yield _probe("memory", "1d", _step("memory", "memory", 1))
    size = ("--size", "64KiB", "--total", "8MiB")
    metadata = '\n[[probe.files.step]]\nmeasure = "metadata"\n'
    yield _probe("files", "1d", _step("files", "iow", 1, *size) + metadata)
    nht1 = _step("nht1", "nht1", nas_ranks("bt", ranks), "--class", "S")
    yield _probe("nht1", "1d", nht1, "functionality")
    for code in NAS_CODES:
        most = nas_ranks(code, ranks)
        works = _step(f"works-{code}", code, most, "--class", "S")
        yield _probe(f"works-{code}", "1d", works, "functionality")
    for code in NAS_CODES:
        most = nas_ranks(code, ranks)
        name = f"nas-{code}"
        steps = (
            _step(name, code, count, "--class", "A", name=f"{count} ranks")
            for count in dict.fromkeys((1, most))
        )
        yield _probe(name, "7d", "".join(steps))
    yield _probe("ep-paging", "7d", "".join(_paging(ranks)))


def _paging(ranks: int) -> Iterator[str]:
    """Two sizes at two counts of ranks, as in table 8 of the report."""
    for class_ in ("A", "B"):
        for count in dict.fromkeys((1, ranks)):
            name = f"class {class_}, {count} ranks"
            step = _step("ep-paging", "ep", count, "--class", class_, name=name)
            yield f"{step}twice = true\n"


def _probe(name: str, interval: str, steps: str, aspect: str = "performance") -> str:
    return BENCH_PROBE.format(name=name, interval=interval, aspect=aspect) + steps


def _step(probe: str, bench: str, ranks: int, *options: str, name: str = "") -> str:
    text = BENCH_STEP.format(name=probe, bench=bench) + f"ranks = {ranks}\n"
    if options:
        text += f"options = [{', '.join(map(_quoted, options))}]\n"
    return text + (f"name = {_quoted(name)}\n" if name else "")


def _quoted(text: str) -> str:
    escaped = text.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'
