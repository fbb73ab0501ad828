"""Calls that the simulated MPI does not have end the run with a message."""

from __future__ import annotations

import pytest

QUIET = ("-n", 2, "--machine", "infiniband", "--compute", "none", "--")


@pytest.mark.parametrize("mpi", ["debian", "openmpi"])
def test_a_join_over_a_socket_is_refused(mpi, compiled, simulate):
    program = compiled("tests/programs/model/sockets.c", mpi)
    ours = simulate(*QUIET, program, "read", "join")
    assert ours.status == 1
    assert "called MPI_Comm_join, which the simulated MPI does not have" in ours.stderr


def test_partitioned_communication_is_refused(compiled, simulate):
    ours = simulate(*QUIET, compiled("tests/programs/answers/partitioned.c"))
    assert ours.status == 1
    assert "rank 0 called MPI_Psend_init, which the simulated MPI does not have" in ours.stderr
