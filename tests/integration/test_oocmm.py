"""The workload oocmm: the product is right, and requests are as many as the report counts."""

from __future__ import annotations

import json
import shlex

import pytest
from tests.integration.installations import IN_PLACE

WAYS = [
    "--access staggered",
    "--access together",
    "--access together --collective",
    "--storage column --columns 5",
    "--interface mpi",
    "--interface mpi --access together --collective",
    "--interface mpi --access together --collective --columns 3 --storage column",
]


def requests_of(report):
    table = {name: column["values"] for name, column in report["tables"]["files"].items()}
    return dict(zip(table["file"], table["requests"], strict=True))


@pytest.fixture
def oocmm(program, mpiexec, tmp_path):
    """oocmm(ranks, *options): the report of a run."""

    def execute(ranks, *options):
        outcome = mpiexec(ranks, program("oocmm"), *options, "--report", "report.json")
        assert outcome.status == 0, outcome.stdout + outcome.stderr
        assert [path.name for path in tmp_path.iterdir()] == ["report.json"]
        return json.loads((tmp_path / "report.json").read_text())

    return execute


@pytest.mark.few_cases(4)
@pytest.mark.parametrize(
    ("way", "ranks"), [*((way, 2) for way in WAYS), (WAYS[0], 1), (WAYS[2], 4)]
)
def test_product_is_right_in_every_way(way, ranks, oocmm):
    report = oocmm(ranks, *shlex.split(way), "--order", "17", "--memory", "2KiB")
    assert report["verified"] is True


# Memory for one row: "N^3 operations directed to the file containing the second matrix", N to the
# first.
@pytest.mark.few_cases(1)
@pytest.mark.parametrize(("access", "ranks"), [("staggered", 1), ("staggered", 4), ("together", 2)])
def test_second_matrix_gets_a_request_for_every_term(access, ranks, oocmm):
    report = oocmm(ranks, "--order", "24", "--memory", str(3 * 24 * 8), "--access", access)
    assert requests_of(report) == {"first": 24, "second": 24**3, "product": 24}
    assert report["tables"]["files"]["mean request"]["values"] == [192, 8, 192]


def test_collective_reading_shares_columns(oocmm):
    options = ["--order", "24", "--memory", str(3 * 24 * 8), "--access", "together", "--collective"]
    assert requests_of(oocmm(4, *options))["second"] == 24**3 // 4


def test_columns_side_by_side_make_fewer_and_larger_requests(oocmm):
    options = ["--order", "24", "--memory", str(6 * 24 * 8), "--columns", "4"]
    report = oocmm(2, *options)
    assert requests_of(report)["second"] == 24**3 // 4
    assert report["tables"]["files"]["largest request"]["values"] == [192, 32, 192]


def test_more_ranks_than_rows(program, simulate):
    machine = ["-n", 16, "--machine", "infiniband", "--compute", "none"]
    for options in (["--collective", "--access", "together"], []):
        outcome = simulate(*machine, *IN_PLACE, "--", program("oocmm"), "--order", 6, *options)
        assert outcome.status == 0, outcome.stdout + outcome.stderr
        assert outcome.stdout.endswith("verified\n")


@pytest.mark.parametrize("ranks", [4, 16])
def test_product_is_right_in_the_simulator(ranks, program, simulate):
    machine = ["-n", ranks, "--machine", "paragon"]
    options = ["--order", 40, "--access", "together", "--collective"]
    outcome = simulate(*machine, *IN_PLACE, "--", program("oocmm"), *options)
    assert outcome.status == 0, outcome.stdout + outcome.stderr
    assert outcome.stdout.endswith("verified\n")


@pytest.mark.few_cases(3)
@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--memory", "2KiB"], "columns need 2304 bytes; 2048 given"),
        (["--order", "0"], "--order: expected from 1 to"),
        (["--columns", "97"], "--columns: expected from 1 to the order"),
        (["--access", "backward"], "--access backward: expected staggered or together"),
        (["--storage", "block"], "--storage block: expected row or column"),
        (["--collective"], "--collective needs ranks that want the same column"),
        (["--interface", "hdf5"], "--interface hdf5: expected posix or mpi"),
        (["--dir", "nowhere"], "--dir nowhere: cannot write there"),
    ],
)
def test_what_cannot_be_done_is_reported_once(options, message, program, mpiexec, tmp_path):
    outcome = mpiexec(2, program("oocmm"), *options)
    outcome.assert_refused(message)
    assert list(tmp_path.iterdir()) == []
