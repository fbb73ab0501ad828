"""What is observed of use: `python -m sesame.evaluation.measures NAME` prints figures (JSON)."""

from __future__ import annotations

import json
import os
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from sesame.errors import SesameError
from sesame.evaluation.utmp import USER_PROCESS, UTMP, records

Rows = list[tuple[str, float, str]]  # name, value, unit

BUSY_WINDOW_S = 1.0
FILES = 1000
BUSY = (0, 1, 2, 5, 6, 7)  # columns of /proc/stat: user, nice, system, irq, softirq, steal


def users() -> Rows:
    """Users logged in: different names, and sessions."""
    names = [user for kind, user, _ in records(UTMP) if kind == USER_PROCESS]
    return [("users", len(set(names)), "1"), ("sessions", len(names), "1")]


def load() -> Rows:
    """The load average of a minute, also for each processor: 1 is a job on each."""
    average = os.getloadavg()[0]
    processors = os.cpu_count() or 1
    return [("load average", average, "1"), ("load of a processor", average / processors, "1")]


def memory() -> Rows:
    """What an application can have without swapping (MemAvailable of proc(5)), and at most what
    its control group permits."""
    lines = Path("/proc/meminfo").read_text().splitlines()
    sizes = {line.split(":")[0]: 1024.0 * int(line.split()[1]) for line in lines if "kB" in line}
    left = min(sizes["MemAvailable"], _group_memory())
    total = sizes["MemTotal"]
    return [("memory left", left, "B"), ("memory taken", total - left, "B")]


def _group_memory() -> float:
    """What the control groups of this process still permit (cgroup v2)."""
    left = float("inf")
    line = next((one for one in _lines("/proc/self/cgroup") if one.startswith("0::")), "0::/")
    group = Path("/sys/fs/cgroup") / line[3:].strip("/")
    while group != Path("/sys/fs"):
        limit, used = (_lines(str(group / f"memory.{name}")) for name in ("max", "current"))
        if limit and used and limit[0] != "max":
            left = min(left, float(limit[0]) - float(used[0]))
        group = group.parent
    return max(left, 0.0)


def _lines(path: str) -> list[str]:
    try:
        return Path(path).read_text().splitlines()
    except OSError:
        return []


def processors() -> Rows:
    """The share of the processors' time that was used, within a second."""
    before = ticks()
    time.sleep(BUSY_WINDOW_S)
    after = ticks()
    spent = [late - early for early, late in zip(before, after, strict=True)]
    busy = sum(spent[column] for column in BUSY)
    return [("processors busy", 100 * busy / max(sum(spent[:8]), 1), "%")]


def ticks() -> list[int]:
    """Of all processors by what they did, in hundredths of a second."""
    return [int(word) for word in _lines("/proc/stat")[0].split()[1:9]]


def metadata() -> Rows:
    """Files made, asked for and removed per second, in a new directory of the working directory."""
    rows = []
    with tempfile.TemporaryDirectory(dir=".") as directory:
        paths = [Path(directory) / str(number) for number in range(FILES)]
        actions: dict[str, Callable[[Path], object]] = {
            "files made": lambda path: os.close(os.open(path, os.O_CREAT | os.O_EXCL)),
            "files asked for": os.stat,
            "files removed": os.unlink,
        }
        for name, action in actions.items():
            began = time.perf_counter()
            for path in paths:
                action(path)
            rows.append((name, FILES / (time.perf_counter() - began), "1/s"))
    return rows


def slurm() -> Rows:
    from sesame.evaluation.accounting import slurm_use

    return slurm_use()


MEASURES: dict[str, Callable[[], Rows]] = {
    "users": users,
    "load": load,
    "memory": memory,
    "processors": processors,
    "metadata": metadata,
    "slurm": slurm,
}


def main() -> int:
    try:
        rows = MEASURES[sys.argv[1]]()
    except SesameError as error:
        print(f"error: {error}", file=sys.stderr)
        return error.exit_status
    figures = [{"name": name, "value": value, "unit": unit} for name, value, unit in rows]
    print(json.dumps({"figures": figures}))
    return 0


if __name__ == "__main__":
    sys.exit(main())
