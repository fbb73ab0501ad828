"""`make test` installs what the tests run; tests install nothing."""

from __future__ import annotations

import re
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
USE = re.compile(r"debian_program\(\s*\"([^\"]+)\"")


def test_packages_of_programs_that_tests_run_are_installed_by_the_set_up():
    lists = re.findall(r"^\w*PACKAGES := ((?:.*\\\n)*.*)$", (ROOT / "Makefile").read_text(), re.M)
    listed = set(" ".join(lists).replace("\\", " ").split())
    used = {name for path in ROOT.glob("tests/*/*.py") for name in USE.findall(path.read_text())}
    assert len(used) > 8
    assert used - listed == set()
