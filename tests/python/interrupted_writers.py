"""Writes small files, and interrupts that before each bytecode: nothing half-written may stay, and
signals must be handled as before.

python -m tests.python.interrupted_writers NAME DIRECTORY
"""

from __future__ import annotations

import itertools
import signal
import sys
from collections.abc import Callable
from datetime import date
from functools import partial
from pathlib import Path
from types import FrameType, SimpleNamespace
from typing import Any

from sesame.measurement.collector.ages import Ages
from sesame.measurement.collector.received import Received
from sesame.measurement.counter_files import CounterDirectory
from sesame.measurement.daemon import undelivered
from sesame.signals import ENDS
from sesame.web.server.roles import Role
from sesame.web.server.token_file import add_token
from sesame.web.server.tokens import make_token

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

    sys.settrace(trace)
    try:
        write()
    except KeyboardInterrupt:
        pass
    finally:
        sys.settrace(None)
    return left < 0


def main(name: str, base: Path) -> None:
    handlers = [signal.getsignal(one) for one in ENDS]
    for number in itertools.count(step=3):  # a gap has more bytecodes than that
        directory = base / str(number)
        directory.mkdir()
        came = interrupts(partial(WRITERS[name], directory), number)
        found = {path.name for path in directory.iterdir()}
        assert found <= {name, "quota-reached"}, f"bytecode {number}: {found}"
        assert all(path.stat().st_size for path in directory.glob(name)), f"bytecode {number}"
        assert [signal.getsignal(one) for one in ENDS] == handlers, f"bytecode {number}"
        if not came:
            break
    assert number > 100


if __name__ == "__main__":
    main(sys.argv[1], Path(sys.argv[2]))
