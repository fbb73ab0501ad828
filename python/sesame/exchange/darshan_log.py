"""A Darshan log in memory, read by Darshan's own library in a separate process."""

from __future__ import annotations

import importlib.util
import json
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

from sesame.errors import InputError
from sesame.exchange import darshan_reader
from sesame.extras import command_for, require


class Module(NamedTuple):
    number: int
    version: int
    partial: bool  # records are missing: Darshan had no more memory for this module


@dataclass(frozen=True)
class Library:
    """libdarshan-util from the Python package `darshan`.

    The package itself is not imported, since importing it takes longer than reading a log.
    """

    path: Path
    segments_have_threads: bool


@dataclass(frozen=True)
class Log:
    job: dict[str, int]
    metadata: str
    command: str
    modules: dict[str, Module]
    names: dict[int, str]  # paths by record id
    mounts: list[tuple[str, str]]  # path, type of the file system
    counter_names: dict[str, dict[str, list[str]]]  # of each module: counts and times
    records: dict[str, list[memoryview]]  # of each module
    segments_have_threads: bool


def find_library() -> Library:
    require("exchange", "a Darshan log", "darshan")
    spec = importlib.util.find_spec("darshan")
    assert spec is not None and spec.submodule_search_locations
    package = Path(spec.submodule_search_locations[0])
    found = sorted(package.parent.glob("darshan.libs/libdarshan-util*.so*"))
    if not found:
        raise InputError(
            f"the package in {package} has no libdarshan-util", hint=command_for("exchange")
        )
    # Libraries newer than 3.5.0 store the thread of each segment, but report the same version.
    definitions = (package / "backend" / "api_def_c.py").read_text(encoding="utf-8")
    return Library(found[0], "pthread_id" in definitions)


def read_log(path: Path) -> Log:
    library = find_library()
    threads = str(int(library.segments_have_threads))
    program = [sys.executable, "-I", "-S", darshan_reader.__file__]
    done = subprocess.run(
        [*program, str(library.path), threads, str(path.absolute())],
        capture_output=True,
        check=False,
    )
    if done.returncode != 0:
        raise _damaged(path, done)
    head, _, data = done.stdout.partition(b"\n")
    described = json.loads(head)
    return Log(
        job=described["job"],
        metadata=described["metadata"],
        command=described["command"],
        modules={name: Module(*module) for name, module in described["modules"].items()},
        names={int(number): name for number, name in described["names"].items()},
        mounts=described["mounts"],
        counter_names=described["counters"],
        records=_cut(described["records"], memoryview(data)),
        segments_have_threads=library.segments_have_threads,
    )


def _cut(lengths: dict[str, list[int]], data: memoryview) -> dict[str, list[memoryview]]:
    records: dict[str, list[memoryview]] = {}
    place = 0
    for name, sizes in lengths.items():
        records[name] = []
        for size in sizes:
            records[name].append(data[place : place + size])
            place += size
    return records


def _damaged(path: Path, done: subprocess.CompletedProcess[bytes]) -> InputError:
    said = done.stderr.decode(errors="replace").strip().splitlines()
    reason: Any = f": {said[-1]}" if said and done.returncode > 0 else ""
    return InputError(
        f"Darshan's library cannot read this log{reason}",
        path=str(path),
        hint="it is cut off or damaged, or from a newer Darshan: `pip install --upgrade darshan`",
    )
