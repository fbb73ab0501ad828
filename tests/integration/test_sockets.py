"""Ranks of one process that wait for each other in calls of the operating system."""

from __future__ import annotations

import pytest

SOURCE = "tests/programs/model/sockets.c"
QUIET = ("-n", 2, "--machine", "infiniband", "--compute", "none", "--")


@pytest.mark.parametrize("order", [(), ("--shuffle", 1)], ids=["in order", "shuffled"])
@pytest.mark.parametrize("way", ["read", "recv", "recvmsg", "poll"])
def test_a_rank_waits_for_a_connection_and_data_of_another(way, order, compiled, simulate):
    ours = simulate(*order, *QUIET, compiled(SOURCE), way)
    assert ours.status == 0, ours.stderr
    size, _, connection, data = ours.stdout.split()
    assert size == "8"
    assert 1e-3 <= float(connection) < 1.05e-3
    assert 0.95e-3 <= float(data) < 1.05e-3
