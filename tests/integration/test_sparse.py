"""The workload sparse: every way to read gives right products; matrices come from elsewhere."""

from __future__ import annotations

import json

import numpy as np
import pytest
from scipy.io import hb_write, mmwrite
from scipy.sparse import coo_array, csc_matrix, csr_array

from sesame.datasets import DataSet
from sesame.workloads import write_extended

MODES = ["unix", "log", "sync", "record", "global", "async"]
FIGURE_1 = np.array(  # of the paper
    [[2, 0, 5, 0, 0], [8, 3, 0, 7, 0], [0, 6, 2, 0, 1], [9, 0, 0, 1, 0], [0, 7, 0, 0, 2]]
)


def checks(report):
    return {check["name"]: check["value"] for check in report["checks"]}


def figures(report):
    return {figure["name"]: figure["value"] for figure in report["figures"]}


@pytest.fixture
def sparse(program, mpiexec, tmp_path):
    """sparse(ranks, *options): the report of a run."""

    def execute(ranks, *options):
        outcome = mpiexec(ranks, program("sparse"), *options, "--report", "report.json")
        assert outcome.status == 0, outcome.stdout + outcome.stderr
        return json.loads((tmp_path / "report.json").read_text())

    return execute


def test_compressed_form_is_that_of_figure_1(kit_program, mpiexec):
    lines = mpiexec(1, kit_program("figure_1")).stdout.splitlines()
    a, ja, ia, products = ([int(word) for word in line.split()] for line in lines)
    assert a == [2, 5, 8, 3, 7, 6, 2, 1, 9, 1, 7, 2]
    assert ja == [1, 3, 1, 2, 4, 2, 3, 5, 1, 4, 2, 5]
    assert ia == [1, 3, 6, 9, 11, 13]
    vectors = np.array([[1, 2, 3, 4, 5], [1, 0, 0, 0, 0]]).T
    assert products == (FIGURE_1 @ vectors).flatten().tolist()


@pytest.mark.few_cases(4)
@pytest.mark.parametrize(
    ("mode", "ranks"), [*((mode, 2) for mode in MODES), ("async", 1), ("sync", 4)]
)
def test_every_mode_of_mpi_io_reads_every_row_once(mode, ranks, sparse, tmp_path):
    report = sparse(ranks, "--interface", "mpi", "--mode", mode, "--order", "97", "--nonzeros",
                    "500", "--read-size", "4KiB")  # fmt: skip
    assert report["verified"] is True
    assert checks(report) == {"rows multiplied right": 97, "nonzeros": 500}
    assert sum(report["tables"]["ranks"]["reads"]["values"]) == 97 // 5 + 1
    assert [path.name for path in tmp_path.iterdir()] == ["report.json"]


@pytest.mark.few_cases(3)
@pytest.mark.parametrize(
    ("mode", "ranks"), [*((mode, 2) for mode in MODES if mode != "log"), ("sync", 1)]
)
def test_every_mode_of_posix_reads_every_row_once(mode, ranks, sparse):
    report = sparse(ranks, "--mode", mode, "--order", "97", "--nonzeros", "500", "--read-size", "1")
    assert report["verified"] is True
    assert sum(report["tables"]["ranks"]["reads"]["values"]) == 97


@pytest.mark.parametrize("interface", ["posix", "mpi"])
@pytest.mark.parametrize("order", ["2", "97"])  # fewer and more chunks than workers
def test_every_chunk_is_handed_out_once(interface, order, sparse):
    report = sparse(4, "--work", "dynamic", "--order", order, "--nonzeros", "4", "--interface",
                    interface, "--read-size", "1")  # fmt: skip
    assert report["verified"] is True
    rows = report["tables"]["ranks"]["rows"]["values"]
    assert rows[0] == 0
    assert sum(rows) == int(order)


@pytest.mark.parametrize(
    ("ranks", "options"),
    [(4, ["--mode", "sync"]), (16, ["--mode", "global"]), (16, ["--work", "both"])],
)
def test_products_are_right_in_the_simulator(options, ranks, program, simulate):
    machine = ["-n", ranks, "--machine", "paragon", "--compute", "none"]
    outcome = simulate(*machine, "--", program("sparse"), *options, "--order", 100)
    assert outcome.status == 0, outcome.stdout + outcome.stderr
    assert outcome.stdout.endswith("verified\n")


# Table 1 of the paper.
@pytest.mark.few_cases(1)
@pytest.mark.parametrize(
    ("name", "order", "nonzeros", "sparsity"),
    [
        ("orani678", 2529, 90158, 0.014),
        ("psmigr1", 3140, 543162, 0.055),
        ("bcsstk28", 4410, 219024, 0.011),
    ],
)
def test_made_matrices_have_the_figures_of_the_collection(name, order, nonzeros, sparsity, sparse):
    report = sparse(1, "--like", name, "--vectors", "2", "--skew", "0.5")
    assert checks(report) == {"rows multiplied right": order, "nonzeros": nonzeros}
    assert round(figures(report)["sparsity"], 3) == sparsity
    assert figures(report)["matrix in extended form"] == 64 + order * 8 * (order + 1)


