"""Ctrl-C ends a command, whatever the interpreter is doing when it comes."""

from __future__ import annotations

import itertools
import signal
import subprocess
import sys
from collections.abc import Callable
from datetime import date
from functools import partial
from pathlib import Path
from types import FrameType, SimpleNamespace
from typing import Any

import pytest

from sesame.measurement.collector.ages import Ages
from sesame.measurement.collector.received import Received
from sesame.measurement.counter_files import CounterDirectory
from sesame.measurement.daemon import undelivered
from sesame.web.server.roles import Role
from sesame.web.server.token_file import add_token
from sesame.web.server.tokens import make_token

COMMAND = """
import os, time, weakref
from sesame import cli

class Item: pass

def sleep(**_):
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


ITEM = SimpleNamespace(encode=lambda: b"an item")

WRITERS: dict[str, Callable[[Path], Any]] = {
    "token": lambda directory: make_token(directory / "token"),
    "tokens": lambda directory: add_token(directory / "tokens", "one", Role.READER, date.max),
    "undelivered": lambda directory: undelivered.keep(directory / "undelivered", [ITEM]),
    "received.json": lambda directory: Received(directory / "received.json", print).save("{}"),
    ".ages.json": lambda directory: Ages(directory).update({}),
    "settings": lambda directory: CounterDirectory(directory, 1).close(),
}


def interrupts(write: Callable[[], Any], number: int) -> bool:
    """Writes, and sends a signal to this process before the bytecode `number` of that. False if
    there are fewer."""
    left = number

    def trace(frame: FrameType, event: str, _: Any) -> Any:
        nonlocal left
        frame.f_trace_opcodes = True
        if event == "opcode":
            left -= 1
            if left == -1:
                signal.raise_signal(signal.SIGINT)
        return trace

    before = sys.gettrace()
    sys.settrace(trace)
    try:
        write()
    except KeyboardInterrupt:
        pass
    finally:
        sys.settrace(before)
    return left < 0


@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")  # in finalizers
@pytest.mark.parametrize("name", WRITERS)
def test_an_interrupt_at_any_moment_leaves_no_half_written_file(name, tmp_path):
    for number in itertools.count(step=3):  # a gap has more bytecodes than that
        directory = tmp_path / str(number)
        directory.mkdir()
        came = interrupts(partial(WRITERS[name], directory), number)
        assert {path.name for path in directory.iterdir()} <= {name, "quota-reached"}, number
        assert all(path.stat().st_size for path in directory.glob(name))
        if not came:
            break
    assert number > 100
