"""Programs that use MPI-IO find in their files under the simulator what they find under mpiexec."""

from __future__ import annotations

import pytest

PROGRAMS = [f"tests/programs/files/{name}" for name in ("data.c", "views.c", "whole.c")]
FORTRAN = [f"tests/programs/files/{name}" for name in ("mpif.f90", "module.f90", "f08.f90")]
CASES = [(source, mpi) for source in PROGRAMS for mpi in ("debian", "wheel-abi")]
CASES += [(source, "debian") for source in FORTRAN]


def said(text: str) -> list[str]:
    return sorted(line for line in text.splitlines() if line.startswith("rank "))


@pytest.mark.parametrize(("source", "mpi"), CASES, ids=[f"{case[0]}-{case[1]}" for case in CASES])
def test_a_program_on_files_says_the_same_as_under_mpiexec(
    source, mpi, compiled, mpiexec, simulate, tmp_path
):
    program = compiled(source, mpi)
    for ranks in (1, 4):
        real = mpiexec(ranks, program, str(tmp_path / "real"), mpi=mpi)
        ours = simulate("-n", ranks, "--machine", "infiniband", "--", program, tmp_path / "ours")
        assert real.status == 0, real.stdout + real.stderr
        assert ours.status == 0, ours.stdout + ours.stderr
        assert said(ours.stdout) == said(real.stdout) != []
