"""Programs of Debian packages that are built with Open MPI, unmodified: the same answers at any
number of ranks, under the simulator as under mpiexec.openmpi."""

from __future__ import annotations

import os
import re
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.command_line import Outcome, run
from tests.integration.installations import IN_PLACE, ROOT

LIBRARIES = ROOT / "tests/programs/libraries"
EXAMPLES = Path("/usr/share/doc")
MELT = ROOT / "tests/programs/processes/in.melt"
MELT_SIZE = ("-var", "size", "12", "-var", "every", "20", "-var", "steps", "60")
RANKS = pytest.mark.parametrize("ranks", [4, pytest.param(64, marks=pytest.mark.long)])

WATER = """
start water
geometry units angstroms noautosym
 O 0.0 0.0 0.1173
 H 0.0 0.7572 -0.4692
 H 0.0 -0.7572 -0.4692
end
basis
 * library 6-31g*
end
scf
 direct
end
task scf
"""

MOLECULAR_DYNAMICS = """
integrator = md
dt = 0.001
nsteps = 20
nstenergy = 10
nstlog = 10
nstcalcenergy = 10
coulombtype = PME
rcoulomb = 0.9
rvdw = 0.9
gen_vel = yes
gen_seed = 7
verlet-buffer-tolerance = -1
rlist = 1.0
"""

TOPOLOGY = """
#include "oplsaa.ff/forcefield.itp"
#include "oplsaa.ff/spce.itp"
[ system ]
water
[ molecules ]
"""

HYDROGEN_ATOM = """
 &input
  title='H', zed=1.0, rel=0, config='1s1', iswitch=3, dft='PZ'
 /
 &inputp
  pseudotype=1, tm=.true., lloc=0, file_pseudopw='H.UPF', author='test'
 /
1
1S 1 0 1.00 0.00 1.10 1.10
"""

HYDROGEN = """
&control
 calculation='scf', prefix='h', pseudo_dir='.', outdir='./tmp', disk_io='none'
/
&system
 ibrav=1, celldm(1)=9.0, nat=2, ntyp=1, ecutwfc=20.0
/
&electrons
 conv_thr=1.0d-8
/
ATOMIC_SPECIES
 H 1.0 H.UPF
ATOMIC_POSITIONS crystal
 H 0.00 0.00 0.00
 H 0.15 0.00 0.00
K_POINTS gamma
"""


@pytest.fixture
def really(debian_program, tmp_path) -> Callable[..., Outcome]:
    """really(program, *arguments): a real run of two ranks."""
    mpiexec = debian_program("openmpi-bin", "mpiexec.openmpi")

    def execute(program: str | Path, *arguments: object) -> Outcome:
        options = ["--allow-run-as-root", "--oversubscribe", "--bind-to", "none", "-n", "2"]
        done = run([mpiexec, *options, str(program), *map(str, arguments)], tmp_path)
        assert done.status == 0, done.stdout + done.stderr
        return done

    return execute


@pytest.fixture
def simulated(simulate, monkeypatch) -> Callable[..., Outcome]:
    """simulated(ranks, program, *arguments): a run whose files stay in the working directory."""
    monkeypatch.setenv("OMP_NUM_THREADS", "1")
    monkeypatch.setenv("OPENBLAS_NUM_THREADS", "1")

    def execute(ranks: int, program: str | Path, *arguments: object) -> Outcome:
        options = ("-n", ranks, "--machine", "infiniband", *IN_PLACE, "--")
        done = simulate(*options, program, *arguments)
        assert done.status == 0, done.stdout + done.stderr
        return done

    return execute


def prepare(command: list[str], directory: Path, stdin: str = "") -> None:
    done = run(command, directory, stdin=stdin)
    assert done.status == 0, done.stdout + done.stderr


def predicted_seconds(done: Outcome) -> float:
    found = re.search(r"predicted time ([\d.,]+) (s|ms|us) ", done.stderr)
    assert found, done.stderr
    return float(found[1].replace(",", "")) * {"s": 1, "ms": 1e-3, "us": 1e-6}[found[2]]


