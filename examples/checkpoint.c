/* A program that computes and writes checkpoints: each rank owns a block of rows of a matrix, and
 * every tenth step all ranks write them to one file.
 *
 *   checkpoint FILE [rows [steps [own]]]
 *
 * All ranks write together, in one collective call. With a fourth argument each rank writes its
 * rows by itself, one call for each row.
 */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

enum { kColumns = 1024, kInterval = 10 };

static void write_checkpoint(const char *path, const double *block, int first, int rows, int own) {
  MPI_File file;
  if (MPI_File_open(MPI_COMM_WORLD, path, MPI_MODE_CREATE | MPI_MODE_WRONLY, MPI_INFO_NULL,
                    &file) != MPI_SUCCESS) {
    fprintf(stderr, "checkpoint: cannot write %s\n", path);
    MPI_Abort(MPI_COMM_WORLD, 1);
  }
  const MPI_Offset row_bytes = kColumns * (MPI_Offset)sizeof *block;
  if (own) {
    for (int row = 0; row < rows; row++)
      MPI_File_write_at(file, (first + row) * row_bytes, block + (size_t)row * kColumns, kColumns,
                        MPI_DOUBLE, MPI_STATUS_IGNORE);
  } else {
    MPI_File_write_at_all(file, first * row_bytes, block, rows * kColumns, MPI_DOUBLE,
                          MPI_STATUS_IGNORE);
  }
  MPI_File_close(&file);
}

int main(int argc, char **argv) {
  MPI_Init(&argc, &argv);
  int rank, size;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  const char *path = argc > 1 ? argv[1] : "checkpoint.dat";
  const int n = argc > 2 ? atoi(argv[2]) : 1024, steps = argc > 3 ? atoi(argv[3]) : 20;
  const int first = (int)((long)n * rank / size);
  const int rows = (int)((long)n * (rank + 1) / size) - first;

  double *block = calloc((size_t)rows * kColumns + 1, sizeof *block);
  for (int step = 1; step <= steps; step++) {
    for (size_t i = 0; i < (size_t)rows * kColumns; i++) block[i] = 0.5 * block[i] + rank;
    double sum = block[0], total;
    MPI_Allreduce(&sum, &total, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    if (step % kInterval == 0) write_checkpoint(path, block, first, rows, argc > 4);
  }
  if (rank == 0) printf("%d x %d numbers, %d checkpoints\n", n, kColumns, steps / kInterval);
  free(block);
  MPI_Finalize();
}
