/* Stands for GenIDLEST, the code for turbulent flows of Banerjee, MPIOR, 2012, 3.1. The thesis
 * says only that it solves for velocity and temperature, so the rest is what such codes usually do:
 * each rank reads its part of a grid; each iteration computes, exchanges the edges of the blocks
 * without blocking, and finds the largest residual of all; rank 0 notes it in a history; at
 * intervals each rank writes velocity, pressure and temperature of its block to a file of its own
 * and syncs them to the disk. The grid is the file `grid` in the directory, of at least
 * ranks x cells x 8 bytes.
 * Arguments: iterations, thousands of arithmetic operations per iteration, cells of each rank,
 * directory. */
#include <fcntl.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "arithmetic.h"

enum { FIELDS = 5, EDGE = 1024, HISTORY_EVERY = 10, FIELDS_EVERY = 50 };

static void read_grid(const char* directory, int rank, double* cells, long bytes) {
  char path[4096];
  snprintf(path, sizeof path, "%s/grid", directory);
  int file = open(path, O_RDONLY);
  if (file < 0 || pread(file, cells, bytes, rank * bytes) != bytes) MPI_Abort(MPI_COMM_WORLD, 1);
  close(file);
}

static void exchange(int rank, int ranks, const double* cells, double* edges) {
  const int up = (rank + 1) % ranks, down = (rank + ranks - 1) % ranks;
  MPI_Request requests[4];
  MPI_Irecv(edges, EDGE, MPI_DOUBLE, down, 0, MPI_COMM_WORLD, &requests[0]);
  MPI_Irecv(edges + EDGE, EDGE, MPI_DOUBLE, up, 1, MPI_COMM_WORLD, &requests[1]);
  MPI_Isend(cells, EDGE, MPI_DOUBLE, up, 0, MPI_COMM_WORLD, &requests[2]);
  MPI_Isend(cells, EDGE, MPI_DOUBLE, down, 1, MPI_COMM_WORLD, &requests[3]);
  MPI_Waitall(4, requests, MPI_STATUSES_IGNORE);
}

static void write_fields(const char* directory, int rank, long iteration, const double* cells,
                         long bytes) {
  char path[4096];
  snprintf(path, sizeof path, "%s/fields.%ld.%d", directory, iteration, rank);
  int file = open(path, O_CREAT | O_TRUNC | O_WRONLY, 0644);
  if (file < 0) MPI_Abort(MPI_COMM_WORLD, 1);
  for (int field = 0; field < FIELDS; ++field) {
    if (write(file, cells, bytes) != bytes) MPI_Abort(MPI_COMM_WORLD, 1);
  }
  if (fsync(file) < 0) MPI_Abort(MPI_COMM_WORLD, 1);
  close(file);
}

int main(int argc, char** argv) {
  if (argc != 5) return 2;
  const long iterations = atol(argv[1]), work = atol(argv[2]), count = atol(argv[3]);
  const char* directory = argv[4];
  int rank, ranks;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  const long bytes = count * (long)sizeof(double);
  double *cells = calloc(1, bytes), *edges = calloc(2 * EDGE, sizeof *edges);
  char path[4096];
  snprintf(path, sizeof path, "%s/history", directory);
  FILE* history = rank == 0 ? fopen(path, "w") : NULL;
  if (count < EDGE || cells == NULL || edges == NULL || (rank == 0 && history == NULL)) {
    MPI_Abort(MPI_COMM_WORLD, 1);
  }
  read_grid(directory, rank, cells, bytes);
  double residual = 0;
  for (long iteration = 1; iteration <= iterations; ++iteration) {
    double largest;
    residual = arithmetic(residual, work);
    exchange(rank, ranks, cells, edges);
    cells[iteration % count] = residual + edges[0];
    MPI_Allreduce(&residual, &largest, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
    if (rank == 0 && iteration % HISTORY_EVERY == 0) {
      fprintf(history, "%ld %g\n", iteration, largest);
      fflush(history);
    }
    if (iteration % FIELDS_EVERY == 0) write_fields(directory, rank, iteration, cells, bytes);
  }
  if (rank == 0) fclose(history);
  MPI_Finalize();
  return 0;
}