def compiled_with(library: str, source: str, directory: Path, *flags: str) -> Path:
    program = directory / source
    command = ["mpicc.openmpi", "-O2", LIBRARIES / f"{source}.c", "-o", program, *flags]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if "No such file" in done.stderr or "cannot find -l" in done.stderr:
        pytest.skip(f"{source} is not installed: apt-get install {library}")
    assert done.returncode == 0, done.stderr
    return program


@pytest.mark.long
@RANKS
def test_hpc_challenge_passes_its_checks(ranks, debian_program, simulated, tmp_path):
    hpcc = debian_program("hpcc", "hpcc")
    rows, size, block = (8, 512, 16) if ranks == 64 else (2, 400, 40)
    text = (EXAMPLES / "hpcc/examples/_hpccinf.txt").read_text()
    for name, value in {"Ns": size, "NBs": block, "Ps": rows, "Qs": rows}.items():
        text = re.sub(rf"^\d+( +{name})$", rf"{value}\1", text, flags=re.MULTILINE)
    (tmp_path / "hpccinf.txt").write_text(text)
    done = simulated(ranks, hpcc)
    summary = (tmp_path / "hpccoutf.txt").read_text()
    assert "Success=1" in summary
    assert f"CommWorldProcs={ranks}" in summary
    assert "PASSED" in summary
    assert "FAILED" not in summary
    assert predicted_seconds(done) < 120


@pytest.mark.long
@RANKS
def test_lammps_melts_the_same_crystal(ranks, debian_program, really, simulated, tmp_path):
    lammps = debian_program("lammps", "lmp")
    command = (lammps, "-in", MELT, *MELT_SIZE, "-log", "none")

    def states(text: str) -> list[list[float]]:
        found = re.findall(r"^ +\d+(?: +[-\d.]+){5} *$", text, re.MULTILINE)
        return [[float(number) for number in line.split()] for line in found]

    ours, theirs = (states(done.stdout) for done in (simulated(ranks, *command), really(*command)))
    assert len(theirs) == 4
    for one, other in zip(ours, theirs, strict=True):
        assert one == pytest.approx(other, rel=1e-6)


@RANKS
def test_hypre_solves_as_exactly(ranks, debian_program, really, simulated, tmp_path):
    debian_program("libopenmpi-dev", "mpicc.openmpi")
    flags = ("-I/usr/include/hypre", "-lHYPRE")
    program = compiled_with("libhypre-dev", "hypre", tmp_path, *flags)
    ours, theirs = (done.stdout for done in (simulated(ranks, program), really(program)))
    assert "error small" in theirs
    assert "error small" in ours
    assert abs(iterations(ours) - iterations(theirs)) <= 2  # coarse grids depend on the ranks


def iterations(text: str) -> int:
    found = re.search(r"iterations (\d+)", text)
    assert found, text
    return int(found[1])


def test_hdf5_leaves_the_same_file(debian_program, really, simulated, tmp_path):
    compiler = debian_program("libhdf5-openmpi-dev", "h5pcc.openmpi")
    program = tmp_path / "parallel"
    source = ROOT / "tests/programs/hdf5/parallel.c"
    prepare([compiler, "-O2", str(source), "-o", str(program)], tmp_path)
    theirs = really(program, "theirs.h5")
    ours = simulated(2, program, "ours.h5")
    assert sorted(filter(None, ours.stdout.splitlines())) == sorted(theirs.stdout.splitlines())
    assert (tmp_path / "ours.h5").read_bytes() == (tmp_path / "theirs.h5").read_bytes()


NETCDF = "/usr/lib/x86_64-linux-gnu/netcdf/mpi/include"


@pytest.mark.long
@RANKS
def test_netcdf_leaves_the_same_file(ranks, debian_program, really, simulated, tmp_path):
    debian_program("libopenmpi-dev", "mpicc.openmpi")
    program = compiled_with("libnetcdf-mpi-dev", "netcdf", tmp_path, f"-I{NETCDF}", "-lnetcdf_mpi")
    ours = simulated(ranks, program, "ours.nc")
    rows, columns = 4 * ranks, 50
    total = 1000 * columns * rows * (rows - 1) // 2 + rows * columns * (columns - 1) // 2
    assert ours.stdout.splitlines()[0] == f"sum of {rows} rows: {total}"
    really(program, "theirs.nc")
    simulated(2, program, "ours.nc")
    assert (tmp_path / "ours.nc").read_bytes() == (tmp_path / "theirs.nc").read_bytes()


