"""Ctrl-C ends a command, whatever the interpreter is doing when it comes."""

from __future__ import annotations

import signal
import subprocess
import sys
from pathlib import Path

import pytest
from tests.python.interrupted_writers import WRITERS

ROOT = Path(__file__).resolve().parents[2]

COMMAND = """
import os, time, weakref
from sesame import cli

class Item: pass

def sleep(*_, **__):
    item = Item()
    watched = weakref.ref(item, lambda _: os.kill(os.getpid(), {number}))
    del item
    time.sleep(60)

cli.cli.main = sleep
cli.main()
"""


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_an_interrupt_that_the_interpreter_ignores_comes_again(number):
    command = [sys.executable, "-c", COMMAND.format(number=int(number))]
    done = subprocess.run(command, capture_output=True, text=True, timeout=30)
    assert (done.returncode, done.stderr) == (130, "error: interrupted\n")


@pytest.mark.few_cases(3)
@pytest.mark.parametrize("name", WRITERS)
def test_an_interrupt_at_any_moment_leaves_no_half_written_file(name, tmp_path):
    """In a process of its own: what an interrupt in a finalizer leaves behind would reach the tests
    that come next."""
    command = [sys.executable, "-m", "tests.python.interrupted_writers", name, str(tmp_path)]
    done = subprocess.run(command, capture_output=True, text=True, cwd=ROOT, check=False)
    assert done.returncode == 0, done.stderr
