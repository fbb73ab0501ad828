"""What `make test` leaves out of products of parameters, and what it keeps."""

from __future__ import annotations

import ast
import fnmatch
import itertools
import os
import re
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest
from tests.products import RULES, each_value_once, product, refuse_several_rules

ROOT = Path(__file__).resolve().parents[2]
PRODUCTS = """
import pytest
def test_alone(): pass
@pytest.mark.parametrize("n", range(3))
def test_values(n): pass
@pytest.mark.parametrize("m", "ab")
@pytest.mark.parametrize(("n", "o"), [(1, 1), (1, 2), (2, 1)])
def test_product(n, o, m): pass
@pytest.mark.every_case
@pytest.mark.parametrize("m", "ab")
@pytest.mark.parametrize("n", range(3))
def test_all(n, m): pass
@pytest.mark.parametrize("n", [1, pytest.param(2, marks=pytest.mark.long)])
@pytest.mark.parametrize("m", "ab")
def test_long(n, m): pass
@pytest.mark.parametrize("m", [pytest.param("a", marks=pytest.mark.skipif(True, reason="")), "b"])
@pytest.mark.parametrize("n", [1, 2])
def test_skipped(n, m): pass
@pytest.mark.parametrize("m", [[0], [0]], ids=["same", "same"])
@pytest.mark.parametrize("n", [1, 2])
def test_names(n, m): pass
@pytest.mark.few_cases(2)
@pytest.mark.parametrize("m", "ab")
@pytest.mark.parametrize("n", [pytest.param(1, marks=pytest.mark.long), 2, 3])
def test_few(n, m): pass
@pytest.mark.each_value
@pytest.mark.parametrize("m", "ab")
@pytest.mark.parametrize("n", [1, 2])
def test_each(n, m): pass
@pytest.fixture(params=["one", "two"])
def made(request): return request.param
@pytest.mark.parametrize("n", [1, 2])
def test_fixture(made, n): pass
"""


@pytest.mark.parametrize("sizes", [(1,), (5,), (3, 4), (2, 2), (6, 3, 2), (4, 3, 1, 5)])
def test_each_value_is_chosen_with_as_few_cases_as_that_takes(sizes):
    cases = list(itertools.product(*[[f"{n}" for n in range(size)] for size in sizes]))
    chosen = [cases[number] for number in each_value_once(cases)]
    for place, size in enumerate(sizes):
        assert len({case[place] for case in chosen}) == size
    assert len(chosen) == max(sizes)


def test_where_combinations_are_missing_each_value_that_is_left_is_chosen():
    cases = [("a", "1"), ("a", "2"), ("a", "3"), ("b", "3")]
    assert each_value_once(cases) == [0, 1, 3]


def test_values_that_few_have_take_turns():
    cases = list(itertools.product("abcdef", "12"))
    chosen = [cases[number] for number in each_value_once(cases)]
    assert [mpi for _, mpi in chosen].count("1") == 3


def test_all_cases_of_a_mark_stay_and_further_ones_are_long():
    values = product([("a", 1), ("a", 2), ("b", 2)], "{}-{}".format)
    assert [value.id for value in values] == ["a-1", "a-2", "b-2"]
    assert [bool(value.marks) for value in values] == [False, True, False]


def collected(directory: Path) -> subprocess.CompletedProcess[str]:
    """Collects what `make test` would run of the tests in a directory."""
    (directory / "conftest.py").write_text((ROOT / "tests/integration/conftest.py").read_text())
    command = [sys.executable, "-m", "pytest", "-q", "--collect-only", "-p", "no:cacheprovider"]
    command += ["-p", "tests.conftest", "-c", ROOT / "pyproject.toml"]
    command += ["--rootdir", directory, "-m", "not long", directory]
    quick = os.environ | {"PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}
    return subprocess.run(command, capture_output=True, text=True, check=False, cwd=ROOT, env=quick)


@pytest.mark.parametrize("pair", list(itertools.combinations(RULES, 2)))
def test_two_rules_are_refused(pair):
    def item(*names: str) -> SimpleNamespace:
        get = dict.fromkeys(names, pytest.mark.skip).get
        return SimpleNamespace(nodeid="test_both[1]", get_closest_marker=get)

    refuse_several_rules([item(), *(item("long", name) for name in RULES)])
    with pytest.raises(pytest.UsageError, match=r"^test_both\[1\] has the marks .* and .*: leave"):
        refuse_several_rules([item(*pair)])


def test_a_run_with_two_rules_ends(tmp_path):
    marks = "@pytest.mark.few_cases(1)\n@pytest.mark.every_case\n"
    test = '@pytest.mark.parametrize("n", [1, 2])\ndef test_both(n): pass\n'
    (tmp_path / "test_it.py").write_text(f"import pytest\n{marks}{test}")
    done = collected(tmp_path)
    assert done.returncode == pytest.ExitCode.USAGE_ERROR
    said = "test_it.py::test_both[1] has the marks every_case and few_cases: leave one"
    assert said in done.stdout + done.stderr


def test_further_cases_of_products_are_long(tmp_path):
    (tmp_path / "test_it.py").write_text(PRODUCTS)
    done = collected(tmp_path)
    kept = [line.partition("::")[2] for line in done.stdout.splitlines() if "::" in line]
    assert [name for name in kept if not name.startswith("test_all")] == [
        "test_alone",
        *(f"test_values[{n}]" for n in range(3)),
        *(f"test_product[{case}]" for case in ("1-1-a", "1-2-b", "2-1-a")),
        *(f"test_long[{case}]" for case in ("a-1", "b-1")),
        *(f"test_skipped[{case}]" for case in ("1-a", "1-b", "2-a", "2-b")),
        *(f"test_names[{case}]" for case in ("1-same0", "2-same1")),
        *(f"test_few[{case}]" for case in ("2-a", "3-b")),
        *(f"test_each[{case}]" for case in ("1-a", "2-b")),
        *(f"test_fixture[{case}]" for case in ("one-1", "two-2")),
    ], done.stdout + done.stderr
    assert len(kept) == 21 + 6


# Marks by which `make test` leaves out cases of a test, or all of it.
IN_PART = {"long", "few_cases", "each_value"}


def marks_of(source: str) -> set[str]:
    """Which of IN_PART a Python file has as `pytest.mark.x`, texts of other files left out."""
    if not any(f"pytest.mark.{name}" in source for name in IN_PART):
        return set()  # without reading it as Python, which takes longer
    used = [node for node in ast.walk(ast.parse(source)) if isinstance(node, ast.Attribute)]
    marks = [node for node in used if node.attr in IN_PART]
    return {node.attr for node in marks if ast.unparse(node.value) == "pytest.mark"}


def test_the_table_names_all_files_of_which_make_test_runs_a_part():
    _, _, table = (ROOT / "CONTRIBUTING.md").read_text().partition("| tests | `make test` has |")
    rows = table.partition("\n\n")[0].splitlines()[2:]
    first_cells = [row.split("|")[1] for row in rows]
    named = [name for cell in first_cells for name in re.findall(r"`(test_[\w*]+\.py)`", cell)]
    sources = (ROOT / "tests").rglob("test_*.py")
    in_part = {path.name for path in sources if marks_of(path.read_text())}
    assert in_part
    found = {name: set(fnmatch.filter(in_part, name)) for name in named}
    assert [name for name in named if not found[name]] == [], "have no such mark"
    assert in_part.difference(*found.values()) == set(), "are missing in the table"