SCALAPACK = Path("/usr/lib/x86_64-linux-gnu/scalapack/openmpi-tests")
CHOLESKY = {"2 3 4 5": "8 16 20 5", "4 10 17 13 23 31 57": "64 100 133 200"}


@pytest.mark.long
@RANKS
def test_scalapack_passes_its_tests(ranks, debian_program, simulated, tmp_path):
    program = debian_program("scalapack-mpi-test", str(SCALAPACK / "xdllt"))
    text = (SCALAPACK / "LLT.dat").read_text()
    for old, new in CHOLESKY.items():
        assert old in text
        text = text.replace(old, new)
    if ranks == 64:
        grids = {
            r"^4(\s+number of process)": r"1\1",
            r"^1 2 1 4": "8 2 1 4",
            r"^1 2 4 1": "8 2 4 1",
        }
        for pattern, new in grids.items():
            text = re.sub(pattern, new, text, flags=re.MULTILINE)
    (tmp_path / "LLT.dat").write_text(text)
    done = simulated(ranks, program)
    tests = 108 if ranks == 64 else 432
    assert f"{tests} tests completed and passed residual checks" in done.stdout
    assert re.search(r" 0 tests completed and failed residual checks", done.stdout)


@pytest.mark.long
@pytest.mark.parametrize("ranks", [4, 64])
def test_petsc_solves_as_exactly_from_fortran(ranks, debian_program, really, simulated, tmp_path):
    compiler = debian_program("libopenmpi-dev", "mpifort.openmpi")
    root = Path(os.environ.get("PETSC_DIR", "/usr/lib/petsc"))
    if not (root / "include/petscksp.mod").exists():
        pytest.skip("PETSc is not installed: apt-get install petsc-dev")
    program = tmp_path / "petsc"
    flags = [f"-I{root}/include", "-I/usr/include/petsc", f"-L{root}/lib", "-lpetsc_real"]
    source = str(LIBRARIES / "petsc_fortran.F90")
    prepare([compiler, "-O2", "-w", source, "-o", str(program), *flags], tmp_path)
    command = (program, "-ksp_type", "cg", "-pc_type", "jacobi")
    ours, theirs = (done.stdout for done in (simulated(ranks, *command), really(*command)))
    assert "error small" in theirs
    assert ours.splitlines()[0] == theirs.splitlines()[0]


@pytest.mark.long
@pytest.mark.parametrize("ranks", [4, 64])
def test_petsc_needs_as_many_iterations(ranks, debian_program, really, simulated, tmp_path):
    debian_program("libopenmpi-dev", "mpicc.openmpi")
    root = os.environ.get("PETSC_DIR", "/usr/lib/petsc")
    flags = (f"-I{root}/include", "-I/usr/include/petsc", f"-L{root}/lib", "-lpetsc_real")
    program = compiled_with("petsc-dev", "petsc", tmp_path, *flags)
    command = (program, "-m", 100, "-ksp_type", "cg", "-pc_type", "jacobi")
    ours, theirs = (done.stdout for done in (simulated(ranks, *command), really(*command)))
    assert "error small" in theirs
    assert ours.split("\n")[0] == theirs.split("\n")[0]


@pytest.mark.long
@pytest.mark.parametrize("ranks", [4, 64])
def test_nwchem_finds_the_same_energy(ranks, debian_program, really, simulated, tmp_path):
    program = debian_program("nwchem-openmpi", "nwchem.openmpi")
    (tmp_path / "water.nw").write_text(WATER)
    energy = re.compile(r"Total SCF energy = +([-\d.]+)")
    ours, theirs = (
        energy.findall(done.stdout)
        for done in (simulated(ranks, program, "water.nw"), really(program, "water.nw"))
    )
    assert len(theirs) == 1
    assert float(ours[0]) == pytest.approx(float(theirs[0]), abs=1e-8)


