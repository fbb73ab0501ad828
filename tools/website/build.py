"""Builds the documentation site into build/site: `make docs`.

First the gallery: real runs, their pages, and pictures of them (see gallery.py). Then the pages,
with every link checked. Nothing is loaded from the network.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
from pathlib import Path

import gallery
import links

ROOT = Path(__file__).resolve().parents[2]


def build(site: Path) -> int:
    """Builds the pages, strictly: a warning is an error. The exit status of MkDocs."""
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "--quiet"]
    command += ["--site-dir", str(site)]
    # Without the variable the theme prints an advertisement, which `--strict` takes for a warning.
    environment = {**os.environ, "NO_MKDOCS_2_WARNING": "1"}
    return subprocess.run(command, cwd=ROOT, env=environment, check=False).returncode


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--site", type=Path, default=ROOT / "build/site", metavar="DIR")
    parser.add_argument(
        "--no-gallery", action="store_true", help="use the runs of an earlier build"
    )
    options = parser.parse_args()
    if not options.no_gallery:
        gallery.make()
    status = build(options.site)
    wrong = links.problems(options.site.resolve()) if status == 0 else []
    for problem in wrong:
        print(f"error: {problem}", file=sys.stderr)
    if status == 0 and not wrong:
        print(f"Open in a browser: {options.site / 'index.html'}")
    return status or bool(wrong)


if __name__ == "__main__":
    sys.exit(main())
