/* Calls whose records' values are known, by two ranks. */
#include <mpi.h>

static double in[64], out[64];

static void messages(int me) {
  MPI_Request requests[70];
  MPI_Status status;
  int other = 1 - me, index;
  if (me == 0) {
    MPI_Send(out, 3, MPI_DOUBLE, 1, 11, MPI_COMM_WORLD);
    MPI_Send(out, 1, MPI_INT, MPI_PROC_NULL, 12, MPI_COMM_WORLD);
    MPI_Send(out, 1, MPI_CHAR, 1, 100000, MPI_COMM_WORLD);
  } else {
    MPI_Recv(in, 9, MPI_DOUBLE, MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    MPI_Recv(in, 1, MPI_INT, MPI_PROC_NULL, 12, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    MPI_Recv(in, 1, MPI_CHAR, 0, MPI_ANY_TAG, MPI_COMM_WORLD, &status);
  }
  MPI_Barrier(MPI_COMM_WORLD);
  for (int i = 0; i < 35; ++i) {
    MPI_Irecv(in, 1, MPI_INT, MPI_ANY_SOURCE, i, MPI_COMM_WORLD, &requests[i]);
  }
  for (int i = 0; i < 35; ++i) {
    MPI_Isend(out, 1, MPI_INT, other, i, MPI_COMM_WORLD, &requests[35 + i]);
  }
  MPI_Waitall(70, requests, MPI_STATUSES_IGNORE);
  MPI_Waitall(70, requests, MPI_STATUSES_IGNORE);
  MPI_Waitany(70, requests, &index, MPI_STATUS_IGNORE);
  MPI_Irecv(in, 1, MPI_INT, other, 36, MPI_COMM_WORLD, &requests[0]);
  MPI_Cancel(&requests[0]);
  MPI_Wait(&requests[0], MPI_STATUS_IGNORE);
  MPI_Sendrecv(out, 2, MPI_INT, other, 13, in, 3, MPI_INT, other, 13, MPI_COMM_WORLD, &status);
}

static void collectives(int me) {
  int counts[] = {2, 5}, places[] = {0, 2};
  MPI_Datatype type;
  MPI_Type_contiguous(3, MPI_DOUBLE, &type);
  MPI_Type_commit(&type);
  MPI_Bcast(out, 1, type, 1, MPI_COMM_WORLD);
  MPI_Type_free(&type);
  MPI_Type_contiguous(5, MPI_DOUBLE, &type); /* perhaps with the same handle */
  MPI_Type_commit(&type);
  MPI_Bcast(out, 1, type, 1, MPI_COMM_WORLD);
  MPI_Type_free(&type);
  MPI_Gatherv(out, counts[me], MPI_INT, in, counts, places, MPI_INT, 0, MPI_COMM_WORLD);
  MPI_Scatter(out, 4, MPI_INT, in, 4, MPI_INT, 0, MPI_COMM_WORLD);
  MPI_Alltoall(out, 3, MPI_CHAR, in, 3, MPI_CHAR, MPI_COMM_WORLD);
  MPI_Alltoallv(out, counts, places, MPI_INT, in, (int[]){counts[me], counts[me]}, places, MPI_INT,
                MPI_COMM_WORLD);
  MPI_Allgather(MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, in, 6, MPI_CHAR, MPI_COMM_WORLD);
  MPI_Reduce_scatter(out, in, counts, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
}

static void communicators(int me) {
  MPI_Comm turned, half, between, copy;
  MPI_Request request;
  MPI_Comm_split(MPI_COMM_WORLD, 0, -me, &turned);
  MPI_Comm_set_name(turned, "turned");
  MPI_Comm_split(turned, me, 0, &half);
  MPI_Intercomm_create(half, 0, MPI_COMM_WORLD, 1 - me, 1, &between);
  MPI_Bcast(out, 1, MPI_INT, me == 0 ? MPI_ROOT : 0, between);
  MPI_Comm_idup(turned, &copy, &request);
  MPI_Wait(&request, MPI_STATUS_IGNORE);
  MPI_Barrier(copy);
  MPI_Comm_free(&between);
  MPI_Comm_free(&half);
  MPI_Comm_split(MPI_COMM_WORLD, me == 0 ? 0 : MPI_UNDEFINED, 0, &half);
  if (me == 0) MPI_Bcast(out, 1, MPI_CHAR, 0, half);
}

int main(int argc, char** argv) {
  int me;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &me);
  messages(me);
  collectives(me);
  communicators(me);
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  MPI_Send(out, 1, MPI_INT, 99, 1, MPI_COMM_WORLD);
  MPI_Finalize();
  return 0;
}
