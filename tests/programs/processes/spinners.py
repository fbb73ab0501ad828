"""Two processes that never wait, for half a second: `spinners.py APART`.

The numbers of the two differ by APART; 0: by whatever the kernel gives them.
"""

import os
import signal
import sys
import time
from pathlib import Path

LAST = Path("/proc/sys/kernel/ns_last_pid")  # what the next process gets is one more


def spin(begin: int) -> None:
    if not os.read(begin, 1):
        return
    Path("/proc/self/comm").write_text("spinner")
    end = time.monotonic() + 0.5
    while time.monotonic() < end:
        pass


def start(pipe: tuple[int, int], number: int) -> int:
    """Starts one; tries to get this number, unless it is 0. It spins when it can read."""
    begin, send = pipe
    if number:
        LAST.write_text(str(number - 1))
    child = os.fork()
    if child == 0:
        os.close(send)
        spin(begin)
        os._exit(0)
    return child


def main(apart: int) -> None:
    pipe = os.pipe()
    for attempt in range(10):  # another process can have a number, or be faster
        first = start(pipe, 1000 + 7 * attempt if apart else 0)
        both = first, start(pipe, first + apart if apart else 0)
        if not apart or both[1] - first == apart:
            break
        for child in both:
            os.kill(child, signal.SIGKILL)
            os.waitpid(child, 0)
    else:
        sys.exit(f"no two processes have numbers that are {apart} apart")
    os.write(pipe[1], b"gg")
    for child in both:
        os.waitpid(child, 0)


main(int(sys.argv[1]))
