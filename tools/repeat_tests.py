"""Repeats Python tests under three conditions: as the machine is, beside a busy loop on each
processor, and on one processor alone. For tests that depend on time:

    python tools/repeat_tests.py --times 50 tests/python/test_daemon_idle.py

The tests run one after another. The output of one that fails is printed. The exit
status is 0 when all passed, 1 when some failed, 2 when pytest could not run them.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
FEWEST_CHARACTERS = ["-q", "--no-header", "--tb=short", "-p", "no:cacheprovider"]
PROCESSORS = sorted(os.sched_getaffinity(0))  # that this process may use
ONE_PROCESSOR = ["taskset", "--cpu-list", str(PROCESSORS[0])]
# Exit statuses of pytest: all passed, some failed. With others no test ran, or not all.
RAN = (0, 1)
BUSY = [sys.executable, "-c", "while True: pass"]


@contextmanager
def busy_processors(count: int) -> Iterator[None]:
    """Loops that take a processor each while the block runs."""
    loops = [subprocess.Popen(BUSY) for _ in range(count)]
    try:
        yield
    finally:
        for loop in loops:
            loop.kill()
            loop.wait()


# The words in front of pytest, and the number of busy loops beside it.
CONDITIONS: dict[str, tuple[list[str], int]] = {
    "quiet": ([], 0),
    "busy": ([], len(PROCESSORS)),
    "one-processor": (ONE_PROCESSOR, 0),
}


class CannotRun(Exception):
    """pytest did not run the tests: a wrong path or option, or a file that cannot be loaded."""


def failures(condition: str, times: int, tests: list[str]) -> int:
    """How many of the repetitions failed under a condition. Raises CannotRun."""
    before, loops = CONDITIONS[condition]
    command = [*before, sys.executable, "-m", "pytest", *FEWEST_CHARACTERS, *tests]
    failed = 0
    with busy_processors(loops):
        for number in range(1, times + 1):
            done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
            if done.returncode not in RAN:
                raise CannotRun(f"{done.stdout}{done.stderr}")
            if done.returncode != 0:
                failed += 1
                print(f"{condition}, repetition {number}:\n{done.stdout}{done.stderr}", flush=True)
    return failed


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n\n")[0])
    parser.add_argument("--times", type=int, default=50, help="under each condition (default: 50)")
    parser.add_argument("--only", choices=CONDITIONS, help="one of the conditions (default: all)")
    parser.add_argument("tests", nargs="+", help="arguments of pytest; after -- also options")
    options = parser.parse_args()
    if options.times < 1:
        parser.error(f"--times {options.times}: expected at least 1")
    failed = 0
    for condition in [options.only] if options.only else CONDITIONS:
        try:
            found = failures(condition, options.times, options.tests)
        except CannotRun as error:
            print(f"{error}{parser.prog}: error: pytest could not run these tests", file=sys.stderr)
            return 2
        print(f"{condition}: {options.times - found} of {options.times} repetitions passed")
        failed += found
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
