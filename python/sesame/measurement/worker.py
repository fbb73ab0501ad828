"""A process that runs loads on request: `NAME COUNT` on stdin, ns of processor time on stdout.

Loads run in a separate process, so that their processor time is separate from that of measuring.
"""

from __future__ import annotations

import subprocess
import sys

from sesame.measurement.cost import Load, loads_cpu, on_one_cpu, run_load


class Worker:
    """A worker process on one CPU, `cpu`. Use it as `with closing(Worker()) as worker:`."""

    def __init__(self) -> None:
        self.cpu = loads_cpu()
        self._process = subprocess.Popen(
            [sys.executable, "-c", f"from {__name__} import main; main()"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )

    def close(self) -> None:
        self._process.communicate()

    def run(self, load: Load) -> float:
        """Runs a load; returns the processor time of all repetitions in ns."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        print(load.name, load.count, file=self._process.stdin, flush=True)
        return float(self._process.stdout.readline())


def main() -> None:
    with on_one_cpu():
        for line in sys.stdin:
            name, count = line.split()
            load = Load(name, int(count), "", {})
            print(load.count * run_load(load), flush=True)
