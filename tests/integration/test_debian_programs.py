"""Programs of Debian packages, unmodified, give the same answers as under mpiexec."""

from __future__ import annotations

import re
import shutil
from pathlib import Path

import pytest

SCALAPACK = Path("/usr/lib/x86_64-linux-gnu/scalapack/mpich-tests")

# A small H II region round a 20,000 K star: 9^3 cells, two iterations, few photons.
MOCASSIN_INPUT = """\
contShape 'blackbody'
nebComposition 'input/abundances.in'
maxIterateMC 2 95.
nPhotons 2000
nx 5
ny 5
nz 5
LStar 600.
TStellar 20000.
Rin 3.e18
Rout 8.7e18
Hdensity 100.
symmetricXYZ
"""


@pytest.mark.parametrize("name", ["xdllt", "xcqr"])
def test_scalapack_factorises_under_the_simulator(name, debian_program, simulate, tmp_path):
    debian_program("scalapack-mpi-test", str(SCALAPACK / name))
    for data in SCALAPACK.glob("*.dat"):
        shutil.copy(data, tmp_path)
    outcome = simulate(
        "-n", 4, "--machine", "infiniband", "--compute", "none", "--", SCALAPACK / name
    )
    assert outcome.status == 0, outcome.stderr[-2000:]
    passed = re.search(r"(\d+) tests completed and passed", outcome.stdout)
    assert passed is not None and int(passed[1]) > 300
    assert re.search(r"\b0 tests completed and failed", outcome.stdout)
