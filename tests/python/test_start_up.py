"""Commands load what they need: which large libraries are there when one has ended, and that names
of packages are found at their first use."""

from __future__ import annotations

import importlib
import importlib.metadata
import json
import pkgutil
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest

import sesame as package
from sesame.cli import cli
from sesame.cli.commands import words_of
from sesame.lazy import modules_of

LARGE = {
    *("asyncio", "hypercorn", "importlib.metadata", "jinja2", "numpy", "pyarrow", "scipy"),
    "starlette",
}
# The last line on stderr names the large libraries that a command has loaded.
PROGRAM = f"""
import sys
from sesame.cli import main
try:
    main()
finally:
    print(*sorted({LARGE!r} & set(sys.modules)), file=sys.stderr)
"""
# The same for the help of each verb, in a fork of a process that has loaded only the command line.
HELP = f"""
import json, os, sys
from sesame.cli import main
output = open(sys.argv[2], "a")
for words in json.loads(sys.argv[1]):
    child = os.fork()
    if child == 0:
        sys.argv = ["sesame", *words, "--help"]
        try:
            main()
        except SystemExit as ended:
            assert ended.code == 0
        loaded = sorted({LARGE!r} & set(sys.modules))
        output.write(json.dumps([words, loaded]) + "\\n")
        output.flush()
        os._exit(0)
    assert os.waitpid(child, 0)[1] == 0
"""
# Each line on stderr that begins with "starts" names a program that a command starts, and what it
# has loaded before of what only some commands, or their results, need.
LATE = {"concurrent.futures", "rich", "socket", "statistics", "tomllib"}
STARTS = f"""
import os, sys
def show(event, arguments):
    if event == "subprocess.Popen":
        name = os.path.basename(arguments[0])
        print("starts", name, *sorted({LATE!r} & set(sys.modules)), file=sys.stderr)
sys.addaudithook(show)
from sesame.cli import main
try:
    main()
finally:
    print("ends", *sorted({LATE!r} & set(sys.modules)), file=sys.stderr)
"""
RING = ("--machine", "paragon", "--", "ring", "3")
LAZY = (
    *("sesame.analysis.characterize", "sesame.analysis.explain", "sesame.comparison"),
    "sesame.datasets",
    *("sesame.measurement", "sesame.simulation", "sesame.simulation.trace", "sesame.workloads"),
    *("sesame.repository.looks", "sesame.repository.playback", "sesame.repository.search"),
)
# What an import into a repository runs in its confined process; the last line names libraries.
PREPARES = """
import pkgutil, sys
from sesame.repository.preparing import PREPARATIONS
from sesame.repository.uploads import importing, merging
for place in PREPARATIONS.values():
    pkgutil.resolve_name(place)
print(*{"fastapi", "jinja2", "pyarrow", "sqlalchemy", "starlette"} & set(sys.modules))
"""


@pytest.fixture
def loaded(environment, tmp_path):
    """The large libraries that are loaded when a command has done its work."""

    def run(*arguments: str) -> set[str]:
        return set(said_by(PROGRAM, arguments, tmp_path, environment)[-1].split())

    return run


def said_by(
    program: str, arguments: Sequence[str], directory: Path, environment: dict[str, str]
) -> list[str]:
    """The lines on stderr of a Python program."""
    command = [sys.executable, "-c", program, *arguments]
    pipe = subprocess.PIPE
    done = subprocess.run(
        command, stdout=pipe, stderr=pipe, text=True, cwd=directory, env=environment, check=True
    )
    return done.stderr.splitlines()


@pytest.fixture(scope="module")
def loaded_by_help(tmp_path_factory) -> dict[str, list[str]]:
    """The large libraries that are loaded when the help of a verb has been printed, by verb."""
    output = tmp_path_factory.mktemp("help") / "loaded"
    words = json.dumps(list(words_of(cli)))
    subprocess.run(
        [sys.executable, "-c", HELP, words, str(output)], check=True, stdout=subprocess.DEVNULL
    )
    lines = [json.loads(line) for line in output.read_text().splitlines()]
    return {" ".join(words): libraries for words, libraries in lines}


@pytest.mark.parametrize("words", list(words_of(cli)), ids=" ".join)
def test_help_loads_no_large_library(loaded_by_help, words):
    assert loaded_by_help[" ".join(words)] == []


@pytest.mark.parametrize(
    "arguments",
    [
        ("simulate", "-n", "4", *RING),
        ("simulate", "-n", "2,4", *RING),
        ("simulate", "-n", "4", "--json", *RING),
        ("machine", "list"),
        ("machine", "show", "paragon", "--json"),
        ("measure", "flags"),
    ],
    ids=" ".join,
)
def test_commands_without_data_sets_load_no_large_library(loaded, arguments):
    assert loaded(*arguments) == set()


@pytest.mark.parametrize(("options", "later"), [((), "rich statistics"), (("--json",), "")])
def test_the_simulator_starts_before_what_only_its_result_needs_is_loaded(
    options, later, environment, tmp_path
):
    command = ["simulate", *options, "-n", "4", *RING]
    said = said_by(STARTS, command, tmp_path, environment)
    # It inspects the program, then runs it. No other program tells where the run was made.
    lines = [line for line in said if line.startswith(("starts", "ends"))]
    assert lines == ["starts sesame-simulator-mpich"] * 2 + [f"ends {later}".strip()]


def test_a_simulation_writes_a_data_set_without_large_libraries(loaded, tmp_path):
    assert loaded("simulate", "-o", "run.sesame", *RING) == set()
    assert (tmp_path / "run.sesame/info.json").is_file()


def test_reading_a_data_set_needs_them_only(loaded, run_path):
    assert loaded("export", "--to", "csv", "--file", "csv", str(run_path)) == {"numpy", "pyarrow"}


def test_info_of_a_simulated_run_loads_no_large_library(loaded, run_path):
    assert loaded("info", "--fields", str(run_path)) == set()


def test_an_import_loads_neither_pages_nor_the_database():
    command = [sys.executable, "-I", "-c", PREPARES]
    assert subprocess.check_output(command, text=True).split() == ["pyarrow"]


def test_a_page_loads_what_draws_it(loaded):
    """What finds nothing above would find it if it were there."""
    assert {"jinja2"} <= loaded("simulate", "--report", "run.html", *RING)


@pytest.mark.parametrize("name", LAZY)
def test_names_of_packages_are_found_at_their_first_use(name):
    lazy = importlib.import_module(name)
    modules = modules_of(name)
    assert sorted(modules) == sorted(lazy.__all__)
    for one, module in modules.items():
        assert getattr(lazy, one) is getattr(importlib.import_module(module), one)
    # Python binds a module's name in its package when it is imported, and would hide such a name.
    assert not set(modules) & {module.name for module in pkgutil.iter_modules(lazy.__path__)}


def test_the_version_is_that_of_the_installed_package():
    assert package.__version__ == importlib.metadata.version("sesame-hpc")


def test_a_name_that_a_package_does_not_have():
    with pytest.raises(ImportError, match="cannot import name 'nothing'"):
        from sesame.datasets import nothing  # noqa: F401
    assert not hasattr(package, "nothing")
