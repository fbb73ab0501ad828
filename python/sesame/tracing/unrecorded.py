"""Explains why a command left no records: whether its program was found, and how it ended."""

from __future__ import annotations

import shutil
import signal
import stat
import struct
from collections.abc import Sequence
from pathlib import Path

from sesame.errors import OutputError, SesameError, TracingError
from sesame.traced.launched import is_launcher

BUFFER_BYTES = 128 << 10  # a process without space for one buffer records nothing
SIGNALLED = 128  # exit status 128 + n: signal n ended the command
PT_INTERP = 3  # type of the program header that names the dynamic linker, which loads the tracer
ELF64_LITTLE = b"\x7fELF\x02\x01"


def explain(command: Sequence[str], status: int, raw: Path) -> SesameError:
    """The error for a command that ended and recorded nothing in `raw`."""
    if shutil.disk_usage(raw).free < BUFFER_BYTES:
        return OutputError(
            f"{raw.parent.resolve()}: cannot write: No space left on device",
            hint="free some space, or write the data set elsewhere with -o",
        )
    if (number := status - SIGNALLED) in {one.value for one in signal.Signals}:
        return TracingError(
            f"{command[0]} was ended by {signal.Signals(number).name} and recorded nothing",
            hint="a program that is ended by a signal loses records that it had not written yet",
            exit_status=status,
        )
    reason, hint = _reason(command)
    said = f"{command[0]} ended with status {status} and recorded nothing"
    return TracingError(f"{said}: {reason}", hint=hint, exit_status=status or 1)


def _reason(command: Sequence[str]) -> tuple[str, str]:
    """Reason and hint. After a launcher, the first word that can be run counts as the program."""
    starts_others = is_launcher(command) or Path(command[0]).name == "ssh"
    words = [word for word in command[1:] if starts_others and not word.startswith("-")]
    found = [path for word in words if (path := shutil.which(word)) is not None]
    launched = shutil.which(command[0])
    for program in map(Path, [launched, *found[:1]] if launched else found[:1]):
        if is_static(program):
            return f"{program} is statically linked", "relink it without -static"
        if program.stat().st_mode & (stat.S_ISUID | stat.S_ISGID):
            return f"{program} sets user or group ids", "such programs cannot be traced"
    if found or not words:
        name = Path(found[0] if found else command[0]).name
        return (
            f"{name} was not started, or called nothing on files and no MPI",
            "see messages above for the reason",
        )
    named = [word for word in words if "/" in word]
    absent = [word for word in named if not Path(word).exists()]
    if absent:
        return f"{absent[0]}: no such program", "give the program by its path, as ./program"
    if named:
        return f"{named[0]}: this is not an executable program", f"chmod +x {named[0]}"
    here = [word for word in words if Path(word).is_file()]
    if here:
        return f"{here[0]} is not looked for in this directory", f"write ./{here[0]}"
    names = ", ".join(word for word in words if not word.isdigit()) or "its words"
    return f"no such program among {names}", "give the program by its path, as ./program"


def is_static(program: Path) -> bool:
    """Whether a program is statically linked: its program headers name no dynamic linker."""
    with program.open("rb") as file:
        head = file.read(64)
        if len(head) < 64 or not head.startswith(ELF64_LITTLE):
            return False
        (table,) = struct.unpack_from("<Q", head, 32)
        size, count = struct.unpack_from("<HH", head, 54)
        file.seek(table)
        headers = file.read(size * count)
    types = (struct.unpack_from("<I", headers, size * i)[0] for i in range(len(headers) // size))
    return PT_INTERP not in types
