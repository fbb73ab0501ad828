"""Programs of the tests, each built once: they stay in build/test-programs, by what they are made
from, for all test processes and the next run."""

from __future__ import annotations

import fcntl
import functools
import hashlib
import shutil
import subprocess
from pathlib import Path

DIRECTORY = Path(__file__).resolve().parents[1] / "build/test-programs"
SOURCES = {".c", ".cc", ".def", ".f90", ".h"}


def build_program(name: str, source: Path, compiler: str, *words: str) -> Path:
    """The program (or library) `name`, made by `compiler WORDS`, in which `source` is a word.

    It is built anew when a file beside the source, one that the command names, the command or the
    compiler has changed.
    """
    directory = DIRECTORY / _digest(source, compiler, words)
    directory.mkdir(parents=True, exist_ok=True)
    program = directory / name
    with (directory / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not program.exists():
            part = directory / f"{name}.part"
            command = [compiler, words[0], "-o", str(part), *words[1:]]
            done = subprocess.run(command, capture_output=True, text=True, check=False)
            assert done.returncode == 0, done.stderr
            part.rename(program)
    return program


def _digest(source: Path, compiler: str, words: tuple[str, ...]) -> str:
    digest = hashlib.sha256(repr((compiler, _version(compiler), words)).encode())
    for path in sorted(source.parent.iterdir()):
        if path.suffix in SOURCES:
            digest.update(f"{path.name}\0".encode() + path.read_bytes())
    for named in (Path(word) for word in words if word.startswith("/")):
        if named.is_file() and named.parent != source.parent:
            digest.update(named.read_bytes())
    return digest.hexdigest()[:16]


@functools.cache
def _version(compiler: str) -> str:
    """Of what is behind a wrapper, and when the wrapper was installed."""
    reported = subprocess.run([compiler, "-v"], capture_output=True, text=True, check=False)
    wrapper = Path(shutil.which(compiler) or compiler)
    return f"{reported.stdout}{reported.stderr}{wrapper.stat().st_mtime_ns}"
