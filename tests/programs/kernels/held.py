"""Has a fault that lasts until a line is read from stdin, and prints its address when it begins.

The process supplies the page itself (userfaultfd), and only then.
"""

from __future__ import annotations

import ctypes
import mmap
import os
import platform
import select
import struct
import sys
import threading

# include/uapi/linux/userfaultfd.h
USERFAULTFD = {"x86_64": 323, "aarch64": 282}[platform.machine()]
API, REGISTER, ZEROPAGE = 0xC018AA3F, 0xC020AA00, 0xC020AA04
VERSION, MISSING = 0xAA, 1

libc = ctypes.CDLL(None, use_errno=True)


def checked(result: int) -> int:
    if result < 0:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
    return result


def ask(file: int, request: int, *words: int) -> None:
    text = ctypes.create_string_buffer(struct.pack(f"{len(words)}Q", *words))
    checked(libc.ioctl(file, ctypes.c_ulong(request), text))


memory = mmap.mmap(-1, mmap.PAGESIZE, mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
address = ctypes.addressof(ctypes.c_char.from_buffer(memory))
file = checked(libc.syscall(USERFAULTFD, os.O_CLOEXEC))
ask(file, API, VERSION, 0, 0)
ask(file, REGISTER, address, mmap.PAGESIZE, MISSING, 0)
toucher = threading.Thread(target=ctypes.memset, args=(address, 1, 1))
toucher.start()
select.select([file], [], [])
print(address, flush=True)
sys.stdin.readline()
ask(file, ZEROPAGE, address, mmap.PAGESIZE, 0, 0)
toucher.join()
