// Rank 0 computes until rank 1 has heard ten times from rank 2: it looks for a flag in memory that
// they share. So simulated time has to advance for others while it computes.
#include <mpi.h>
#include <stdio.h>
#include <unistd.h>

int main(int argc, char** argv) {
  alarm(60);
  MPI_Init(&argc, &argv);
  int rank;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm node;
  MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, rank, MPI_INFO_NULL, &node);
  int* flag;
  MPI_Win window;
  MPI_Win_allocate_shared(rank == 0 ? sizeof *flag : 0, 1, MPI_INFO_NULL, node, &flag, &window);
  MPI_Aint size;
  int unit;
  MPI_Win_shared_query(window, 0, &size, &unit, &flag);
  if (rank == 0) *flag = 0;
  MPI_Barrier(MPI_COMM_WORLD);
  int heard = 0;
  if (rank == 0) {
    while (*(volatile int*)flag == 0) {
    }
    printf("rank 0 saw %d\n", *(volatile int*)flag);
  } else {
    for (int i = 0; i < 10; ++i) {
      if (rank == 2) MPI_Ssend(&i, 1, MPI_INT, 1, 0, MPI_COMM_WORLD);
      if (rank == 1) MPI_Recv(&heard, 1, MPI_INT, MPI_ANY_SOURCE, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    }
    if (rank == 1) *(volatile int*)flag = heard + 1;
  }
  MPI_Win_free(&window);
  MPI_Comm_free(&node);
  MPI_Finalize();
}
