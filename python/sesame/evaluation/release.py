"""What the machine runs, as facts that change when it is upgraded, and its boots."""

from __future__ import annotations

import hashlib
import os
import re
import shutil
from contextlib import suppress
from pathlib import Path

COMPILERS = ("cc", "mpicc")


def release_facts(directory: Path) -> dict[str, str]:
    """Kernel, C library, microcode, firmware, compilers and the mount of `directory`. Starts no
    program: a compiler is known by the file that its name leads to, and that file's time."""
    facts = {"kernel": os.uname().release, "C library": os.confstr("CS_GNU_LIBC_VERSION") or ""}
    microcode = re.search(r"^microcode\s*:\s*(\S+)", _text("/proc/cpuinfo"), re.M)
    facts["microcode"] = microcode[1] if microcode else ""
    facts["firmware"] = _text("/sys/class/dmi/id/bios_version").strip()
    for name in COMPILERS:
        found = shutil.which(name)
        with suppress(OSError):
            if found is not None:
                path = Path(found).resolve()
                facts[name] = f"{path} of {int(path.stat().st_mtime)}"
    facts["file system"] = _mount_of(directory)
    return {name: fact for name, fact in facts.items() if fact}


def fingerprint(facts: dict[str, str]) -> str:
    """The same for the same facts."""
    text = "\n".join(f"{name}={fact}" for name, fact in sorted(facts.items()))
    return hashlib.sha256(text.encode()).hexdigest()[:12]


def boot() -> tuple[str, float]:
    """The id of this boot and when it was, by the clock of now."""
    since = re.search(r"^btime (\d+)", _text("/proc/stat"), re.M)
    return _text("/proc/sys/kernel/random/boot_id").strip(), float(since[1]) if since else 0.0


def _mount_of(directory: Path) -> str:
    """Type and options of the file system that holds a directory (proc_pid_mountinfo(5))."""
    best, found = "", ""
    for line in _text("/proc/self/mountinfo").splitlines():
        words = line.split()
        if " - " not in line or len(words) < 6:
            continue
        point, options = words[4], words[5]
        is_above = directory == Path(point) or Path(point) in directory.parents
        if is_above and len(point) >= len(best):
            best, found = point, f"{line.split(' - ')[1].split()[0]} {options}"
    return found


def _text(path: str) -> str:
    try:
        return Path(path).read_text(encoding="utf-8", errors="replace")
    except OSError:
        return ""
