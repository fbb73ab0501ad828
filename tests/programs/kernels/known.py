"""Does known things and prints what the kernel has counted of them for this process, as JSON.

For each: the kernel's figures, and the moments around both readings of them (clock monotonic, ns).
"""

from __future__ import annotations

import json
import mmap
import os
import resource
import socket
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

PAGE = 4096
COUNT = 3000
Figures = dict[str, int]
answer: dict[str, object] = {}


def usage() -> Figures:
    used = resource.getrusage(resource.RUSAGE_SELF)
    return {"faults": used.ru_minflt + used.ru_majflt, "switches": used.ru_nvcsw + used.ru_nivcsw}


@contextmanager
def between(name: str, figures: Callable[[], Figures]) -> Iterator[Figures]:
    said: Figures = {}
    moments = [time.monotonic_ns()]
    before = figures()
    moments.append(time.monotonic_ns())
    yield said
    moments.append(time.monotonic_ns())
    after = figures()
    moments.append(time.monotonic_ns())
    said |= {key: after[key] - before[key] for key in before}
    answer[name] = {**said, "moments": moments}


def touch_pages() -> None:
    memory = mmap.mmap(-1, COUNT * PAGE, mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
    memory.madvise(mmap.MADV_NOHUGEPAGE)
    with between("touch", usage):
        for at in range(0, COUNT * PAGE, PAGE):
            memory[at] = 1


def give_up_the_processor() -> None:
    ends = os.pipe(), os.pipe()
    child = os.fork()
    if child == 0:
        while os.read(ends[0][0], 1) == b"x":
            os.write(ends[1][1], b"x")
        os._exit(0)
    with between("switches", usage):
        for _ in range(COUNT):
            os.write(ends[0][1], b"x")
            os.read(ends[1][0], 1)
    os.write(ends[0][1], b"e")
    os.waitpid(child, 0)


def use_a_file() -> None:
    accounts = os.open("/proc/self/io", os.O_RDONLY)

    def counted() -> Figures:
        lines = os.pread(accounts, PAGE, 0).decode().split("\n")
        return {key: int(value) for key, _, value in (line.partition(": ") for line in lines[:4])}

    file = os.open("data", os.O_RDWR | os.O_CREAT)
    with between("file", counted):
        for number in range(COUNT):
            os.pwrite(file, bytes(1 + number), 0)
        for number in range(COUNT):
            os.pread(file, 1 + number, 0)


def send_messages() -> None:
    """Of 1, 2, 3 … bytes, by UDP and by TCP; none is divided."""
    udp = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    udp.bind(("127.0.0.1", 0))
    listener = socket.create_server(("127.0.0.1", 0))
    there = socket.create_connection(listener.getsockname())
    here = listener.accept()[0]
    with between("messages", dict) as said:
        for number in range(1, COUNT + 1):
            udp.sendto(bytes(number), udp.getsockname())
            udp.recv(COUNT)
            there.sendall(bytes(number))
            here.recv(number, socket.MSG_WAITALL)
        said |= {"messages": COUNT, "bytes": COUNT * (COUNT + 1) // 2}


def main() -> None:
    for part in (touch_pages, give_up_the_processor, use_a_file, send_messages):
        part()
    print(json.dumps({"pid": os.getpid(), **answer}))


if __name__ == "__main__":
    sys.exit(main())
