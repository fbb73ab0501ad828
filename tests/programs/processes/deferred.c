/* Calls whose results a rank knows without the simulator, and what follows them: other handles,
 * changed buffers, freed communicators. Prints the same on every run. */
#include <mpi.h>
#include <stdio.h>
#include <string.h>

enum { kMany = 40, kBytes = 900 };

static int rank, ranks, next, before;

/* More requests and data than are deferred at once; the sends' buffer changes after each. */
static void send_many(void) {
  static char in[kMany][kBytes], out[kBytes];
  MPI_Request requests[kMany];
  long sum = 0;
  for (int i = 0; i < kMany; ++i)
    MPI_Irecv(in[i], kBytes, MPI_CHAR, before, i, MPI_COMM_WORLD, &requests[i]);
  MPI_Barrier(MPI_COMM_WORLD);
  for (int i = 0; i < kMany; ++i) {
    memset(out, i + rank, sizeof out);
    MPI_Send(out, i % 2 == 0 ? kBytes : 8, MPI_CHAR, next, i, MPI_COMM_WORLD);
  }
  memset(out, 0, sizeof out);
  for (int done = 0, which; done < kMany; ++done) {
    MPI_Status status;
    MPI_Waitany(kMany, requests, &which, &status);
    int count;
    MPI_Get_count(&status, MPI_CHAR, &count);
    sum += (which + 1) * (count + in[which][0] + in[which][count - 1]);
  }
  printf("%d: %ld by many\n", rank, sum);
}

/* Handles that are copied, freed, cancelled or complete in turn. */
static void use_handles(void) {
  double in[3] = {0}, out[3] = {rank, 2 * rank, 3 * rank};
  MPI_Request sends[3], receives[3], copy, never;
  for (int i = 0; i < 3; ++i) {
    MPI_Irecv(&in[i], 1, MPI_DOUBLE, i == 0 ? MPI_ANY_SOURCE : before, i == 1 ? MPI_ANY_TAG : i,
              MPI_COMM_WORLD, &receives[i]);
    MPI_Isend(&out[i], 1, MPI_DOUBLE, next, i, MPI_COMM_WORLD, &sends[i]);
  }
  MPI_Irecv(&in[0], 1, MPI_DOUBLE, next, 99, MPI_COMM_WORLD, &never);
  MPI_Cancel(&never);
  MPI_Wait(&never, MPI_STATUS_IGNORE);
  copy = receives[1];
  MPI_Wait(&receives[0], MPI_STATUS_IGNORE);
  MPI_Wait(&copy, MPI_STATUS_IGNORE);
  int flag = 0;
  while (!flag) MPI_Test(&receives[2], &flag, MPI_STATUS_IGNORE);
  MPI_Request_free(&sends[1]);
  sends[1] = MPI_REQUEST_NULL;
  MPI_Waitall(3, sends, MPI_STATUSES_IGNORE);
  MPI_Isend(out, 1, MPI_DOUBLE, MPI_PROC_NULL, 0, MPI_COMM_WORLD, &sends[0]);
  MPI_Wait(&sends[0], MPI_STATUS_IGNORE);
  printf("%d: %g %g %g by handles, %d\n", rank, in[0], in[1], in[2],
         sends[0] == MPI_REQUEST_NULL && never == MPI_REQUEST_NULL);
}

static int seen_rank;
static int look(MPI_Comm comm, int keyval, void* value, void* state) {
  (void)keyval, (void)value, (void)state;
  return MPI_Comm_rank(comm, &seen_rank);
}

/* One communicator after another, which may have the same handle and another rank. */
static void change_communicators(void) {
  int sum = 0, keyval;
  MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, look, &keyval, NULL);
  for (int i = 0; i < 4; ++i) {
    MPI_Comm part;
    int own, size, value = -1;
    MPI_Comm_split(MPI_COMM_WORLD, i < 2 ? 0 : rank % 2, i % 2 == 0 ? rank : -rank, &part);
    for (int again = 0; again < 2; ++again) {
      MPI_Comm_rank(part, &own);
      MPI_Comm_size(part, &size);
      sum = 7 * sum + own + 100 * size;
    }
    MPI_Send(&own, 1, MPI_INT, own, 5, part);
    MPI_Recv(&value, 1, MPI_INT, own, 5, part, MPI_STATUS_IGNORE);
    MPI_Comm_set_attr(part, keyval, NULL);
    MPI_Comm_free(&part);
    sum += value + seen_rank;
  }
  MPI_Comm_free_keyval(&keyval);
  printf("%d: %d of communicators\n", rank, sum);
}

