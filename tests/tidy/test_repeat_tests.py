"""tools/repeat_tests.py counts repetitions of tests that fail, under each condition."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

TOOL = Path(__file__).resolve().parents[2] / "tools/repeat_tests.py"
# Passes on several processors only, and the first time only.
TEXT = """
import os
from pathlib import Path

def test_processors():
    assert len(os.sched_getaffinity(0)) > 1 or os.cpu_count() == 1

def test_first():
    Path(__file__).with_suffix(".done").touch(exist_ok=False)
"""


@pytest.fixture
def repeat(tmp_path):
    """repeat(*options): the exit status and the lines about each condition."""
    (tmp_path / "test_some.py").write_text(TEXT)

    def execute(*options: str) -> tuple[int, list[str]]:
        command = [sys.executable, str(TOOL), *options, str(tmp_path / "test_some.py")]
        quick = os.environ | {"PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}
        done = subprocess.run(command, capture_output=True, text=True, check=False, env=quick)
        return done.returncode, [x for x in done.stdout.splitlines() if "repetitions passed" in x]

    return execute


@pytest.mark.long
def test_repetitions_that_fail_are_counted(repeat):
    assert repeat("--only", "busy", "--times", "2") == (1, ["busy: 1 of 2 repetitions passed"])


def test_all_conditions_are_tried(repeat):
    status, lines = repeat("--times", "1", "--", "-k", "processors")
    on_one = int(os.cpu_count() == 1)
    on_all = int(on_one or len(os.sched_getaffinity(0)) > 1)
    assert lines == [
        f"quiet: {on_all} of 1 repetitions passed",
        f"busy: {on_all} of 1 repetitions passed",
        f"one-processor: {on_one} of 1 repetitions passed",
    ]
    assert status == 1 - on_one


def test_no_repetition_is_refused(repeat):
    assert repeat("--times", "0") == (2, [])


@pytest.mark.parametrize("wrong", ["tests/no_such_file.py", "--no-such-option", "-kno_such_test"])
def test_tests_that_pytest_cannot_run_are_refused_once(repeat, wrong):
    assert repeat("--times", "2", "--", wrong) == (2, [])
