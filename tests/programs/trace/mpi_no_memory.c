/* Waits for many requests while there is no memory for the one who asks first. */
#include <mpi.h>
#include <stddef.h>

enum { MESSAGES = 100 };

extern void* __libc_malloc(size_t size);

static int refusals;

void* malloc(size_t size) {
  if (refusals > 0) {
    --refusals;
    return NULL;
  }
  return __libc_malloc(size);
}

int main(int count, char** words) {
  static int numbers[MESSAGES], received[MESSAGES];
  MPI_Request requests[2 * MESSAGES];
  MPI_Init(&count, &words);
  for (int i = 0; i < MESSAGES; ++i) {
    numbers[i] = i;
    MPI_Irecv(&received[i], 1, MPI_INT, 0, i, MPI_COMM_SELF, &requests[i]);
    MPI_Isend(&numbers[i], 1, MPI_INT, 0, i, MPI_COMM_SELF, &requests[MESSAGES + i]);
  }
  refusals = 1;
  MPI_Waitall(2 * MESSAGES, requests, MPI_STATUSES_IGNORE);
  int wrong = refusals;
  for (int i = 0; i < MESSAGES; ++i) wrong += received[i] != i;
  MPI_Finalize();
  return wrong != 0;
}