/* The ranks of the other group are those that count. */
static void cross_groups(void) {
  MPI_Comm part, both;
  int size, own, value = rank;
  MPI_Comm_split(MPI_COMM_WORLD, rank == 0, rank, &part);
  MPI_Intercomm_create(part, 0, MPI_COMM_WORLD, rank == 0, 3, &both);
  MPI_Comm_size(both, &size);
  MPI_Comm_rank(both, &own);
  if (rank == 0) MPI_Send(&value, 1, MPI_INT, ranks - 2, 0, both);
  if (rank == ranks - 1) MPI_Recv(&value, 1, MPI_INT, 0, 0, both, MPI_STATUS_IGNORE);
  printf("%d: %d of %d across, %d\n", rank, own, size, value);
  MPI_Comm_free(&both);
  MPI_Comm_free(&part);
}

/* A copy of a handle stands for nothing once its request is complete, whichever request has the
 * index next.
 */
static void use_stale_handles(void) {
  int in = 0, more[3] = {0}, flag = 0, refused = 0;
  MPI_Request request, copy, requests[3];
  MPI_Irecv(&in, 1, MPI_INT, rank, 11, MPI_COMM_WORLD, &request);
  copy = request;
  MPI_Send(&rank, 1, MPI_INT, rank, 11, MPI_COMM_WORLD);
  MPI_Wait(&request, MPI_STATUS_IGNORE);
  request = copy;
  refused += MPI_Test(&request, &flag, MPI_STATUS_IGNORE) != MPI_SUCCESS;
  request = copy;
  refused += MPI_Cancel(&request) != MPI_SUCCESS;
  request = copy;
  refused += MPI_Wait(&request, MPI_STATUS_IGNORE) != MPI_SUCCESS;
  refused += MPI_Request_free(&copy) != MPI_SUCCESS;
  for (int i = 0; i < 3; ++i)
    MPI_Irecv(&more[i], 1, MPI_INT, rank, i, MPI_COMM_WORLD, &requests[i]);
  for (int i = 0; i < 3; ++i) MPI_Send(&i, 1, MPI_INT, rank, i, MPI_COMM_WORLD);
  MPI_Waitall(3, requests, MPI_STATUSES_IGNORE);
  printf("%d: %d stale handles refused, %d%d%d\n", rank, refused, more[0], more[1], more[2]);
}

int main(int argc, char** argv) {
  int flag, size, length;
  char name[MPI_MAX_PROCESSOR_NAME];
  MPI_Initialized(&flag);
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  next = (rank + 1) % ranks;
  before = (rank + ranks - 1) % ranks;
  MPI_Type_size(MPI_DOUBLE, &size);
  MPI_Get_processor_name(name, &length);
  printf("%d: %d, doubles of %d bytes on %s (%d)\n", rank, flag, size, name, length);
  send_many();
  use_handles();
  change_communicators();
  cross_groups();
  MPI_Initialized(&flag);
  /* Wrong arguments are found when the call is made. */
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  const int wrong[3] = {MPI_Send(&flag, 1, MPI_INT, ranks, 0, MPI_COMM_WORLD) != MPI_SUCCESS,
                        MPI_Send(&flag, -1, MPI_INT, next, 0, MPI_COMM_WORLD) != MPI_SUCCESS,
                        MPI_Send(NULL, 1, MPI_INT, next, 0, MPI_COMM_WORLD) != MPI_SUCCESS};
  printf("%d: %d, refused %d %d %d\n", rank, flag, wrong[0], wrong[1], wrong[2]);
  use_stale_handles();
  MPI_Isend(&rank, 1, MPI_INT, rank, 9, MPI_COMM_WORLD, &(MPI_Request){0}); /* never received */
  MPI_Finalize();
  return 0;
}
