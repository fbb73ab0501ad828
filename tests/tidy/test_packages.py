"""Packages that the sources import, those that the project declares, and those of the extras."""

from __future__ import annotations

import ast
import functools
import re
import sys
import tomllib
from pathlib import Path

from sesame.extras import DISTRIBUTION, PACKAGES

ROOT = Path(__file__).resolve().parent.parent.parent
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
EXTRAS = PROJECT["optional-dependencies"]


# Packages whose module has another name.
MODULES = {
    "argon2-cffi": "argon2",
    "linkify-it-py": "linkify_it",
    "markdown-it-py": "markdown_it",
    "pillow": "PIL",
    "python-multipart": "python_multipart",
}


def module_of(requirement: str) -> str:
    name = re.match(r"[\w-]+", requirement)
    assert name is not None, requirement
    return MODULES.get(name[0], name[0].replace("-", "_"))


@functools.cache
def imported() -> set[str]:
    """The first word of each name that a source file of the package imports."""
    found = set()
    for path in (ROOT / "python/sesame").rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Import):
                found |= {alias.name.partition(".")[0] for alias in node.names}
            elif isinstance(node, ast.ImportFrom) and node.level == 0 and node.module:
                found.add(node.module.partition(".")[0])
    return found - set(sys.stdlib_module_names) - {"sesame"}


def test_the_name_is_that_of_messages():
    assert PROJECT["name"] == DISTRIBUTION


def test_messages_know_the_extras_of_the_project():
    declared = {
        extra: tuple(map(module_of, packages))
        for extra, packages in EXTRAS.items()
        if not extra.startswith(("all", "dev"))
    }
    assert declared == PACKAGES


def test_all_is_all_extras():
    assert EXTRAS["all"] == [f"{DISTRIBUTION}[{','.join(sorted(PACKAGES))}]"]


def test_what_is_imported_is_declared():
    declared = set(map(module_of, PROJECT["dependencies"]))
    declared |= {package for packages in PACKAGES.values() for package in packages}
    assert imported() - declared <= {"pytest"}  # imports us


def test_what_is_declared_is_imported():
    declared = set(map(module_of, PROJECT["dependencies"]))
    assert declared - imported() == {"nanobind_backend"}  # the binding imports it
