"""What is made of a data set when it is imported, so that pages are quick.

Each function takes the data set's path and a directory of its own, with its name, below `derived`.
They run in a confined process: that of an import, or `python -m sesame.repository.preparing
REQUEST`, which `prepare_confined` starts. REQUEST is a JSON object: `data` and `made`
(directories), `known` (names of parts that are there already).
"""

from __future__ import annotations

import json
import os
import pkgutil
import shutil
import signal
import subprocess
import sys
from collections.abc import Collection
from contextlib import suppress
from importlib.util import find_spec
from pathlib import Path
from tempfile import TemporaryDirectory

from sesame.errors import SesameError
from sesame.lazy import hide_pandas

PREPARATIONS = {
    "summary": "sesame.repository.summary:prepare",
    "playback": "sesame.repository.playback.prepare:prepare",
    "looks": "sesame.repository.looks.prepare:prepare",
    "search": "sesame.repository.search.entries:prepare",
}

# Of `prepare_confined`, as of an upload's import.
MEMORY_BYTES, PROCESSOR_S, SECONDS = 4 << 30, 3600, 7200.0
MOST_LINES = 5  # of what the process says


def prepare(data_set: Path, derived: Path, known: Collection[str] = ()) -> list[str]:
    """Makes what is missing below `derived`, but for `known`; returns what went wrong, a sentence
    for each part that has nothing now. A part appears when it is complete."""
    wrong = []
    for name, place in PREPARATIONS.items():
        target, partial = derived / name, derived / f".{name}.partial"
        if name in known or target.exists() or not find_spec(place.rpartition(".")[0]):
            continue
        shutil.rmtree(partial, ignore_errors=True)
        partial.mkdir(parents=True)
        try:
            pkgutil.resolve_name(place)(data_set, partial)
        except Exception as error:  # the content may be anything; the other parts still fit
            text = error.message if isinstance(error, SesameError) else repr(error)
            wrong.append(f"{name}: {text}")
            shutil.rmtree(partial)
        else:
            partial.replace(target)
    return wrong


def prepare_confined(data_set: Path, derived: Path, scratch: Path) -> list[str]:
    """The same in a process of its own, confined as that of an upload: a data set may come from
    elsewhere. `scratch` exists and is on the disk of `derived`."""
    known = [name for name in PREPARATIONS if (derived / name).exists()]
    if len(known) == len(PREPARATIONS):
        return []
    with TemporaryDirectory(dir=scratch) as name:
        directory = Path(name).resolve()
        made, data = directory / "made", _readable(data_set.resolve(), directory)
        _make_writable(directory, made)
        said = _run({"data": str(data), "made": str(made), "known": known}, made)
        for name in PREPARATIONS.keys() - known:
            if (made / name).is_dir():
                taken = _taken(made / name, directory / f"taken-{name}")
                with suppress(OSError):  # another process was faster
                    taken.rename(derived / name)
    return said


def _readable(data_set: Path, directory: Path) -> Path:
    """Where root serves, the process is another user: a copy if that may not read the files."""
    files = [one for one in data_set.rglob("*") if one.is_file()]
    if os.geteuid() != 0 or all(one.stat().st_mode & 0o444 == 0o444 for one in files):
        return data_set
    copy = directory / "data"
    shutil.copytree(data_set, copy)
    for one in copy.rglob("*"):
        one.chmod(0o755 if one.is_dir() else 0o444)
    return copy


def _make_writable(directory: Path, made: Path) -> None:
    from sesame.repository.store.confinement import import_user

    made.mkdir()
    if os.geteuid() == 0:
        directory.chmod(0o711)
        os.chown(made, *import_user())


def _taken(made: Path, target: Path) -> Path:
    """Moves the plain files of what the process made into a directory of this one's. Raises
    ImportRefused for anything else."""
    from sesame.repository.uploads.child import plain_files

    target.mkdir()
    for name, path in plain_files(made):
        if os.geteuid() == 0:
            os.chown(path, 0, 0, follow_symlinks=False)
        path.chmod(0o644)
        (target / name).parent.mkdir(parents=True, exist_ok=True)
        path.rename(target / name)
    return target


def _run(request: dict[str, object], made: Path) -> list[str]:
    from sesame.repository.store.confinement import environment

    process = subprocess.Popen(
        (sys.executable, "-I", "-m", "sesame.repository.preparing", json.dumps(request)),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        env=environment() | {"TMPDIR": str(made), "HOME": str(made)},
        start_new_session=True,
        cwd="/",
    )
    try:
        _, said = process.communicate(timeout=SECONDS)
        lines = said.decode("utf-8", "replace").splitlines()[-MOST_LINES:]
        if process.returncode and not lines:
            lines = [f"it ended with status {process.returncode}: too much memory or time?"]
    except subprocess.TimeoutExpired:
        lines = [f"it took more than {SECONDS:.0f} s"]
    finally:
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()
    return lines


def main(request: dict[str, object]) -> int:
    from sesame.repository.store.confinement import ProcessLimits, confine

    data, made = Path(str(request["data"])), Path(str(request["made"]))
    confine(ProcessLimits(MEMORY_BYTES, PROCESSOR_S), readable=[data], writable=[made])
    known = request["known"]
    assert isinstance(known, list)
    for line in prepare(data, made, known):
        print(line, file=sys.stderr)
    return 0


if __name__ == "__main__":
    hide_pandas()
    sys.exit(main(json.loads(sys.argv[1])))
