/* Stands for LAMMPS as Banerjee, MPIOR, 2012, describes it (3.1, and 3.2 after table 3.5): only
 * rank 0 does I/O. At intervals it receives the atoms of all others and prints them, a few bytes
 * with each fprintf. Between, each step computes and exchanges the atoms at the border with both
 * neighbours; at intervals all ranks sum up the energy. The thesis's prints go to stdout, these to
 * a file, because replays do no I/O on pipes.
 * Arguments: steps, thousands of arithmetic operations per step, atoms of each rank, directory. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

#include "arithmetic.h"

enum { ENERGY_EVERY = 10, SNAPSHOT_EVERY = 50, BORDER = 300 };

static void exchange(int rank, int ranks, const double* atoms, double* other) {
  const int up = (rank + 1) % ranks, down = (rank + ranks - 1) % ranks;
  MPI_Sendrecv(atoms, BORDER, MPI_DOUBLE, up, 0, other, BORDER, MPI_DOUBLE, down, 0, MPI_COMM_WORLD,
               MPI_STATUS_IGNORE);
  MPI_Sendrecv(atoms, BORDER, MPI_DOUBLE, down, 1, other, BORDER, MPI_DOUBLE, up, 1, MPI_COMM_WORLD,
               MPI_STATUS_IGNORE);
}

static void print_atoms(FILE* dump, long first, const double* atoms, long count) {
  for (long i = 0; i < count; ++i) {
    fprintf(dump, "%ld", first + i);
    for (int axis = 0; axis < 3; ++axis) fprintf(dump, " %g", atoms[3 * i + axis]);
    fprintf(dump, "\n");
  }
}

static void snapshot(int rank, int ranks, FILE* dump, long step, double* atoms, double* other,
                     long count) {
  if (rank != 0) {
    MPI_Send(atoms, 3 * count, MPI_DOUBLE, 0, 2, MPI_COMM_WORLD);
    return;
  }
  fprintf(dump, "step %ld\n", step);
  print_atoms(dump, 0, atoms, count);
  for (int from = 1; from < ranks; ++from) {
    MPI_Recv(other, 3 * count, MPI_DOUBLE, from, 2, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    print_atoms(dump, from * count, other, count);
  }
  fflush(dump);
}

int main(int argc, char** argv) {
  if (argc != 5) return 2;
  const long steps = atol(argv[1]), work = atol(argv[2]), count = atol(argv[3]);
  int rank, ranks;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  double* atoms = calloc(3 * count + BORDER, sizeof *atoms);
  double* other = calloc(3 * count + BORDER, sizeof *other);
  char path[4096];
  snprintf(path, sizeof path, "%s/dump", argv[4]);
  FILE* dump = rank == 0 ? fopen(path, "w") : NULL;
  if (atoms == NULL || other == NULL || (rank == 0 && dump == NULL)) MPI_Abort(MPI_COMM_WORLD, 1);
  for (long i = 0; i < 3 * count; ++i) atoms[i] = (i * 7919 % 1000) * 0.125;
  double energy = 0;
  for (long step = 1; step <= steps; ++step) {
    double total;
    energy = arithmetic(energy, work);
    atoms[step % (3 * count)] += energy;
    exchange(rank, ranks, atoms, other);
    if (step % ENERGY_EVERY == 0) {
      MPI_Allreduce(&energy, &total, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
      if (rank == 0) fprintf(dump, "energy %g\n", total);
    }
    if (step % SNAPSHOT_EVERY == 0) snapshot(rank, ranks, dump, step, atoms, other, count);
  }
  if (rank == 0) fclose(dump);
  MPI_Finalize();
  return 0;
}
