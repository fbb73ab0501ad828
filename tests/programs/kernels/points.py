"""On the kernel that runs: which points there are, and what they count of known loads.

Needs nothing but Python and libsesame-probes.so (its one argument), since it also runs in machines
that are emulated. Prints one JSON object: for each point `missing`, or its `counts` by class.
"""

from __future__ import annotations

import ctypes
import json
import mmap
import os
import subprocess
import sys
from ctypes import c_char_p, c_int64, c_long, c_size_t, c_uint, c_void_p
from pathlib import Path

COUNT = 2000  # of each thing
PAGE = 4096
CELL_WORDS, SPENDING_WORDS = 6, 4  # as in probes/cell.h
DURATION = 3

library = ctypes.CDLL(sys.argv[1])
library.sesame_probes_describe.restype = c_char_p
library.sesame_probes_error.restype = c_char_p
library.sesame_probes_load.restype = c_void_p
library.sesame_probes_load.argtypes = [c_char_p]
library.sesame_probes_missing.restype = c_char_p
library.sesame_probes_missing.argtypes = [c_void_p, c_uint]
library.sesame_probes_classes.restype = c_char_p
library.sesame_probes_classes.argtypes = [c_void_p]
library.sesame_probes_set.argtypes = [c_void_p, c_uint, c_uint, ctypes.c_int]
library.sesame_probes_cells.restype = ctypes.POINTER(ctypes.c_uint64)
library.sesame_probes_cells.argtypes = [
    c_void_p,
    ctypes.POINTER(c_uint),
    ctypes.POINTER(c_size_t),
]
library.sesame_probes_run_load.restype = c_int64
library.sesame_probes_run_load.argtypes = [c_char_p, c_long]


def counts_of(loaded: int, subsystem: dict) -> list[dict[str, int]]:
    """For each point what it counted, by class."""
    cpus, stride = c_uint(), c_size_t()
    words = library.sesame_probes_cells(loaded, ctypes.byref(cpus), ctypes.byref(stride))
    classes = library.sesame_probes_classes(loaded).decode().split("\n")
    groups = subsystem["groups"]
    counts: list[dict[str, int]] = []
    for point in range(len(subsystem["points"])):
        by_class: dict[str, int] = {}
        for number, name in enumerate(classes):
            first = (point * len(classes) + number) * groups
            for cpu in range(cpus.value):
                base = cpu * stride.value // 8 + SPENDING_WORDS
                for cell in range(first, first + groups):
                    by_class[name] = by_class.get(name, 0) + words[base + cell * CELL_WORDS]
        counts.append({name: count for name, count in by_class.items() if count})
    return counts


def use_files() -> None:
    path = Path("data")
    with path.open("wb", buffering=0) as file:
        for _ in range(COUNT):
            file.write(bytes(PAGE))
        os.fsync(file.fileno())
    with path.open("r+b") as file:
        shared = mmap.mmap(file.fileno(), COUNT * PAGE)
        private = mmap.mmap(file.fileno(), COUNT * PAGE, mmap.MAP_PRIVATE)
        for at in range(0, COUNT * PAGE, PAGE):
            private[at] = 1
            shared[at] = 1


def use_device() -> None:
    subprocess.run(["truncate", "-s", "8M", "image"], check=True)
    make = ["losetup", "-f", "--show", "image"]
    device = subprocess.run(make, check=True, capture_output=True, text=True).stdout.strip()
    copy = ["dd", "if=/dev/zero", f"of={device}", "bs=64k", "count=64", "oflag=direct"]
    subprocess.run(copy, check=True, capture_output=True)
    subprocess.run(["losetup", "-d", device], check=True)


def main() -> None:
    subsystems = json.loads(library.sesame_probes_describe())
    answer: dict[str, dict] = {}
    handles = []
    for one in subsystems:
        loaded = library.sesame_probes_load(one["name"].encode())
        error = library.sesame_probes_error().decode()
        handles.append(loaded)
        for number, point in enumerate(one["points"]):
            missing = library.sesame_probes_missing(loaded, number) if loaded else error.encode()
            if not missing and library.sesame_probes_set(loaded, number, DURATION, 0):
                missing = library.sesame_probes_error()
            text = missing.decode() if missing else None
            answer[f"{one['name']}.{point['name']}"] = {"missing": text}
    for name in (b"read", b"touch", b"packet", b"process", b"turn"):
        library.sesame_probes_run_load(name, COUNT)
    subprocess.run(["/bin/true"], check=True)
    use_files()
    use_device()
    for one, loaded in zip(subsystems, handles, strict=True):
        counts = counts_of(loaded, one) if loaded else [{} for _ in one["points"]]
        for point, by_class in zip(one["points"], counts, strict=True):
            answer[f"{one['name']}.{point['name']}"]["counts"] = by_class
    print(json.dumps({"release": os.uname().release, "points": answer}))


if __name__ == "__main__":
    main()
