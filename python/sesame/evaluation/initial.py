"""A first site file, from what this machine has."""

from __future__ import annotations

import os
import shutil
import sys
from pathlib import Path

HEAD = """\
# What `sesame evaluate` does on this machine. docs/formats/site.md describes every key.
name = {name}
database = {database}      # beside this file
maintenance = "available"  # planned maintenance counts as available, or "unavailable"

[target.here]
launcher = "local"
"""
HELLO = """
[probe.hello]
target = "here"
interval = "1h"
availability = true  # a failure means that the target is down

[probe.hello.files]
"hello.c" = '''
#include <stdio.h>
int main(void) { return puts("Hello World") < 0; }
'''

[[probe.hello.step]]
name = "compile"
command = ["cc", "-o", "hello", "hello.c"]
timeout = "1min"

[[probe.hello.step]]
name = "run"
command = ["./hello"]
timeout = "10s"
launch = true
pattern = "^Hello World$"
"""
EP = """
[probe.ep]
target = "here"
interval = "1h"
availability = true

[[probe.ep.step]]
name = "run and verify"
command = [{sesame}, "bench", "run", "ep", "-n", "{ranks}", "--json"]
timeout = "10min"
pattern = '"verified": true'
numbers = [{{ name = "EP time", pattern = '"time_s": ([0-9.e+-]+)', unit = "s" }}]
"""
USE = """
[probe.use]
target = "here"
interval = "15min"
aspect = "utilisation"

[[probe.use.step]]
name = "load"
command = ["cat", "/proc/loadavg"]
timeout = "10s"
numbers = [{ name = "load average", pattern = '^([0-9.]+)', unit = "1" }]
"""
USERS = """
[[probe.use.step]]
name = "users"
command = ["who", "-q"]
timeout = "10s"
numbers = [{ name = "users", pattern = '^# users=([0-9]+)', unit = "1" }]
"""
FILES = """
[probe.files]
target = "here"
interval = "1d"

[[probe.files.step]]
name = "write, read and verify"
command = [{sesame}, "bench", "run", "iow", "--json", "--", "--size", "64KiB", "--total", "8MiB"]
timeout = "10min"
pattern = '"verified": true'
numbers = [{{ name = "iow time", pattern = '"time_s": ([0-9.e+-]+)', unit = "s" }}]
"""


def site_text(path: Path) -> str:
    """The text of a site file for `path` that works here: only what is installed is probed."""
    words = {
        "name": _quoted(os.uname().nodename or path.stem),
        "database": _quoted(f"{path.stem}.db"),
        "sesame": ", ".join(map(_quoted, _sesame())),
        "ranks": str(max(len(os.sched_getaffinity(0)), 1)),
    }
    parts = [HEAD.format(**words)]
    if shutil.which("cc"):
        parts.append(HELLO)
    if shutil.which("cmake") and (shutil.which("mpicxx") or shutil.which("mpicxx.mpich")):
        parts += [EP.format(**words), FILES.format(**words)]
    parts.append(USE)
    if shutil.which("who"):
        parts.append(USERS)
    return "".join(parts)


def _sesame() -> list[str]:
    """How to start this Sesame whatever the PATH of the prober is."""
    beside = Path(sys.executable).parent / "sesame"
    return [str(beside)] if os.access(beside, os.X_OK) else [sys.executable, "-m", "sesame"]


def _quoted(text: str) -> str:
    escaped = text.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'
