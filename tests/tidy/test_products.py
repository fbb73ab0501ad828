"""What `make test` leaves out of products of parameters, and what it keeps."""

from __future__ import annotations

import itertools
import subprocess
import sys
from pathlib import Path

import pytest
from tests.products import each_value_once, product

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


def test_further_cases_of_products_are_long(tmp_path):
    (tmp_path / "test_it.py").write_text(PRODUCTS)
    (tmp_path / "conftest.py").write_text((ROOT / "tests/integration/conftest.py").read_text())
    command = [sys.executable, "-m", "pytest", "-q", "--collect-only", "-p", "no:cacheprovider"]
    command += [
        "-p",
        "tests.conftest",
        "-c",
        ROOT / "pyproject.toml",
        "--rootdir",
        tmp_path,
        "-m",
        "not long",
        tmp_path,
    ]
    done = subprocess.run(command, capture_output=True, text=True, check=False, cwd=ROOT)
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
