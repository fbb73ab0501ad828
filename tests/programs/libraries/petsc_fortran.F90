! Solves a Poisson problem on a grid of 100 x 100 with PETSc's Fortran interface; the exact solution is 1
! everywhere.
program poisson
#include <petsc/finclude/petscksp.h>
  use petscksp
  implicit none
  PetscInt, parameter :: m = 100
  PetscInt :: first, last, row, i, j, iterations
  PetscInt :: one = 1, at(1), to(1)
  PetscErrorCode :: ierr
  PetscMPIInt :: rank
  PetscReal :: error
  PetscScalar :: value(1)
  Vec :: x, b, u
  Mat :: matrix
  KSP :: solver
  call PetscInitialize(ierr)
  call MPI_Comm_rank(PETSC_COMM_WORLD, rank, ierr)
  call MatCreate(PETSC_COMM_WORLD, matrix, ierr)
  call MatSetSizes(matrix, PETSC_DECIDE, PETSC_DECIDE, m * m, m * m, ierr)
  call MatSetFromOptions(matrix, ierr)
  call MatSetUp(matrix, ierr)
  call MatGetOwnershipRange(matrix, first, last, ierr)
  do row = first, last - 1
    i = row / m
    j = mod(row, m)
    if (i > 0) call set(row, row - m, -1.0d0)
    if (i < m - 1) call set(row, row + m, -1.0d0)
    if (j > 0) call set(row, row - 1, -1.0d0)
    if (j < m - 1) call set(row, row + 1, -1.0d0)
    call set(row, row, 4.0d0)
  end do
  call MatAssemblyBegin(matrix, MAT_FINAL_ASSEMBLY, ierr)
  call MatAssemblyEnd(matrix, MAT_FINAL_ASSEMBLY, ierr)
  call MatCreateVecs(matrix, u, b, ierr)
  call VecDuplicate(u, x, ierr)
  call VecSet(u, 1.0d0, ierr)
  call MatMult(matrix, u, b, ierr)
  call KSPCreate(PETSC_COMM_WORLD, solver, ierr)
  call KSPSetOperators(solver, matrix, matrix, ierr)
  call KSPSetTolerances(solver, 1.0d-8, PETSC_DEFAULT_REAL, PETSC_DEFAULT_REAL, PETSC_DEFAULT_INTEGER, ierr)
  call KSPSetFromOptions(solver, ierr)
  call KSPSolve(solver, b, x, ierr)
  call KSPGetIterationNumber(solver, iterations, ierr)
  call VecAXPY(x, -1.0d0, u, ierr)
  call VecNorm(x, NORM_INFINITY, error, ierr)
  if (rank == 0) print '(a, i0, a, a)', 'iterations ', iterations, ', error ', &
    merge('small', 'LARGE', error < 1.0d-4)
  call KSPDestroy(solver, ierr)
  call PetscFinalize(ierr)
contains
  subroutine set(from, into, number)
    PetscInt, intent(in) :: from, into
    PetscReal, intent(in) :: number
    at(1) = from
    to(1) = into
    value(1) = number
    call MatSetValues(matrix, one, at, one, to, value, INSERT_VALUES, ierr)
  end subroutine
end program
