"""A file of readings that a daemon could not deliver before its end; its next start delivers them.

Readings are valid until the machine is rebooted: their times are of its monotonic clock. Of events
only the number is kept, as a block without events, so that the receiver counts them as discarded.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from io import BytesIO
from pathlib import Path

from sesame.errors import OutputError
from sesame.measurement.clocks import Offset
from sesame.measurement.events import Block
from sesame.measurement.frames import decode_blocks, decode_readings
from sesame.measurement.readings import Reading
from sesame.measurement.replaced_file import replace_file

BOOT = Path("/proc/sys/kernel/random/boot_id")


def keep(path: Path, items: Sequence[Reading | Block]) -> None:
    """Replaces the file, or removes it if there are no items. Raises OutputError."""
    try:
        if not items:
            path.unlink(missing_ok=True)
            return
        content = BOOT.read_bytes() + b"".join(one.encode() for one in items)
        replace_file(path, content, mode=0o600)
    except OSError as error:
        raise OutputError(f"{path}: cannot write: {error.strerror}") from error


def kept(path: Path, offset: Offset, say: Callable[[str], None]) -> list[Reading | Block]:
    """The items of the file; losses are reported by `say`.

    They stay in the file until `keep`: if the daemon is killed, its next start sends them again,
    and the receiver ignores items that it has stored.
    """
    try:
        boot, _, text = path.read_bytes().partition(b"\n")
        readings, blocks = list(decode_readings(BytesIO(text))), list(decode_blocks(BytesIO(text)))
    except FileNotFoundError:
        return []
    except (OSError, ValueError) as error:
        say(f"{path}: readings of an earlier start cannot be read: {error}")
        return []
    if readings and boot != BOOT.read_bytes().strip():
        say(f"{len(readings)} readings from before the machine was rebooted are lost")
        readings = []
    now = time.monotonic_ns()
    counts = [replace(one, begin_ns=now, end_ns=now, offset=offset) for one in blocks]
    return [*counts, *readings]
