"""Runs every benchmark of this directory once.

Each prints figures. The exit status is 1 when one of them could not run.
"""

import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent


def programs() -> list[Path]:
    """The benchmarks; the other files here are what they share."""
    return [
        path
        for path in sorted(HERE.glob("*.py"))
        if path != Path(__file__).resolve() and "\nif __name__ ==" in path.read_text("utf-8")
    ]


def main() -> int:
    failed = []
    for program in programs():
        print(f"\n{program.stem}", flush=True)
        if subprocess.run([sys.executable, str(program)], check=False).returncode != 0:
            failed.append(program.name)
    if failed:
        print(f"\nfailed: {', '.join(failed)}", file=sys.stderr)
    return int(bool(failed))


if __name__ == "__main__":
    sys.exit(main())
