/* Ranks that only start and end, or make communicators.
 * Usage: startup [call], the call one of: none, split, dup, cart, create, group, inter, window */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void make(const char *call, int rank, int size) {
  MPI_Comm made = MPI_COMM_NULL, half;
  MPI_Group all;
  int dims[2] = {0, 0}, periods[2] = {1, 1};
  if (strcmp(call, "split") == 0) MPI_Comm_split(MPI_COMM_WORLD, rank % 2, -rank, &made);
  if (strcmp(call, "dup") == 0) MPI_Comm_dup(MPI_COMM_WORLD, &made);
  if (strcmp(call, "cart") == 0) {
    MPI_Comm grid;
    int rows[2] = {0, 1};
    MPI_Dims_create(size, 2, dims);
    MPI_Cart_create(MPI_COMM_WORLD, 2, dims, periods, 0, &grid);
    MPI_Cart_sub(grid, rows, &made);
    MPI_Comm_free(&grid);
  }
  if (strcmp(call, "create") == 0 || strcmp(call, "group") == 0) {
    MPI_Comm_group(MPI_COMM_WORLD, &all);
    if (strcmp(call, "create") == 0) MPI_Comm_create(MPI_COMM_WORLD, all, &made);
    if (strcmp(call, "group") == 0) MPI_Comm_create_group(MPI_COMM_WORLD, all, 0, &made);
    MPI_Group_free(&all);
  }
  if (strcmp(call, "inter") == 0) {
    MPI_Comm inter;
    MPI_Comm_split(MPI_COMM_WORLD, rank % 2, rank, &half);
    MPI_Intercomm_create(half, 0, MPI_COMM_WORLD, 1 - rank % 2, 0, &inter);
    MPI_Intercomm_merge(inter, rank % 2, &made);
    MPI_Comm_free(&inter);
    MPI_Comm_free(&half);
  }
  if (strcmp(call, "window") == 0) {
    MPI_Win window;
    int value;
    MPI_Win_create(&value, sizeof value, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &window);
    MPI_Win_fence(0, window);
    MPI_Win_free(&window);
  }
  if (made != MPI_COMM_NULL) MPI_Comm_free(&made);
}

int main(int argc, char **argv) {
  int rank, size;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  make(argc > 1 ? argv[1] : "none", rank, size);
  if (rank == 0) printf("%d ranks: correct\n", size);
  MPI_Finalize();
}
