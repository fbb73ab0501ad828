"""Ranks that disagree in lengths, types, roots, operations or calls get an error that names it."""

from __future__ import annotations

import pytest

SOURCE = "tests/programs/model/disagree.c"

ERRORS = {
    "length": "rank 1: MPI_Recv: message longer than the receive buffer: the message of 16 bytes "
    "from rank 0, tag 7 is longer than the receive, which takes 8",
    "root": "the ranks name different roots: rank 0 root 0, rank 1 root 1",
    "operation": "the ranks pass different operations: rank 0 MPI_SUM, rank 1 MPI_MAX",
    "collective": "the ranks are in different collectives: rank 0 MPI_Bcast, rank 1 MPI_Barrier",
    "amount": "the ranks pass different amounts of data: rank 0 16 bytes, rank 1 8 bytes",
    "gather": "rank 1 sends 8 bytes, but this rank expects 16",
}


@pytest.mark.parametrize("way", ERRORS)
def test_an_error_ends_the_job(way, compiled, simulate):
    ours = simulate("-n", 3, "--machine", "infiniband", "--", compiled(SOURCE), way)
    assert ours.status == 1
    assert ERRORS[way] in ours.stderr


# Of those that MPICH finds.
@pytest.mark.parametrize("way", ["length", "amount"])
def test_mpich_finds_it_too(way, compiled, mpiexec):
    for _ in range(3):  # mpiexec may end before it has passed on what the last rank wrote
        real = mpiexec(3, compiled(SOURCE), way)
        if real.stdout + real.stderr:
            break
    assert real.status != 0
    assert "truncated" in real.stdout + real.stderr or "do not match" in real.stdout + real.stderr


def test_a_message_of_another_type_is_a_warning(compiled, simulate):
    ours = simulate("-n", 2, "--machine", "infiniband", "--", compiled(SOURCE), "type")
    assert ours.status == 0
    assert (
        "sesame: warning: rank 1 receives 4-byte integers in MPI_Recv, but 8-byte floating-point "
        "numbers were sent (by rank 0, tag 7)" in ours.stderr
    )
