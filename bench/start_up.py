"""Processor time that `sesame` takes to start, verb by verb, beside bare Python and Python with the
two libraries that each verb loads. Prints figures; never passes or fails."""

from __future__ import annotations

import resource
import statistics
import subprocess
import sys

from sesame.cli import VERBS

TIMES = 9
FLOORS = {
    "python -c pass": ["-c", "pass"],
    "python -c 'import click, rich.console'": ["-c", "import click, rich.console"],
}


def cpu_s(arguments: list[str]) -> float:
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run([sys.executable, *arguments], stdout=subprocess.DEVNULL, check=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def main() -> None:
    commands = dict(FLOORS)
    for verb in ("", *VERBS):
        words = [verb, "--help"] if verb else ["--help"]
        commands[" ".join(["sesame", *words])] = ["-m", "sesame", *words]
    times: dict[str, list[float]] = {name: [] for name in commands}
    for _ in range(TIMES):  # in turn, so that other work on the machine meets all of them
        for name, arguments in commands.items():
            times[name].append(cpu_s(arguments))
    for name, found in times.items():
        print(f"{statistics.median(found):6.3f} s, least {min(found):.3f} s  {name}")


if __name__ == "__main__":
    main()
