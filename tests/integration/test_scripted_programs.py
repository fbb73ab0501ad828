"""Programs of Debian packages that a script starts, with ranks as processes: simulated and traced,
they give the answer of a real run, to the last digit that they print."""

from __future__ import annotations

import gzip
import os
import re
from collections.abc import Callable
from pathlib import Path

import pyarrow.parquet as pq
import pytest
from tests.command_line import SESAME, Outcome, run
from tests.integration.installations import IN_PLACE, MPIS, OPEN_MPI

pytestmark = pytest.mark.long

SILICON_ATOM = Path("/usr/share/doc/quantum-espresso/examples/EPW/sic/pp/Si.pz-vbc.UPF.gz")
SILICON = """
&control
 calculation='scf', prefix='si', pseudo_dir='.', outdir='./tmp', disk_io='none'
/
&system
 ibrav=2, celldm(1)=10.2, nat=2, ntyp=1, ecutwfc=12.0
/
&electrons
 conv_thr=1.0d-8
/
ATOMIC_SPECIES
 Si 28.086 Si.UPF
ATOMIC_POSITIONS crystal
 Si 0.00 0.00 0.00
 Si 0.25 0.25 0.25
K_POINTS automatic
 4 4 4 1 1 1
"""

# Of water, and of a hydrogen molecule for many ranks.
NWCHEM_INPUT = """
start molecule
geometry units angstroms noautosym
{atoms}
end
basis
 * library {basis}
end
scf
 direct
end
task scf
"""
WATER = NWCHEM_INPUT.format(
    atoms=" O 0.0 0.0 0.1173\n H 0.0 0.7572 -0.4692\n H 0.0 -0.7572 -0.4692", basis="6-31g*"
)
HYDROGEN = NWCHEM_INPUT.format(atoms=" H 0.0 0.0 0.0\n H 0.0 0.0 0.74", basis="sto-3g")

ENERGY = re.compile(r"^(?:!| +Total SCF) +(?:total )?energy += +(-[\d.]+)", re.MULTILINE)
NWCHEMS = pytest.mark.parametrize(("mpi", "package"), [("openmpi", "openmpi"), ("debian", "mpich")])

Started = Callable[..., Outcome]


@pytest.fixture
def started(simulate: Started) -> Started:
    """started(ranks, *arguments): a simulated run of run.sh."""

    def execute(ranks: int, *arguments: str) -> Outcome:
        options = ("-n", ranks, "--machine", "infiniband", *IN_PLACE)
        done = simulate(*options, "--", "./run.sh", *arguments)
        assert done.status == 0, done.stdout[-2000:] + done.stderr
        assert "each rank is a process (it is a script)" in done.stderr
        return done

    return execute


def write_script(directory: Path, command: str) -> Path:
    script = directory / "run.sh"
    text = f'#!/bin/sh\ncd {directory} || exit 1\nexport OMP_NUM_THREADS=1\n{command} "$@"\n'
    script.write_text(text)
    script.chmod(0o755)
    return script


def write_nwchem(directory: Path, program: str, molecule: str) -> Path:
    (directory / "molecule.nw").write_text(molecule)
    # With windows of MPI_Win_allocate, real runs under Debian's MPICH on one node do not converge.
    setting = "export ARMCI_USE_WIN_ALLOCATE=0\n" if program.endswith("mpich") else ""
    return write_script(directory, f"{setting}exec {program} molecule.nw")


def energy(done: Outcome) -> str:
    """The energy as the program has printed it."""
    found = ENERGY.findall(done.stdout)
    assert len(found) == 1, done.stdout[-2000:] + done.stderr
    return str(found[0])


def traced_energy(directory: Path, mpi: str) -> str:
    """The energy of a traced run on 2 ranks; checks that both were traced."""
    launcher = (MPIS[mpi].mpiexec, "-n", "2", "./run.sh")
    command = [*SESAME, "trace", "-o", "traced.sesame", "--", *launcher]
    done = run(command, directory, env={**os.environ, **OPEN_MPI})
    assert done.status == 0, done.stdout[-2000:] + done.stderr
    processes = pq.read_table(directory / "traced.sesame/process.parquet").to_pylist()
    ranks = {one["mpi_rank"]: one["records"] for one in processes if one["mpi_rank"] >= 0}
    assert sorted(ranks) == [0, 1]
    assert min(ranks.values()) > 1000
    return energy(done)


def test_quantum_espresso_finds_the_same_energy(
    debian_program: Callable[[str, str], str], started: Started, mpiexec: Started, tmp_path: Path
) -> None:
    program = debian_program("quantum-espresso", "pw.x")
    if not SILICON_ATOM.exists():
        pytest.skip(f"{SILICON_ATOM} is missing: apt-get install quantum-espresso-data")
    (tmp_path / "Si.UPF").write_bytes(gzip.decompress(SILICON_ATOM.read_bytes()))
    (tmp_path / "si.in").write_text(SILICON)
    script = write_script(tmp_path, f"exec {program} -ndiag 1 -in si.in")
    theirs = energy(mpiexec(2, script, mpi="openmpi"))
    assert energy(started(4)) == theirs
    # Without pools 64 ranks are too many for so few waves, also in a real run.
    assert energy(started(64, "-npool", "8")) == theirs
    assert traced_energy(tmp_path, "openmpi") == theirs


@NWCHEMS
def test_nwchem_finds_the_same_energy(
    debian_program: Callable[[str, str], str],
    started: Started,
    mpiexec: Started,
    tmp_path: Path,
    mpi: str,
    package: str,
) -> None:
    script = write_nwchem(tmp_path, debian_program(f"nwchem-{package}", f"nwchem.{package}"), WATER)
    theirs = energy(mpiexec(2, script, mpi=mpi))
    assert energy(started(4)) == theirs
    assert traced_energy(tmp_path, mpi) == theirs


@NWCHEMS
def test_nwchem_finds_the_same_energy_at_64_ranks(
    debian_program: Callable[[str, str], str],
    started: Started,
    mpiexec: Started,
    tmp_path: Path,
    mpi: str,
    package: str,
) -> None:
    program = debian_program(f"nwchem-{package}", f"nwchem.{package}")
    script = write_nwchem(tmp_path, program, HYDROGEN)
    theirs = energy(mpiexec(2, script, mpi=mpi))
    assert energy(started(64)) == theirs
