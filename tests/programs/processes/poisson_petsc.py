"""Solves Poisson's equation on a square with PETSc, and prints how."""

from petsc4py import PETSc

N = 24
matrix = PETSc.Mat().createAIJ([N * N, N * N], nnz=5, comm=PETSc.COMM_WORLD)
first, last = matrix.getOwnershipRange()
for row in range(first, last):
    i, j = divmod(row, N)
    matrix[row, row] = 4.0
    for near, inside in (
        (row - N, i > 0),
        (row + N, i < N - 1),
        (row - 1, j > 0),
        (row + 1, j < N - 1),
    ):
        if inside:
            matrix[row, near] = -1.0
matrix.assemble()
solution, source = matrix.createVecs()
source.set(1.0 / (N + 1) ** 2)
solver = PETSc.KSP().create(PETSc.COMM_WORLD)
solver.setOperators(matrix)
solver.setType("cg")
solver.getPC().setType("jacobi")
solver.setTolerances(rtol=1e-8)
solver.solve(source, solution)
largest = solution.max()[1]
PETSc.Sys.Print(
    f"{PETSc.COMM_WORLD.getSize()} ranks: {solver.getIterationNumber()} iterations, "
    f"largest {largest:.6f}, norm {solution.norm():.6f}"
)
