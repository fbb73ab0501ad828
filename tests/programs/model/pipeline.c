/* Rank 0 sends messages to rank 1, which passes them on to rank 2, and waits for no answer. Rank 2 makes
 * a file when the first one comes; rank 0 looks for it after each message, and says whether it found
 * it before its work of some seconds was done.
 *
 *   pipeline FILE
 */
#include <fcntl.h>
#include <mpi.h>
#include <stdio.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { kSteps = 3000 };

static void work(void) { /* about 1 ms of the host */
  for (volatile int i = 0; i < 500000; ++i) {
  }
}

/* By system calls, which the simulator does not see: they take no simulated time. */
static int exists(const char* file) { return syscall(SYS_access, file, F_OK) == 0; }
static void make(const char* file) {
  syscall(SYS_close, syscall(SYS_open, file, O_CREAT | O_WRONLY, 0600));
}

int main(int argc, char** argv) {
  int rank, value = 0, steps = 0;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  if (rank == 0) {
    for (; steps < kSteps && !exists(argv[1]); ++steps) {
      MPI_Send(&value, 1, MPI_INT, 1, 0, MPI_COMM_WORLD);
      work();
    }
    value = 1;
    MPI_Send(&value, 1, MPI_INT, 1, 0, MPI_COMM_WORLD);
    printf("%s\n", steps < kSteps ? "overlapped" : "one after the other");
  }
  while (rank == 1 && value == 0) {
    MPI_Recv(&value, 1, MPI_INT, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    MPI_Send(&value, 1, MPI_INT, 2, 0, MPI_COMM_WORLD);
  }
  while (rank == 2 && value == 0) {
    MPI_Recv(&value, 1, MPI_INT, 1, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    make(argv[1]);
  }
  MPI_Finalize();
  return 0;
}
