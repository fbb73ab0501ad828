/* Handles of predefined types that do not exist, in calls that a rank need not wait for: the call
 * itself finds them, and calls the error handler before it returns. */
#include <mpi.h>
#include <stdio.h>

static int rank, called;

static void handle(MPI_Comm* comm, int* error, ...) {
  int class, size;
  MPI_Error_class(*error, &class);
  MPI_Comm_size(*comm, &size);
  printf("%d: handler %d of %d ranks, MPI_ERR_TYPE %d\n", rank, called++, size,
         class == MPI_ERR_TYPE);
}

static int is_type_error(int error) {
  int class;
  MPI_Error_class(error, &class);
  return class == MPI_ERR_TYPE;
}

static void try(MPI_Datatype type) {
  char data[8] = "";
  int size, own = -1;
  MPI_Request request = MPI_REQUEST_NULL;
  const int found[] = {
      is_type_error(MPI_Send(data, 1, type, rank, 0, MPI_COMM_WORLD)),
      is_type_error(MPI_Isend(data, 1, type, rank, 0, MPI_COMM_WORLD, &request)),
      is_type_error(MPI_Irecv(data, 1, type, rank, 0, MPI_COMM_WORLD, &request)),
      is_type_error(MPI_Type_size(type, &size)),
  };
  MPI_Send(&rank, 1, MPI_INT, rank, 0, MPI_COMM_WORLD);
  MPI_Recv(&own, 1, MPI_INT, rank, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  printf("%d: %d %d %d %d, then %d, handler called %d times\n", rank, found[0], found[1], found[2],
         found[3], own, called);
}

int main(int argc, char** argv) {
  MPI_Errhandler handler;
  const MPI_Datatype none = (MPI_Datatype)0x4c000199, int_of_two_bytes = (MPI_Datatype)0x4c000205;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
  try(none);
  try(int_of_two_bytes);
  MPI_Comm_create_errhandler(handle, &handler);
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, handler);
  try(none);
  MPI_Errhandler_free(&handler);
  MPI_Finalize();
  return 0;
}