MDRUN = (
    "-s",
    "md.tpr",
    "-ntomp",
    1,
    "-dlb",
    "no",
    "-notunepme",
    "-reprod",
    "-pin",
    "off",
    "-nobackup",
)


@pytest.fixture
def energies(debian_program, tmp_path) -> Callable[..., list[list[float]]]:
    """energies(start, edge): what GROMACS writes of a cube of water, `edge` nm wide, at each of
    some steps; start(program, *arguments) runs it."""

    def execute(start: Callable[..., Outcome], edge: float) -> list[list[float]]:
        gmx = debian_program("gromacs", "gmx")
        (tmp_path / "topol.top").write_text(TOPOLOGY)
        (tmp_path / "md.mdp").write_text(MOLECULAR_DYNAMICS)
        solvate = ["solvate", "-cs", "spc216.gro", "-box", *([str(edge)] * 3)]
        prepare([gmx, *solvate, "-p", "topol.top", "-o", "c.gro"], tmp_path)
        grompp = ["-f", "md.mdp", "-c", "c.gro", "-p", "topol.top", "-o", "md.tpr"]
        prepare([gmx, "grompp", *grompp, "-maxwarn", "5"], tmp_path)
        start(debian_program("gromacs", "gmx_mpi"), "mdrun", *MDRUN)
        log = (tmp_path / "md.log").read_text()
        tables = re.findall(r"Energies \(kJ/mol\)\n((?:.*\n){4})", log)
        return [[float(number) for number in re.findall(r"-?\d\.\d+e[-+]\d+", t)] for t in tables]

    return execute


@pytest.mark.long
def test_gromacs_finds_the_same_energies(energies, simulated, really):
    theirs = energies(really, 3.72412)
    assert len(theirs) >= 3
    assert len(theirs[0]) >= 6
    assert energies(lambda *command: simulated(2, *command), 3.72412) == theirs


@pytest.mark.long
def test_gromacs_finds_the_energies_at_64_ranks(energies, simulated, really):
    """Its sums depend on how it divides the box."""
    theirs = energies(really, 5.58618)
    ours = energies(lambda *command: simulated(64, *command), 5.58618)
    assert len(theirs) >= 3
    for one, other in zip(ours, theirs, strict=True):
        assert one == pytest.approx(other, rel=2e-4)


@pytest.mark.long
@pytest.mark.parametrize("ranks", [4, 16])
def test_quantum_espresso_finds_the_same_energy(ranks, debian_program, simulated, really, tmp_path):
    program = debian_program("quantum-espresso", "pw.x")
    prepare([debian_program("quantum-espresso", "ld1.x")], tmp_path, stdin=HYDROGEN_ATOM)
    (tmp_path / "h.in").write_text(HYDROGEN)
    energy = re.compile(r"^! +total energy += +([-\d.]+)", re.MULTILINE)
    ours, theirs = (
        energy.findall(done.stdout)
        for done in (simulated(ranks, program, "-in", "h.in"), really(program, "-in", "h.in"))
    )
    assert len(theirs) == 1
    assert float(ours[0]) == pytest.approx(float(theirs[0]), abs=1e-6)


@pytest.mark.long
@pytest.mark.parametrize("ranks", [4, 64])
def test_cp2k_finds_the_same_trajectory(ranks, debian_program, simulated, really, tmp_path):
    program = debian_program("cp2k", "cp2k.psmp")
    example = subprocess.run(
        ["zcat", EXAMPLES / "cp2k/examples/argon.inp.gz"],
        capture_output=True,
        check=True,
        text=True,
    )
    (tmp_path / "argon.inp").write_text(example.stdout.replace("STEPS 100", "STEPS 10"))
    energy = re.compile(r"ENERGY\| Total FORCE_EVAL.*: +([-\d.]+)")
    ours, theirs = (
        [float(number) for number in energy.findall(done.stdout)]
        for done in (
            simulated(ranks, program, "-i", "argon.inp"),
            really(program, "-i", "argon.inp"),
        )
    )
    assert len(theirs) >= 10
    assert ours == pytest.approx(theirs, rel=1e-8)
