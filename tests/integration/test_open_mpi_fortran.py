"""Fortran programs built with Open MPI, in its three forms, as simulated ranks."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest
from tests.command_line import run
from tests.integration.installations import IN_PLACE, OPEN_MPI

SOURCES = Path(__file__).resolve().parents[1] / "programs/fortran"
SCALAPACK = Path("/usr/lib/x86_64-linux-gnu/scalapack/openmpi-tests")
MPIEXEC = "mpiexec.openmpi"
pytestmark = pytest.mark.skipif(
    shutil.which("mpifort.openmpi") is None,
    reason="Open MPI's Fortran compiler (libopenmpi-dev) is not here",
)
FORMS = {
    "mpif.h": ("interface.F90", "-DMPIF_H", "-fallow-argument-mismatch"),
    "use mpi": ("interface.F90",),
    "use mpi_f08": ("interface_f08.f90",),
}


def build(directory: Path, name: str, *arguments: str | Path) -> Path:
    command = ["mpifort.openmpi", "-w", *arguments, "-o", name]
    subprocess.run(command, check=True, cwd=directory)
    return directory / name


@pytest.fixture(scope="module")
def programs(tmp_path_factory) -> dict[str, Path]:
    """The program of each form."""
    built = {}
    for form, (source, *options) in FORMS.items():
        directory = tmp_path_factory.mktemp("form")
        parts: list[str | Path] = [SOURCES / source]
        if source == "interface.F90":
            compiler = ["mpicc.openmpi", "-c", SOURCES / "interface_c.c"]
            subprocess.run(compiler, check=True, cwd=directory)
            parts.append("interface_c.o")
        built[form] = build(directory, "interface", *options, *parts)
    return built


@pytest.mark.parametrize("ranks", [1, 2, 5])
@pytest.mark.parametrize("form", FORMS)
def test_each_form_of_fortran_passes_its_checks(form, ranks, programs, simulate, tmp_path):
    done = simulate("-n", ranks, "--machine", "infiniband", "--", programs[form], cwd=tmp_path)
    assert done.status == 0, done.stderr
    assert done.stdout.splitlines()[0] == "0 checks failed"


@pytest.mark.parametrize("form", FORMS)
def test_each_form_of_fortran_passes_the_same_checks_with_open_mpi(form, programs, tmp_path):
    done = run([MPIEXEC, "-n", "3", str(programs[form])], tmp_path, env=os.environ | OPEN_MPI)
    assert done.status == 0, done.stderr
    assert done.stdout.splitlines() == ["0 checks failed"]


# Only the library names MPI_IN_PLACE: it has the variable, and each rank a library of its own.
LIBRARY = """
subroutine total(sum)
  use mpi
  implicit none
  integer, intent(inout) :: sum
  integer :: ierr
  call mpi_allreduce(MPI_IN_PLACE, sum, 1, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD, ierr)
end subroutine
"""
USER = """
program user
  implicit none
  external :: mpi_init, mpi_comm_rank, mpi_finalize, total
  integer :: sum, ierr
  call mpi_init(ierr)
  call mpi_comm_rank(0, sum, ierr)
  call total(sum)
  print '(a,i0)', 'total ', sum
  call mpi_finalize(ierr)
end program
"""


def test_constants_may_be_in_a_shared_library_only(simulate, tmp_path):
    (tmp_path / "library.f90").write_text(LIBRARY)
    (tmp_path / "user.f90").write_text(USER)
    build(tmp_path, "libtotal.so", "-shared", "-fPIC", "library.f90")
    program = build(tmp_path, "user", "user.f90", "-L.", "-ltotal", f"-Wl,-rpath,{tmp_path}")
    done = simulate("-n", 4, "--machine", "infiniband", "--", program, cwd=tmp_path)
    assert done.status == 0, done.stderr
    assert done.stdout.splitlines()[:4] == ["total 6"] * 4


PROFILED = """
module counted
  integer :: barriers = 0
end module

subroutine mpi_barrier(comm, ierr)
  use counted
  integer :: comm, ierr
  barriers = barriers + 1
  call pmpi_barrier(comm, ierr)
end subroutine

program profiled
  use counted
  implicit none
  include 'mpif.h'
  integer :: rank, ierr
  call mpi_init(ierr)
  call mpi_comm_rank(MPI_COMM_WORLD, rank, ierr)
  call mpi_barrier(MPI_COMM_WORLD, ierr)
  call mpi_barrier(MPI_COMM_WORLD, ierr)
  if (rank == 0) print '(i0,a)', barriers, ' barriers'
  call mpi_finalize(ierr)
