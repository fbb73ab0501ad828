"""Programs of Debian packages, unmodified, give the same answers as under mpiexec."""

from __future__ import annotations

import re
import shutil
from pathlib import Path

import pytest
from tests.command_line import run
from tests.integration.installations import IN_PLACE

SCALAPACK = Path("/usr/lib/x86_64-linux-gnu/scalapack/mpich-tests")

# A nebula round a star of 20,000 K, after the H II region HII20 of the Lexington benchmarks, with a
# coarse grid.
MOCASSIN_INPUT = """\
autoPackets 0.20 2. 100000
TStellar 20000.
output
symmetricXYZ
Hdensity 100.
TeStart 6000.
contShape blackbody
nebComposition "input/abundances.in"
maxIterateMC 2 100.
nPhotons 200000
nx 5
ny 5
nz 5
nbins 600
LPhot 1.006e13
nuMax 15.
nuMin 1.001e-5
Rin 30.e17
Rout 0.95E+19
edges 0.95E+19 0.95E+19 0.95E+19
convLimit 0.09
nstages 6
"""
ABUNDANCES = {1: "1.", 2: "0.1", 6: "2.2e-4", 7: "4.e-5", 8: "3.3e-4", 10: "5.e-5", 16: "9.e-6"}


def prepare_nebula(directory: Path) -> None:
    (directory / "input").mkdir(parents=True)
    (directory / "output").mkdir()
    (directory / "input/input.in").write_text(MOCASSIN_INPUT)
    elements = "".join(f"{ABUNDANCES.get(z, '0.')}\n" for z in range(1, 31))
    (directory / "input/abundances.in").write_text(elements)


def hydrogen_temperature(directory: Path) -> float:
    for line in (directory / "output/temperature.out").read_text().splitlines():
        fields = line.split()
        if fields[:2] == ["1", "1"]:
            return float(fields[2])
    raise AssertionError("no temperature in mocassin's output")


@pytest.mark.long
def test_mocassin_finds_the_same_nebula(debian_program, simulate, tmp_path):
    program = debian_program("mocassin", "mocassin")
    real, ours = tmp_path / "real", tmp_path / "ours"
    prepare_nebula(real)
    prepare_nebula(ours)
    done = run(["mpiexec.mpich", "-n", "2", program], real)
    assert done.status == 0, done.stderr
    outcome = simulate("-n", 2, "--machine", "infiniband", *IN_PLACE, "--", program, cwd=ours)
    assert outcome.status == 0, outcome.stderr
    assert "clean exit" in outcome.stdout
    # It seeds its random numbers from the clock: with so many photons runs differ by half a per
    # cent (standard deviation).
    assert hydrogen_temperature(ours) == pytest.approx(hydrogen_temperature(real), rel=0.04)
    for name in ("grid3.out", "photoSource.out"):
        same = "output/" + name
        assert (ours / same).read_bytes() == (real / same).read_bytes()


@pytest.mark.few_cases(1)
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
