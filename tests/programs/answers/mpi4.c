/* What MPI 4 added, on any number of ranks: sessions, persistent collectives, MPI_Isendrecv, error
 * classes. Prints how many checks failed. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int failed;
#define CHECK(condition)                                   \
  do {                                                     \
    if (!(condition)) {                                    \
      failed++;                                            \
      printf("line %d: not %s\n", __LINE__, #condition);   \
    }                                                      \
  } while (0)

static int rank, size;

static MPI_Comm communicator_of(MPI_Session session) {
  MPI_Group group;
  MPI_Comm comm;
  MPI_Info info;
  MPI_Errhandler handler;
  char text[16] = "";
  int sets = 0, length = 0, flag = 0;
  CHECK(MPI_Session_get_num_psets(session, MPI_INFO_NULL, &sets) == MPI_SUCCESS && sets >= 2);
  MPI_Session_get_nth_pset(session, MPI_INFO_NULL, 0, &length, NULL);
  CHECK(length > 1 && length <= MPI_MAX_PSET_NAME_LEN);
  CHECK(MPI_Group_from_session_pset(session, "mpi://WORLD", &group) == MPI_SUCCESS);
  CHECK(MPI_Session_get_pset_info(session, "mpi://WORLD", &info) == MPI_SUCCESS);
  MPI_Info_get(info, "mpi_size", 15, text, &flag);
  MPI_Info_free(&info);
  CHECK(MPI_Comm_create_from_group(group, "sesame", MPI_INFO_NULL, MPI_ERRORS_ABORT, &comm) ==
        MPI_SUCCESS);
  MPI_Group_free(&group);
  MPI_Comm_get_errhandler(comm, &handler);
  CHECK(handler == MPI_ERRORS_ABORT);
  MPI_Errhandler_free(&handler);
  MPI_Comm_rank(comm, &rank);
  MPI_Comm_size(comm, &size);
  CHECK(flag && atoi(text) == size);
  return comm;
}

static void sum_repeatedly(MPI_Comm comm) {
  double in, out = -1;
  MPI_Request request;
  MPI_Status status;
  MPI_Allreduce_init(&in, &out, 1, MPI_DOUBLE, MPI_SUM, comm, MPI_INFO_NULL, &request);
  for (int i = 0; i < 3; i++) {
    in = rank + i;
    MPI_Start(&request);
    MPI_Wait(&request, &status);
    CHECK(out == size * (size - 1) / 2 + i * size);
  }
  MPI_Request_free(&request);
  CHECK(request == MPI_REQUEST_NULL);
}

static void pass_on(MPI_Comm comm) {
  const int to = (rank + 1) % size, from = (rank + size - 1) % size;
  int received = -1;
  MPI_Request request;
  MPI_Isendrecv(&rank, 1, MPI_INT, to, 1, &received, 1, MPI_INT, from, 1, comm, &request);
  MPI_Wait(&request, MPI_STATUS_IGNORE);
  CHECK(received == from);
}

static void ask(MPI_Comm comm) {
  MPI_Comm part;
  MPI_Info info;
  char text[16];
  int class = 0, length = sizeof text, flag = 0;
  CHECK(MPI_Comm_split_type(comm, MPI_COMM_TYPE_HW_UNGUIDED, 0, MPI_INFO_NULL, &part) ==
        MPI_SUCCESS);
  if (part != MPI_COMM_NULL) MPI_Comm_free(&part);
  MPI_Error_class(MPI_ERR_SESSION, &class);
  CHECK(class == MPI_ERR_SESSION);
  MPI_Error_class(MPI_ERR_PROC_ABORTED, &class);
  CHECK(class == MPI_ERR_PROC_ABORTED);
  MPI_Info_create(&info);
  MPI_Info_set(info, "key", "value");
  MPI_Info_get_string(info, "key", &length, text, &flag);
  CHECK(flag && length == 6 && strcmp(text, "value") == 0);
  MPI_Info_free(&info);
}

int main(void) {
  MPI_Session session = MPI_SESSION_NULL;
  CHECK(MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_RETURN, &session) == MPI_SUCCESS);
  CHECK(session != MPI_SESSION_NULL);
  MPI_Comm comm = communicator_of(session);
  MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN);
  sum_repeatedly(comm);
  pass_on(comm);
  ask(comm);
  MPI_Comm_disconnect(&comm);
  MPI_Session_finalize(&session);
  CHECK(session == MPI_SESSION_NULL);
  if (rank == 0) printf("%d checks failed\n", failed);
  return failed != 0;
}
