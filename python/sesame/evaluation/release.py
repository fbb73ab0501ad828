"""What the machine runs, as facts that change when it is upgraded, and its boots."""

from __future__ import annotations

import hashlib
import os
import re
import shutil
import tempfile
import time
from contextlib import suppress
from pathlib import Path

PROGRAMS = {"C compiler": "cc", "Fortran compiler": "gfortran", "MPI": "mpiexec", "mpicc": "mpicc"}
MPI_LIBRARIES = ("libmpi.so*", "libmpich.so*", "libmpi_*.so*")
# Files with the versions of firmware and of clients of file systems outside of the kernel.
FIRMWARE = ("/sys/class/dmi/id/bios_version", "/sys/class/dmi/id/bios_date")
ADAPTERS = "infiniband/*/fw_ver"  # in /sys/class
CLIENTS = {
    "Lustre": ("/sys/fs/lustre/version", "/proc/fs/lustre/version"),
    "GPFS": ("/sys/module/mmfs26/version", "/sys/module/mmfslinux/version"),
    "BeeGFS": ("/sys/module/beegfs/version",),
    "GPU driver": ("/sys/module/nvidia/version", "/sys/module/amdgpu/version"),
}
# Options that name directories of a container, new ones at each start.
NO_FACT = re.compile(r"^(lowerdir|upperdir|workdir)=")
WTMP = "wtmp "  # begins the names of boots without an id
SAME_BOOT_S = 120.0  # the clock may be set by this much soon after a boot


def release_facts(*directories: Path) -> dict[str, str]:
    """Kernel, microcode, firmware, C library, MPI, compilers, clients of file systems, and the
    mounts of the given directories and of temporary files. Starts no program: one is known by the
    file that its name leads to, and that file's time."""
    uname = os.uname()
    facts = {"kernel": f"{uname.release} {uname.version}"}
    microcode = re.search(r"^microcode\s*:\s*(\S+)", _text("/proc/cpuinfo"), re.M)
    facts["microcode"] = microcode[1] if microcode else ""
    facts["firmware"] = " ".join(filter(None, (_text(path).strip() for path in FIRMWARE)))
    for path in sorted(Path("/sys/class").glob(ADAPTERS)):
        facts[f"firmware of {path.parent.name}"] = _text(str(path)).strip()
    loaded = re.search(r"/\S*/libc\.so\.\d+$", _text("/proc/self/maps"), re.M)
    libc = _file(Path(loaded[0])) if loaded else ""
    facts["C library"] = f"{os.confstr('CS_GNU_LIBC_VERSION') or ''} {libc}".strip()
    for name, program in PROGRAMS.items():
        facts[name] = _file(_found(program))
    facts["MPI library"] = _file(_mpi_library())
    for name, paths in CLIENTS.items():
        facts[name] = next(filter(None, (_text(path).strip() for path in paths)), "")
    for directory in dict.fromkeys(directories):
        facts[f"file system of {directory}"] = _mount_of(directory)
    # By what it is for: a timer's directory of temporary files may be another than a user's.
    facts["file system of temporary files"] = _mount_of(Path(tempfile.gettempdir()))
    return {name: fact for name, fact in facts.items() if fact}


def _found(program: str) -> Path | None:
    path = shutil.which(program)
    return None if path is None else Path(path)


def _file(path: Path | None) -> str:
    """A file by what its links lead to, and its time."""
    with suppress(OSError):
        if path is not None:
            real = path.resolve(strict=True)
            return f"{real} of {_day(real.stat().st_mtime)}"
    return ""


def _day(seconds: float) -> str:
    return time.strftime("%Y-%m-%d %H:%M:%S", time.gmtime(seconds))


def _mpi_library() -> Path | None:
    """The library beside mpicc: in lib, lib64 or Debian's lib/ARCHITECTURE."""
    wrapper = _found(PROGRAMS["mpicc"])
    if wrapper is None:
        return None
    prefix = wrapper.parent.parent
    machine = os.uname().machine
    for directory in ("lib64", f"lib/{machine}-linux-gnu", "lib"):
        for pattern in MPI_LIBRARIES:
            found = sorted((prefix / directory).glob(pattern))
            if found:
                return found[-1]
    return None


def fingerprint(facts: dict[str, str]) -> str:
    """The same for the same facts."""
    text = "\n".join(f"{name}={fact}" for name, fact in sorted(facts.items()))
    return hashlib.sha256(text.encode()).hexdigest()[:12]


def boots_here() -> list[tuple[str, float]]:
    """(id, time) of the boot of now, and of earlier ones that wtmp knows, so that those are seen
    that happened while no probe ran. In wtmp a boot has no id, only its time."""
    from sesame.evaluation import utmp

    since = re.search(r"^btime (\d+)", _text("/proc/stat"), re.M)
    booted = float(since[1]) if since else 0.0
    found = [
        (f"{WTMP}{at:.0f}", at)
        for kind, _, at in utmp.records(utmp.WTMP)
        if kind == utmp.BOOT_TIME and at < booted - SAME_BOOT_S
    ]
    return [*found, (_text("/proc/sys/kernel/random/boot_id").strip(), booted)]


def _mount_of(directory: Path) -> str:
    """Type and options of the file system that holds a directory (proc_pid_mountinfo(5))."""
    best, found = "", ""
    for line in _text("/proc/self/mountinfo").splitlines():
        left, separator, right = line.partition(" - ")
        words, ends = left.split(), right.split()
        if not separator or len(words) < 6 or len(ends) < 3:
            continue
        point = words[4]
        is_above = directory == Path(point) or Path(point) in directory.parents
        if is_above and len(point) >= len(best):
            options = dict.fromkeys([*words[5].split(","), *ends[2].split(",")])
            kept = ",".join(one for one in options if not NO_FACT.match(one))
            best, found = point, f"{ends[0]} {kept}"
    return found


def _text(path: str) -> str:
    try:
        return Path(path).read_text(encoding="utf-8", errors="replace")
    except OSError:
        return ""
