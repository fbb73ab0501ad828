"""Parts of a program that Ctrl-C must not cut in two."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager

ENDS = (signal.SIGINT, signal.SIGTERM)


@contextmanager
def uninterrupted() -> Iterator[None]:
    """Delays SIGINT and SIGTERM until the end of the block, as for a temporary file and its rename.

    Keep the block to milliseconds. Python handles signals in the main thread; elsewhere nothing
    needs a delay.
    """
    handlers = {number: signal.getsignal(number) for number in ENDS}
    if threading.current_thread() is not threading.main_thread() or None in handlers.values():
        yield
        return
    came: list[int] = []
    try:
        for number in ENDS:
            signal.signal(number, lambda number, _frame: came.append(number))
        yield
    finally:
        # An interrupt between both would leave the second as it is.
        mask = signal.pthread_sigmask(signal.SIG_BLOCK, ENDS)
        for number, handler in handlers.items():
            signal.signal(number, handler)
        signal.pthread_sigmask(signal.SIG_SETMASK, mask)
        for first in came[:1]:
            signal.raise_signal(first)
