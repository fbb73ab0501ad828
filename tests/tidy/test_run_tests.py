"""tools/run_tests.py adds up what ctest and pytest report."""

from __future__ import annotations

import importlib.util
import os
import subprocess
import sys
import threading
from pathlib import Path

import pytest

SPEC = importlib.util.spec_from_file_location(
    "run_tests", Path(__file__).resolve().parents[2] / "tools/run_tests.py"
)
run_tests = importlib.util.module_from_spec(SPEC)
sys.modules["run_tests"] = run_tests
SPEC.loader.exec_module(run_tests)

CTEST = """<testsuite>
<testcase name="trace.A" classname="trace.A" status="run"><system-out>ok</system-out></testcase>
<testcase name="trace.B" classname="trace.B" status="fail"><failure message=""/></testcase>
<testcase name="trace.C" classname="trace.C" status="notrun">
<skipped message="SKIP_REGULAR_EXPRESSION_MATCHED"/>
<system-out>[ RUN      ] C
/x/c_test.cc:12: Skipped
there is no mpicc
</system-out></testcase>
</testsuite>"""
PYTEST = """<testsuites><testsuite>
<testcase classname="tests.a" name="one"/>
<testcase classname="tests.a" name="two"><skipped message="no babeltrace2"/></testcase>
<testcase classname="tests.a" name="three"><error message="x"/></testcase>
</testsuite></testsuites>"""


def count(tmp_path, text, runner):
    path = tmp_path / "results.xml"
    if text is not None:
        path.write_text(text)
    counted = run_tests.Count()
    run_tests.count_results(path, runner, counted)
    return counted


def test_results_of_ctest_are_counted_with_the_reasons_of_skips(tmp_path):
    counted = count(tmp_path, CTEST, "ctest")
    assert counted.passed == 1
    assert counted.failed == ["trace.B"]
    assert counted.skipped == ["trace.C: there is no mpicc"]


def test_results_of_pytest_are_counted_with_the_reasons_of_skips(tmp_path):
    counted = count(tmp_path, PYTEST, "pytest")
    assert counted.passed == 1
    assert counted.failed == ["tests.a.three"]
    assert counted.skipped == ["tests.a.two: no babeltrace2"]


def test_missing_results_are_a_failure(tmp_path):
    assert count(tmp_path, None, "ctest").failed == ["ctest gave no results"]


PASSED = '<testsuite><testcase classname="a" name="b" status="run"/></testsuite>'
RUNNERS = ("cmake", "ctest", "pytest")


def run_as(monkeypatch, **statuses: int) -> dict[str, list[str]]:
    """Every runner gives results in which all passed, and ends with its status, or 0. The commands
    that were run, by their runner. The tests are compiled."""
    commands = {}
    monkeypatch.setattr(run_tests, "compile_tests", lambda environment: None)

    def run(command: list[str], **_: object) -> subprocess.CompletedProcess[str]:
        runner = next(name for name in RUNNERS if name in command)
        commands[runner] = command
        named = [
            word.partition("=")[2] or command[i + 1]
            for i, word in enumerate(command)
            if "junit" in word
        ]
        for path in named:
            Path(path).write_text(PASSED)
        printed = f"what {runner} printed"
        return subprocess.CompletedProcess(command, statuses.get(runner, 0), printed)

    monkeypatch.setattr(run_tests.subprocess, "run", run)
    return commands


@pytest.mark.parametrize("status", [1, 2, 3, 4, 5, 8, -11])
def test_a_runner_that_ends_early_fails_the_run_though_no_case_failed(status, monkeypatch, capsys):
    run_as(monkeypatch, ctest=status, pytest=status)
    monkeypatch.setattr(sys, "argv", ["run_tests.py"])
    assert run_tests.main() == 1
    lines = capsys.readouterr().out.splitlines()
    assert lines[-1] == "2 passed, 2 failed, 0 skipped"
    for runner in ("ctest", "pytest"):
        assert any(
            line.startswith(f"failed: {runner} ended with status {status}") for line in lines
        )


def test_what_the_compiler_says_is_printed_and_fails_the_run(monkeypatch, capsys):
    commands = run_as(monkeypatch, cmake=1)
    monkeypatch.setattr(sys, "argv", ["run_tests.py"])
    assert run_tests.main() == 1
    lines = capsys.readouterr().out.splitlines()
    assert "ctest" not in commands
    assert "what cmake printed" in lines
    assert "failed: the build of the C++ tests ended with status 1" in lines
    assert lines[-1] == "1 passed, 1 failed, 0 skipped"


def test_the_cxx_tests_run_while_python_tests_run(monkeypatch, capsys):
    """Each waits for the other one."""
    run_as(monkeypatch)
    done, both = run_tests.subprocess.run, threading.Barrier(2, timeout=60)

    def run(command: list[str], **options: object) -> subprocess.CompletedProcess[str]:
        if "cmake" not in command:
            both.wait()
        return done(command, **options)

    monkeypatch.setattr(run_tests.subprocess, "run", run)
    monkeypatch.setattr(sys, "argv", ["run_tests.py"])
    assert run_tests.main() == 0
    assert capsys.readouterr().out.splitlines()[-1] == "2 passed, 0 failed, 0 skipped"


def test_as_many_jobs_as_are_asked_for(monkeypatch, capsys):
    commands = run_as(monkeypatch)
    monkeypatch.setattr(sys, "argv", ["run_tests.py", "--jobs", "3"])
    assert run_tests.main() == 0
    for runner in ("cmake", "ctest"):
        command = commands[runner]
        assert command[command.index("--parallel") + 1] == "3"
    assert capsys.readouterr().out.splitlines()[-1] == "2 passed, 0 failed, 0 skipped"


@pytest.mark.parametrize(("options", "workers"), [([], "3"), (["--workers", "5"], "5")])
def test_more_python_tests_than_jobs_may_run_at_the_same_time(
    options, workers, monkeypatch, capsys
):
    commands = run_as(monkeypatch)
    monkeypatch.setattr(sys, "argv", ["run_tests.py", "--jobs", "3", *options])
    assert run_tests.main() == 0
    ctest, python = commands["ctest"], commands["pytest"]
    assert ctest[ctest.index("--parallel") + 1] == "3"
    assert python[python.index("--numprocesses") + 1] == workers


@pytest.mark.parametrize(
    ("options", "wanted"),
    [
        ([], ["-m", "not long"]),
        (["--fast"], ["-m", "not long", "tests/python", "tests/tidy"]),
        (["--long"], []),
    ],
)
def test_the_tier_chooses_the_tests(options, wanted, monkeypatch, capsys):
    commands = run_as(monkeypatch)
    monkeypatch.setattr(sys, "argv", ["run_tests.py", *options])
    assert run_tests.main() == 0
    command = commands["pytest"]
    assert command[command.index("worksteal") + 1 :] == wanted


def test_tests_are_compiled_by_one_process_the_first_time(monkeypatch, tmp_path):
    (tmp_path / "tests/few").mkdir(parents=True)
    (tmp_path / "tests/few/test_one.py").write_text("def test_one():\n    assert 1 == 1\n")
    monkeypatch.setattr(run_tests, "ROOT", tmp_path)
    kept = {k: v for k, v in os.environ.items() if k != "PYTHONDONTWRITEBYTECODE"}
    run_tests.compile_tests(kept)
    assert len(list(tmp_path.glob("tests/few/__pycache__/test_one*-pytest-*.pyc"))) == 1
    monkeypatch.setattr(run_tests.subprocess, "run", None)  # there is no second time
    run_tests.compile_tests(kept)
