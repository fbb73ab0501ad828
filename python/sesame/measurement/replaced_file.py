"""Small files that are replaced as a whole."""

from __future__ import annotations

from pathlib import Path

from sesame.signals import uninterrupted


def replace_file(path: Path, content: bytes, mode: int = 0o666) -> None:
    """Writes a new file beside `path` and renames it: `path` is never incomplete, and an interrupt
    leaves no other file. Raises OSError. Any thread may call it."""
    new = path.with_name(f"{path.name}.new")
    with uninterrupted():
        new.touch(mode)
        new.write_bytes(content)
        new.replace(path)
