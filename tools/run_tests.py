"""Runs the C++ tests (ctest, in build/) and the Python tests (pytest) and adds them up.

The C++ tests are built and run while Python tests run, in the time in which these wait; their
output follows that of the Python tests, and only where something failed. The last line is
`N passed, N failed, N skipped`; in front of it each skip with its reason. The exit status is 0 only
when nothing failed and something ran.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
import xml.etree.ElementTree as ElementTree
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
# The directories of tests that need no rights, no MPI run and no kernel.
FAST = ["tests/python", "tests/tidy"]
PYTEST_STATUS = {
    2: ": interrupted, or a test file could not be loaded",
    3: ": an error inside pytest",
    4: ": wrong arguments",
    5: ": there are no such tests",
}


@dataclass
class Count:
    passed: int = 0
    failed: list[str] = field(default_factory=list)
    skipped: list[str] = field(default_factory=list)


def reason_of(case: ElementTree.Element) -> str:
    skipped = case.find("skipped")
    text = "" if skipped is None else skipped.get("message", "")
    if not text or text.startswith("SKIP_"):  # ctest says only that; GoogleTest printed why
        lines = (case.findtext("system-out") or "").splitlines()
        text = next((lines[i + 1] for i, line in enumerate(lines[:-1]) if "Skipped" in line), text)
    return text.strip() or "no reason given"


def count_results(path: Path, runner: str, count: Count) -> None:
    """Adds the test cases of a JUnit file; a missing file is a failure of its own."""
    if not path.exists():
        count.failed.append(f"{runner} gave no results")
        return
    for case in ElementTree.parse(path).iter("testcase"):
        name = ".".join(part for part in (case.get("classname"), case.get("name")) if part)
        if runner == "ctest":
            name = case.get("name", "")
        if case.find("skipped") is not None or case.get("status") == "disabled":
            count.skipped.append(f"{name}: {reason_of(case)}")
        elif case.find("failure") is not None or case.find("error") is not None:
            count.failed.append(name)
        else:
            count.passed += 1


@dataclass
class Ended:
    """How the C++ tests ended: the last program, its status, and what all have printed."""

    program: str
    status: int
    output: str


def run_ctest(results: Path, jobs: int) -> Ended:
    """Builds and runs the C++ tests beside others, which have precedence over the compiler."""
    directory = str(ROOT / "build")
    build = ["nice", "-n", "10", "cmake", "--build", directory, "--target", "sesame_tests"]
    build += ["--parallel", str(jobs), "--", "--quiet"]
    test = ["ctest", "--test-dir", directory, "--output-on-failure"]
    test += ["--parallel", str(jobs), "--output-junit", str(results)]
    ended = Ended("", 0, "")
    for program, command in (("the build of the C++ tests", build), ("ctest", test)):
        done = subprocess.run(
            command, check=False, text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT
        )
        ended = Ended(program, done.returncode, ended.output + done.stdout)
        if ended.status != 0:
            break
    return ended


def count_ctest(ended: Ended, results: Path, count: Count) -> None:
    before = len(count.failed)
    if ended.program == "ctest":
        count_results(results, "ctest", count)
    if ended.status != 0:
        print(ended.output)
    # Status 8: test cases failed. Any other status: ctest did not finish.
    if ended.status not in (0, 8) or (ended.status == 8 and len(count.failed) == before):
        count.failed.append(f"{ended.program} ended with status {ended.status}")


def compile_tests(environment: dict[str, str]) -> None:
    """The first time, one process compiles the test files, for all workers: these begin at the same
    time, so each would compile them. Errors are left to the run."""
    if any(ROOT.glob("tests/*/__pycache__/*-pytest-*.pyc")):
        return
    command = [sys.executable, "-m", "pytest", "-qq", "--collect-only"]
    subprocess.run(command, check=False, cwd=ROOT, env=environment, capture_output=True)


def run_pytest(results: Path, options: argparse.Namespace, count: Count) -> None:
    command = [sys.executable, "-m", "pytest", "-q", f"--junit-xml={results}"]
    # A worker without tests takes half of those of another one: most files stay together.
    command += ["--numprocesses", str(options.workers or options.jobs), "--dist", "worksteal"]
    command += [] if options.long else ["-m", "not long"]
    command += FAST if options.fast else []
    command += options.pytest_arguments
    # pytest keeps the test files that it has compiled: with them, collecting takes half the time.
    kept = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    compile_tests(kept)
    status = subprocess.run(command, check=False, cwd=ROOT, env=kept).returncode
    before = len(count.failed)
    count_results(results, "pytest", count)
    # Status 1: test cases failed. Any other status: pytest did not finish.
    if status not in (0, 1) or (status == 1 and len(count.failed) == before):
        meaning = PYTEST_STATUS.get(status, "")
        count.failed.append(f"pytest ended with status {status}{meaning}")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--long", action="store_true", help="also the tests that take minutes")
    parser.add_argument("--fast", action="store_true", help="only the tests that are fast")
    at_once = os.cpu_count() or 1
    parser.add_argument("-j", "--jobs", type=int, default=at_once, help="tests at the same time")
    wait = "of these Python tests, which often wait for a process or a timer (default: as --jobs)"
    parser.add_argument("-w", "--workers", type=int, default=0, help=wait)
    parser.add_argument("pytest_arguments", nargs="*", help="passed on to pytest")
    options = parser.parse_args()
    count = Count()
    with tempfile.TemporaryDirectory() as directory:
        ctest_results, pytest_results = (Path(directory) / f"{n}.xml" for n in ("ctest", "pytest"))
        with ThreadPoolExecutor() as beside:
            ended = beside.submit(run_ctest, ctest_results, options.jobs)
            run_pytest(pytest_results, options, count)
            count_ctest(ended.result(), ctest_results, count)
    print()
    for skipped in count.skipped:
        print(f"skipped: {skipped}")
    for failed in count.failed:
        print(f"failed: {failed}")
    print(f"{count.passed} passed, {len(count.failed)} failed, {len(count.skipped)} skipped")
    return 0 if not count.failed and count.passed > 0 else 1


if __name__ == "__main__":
    sys.exit(main())
