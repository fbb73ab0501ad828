"""sesame-sort gives the same file on any number of ranks, and says where its time went."""

from __future__ import annotations

import json
from itertools import pairwise

import numpy as np
import pytest
from tests.integration.installations import IN_PLACE

from sesame.datasets import DataSet

PHASES = ["start", "open", "sync", "read", "sort", "ask", "answer", "donewait", "write", "end"]


@pytest.fixture(scope="session")
def sesame_sort(program):
    return program("sesame-sort")


@pytest.fixture
def numbers(tmp_path):
    """10,000 numbers in a file, some of them equal, some zeros of either sign."""
    made = np.random.default_rng(7).normal(size=10_000)
    made[:2000] = np.round(made[:2000], 1)
    made.tofile(tmp_path / "numbers")
    return made


@pytest.mark.few_cases(1)
@pytest.mark.parametrize("ranks", [1, 2, 4])
def test_file_is_what_another_sort_makes_of_it(ranks, sesame_sort, mpiexec, numbers, tmp_path):
    outcome = mpiexec(ranks, sesame_sort, "--input", "numbers", "--output", "sorted")
    assert outcome.status == 0, outcome.stdout + outcome.stderr
    assert outcome.stdout.endswith("verified\n")
    # numpy takes zeros of either sign as they come: ours has the negative ones first.
    expected = numbers[np.lexsort((~np.signbit(numbers), numbers))]
    assert (tmp_path / "sorted").read_bytes() == expected.tobytes()
    assert sorted(path.name for path in tmp_path.iterdir()) == ["numbers", "sorted"]


@pytest.mark.parametrize("ranks", [4, 16])
def test_simulated_ranks_write_the_same_file(ranks, sesame_sort, simulate, numbers, tmp_path):
    options = ["-n", ranks, "--machine", "paragon", "--compute", "none"]
    arguments = ["--input", "numbers", "--output", "sorted"]
    outcome = simulate(*options, *IN_PLACE, "--", sesame_sort, *arguments)
    assert outcome.status == 0, outcome.stdout + outcome.stderr
    assert np.array_equal(np.fromfile(tmp_path / "sorted"), np.sort(numbers))


def test_made_numbers_do_not_depend_on_the_ranks(sesame_sort, mpiexec, tmp_path):
    for ranks in (1, 3):
        arguments = ["--count", "1000", "--seed", "5", "--output", f"sorted{ranks}"]
        assert mpiexec(ranks, sesame_sort, *arguments).status == 0
    content = (tmp_path / "sorted1").read_bytes()
    assert (tmp_path / "sorted3").read_bytes() == content
    values = np.frombuffer(content)
    # 1,000 uniform numbers: their mean is within 5 standard errors.
    assert abs(values.mean() - 0.5) < 5 / np.sqrt(12 * 1000)
    assert len(np.unique(values)) == 1000


@pytest.mark.parametrize("portion", ["0.001", "1"])
def test_small_portions_take_more_rounds(portion, sesame_sort, simulate, tmp_path):
    options = ["-n", 4, "--machine", "paragon", "--compute", "none"]
    arguments = ["--count", 2000, "--portion", portion, "--report", "report.json"]
    assert simulate(*options, *IN_PLACE, "--", sesame_sort, *arguments).status == 0
    report = json.loads((tmp_path / "report.json").read_text())
    figures = {figure["name"]: figure["value"] for figure in report["figures"]}
    # Whole lists are sorted by at most one round for each rank and one that finds nothing to do.
    assert figures["rounds"] <= 5 if portion == "1" else figures["rounds"] > 100


def test_phases_of_every_rank_are_recorded(bench, sesame_sort, tmp_path):
    outcome = bench("sesame-sort", "-n", 4, "-o", "sort.sesame", "--", "--count", "20000")
    assert outcome.status == 0, outcome.stderr
    table = DataSet(tmp_path / "sort.sesame").table("phase").to_pylist()
    assert {row["phase"] for row in table} == set(PHASES)
    for rank in range(4):
        own = [row for row in table if row["rank"] == rank]
        names = [row["phase"] for row in own]
        assert names[:5] == PHASES[:5]
        assert names[-5:] == ["donewait", "open", "sync", "write", "end"]
        assert own[0]["begin"] >= 0
        assert all(first["end"] == then["begin"] for first, then in pairwise(own))
        assert all(row["begin"] <= row["end"] for row in own)


def test_time_of_messages_shows_in_the_phases(sesame_sort, simulate, tmp_path):
    options = ["-n", 2, "--machine", "paragon", "--compute", "none"]
    arguments = ["--count", 20000, "--portion", 1, "--report", "report.json"]
    assert simulate(*options, *IN_PLACE, "--", sesame_sort, *arguments).status == 0
    table = json.loads((tmp_path / "report.json").read_text())["tables"]["phase"]
    spent = dict.fromkeys(PHASES, 0.0)
    rows = zip(*(table[name]["values"] for name in ("rank", "phase", "begin", "end")), strict=True)
    for rank, phase, begin, end in rows:
        spent[phase] += (end - begin) * (rank == 1)
    # About 5,000 numbers each way; without computation sorting takes no time.
    assert spent["ask"] > 4000 * 8 / 200e6
    assert spent["sort"] < 1e-6
    assert min(spent["read"], spent["write"]) > 0


@pytest.mark.few_cases(3)
@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--input", "missing"], "--input missing: cannot open: No such file or directory"),
        (["--input", "odd"], "--input odd: has 81 bytes, expected whole numbers of 8 bytes"),
        (["--input", "ten", "--count", "11"], "--input ten: has 80 bytes, expected 88 at least"),
        (["--input", "nan", "--count", "9"], "--input nan: number 7 is not a number (NaN)"),
        (["--count", "2"], "2 numbers are less than one for each rank"),
        (["--portion", "0"], "--portion: expected more than 0 and at most 1"),
        (["--output", "ten"], "--output ten: the file exists"),
        (["--output", "nowhere/x"], "nowhere: cannot write there: No such file"),
        (["--dir", "nowhere"], "--dir nowhere: cannot write there: No such file"),
    ],
)
def test_bad_input_is_reported_once(options, message, sesame_sort, mpiexec, tmp_path):
    values = np.arange(10.0)
    values.tofile(tmp_path / "ten")
    (tmp_path / "odd").write_bytes(values.tobytes() + b"x")
    values[7] = np.nan
    values.tofile(tmp_path / "nan")
    outcome = mpiexec(4, sesame_sort, *options)
    outcome.assert_refused(message)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["nan", "odd", "ten"]


def test_full_disk_leaves_nothing(sesame_sort, mpiexec, small_disk):
    outcome = mpiexec(2, sesame_sort, "--dir", "disk", "--count", "500000")
    assert outcome.status == 2
    assert "--dir disk: 6.29 MB are free, the run needs 8 MB" in outcome.stderr
    assert list(small_disk.iterdir()) == []
