"""Two processes that never wait, for half a second: `spinners.py APART`.

The numbers of the two differ by APART; 0: by whatever the kernel gives them.
"""

import os
import sys
import time
from pathlib import Path

LAST = Path("/proc/sys/kernel/ns_last_pid")  # what the next process gets is one more


def spin(begin: int) -> None:
    os.read(begin, 1)
    Path("/proc/self/comm").write_text("spinner")
    end = time.monotonic() + 0.5
    while time.monotonic() < end:
        pass


def start(begin: int, number: int) -> int:
    """Starts one, if possible with this number. It spins when it can read from `begin`."""
    if number:
        LAST.write_text(str(number - 1))
    child = os.fork()
    if child == 0:
        spin(begin)
        os._exit(0)
    return child


def main(apart: int) -> None:
    begin, send = os.pipe()
    first = start(begin, 1000 if apart else 0)
    for _ in range(10):  # another process can be faster
        second = start(begin, first + apart if apart else 0)
        if not apart or second == first + apart:
            break
        os.kill(second, 9)
        os.waitpid(second, 0)
    else:
        sys.exit(f"no process has the number {first + apart}")
    os.write(send, b"gg")
    for child in (first, second):
        os.waitpid(child, 0)


main(int(sys.argv[1]))
