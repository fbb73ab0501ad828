/* Calls whose numbers and sizes are known. `calls` by all ranks; `steps` and `threads` by one. */
#include <mpi.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static char data[200000], received[200000];

static void probe(int times) {
  int flag;
  for (int i = 0; i < times; ++i) {
    MPI_Iprobe(MPI_ANY_SOURCE, 99, MPI_COMM_WORLD, &flag, MPI_STATUS_IGNORE);
  }
}

static void messages(int rank, int size) {
  const int next = (rank + 1) % size, before = (rank + size - 1) % size;
  for (int i = 0; i < 5; ++i) {
    MPI_Request requests[2];
    MPI_Irecv(received, 16, MPI_CHAR, before, 1, MPI_COMM_WORLD, &requests[0]);
    MPI_Isend(data, 8, MPI_CHAR, next, 1, MPI_COMM_WORLD, &requests[1]);
    MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
  }
  for (int i = 0; i < 2; ++i) {
    const int count = i == 0 ? 1000 : 100000;
    if (rank == 0) MPI_Send(data, count, MPI_CHAR, 1, 2, MPI_COMM_WORLD);
    if (rank == 1) MPI_Recv(received, count, MPI_CHAR, 0, 2, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  }
  MPI_Sendrecv(data, 24, MPI_CHAR, next, 3, received, 48, MPI_CHAR, before, 3, MPI_COMM_WORLD,
               MPI_STATUS_IGNORE);
  /* A type whose handle comes again with another size. */
  for (int ints = 3; ints <= 5; ints += 2) {
    MPI_Datatype type;
    MPI_Type_contiguous(ints, MPI_INT, &type);
    MPI_Type_commit(&type);
    MPI_Ssend(data, 1, type, MPI_PROC_NULL, 4, MPI_COMM_WORLD);
    MPI_Type_free(&type);
  }
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  if (MPI_Rsend(data, 100, MPI_CHAR, 99, 5, MPI_COMM_WORLD) == MPI_SUCCESS) abort();
}

static void collectives(int rank) {
  MPI_Comm part;
  for (int i = 0; i < 3; ++i) {
    MPI_Allreduce(data, received, 64, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
  }
  MPI_Bcast(received, 40, MPI_INT, 0, MPI_COMM_WORLD);
  for (int i = 0; i < 7; ++i) MPI_Barrier(MPI_COMM_WORLD);
  /* Communicators of one rank, and of all; the handle comes again. */
  for (int i = 0; i < 2; ++i) {
    MPI_Comm_split(MPI_COMM_WORLD, i == 0 ? rank : 0, 0, &part);
    MPI_Alltoall(data, 4, MPI_INT, received, 4, MPI_INT, part);
    MPI_Comm_free(&part);
  }
}

static void windows_and_files(int rank) {
  MPI_Win window;
  MPI_File file;
  MPI_Win_create(received, 1000, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &window);
  MPI_Win_fence(0, window);
  MPI_Put(data, 10, MPI_DOUBLE, rank, 0, 10, MPI_DOUBLE, window);
  MPI_Win_fence(0, window);
  MPI_Win_free(&window);
  MPI_File_open(MPI_COMM_WORLD, "counts.out", MPI_MODE_CREATE | MPI_MODE_WRONLY, MPI_INFO_NULL,
                &file);
  MPI_File_write_at_all(file, 5000 * rank, data, 5000, MPI_CHAR, MPI_STATUS_IGNORE);
  MPI_File_close(&file);
}

/* As many probes as each line says; a negative number ends it here, without MPI_Finalize. */
static void steps(void) {
  char line[64];
  while (fgets(line, sizeof line, stdin) != NULL) {
    const int times = atoi(line);
    if (times < 0) raise(SIGKILL);
    probe(times);
    printf("done\n");
    fflush(stdout);
  }
}

static void* probing(void* times) {
  probe(*(int*)times);
  return NULL;
}

/* Three times four threads: twelve, of which four are there at once. */
static void threads(void) {
  int times = 1000;
  for (int i = 0; i < 3; ++i) {
    pthread_t others[4];
    for (int k = 0; k < 4; ++k) pthread_create(&others[k], NULL, probing, &times);
    for (int k = 0; k < 4; ++k) pthread_join(others[k], NULL);
  }
}

int main(int argc, char** argv) {
  int provided, rank, size;
  const char* part = argc > 1 ? argv[1] : "calls";
  MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  if (strcmp(part, "steps") == 0) steps();
  if (strcmp(part, "threads") == 0) threads();
  if (strcmp(part, "calls") == 0) {
    messages(rank, size);
    collectives(rank);
    windows_and_files(rank);
    probe(11);
  }
  MPI_Finalize();
  return 0;
}
