/* Solves a Poisson problem on an M x M grid with HYPRE: conjugate gradients, preconditioned by
 * algebraic multigrid. The exact solution is 1 everywhere. Usage: hypre [M] */
#include <HYPRE.h>
#include <HYPRE_krylov.h>
#include <HYPRE_parcsr_ls.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
int main(int argc, char** argv) {
  int rank, size, m = argc > 1 ? atoi(argv[1]) : 100;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  HYPRE_Init();
  HYPRE_BigInt n = m * m, first = n * rank / size, last = n * (rank + 1) / size - 1;
  HYPRE_IJMatrix A;
  HYPRE_IJVector b, x;
  HYPRE_IJMatrixCreate(MPI_COMM_WORLD, first, last, first, last, &A);
  HYPRE_IJMatrixSetObjectType(A, HYPRE_PARCSR);
  HYPRE_IJMatrixInitialize(A);
  HYPRE_IJVectorCreate(MPI_COMM_WORLD, first, last, &b);
  HYPRE_IJVectorSetObjectType(b, HYPRE_PARCSR);
  HYPRE_IJVectorInitialize(b);
  HYPRE_IJVectorCreate(MPI_COMM_WORLD, first, last, &x);
  HYPRE_IJVectorSetObjectType(x, HYPRE_PARCSR);
  HYPRE_IJVectorInitialize(x);
  for (HYPRE_BigInt row = first; row <= last; ++row) {
    HYPRE_BigInt columns[5];
    double values[5], sum = 0, zero = 0;
    HYPRE_Int count = 0;
    int i = row / m, j = row % m;
    if (i > 0) columns[count] = row - m, values[count++] = -1;
    if (j > 0) columns[count] = row - 1, values[count++] = -1;
    columns[count] = row, values[count++] = 4;
    if (j < m - 1) columns[count] = row + 1, values[count++] = -1;
    if (i < m - 1) columns[count] = row + m, values[count++] = -1;
    HYPRE_IJMatrixSetValues(A, 1, &count, &row, columns, values);
    for (int k = 0; k < count; ++k) sum += values[k];
    HYPRE_IJVectorSetValues(b, 1, &row, &sum);
    HYPRE_IJVectorSetValues(x, 1, &row, &zero);
  }
  HYPRE_IJMatrixAssemble(A), HYPRE_IJVectorAssemble(b), HYPRE_IJVectorAssemble(x);
  HYPRE_ParCSRMatrix matrix;
  HYPRE_ParVector right, solution;
  HYPRE_IJMatrixGetObject(A, (void**)&matrix);
  HYPRE_IJVectorGetObject(b, (void**)&right);
  HYPRE_IJVectorGetObject(x, (void**)&solution);
  HYPRE_Solver solver, amg;
  HYPRE_ParCSRPCGCreate(MPI_COMM_WORLD, &solver);
  HYPRE_PCGSetMaxIter(solver, 100);
  HYPRE_PCGSetTol(solver, 1e-8);
  HYPRE_PCGSetTwoNorm(solver, 1);
  HYPRE_BoomerAMGCreate(&amg);
  HYPRE_BoomerAMGSetTol(amg, 0);
  HYPRE_BoomerAMGSetMaxIter(amg, 1);
  HYPRE_BoomerAMGSetRelaxType(amg, 6);
  HYPRE_PCGSetPrecond(solver, (HYPRE_PtrToSolverFcn)HYPRE_BoomerAMGSolve,
                      (HYPRE_PtrToSolverFcn)HYPRE_BoomerAMGSetup, amg);
  double begin = MPI_Wtime();
  HYPRE_ParCSRPCGSetup(solver, matrix, right, solution);
  HYPRE_ParCSRPCGSolve(solver, matrix, right, solution);
  double seconds = MPI_Wtime() - begin;
  HYPRE_Int iterations;
  HYPRE_PCGGetNumIterations(solver, &iterations);
  double worst = 0, all = 0;
  for (HYPRE_BigInt row = first; row <= last; ++row) {
    double value;
    HYPRE_IJVectorGetValues(x, 1, &row, &value);
    if (value - 1 > worst) worst = value - 1;
    if (1 - value > worst) worst = 1 - value;
  }
  MPI_Reduce(&worst, &all, 1, MPI_DOUBLE, MPI_MAX, 0, MPI_COMM_WORLD);
  if (rank == 0)
    printf("error %s, iterations %d\nsolved in %.4f s\n", all < 1e-6 ? "small" : "large",
           (int)iterations, seconds);
  HYPRE_Finalize();
  MPI_Finalize();
}
