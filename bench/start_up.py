"""Processor time of the help of each command and of short commands, and the ratio to bare Python.

Also measured is Python with the two libraries that each command loads. Prints figures; never passes
or fails.
"""

from __future__ import annotations

import resource
import statistics
import subprocess
import sys

from sesame.cli import cli
from sesame.cli.commands import words_of

TIMES = 9
FLOORS = {
    "python -c pass": ["-c", "pass"],
    "python -c 'import click, rich.console'": ["-c", "import click, rich.console"],
}

SHORT = [  # commands that do little
    ("machine", "list"),
    ("machine", "show", "paragon"),
    ("machine", "check", "paragon"),
    ("bench", "list"),
    ("reproduce", "--list"),
    ("measure", "flags"),
]


def cpu_s(arguments: list[str]) -> float:
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run([sys.executable, *arguments], stdout=subprocess.DEVNULL, check=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def main() -> None:
    commands = dict(FLOORS)
    for words in [*((*words, "--help") for words in words_of(cli)), *SHORT]:
        commands[" ".join(["sesame", *words])] = ["-m", "sesame", *words]
    times: dict[str, list[float]] = {name: [] for name in commands}
    for _ in range(TIMES):  # in turn, so that other work on the machine affects all alike
        for name, arguments in commands.items():
            times[name].append(cpu_s(arguments))
    bare = statistics.median(times[next(iter(FLOORS))])
    for name, found in times.items():
        usual = statistics.median(found)
        print(f"{usual:6.3f} s, least {min(found):.3f} s, {usual / bare:4.1f} times bare  {name}")


if __name__ == "__main__":
    main()
