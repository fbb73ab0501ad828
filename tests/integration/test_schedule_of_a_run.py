"""The program that a schedule of hosts follows, against the simulated run that it is made of."""

from __future__ import annotations

import pytest

from sesame.datasets import DataSet
from sesame.reproduction.schedule import Costs, program_of, schedule

RANKS = 6
RATIO = 100_000


@pytest.mark.parametrize("source", ["ring", "halo"])
def test_a_host_for_each_rank_takes_as_long_as_the_run(source, compiled, simulate, tmp_path):
    """On so slow processors messages take hardly any of the time."""
    program = compiled(f"bench/programs/{source}.c")
    words = ("-n", RANKS, "--machine", "infiniband", "--set", f"node.compute_ratio={RATIO}")
    done = simulate(*words, "-o", "run.sesame", "--json", "--", program, 5)
    assert done.status == 0, done.stderr
    found = program_of(DataSet(tmp_path / "run.sesame"), RATIO)

    sent = [step.message for steps in found.steps for step in steps if step.is_send]
    received = [step.message for steps in found.steps for step in steps[:-1] if not step.is_send]
    assert sorted(sent) == sorted(received) == list(range(len(found.senders)))
    assert all(steps[-1].message == -1 for steps in found.steps)

    together = schedule(found, RANKS, Costs(0.0))
    assert together.end_s == pytest.approx(done.json["predicted_time_s"], rel=0.01)
    assert schedule(found, 1, Costs(0.0)).end_s == pytest.approx(found.computed_s)
    assert sum(together.busy_s) == pytest.approx(found.computed_s)
