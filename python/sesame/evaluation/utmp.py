"""Records of utmp(5): sessions and boots."""

from __future__ import annotations

import struct
from collections.abc import Iterator
from pathlib import Path

RECORD = struct.Struct("<hxxi32s4s32s256shhiii16s20x")  # on 64-bit Linux
BOOT_TIME, USER_PROCESS = 2, 7
UTMP, WTMP = Path("/run/utmp"), Path("/var/log/wtmp")


def records(path: Path) -> Iterator[tuple[int, str, float]]:
    """(type, user, time) of each record; none if there is no file."""
    try:
        data = path.read_bytes()
    except OSError:
        return
    for number in range(len(data) // RECORD.size):
        record = RECORD.unpack_from(data, number * RECORD.size)
        user = record[4].split(b"\0")[0].decode(errors="replace")
        yield record[0], user, record[9] + 1e-6 * record[10]
