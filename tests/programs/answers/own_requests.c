/* Generalised requests, whose functions are the program's. With arguments also the info of the
 * environment, in which MPICH has nothing. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

struct work {
  int queried, freed, cancelled;
};

static int query(void* state, MPI_Status* status) {
  ++((struct work*)state)->queried;
  MPI_Status_set_elements(status, MPI_INT, 7);
  MPI_Status_set_cancelled(status, ((struct work*)state)->cancelled > 0);
  status->MPI_SOURCE = 5;
  status->MPI_TAG = 11;
  return MPI_SUCCESS;
}

static int release(void* state) {
  ++((struct work*)state)->freed;
  return MPI_SUCCESS;
}

static int cancel(void* state, int complete) {
  ((struct work*)state)->cancelled += complete ? 100 : 1;
  return MPI_SUCCESS;
}

static int refuse(void* state, MPI_Status* status) {
  (void)state, (void)status;
  return MPI_ERR_OTHER;
}

static void say(const char* what, const struct work* work) {
  printf("%s: queried %d freed %d cancelled %d\n", what, work->queried, work->freed,
         work->cancelled);
}

static void wait_for_one(void) {
  struct work work = {0, 0, 0};
  MPI_Request request;
  MPI_Status status;
  int flag, count;
  MPI_Grequest_start(query, release, cancel, &work, &request);
  MPI_Test(&request, &flag, &status);
  printf("complete before it is: %d\n", flag);
  MPI_Grequest_complete(request);
  MPI_Wait(&request, &status);
  MPI_Get_count(&status, MPI_INT, &count);
  MPI_Test_cancelled(&status, &flag);
  printf("count %d source %d tag %d cancelled %d null %d\n", count, status.MPI_SOURCE,
         status.MPI_TAG, flag, request == MPI_REQUEST_NULL);
  say("waited for", &work);
}

static void cancel_one(void) {
  struct work work = {0, 0, 0};
  MPI_Request request;
  MPI_Status status;
  int flag;
  MPI_Grequest_start(query, release, cancel, &work, &request);
  MPI_Cancel(&request);
  MPI_Grequest_complete(request);
  MPI_Cancel(&request);
  MPI_Wait(&request, &status);
  MPI_Test_cancelled(&status, &flag);
  printf("is cancelled: %d\n", flag);
  say("cancelled", &work);
}

static void free_before(void) {
  struct work work = {0, 0, 0};
  MPI_Request request;
  MPI_Grequest_start(query, release, cancel, &work, &request);
  MPI_Request copy = request;
  MPI_Request_free(&request);
  MPI_Grequest_complete(copy);
  say("freed before it is complete", &work);
}

/* Among others: Waitall of a message and of two requests, the second one's query fails. */
static void wait_for_all(int rank, int size) {
  struct work work[2] = {{0, 0, 0}, {0, 0, 0}};
  MPI_Request requests[4];
  MPI_Status statuses[4];
  int mine = rank, other = -1, class = 0;
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
  MPI_Irecv(&other, 1, MPI_INT, (rank + 1) % size, 3, MPI_COMM_WORLD, &requests[0]);
  MPI_Isend(&mine, 1, MPI_INT, (rank + size - 1) % size, 3, MPI_COMM_WORLD, &requests[1]);
  MPI_Grequest_start(query, release, cancel, &work[0], &requests[2]);
  MPI_Grequest_start(refuse, release, cancel, &work[1], &requests[3]);
  MPI_Grequest_complete(requests[2]);
  MPI_Grequest_complete(requests[3]);
  const int error = MPI_Waitall(4, requests, statuses);
  MPI_Error_class(error, &class);
  printf("got %d, fails %d\n", other == (rank + 1) % size, class != MPI_SUCCESS);
  say("among others", &work[0]);
}

#if MPI_VERSION >= 4
static void say_environment(int argc, char** argv) {
  const char* const keys[] = {"argv", "maxprocs"};
  MPI_Info info;
  MPI_Info_create_env(argc, argv, &info);
  for (int i = 0; i < 2; ++i) {
    char text[1024];
    int length = sizeof text, flag = 0;
    MPI_Info_get_string(info, keys[i], &length, text, &flag);
    printf("%s: %s\n", keys[i], flag ? text : "none");
  }
  MPI_Info_free(&info);
}
#endif

int main(int argc, char** argv) {
  int rank, size;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  wait_for_one();
  cancel_one();
  free_before();
  wait_for_all(rank, size);
#if MPI_VERSION >= 4
  if (argc > 1) say_environment(argc, argv);
#endif
  MPI_Finalize();
  return 0;
}
