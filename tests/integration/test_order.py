"""Results do not depend on the order in which the simulator runs ranks (decision 0015)."""

from __future__ import annotations

import re

import pytest
from tests.integration.orders import assert_same_in_any_order, differences

COMPUTE = ("--compute", "none", "--placement", "cyclic")


@pytest.mark.few_cases(1)
@pytest.mark.parametrize("seed", range(1, 7))
def test_random_programs_give_the_same_data_in_any_order(seed, compiled, simulate, tmp_path):
    program = compiled("tests/programs/model/schedule.c")
    machine = ("--machine", ("infiniband", "ethernet", "sp2")[seed % 3], "-n", 2 + seed)
    command = (*machine, "--", program, seed, 40, *(["shared"] if seed % 2 else []))
    assert_same_in_any_order(simulate, tmp_path, 2, *COMPUTE, *command)


@pytest.mark.long
@pytest.mark.parametrize("seed", range(7, 107))
def test_a_hundred_random_programs(seed, compiled, simulate, tmp_path):
    test_random_programs_give_the_same_data_in_any_order(seed, compiled, simulate, tmp_path)


# Each is divided or ordered in another way; the others are compared with the first.
ORDERS = ((), ("--shuffle", 1), ("--workers", 2), ("--workers", 3, "--shuffle", 2))


@pytest.mark.parametrize("seed", [1, 2])
def test_collectives_of_many_ranks_give_the_same_data_in_any_order(
    seed, compiled, simulate, tmp_path
):
    """So many that they begin in the order of ranks (Transfer::begin_together())."""
    program = compiled("tests/programs/model/together.c")
    machine = ("--machine", "lumi-c", "--set", "network.sharing=none", "-n", 520)
    first, *others = (tmp_path / f"{number}.sesame" for number in range(len(ORDERS)))
    for run, order in zip((first, *others), ORDERS, strict=True):
        done = simulate("-o", run, "--compute", "none", *machine, *order, "--", program, seed)
        assert done.status == 0, done.stderr[:2000]
    found = {run.stem: differences(first, run) for run in others}
    assert not any(found.values()), found


def seconds(done) -> list[float]:
    assert done.status == 0, done.stdout + done.stderr
    return [float(text) for text in re.findall(r"(\d+\.\d{12}) s", done.stdout)]


@pytest.mark.parametrize("ranks", [3, 8])
def test_a_renumbered_program_takes_the_same_time(ranks, compiled, simulate):
    """Large sends in flight while the sender computes and sends more, in either direction."""
    program = compiled("tests/programs/model/mirror.c")
    machine = (*COMPUTE, "--machine", "infiniband", "-n", ranks)
    up, down = (seconds(simulate(*machine, "--", program, way)) for way in ("up", "down"))
    assert len(up) == ranks
    assert up == down[::-1]
    # (3): the data does not wait for what its sender sends 10 ms later.
    assert all(0 <= time < 1e-3 for time in up)


OPERATIONS = ["isend", "put", "iwrite", "iallreduce", "ibcast", "ialltoall"]


@pytest.mark.few_cases(4)
@pytest.mark.parametrize("operation", OPERATIONS)
def test_a_non_blocking_operation_behind_work_costs_its_overheads(operation, compiled, simulate):
    """Whatever is sent meanwhile; nothing is shared."""
    program = compiled("tests/programs/model/overlap.c")
    machine = (*COMPUTE, "--machine", "infiniband", "-n", 4)
    for sends in (0, 1, 5):
        (wait,) = seconds(simulate(*machine, "--", program, operation, sends))
        assert wait < 5e-6, f"{sends} messages meanwhile"
