"""Workloads, examples and other programs give the same data set in any order (decision 0015)."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from tests.integration.installations import ROOT
from tests.integration.orders import assert_same_in_any_order
from tests.integration.small_runs import ORDER, arguments_of, small_runs

from sesame.workloads import all_workloads

# Computation has to take the same time in all runs.
COMMON = ("--compute", "none", "--placement", "cyclic")


@pytest.fixture
def in_any_order(
    program: Callable, compiled: Callable, simulate: Callable, tmp_path: Path
) -> Callable[[list[str]], None]:
    """in_any_order(run): two random orders give what the default one does."""

    def check(run: list[str]) -> None:
        command = arguments_of(run, COMMON, program, compiled)
        assert_same_in_any_order(simulate, tmp_path, 2, *command)

    return check


@pytest.mark.few_cases(3)
@pytest.mark.parametrize("run", small_runs(ORDER, "fast"))
def test_some_programs_give_the_same_data_in_any_order(run, in_any_order):
    in_any_order(run)


@pytest.mark.long
@pytest.mark.parametrize("run", small_runs(ORDER, "long"))
def test_all_programs_give_the_same_data_in_any_order(run, in_any_order):
    in_any_order(run)


@pytest.mark.parametrize("machine", ["paragon", "pfssim"])
def test_files_of_each_rank_lie_where_they_do_in_any_order(machine, compiled, simulate, tmp_path):
    """The position of a file and its attributes do not depend on which rank asked first."""
    program = compiled("tests/programs/model/own_files.c")
    options = ("--compute", "fixed:10us", "--placement", "cyclic")
    command = ["-n", 6, "--machine", machine, *options, "--", program, 10]
    assert_same_in_any_order(simulate, tmp_path, 3, *command, inputs=4)


def test_all_workloads_and_examples_have_a_run():
    examples = {f"examples/{path.name}" for path in ROOT.glob("examples/*.*")}
    sources = {name for name in examples if Path(name).suffix in (".c", ".cc", ".f90")}
    ipc = {"ipc"}  # it starts a process of its own and refuses the simulator
    wanted = (all_workloads().keys() - ipc) | sources
    runs = {run.values[0][0] for run in small_runs(ORDER, "fast", "long")}
    assert wanted - runs == set()
