"""Finds the type of the file system of a path on this machine."""

from __future__ import annotations

from pathlib import Path


class FileSystems:
    def __init__(self, mounts: str | None = None) -> None:
        """`mounts`: text in the format of /proc/mounts; by default that file."""
        if mounts is None:
            try:
                mounts = Path("/proc/mounts").read_text(errors="replace")
            except OSError:
                mounts = ""
        self._types: dict[str, str] = {}
        for line in mounts.splitlines():
            words = line.split(" ")
            if len(words) > 2:
                point = words[1].encode().decode("unicode_escape", "replace")
                self._types[point] = words[2]

    def type_of(self, path: str) -> str:
        """The type at the longest mount point above `path`; empty if none is known."""
        if not path.startswith("/"):
            return ""
        while path not in self._types and path != "/":
            path = path.rpartition("/")[0] or "/"
        return self._types.get(path, "")