def test_skewed_rows_load_the_ranks_unevenly(sparse):
    # Two chunks of equal rows: sum of 1 / i over the first and the second half of 200.
    options = ["--order", "200", "--nonzeros", "1000", "--read-size", "160800"]
    even, skewed = sparse(2, *options), sparse(2, *options, "--skew", "1")
    assert even["tables"]["ranks"]["nonzeros"]["values"] == [500, 500]
    first, second = (sum(1 / i for i in part) for part in (range(1, 101), range(101, 201)))
    expected = 1000 * first / (first + second)
    assert skewed["tables"]["ranks"]["nonzeros"]["values"][0] == pytest.approx(expected, abs=1)


def test_formula_of_the_time_is_that_of_the_slowest_rank(sparse):
    report = sparse(2, "--work", "both", "--read-size", "8KiB,64KiB")
    ranks = {name: column["values"] for name, column in report["tables"]["ranks"].items()}
    slowest = max(
        ranks["seek"][i] + max(ranks["read"][i], ranks["compress"][i] + ranks["multiply"][i])
        for i in range(2)
    )
    assert figures(report)["estimate of the time"] == pytest.approx(slowest)
    phases = {name: column["values"] for name, column in report["tables"]["phases"].items()}
    for phase, longest, mean in zip(*phases.values(), strict=True):
        assert longest == max(ranks[phase])
        assert mean == pytest.approx(ranks[phase][1])  # the only worker
    passes = report["tables"]["passes"]
    assert passes["read size"]["values"] == [2 * 4808, 14 * 4808]
    totals = passes["static total"]["values"] + passes["dynamic total"]["values"]
    assert report["time_s"] == pytest.approx(sum(totals))


def test_matrix_of_any_form_gives_the_same_file(bench, program, tmp_path):
    mmwrite(tmp_path / "figure.mtx", coo_array(FIGURE_1))
    hb_write(tmp_path / "figure.rua", csc_matrix(FIGURE_1))
    for name in ("figure.mtx", "figure.rua"):
        data_set = f"{name}.sesame"
        outcome = bench("sparse", "--matrix", name, "--json", "-o", data_set)
        assert outcome.status == 0, outcome.stderr
        assert outcome.json["verified"] is True
        assert outcome.json["parameters"]["matrix"] == name
        assert checks(outcome.json) == {"rows multiplied right": 5, "nonzeros": 12}
        # As it was given, so that the run can be repeated.
        assert DataSet(tmp_path / data_set).info["result"]["options"] == ["--matrix", name]


@pytest.mark.few_cases(4)
@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--matrix", "nowhere"], "--matrix nowhere: cannot open: No such file or directory"),
        (["--matrix", "short"], "--matrix short: 3 bytes, too few for a matrix"),
        (["--matrix", "other"], "--matrix other: not a matrix in extended form"),
        (["--mode", "log"], "--interface mpi has one"),
        (["--mode", "fast"], "expected one of unix, log, sync, record, global, async"),
        (["--mode", "sync", "--work", "dynamic"], "--mode unix or async, not sync"),
        (["--interface", "paper"], "--interface paper: expected posix or mpi"),
        (["--like", "west0067"], "expected one of orani678, psmigr1, bcsstk28"),
        (["--nonzeros", "360001"], "a matrix of order 600 has from 0 to order * order"),
        (["--dir", "nowhere"], "--dir nowhere: cannot write there: No such file or directory"),
        (["--read-size", "much"], "--read-size"),
        (["--read-size", "2GiB"], "must be less than 2 GiB"),
    ],
)
def test_what_cannot_be_read_is_reported_once(options, message, program, mpiexec, tmp_path):
    (tmp_path / "short").write_bytes(b"abc")
    (tmp_path / "other").write_bytes(b"x" * 100)
    outcome = mpiexec(2, program("sparse"), *options)
    outcome.assert_refused(message)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["other", "short"]


@pytest.mark.parametrize("interface", ["posix", "mpi"])
@pytest.mark.parametrize(
    ("offset", "number", "said"),
    [
        (24, 13, "nonzeros                     12, expected 13: WRONG"),
        (64 + 48, 0, "rows multiplied right        3, expected 5: WRONG"),  # row 1 says 0
        (64 + 48, 5, "damaged: a row with the number 5 in a matrix of order 5"),
    ],
)
def test_damaged_matrix_is_no_success(offset, number, said, interface, program, mpiexec, tmp_path):
    path = tmp_path / "figure.extended"
    write_extended(csr_array(FIGURE_1), path)
    data = bytearray(path.read_bytes())
    data[offset : offset + 8] = number.to_bytes(8, "little")
    path.write_bytes(data)
    outcome = mpiexec(2, program("sparse"), "--matrix", path.name, "--interface", interface)
    assert outcome.status == 1
    assert said in outcome.stdout + outcome.stderr


def test_dynamic_work_needs_a_worker(program, mpiexec):
    outcome = mpiexec(1, program("sparse"), "--work", "dynamic")
    assert outcome.status == 2
    assert "needs at least 2 ranks" in outcome.stderr