end program
"""


def test_programs_may_replace_functions_and_call_the_second_names(simulate, tmp_path):
    (tmp_path / "profiled.f90").write_text(PROFILED)
    program = build(tmp_path, "profiled", "profiled.f90")
    done = simulate("-n", 3, "--machine", "infiniband", "--", program, cwd=tmp_path)
    assert done.status == 0, done.stderr
    assert done.stdout.splitlines()[0] == "2 barriers"


REPRESENTATION = """
module functions
  use mpi
  implicit none
contains
  subroutine negate(user, datatype, count, file, position, extra, ierr)
    integer :: datatype, count, ierr, user(count), file(count)
    integer(MPI_OFFSET_KIND) :: position
    integer(MPI_ADDRESS_KIND) :: extra
    file = int(extra) * user
    ierr = merge(MPI_SUCCESS, MPI_ERR_OTHER, datatype == MPI_INTEGER .and. position >= 0)
  end subroutine
  subroutine extent(datatype, size, extra, ierr)
    integer :: datatype, ierr
    integer(MPI_ADDRESS_KIND) :: size, extra
    size = 4
    ierr = merge(MPI_SUCCESS, MPI_ERR_OTHER, datatype == MPI_INTEGER .and. extra == -1)
  end subroutine
end module

program representation
  use functions
  implicit none
  integer :: file, ierr, values(3)
  integer(MPI_ADDRESS_KIND) :: extra = -1
  integer(MPI_OFFSET_KIND) :: start = 0
  call mpi_init(ierr)
  call mpi_register_datarep('negative', MPI_CONVERSION_FN_NULL, negate, extent, extra, ierr)
  call mpi_file_open(MPI_COMM_SELF, 'numbers', MPI_MODE_CREATE + MPI_MODE_RDWR, MPI_INFO_NULL, &
                     file, ierr)
  call mpi_file_set_view(file, start, MPI_INTEGER, MPI_INTEGER, 'negative', MPI_INFO_NULL, ierr)
  call mpi_file_write(file, [1, 2, 3], 3, MPI_INTEGER, MPI_STATUS_IGNORE, ierr)
  call mpi_file_set_view(file, start, MPI_INTEGER, MPI_INTEGER, 'native', MPI_INFO_NULL, ierr)
  call mpi_file_read(file, values, 3, MPI_INTEGER, MPI_STATUS_IGNORE, ierr)
  print '(3i3)', values
  call mpi_file_close(file, ierr)
  call mpi_finalize(ierr)
end program
"""


def test_data_representations_are_fortran_functions(simulate, tmp_path):
    (tmp_path / "representation.f90").write_text(REPRESENTATION)
    program = build(tmp_path, "representation", "representation.f90")
    done = simulate("-n", 1, "--machine", "infiniband", "--", program, cwd=tmp_path)
    assert done.status == 0, done.stderr
    assert done.stdout.splitlines()[0].split() == ["-1", "-2", "-3"]


@pytest.mark.long
def test_the_tester_of_blacs_finds_no_error(debian_program, simulate, tmp_path):
    """Of the communication library below ScaLAPACK, in Fortran."""
    program = debian_program("scalapack-mpi-test", str(SCALAPACK / "xFbtest"))
    for data in (SCALAPACK / "BLACS").glob("*.dat"):
        shutil.copy(data, tmp_path)
    # Without broadcasts, which take most of the time, and without the last tests, at whose end
    # ranks loop without a call until one has aborted the job.
    choice = tmp_path / "bt.dat"
    choice.write_text(re.sub(r"'T'( +Run (?:BSBR|AUX))", r"'F'\1", choice.read_text()))
    options = ("-n", 4, "--machine", "infiniband", *IN_PLACE, "--compute", "none", "--")
    outcome = simulate(*options, program, cwd=tmp_path)
    counts = re.findall(
        r"TESTS: *(\d+) TESTS; *(\d+) PASSED, *\d+ SKIPPED, *(\d+) FAILED", outcome.stdout
    )
    # As many as under mpiexec: five types with sends, four with three reductions.
    assert len(counts) == 17, outcome.stdout[-2000:]
    assert sum(int(tests) for tests, _, _ in counts) == 5 * 75 + 12 * 1152
    assert all(int(passed) > 0 and int(failed) == 0 for _, passed, failed in counts)
    assert outcome.status == 0, outcome.stderr[-2000:]
