/* Ways in which a run ends; argument: which one. Every rank exchanges messages with its neighbours
 * first. "forever" does so until it is killed, "records" for a long time. */
#include <mpi.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

static int rank, size;

static void exchange(int times) {
  int mine = rank, theirs;
  for (int i = 0; i < times; ++i)
    MPI_Sendrecv(&mine, 1, MPI_INT, (rank + 1) % size, 0, &theirs, 1, MPI_INT,
                 (rank + size - 1) % size, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

/* Each rank holds its own lock and wants that of the next one. */
static void lock_in_a_circle(void) {
  int* memory;
  MPI_Win window;
  MPI_Win_allocate(sizeof *memory, sizeof *memory, MPI_INFO_NULL, MPI_COMM_WORLD, &memory, &window);
  MPI_Win_lock(MPI_LOCK_EXCLUSIVE, rank, 0, window);
  MPI_Barrier(MPI_COMM_WORLD);
  MPI_Win_lock(MPI_LOCK_EXCLUSIVE, (rank + 1) % size, 0, window);
}

/* Ranks of the second half give one more element. */
static void reduce_unequal_counts(void) {
  int mine[2] = {0, 0}, all[2];
  MPI_Allreduce(mine, all, rank < size / 2 ? 1 : 2, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
}

static void add(void* in, void* out, int* count, MPI_Datatype* type) {
  (void)type;
  for (int i = 0; i < *count; ++i) ((int*)out)[i] += ((int*)in)[i];
}

/* Each communicator has one rank. */
static void reduce_alone(void) {
  MPI_Op sum;
  MPI_Op_create(add, 1, &sum);
  int mine = rank, all;
  MPI_Allreduce(&mine, &all, 1, MPI_INT, sum, MPI_COMM_SELF);
}

/* The other worker's copy of the target's memory cannot add these elements. */
static void accumulate_fortran_90_kind(void) {
  double* memory;
  const double mine = 1;
  MPI_Datatype kind;
  MPI_Win window;
  MPI_Type_create_f90_real(15, 307, &kind);
  MPI_Win_allocate(sizeof *memory, sizeof *memory, MPI_INFO_NULL, MPI_COMM_WORLD, &memory, &window);
  MPI_Win_fence(0, window);
  if (rank == 1)
    MPI_Accumulate(&mine, 1, kind, (rank + size / 2) % size, 0, 1, kind, MPI_SUM, window);
  MPI_Win_fence(0, window);
}

int main(int argc, char** argv) {
  const char* how = argc > 1 ? argv[1] : "";
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  exchange(10);
  while (strcmp(how, "forever") == 0) exchange(1000);
  if (strcmp(how, "records") == 0) exchange(100 * 1000);
  const int last = rank == size - 1;
  int value = 0;
  if (strcmp(how, "abort") == 0 && last) MPI_Abort(MPI_COMM_WORLD, 7);
  if (strcmp(how, "crash") == 0 && last) *(volatile int*)0 = 1;
  if (strcmp(how, "exit") == 0 && last) exit(5);
  if (strcmp(how, "vanish") == 0 && last) syscall(SYS_exit_group, 0);
  if (strcmp(how, "locks") == 0) lock_in_a_circle();
  if (strcmp(how, "counts") == 0) reduce_unequal_counts();
  if (strcmp(how, "own operation") == 0) reduce_alone();
  if (strcmp(how, "kind") == 0) accumulate_fortran_90_kind();
  if (strcmp(how, "deadlock") == 0)
    MPI_Recv(&value, 1, MPI_INT, (rank + 1) % size, 3, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  if (strcmp(how, "cancel") == 0) {
    MPI_Request request;
    MPI_Issend(&value, 1, MPI_INT, rank ^ 1, 0, MPI_COMM_WORLD, &request);
    MPI_Cancel(&request);
  }
  if (strcmp(how, "port") == 0) {
    static char name[MPI_MAX_PORT_NAME];
    MPI_Open_port(MPI_INFO_NULL, name);
  }
  MPI_Barrier(MPI_COMM_WORLD);
  MPI_Finalize();
  return 0;
}
