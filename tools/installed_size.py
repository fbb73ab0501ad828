"""Installs a wheel into a new environment and prints what each package takes of the disk.

    python tools/installed_size.py dist/sesame_hpc-…-cp311-abi3-….whl [--extra daemon …]

Ends with status 1 when the whole, without pip, is larger than --at-most MB.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
import venv
from pathlib import Path

# Prints name and bytes of each distribution: the blocks of its files, as du counts them, with what
# pip has compiled.
PROGRAM = """
from importlib.metadata import distributions

for one in distributions():
    files = [path.locate() for path in one.files or ()]
    print(one.name, sum(512 * file.lstat().st_blocks for file in files if file.is_file()))
"""
MB = 1e6
SMALL = 0.5  # MB: smaller packages are added up


def sizes(wheel: str, extras: list[str]) -> dict[str, float]:
    """MB of each package of a new environment with the wheel."""
    wanted = f"{wheel}[{','.join(extras)}]" if extras else wheel
    with tempfile.TemporaryDirectory() as directory:
        venv.create(directory, with_pip=True)
        python = Path(directory) / "bin/python"
        install = [str(python), "-m", "pip", "install", "--quiet"]
        subprocess.run([*install, "--disable-pip-version-check", wanted], check=True)
        lines = subprocess.run(
            [str(python), "-c", PROGRAM], capture_output=True, text=True, check=True
        ).stdout.splitlines()
    found = {name: int(size) / MB for name, size in map(str.split, lines)}
    return {name: size for name, size in found.items() if name not in ("pip", "setuptools")}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("wheel")
    parser.add_argument("--extra", action="append", default=[])
    parser.add_argument("--at-most", type=float, metavar="MB")
    options = parser.parse_args()
    found = sizes(options.wheel, options.extra)
    for name, size in sorted(found.items(), key=lambda item: -item[1]):
        if size >= SMALL:
            print(f"{size:7.1f} MB  {name}")
    small = [size for size in found.values() if size < SMALL]
    print(f"{sum(small):7.1f} MB  {len(small)} smaller ones")
    whole = sum(found.values())
    print(f"{whole:7.1f} MB  in all")
    return int(options.at_most is not None and whole > options.at_most)


if __name__ == "__main__":
    sys.exit(main())
