/* Messages, collectives, communicators, derived types, callbacks and attributes. Prints the same on
 * every run. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

enum { kMost = 64, kLarge = 40000 };

static void largest(void *in, void *inout, int *count, MPI_Datatype *type) {
  int size;
  MPI_Type_size(*type, &size); /* a call inside of a call */
  for (int i = 0; size == sizeof(int) && i < *count; i++)
    if (((int *)in)[i] > ((int *)inout)[i]) ((int *)inout)[i] = ((int *)in)[i];
}

static int deleted;
static int delete_attribute(MPI_Comm comm, int keyval, void *value, void *state) {
  deleted = *(int *)value;
  return MPI_SUCCESS;
}

static int handled;
static void handle(MPI_Comm *comm, int *error, ...) {
  int class, size;
  MPI_Error_class(*error, &class);
  MPI_Comm_size(*comm, &size);
  handled += class == MPI_ERR_RANK ? size : 1000;
}

int main(int argc, char **argv) {
  MPI_Init(&argc, &argv);
  int rank, size;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  const int next = (rank + 1) % size, before = (rank + size - 1) % size;

  /* Long and short messages, strided at the sender. */
  static double out[kLarge], in[kLarge];
  for (int i = 0; i < kLarge; i++) out[i] = rank + i;
  MPI_Datatype column;
  MPI_Type_vector(kLarge / 4, 1, 4, MPI_DOUBLE, &column);
  MPI_Type_commit(&column);
  MPI_Request requests[2];
  MPI_Status statuses[2];
  MPI_Irecv(in, kLarge, MPI_DOUBLE, before, 1, MPI_COMM_WORLD, &requests[0]);
  MPI_Isend(out, 1, column, next, 1, MPI_COMM_WORLD, &requests[1]);
  MPI_Waitall(2, requests, statuses);
  int received;
  MPI_Get_count(&statuses[0], MPI_DOUBLE, &received);
  printf("%d: %d doubles, the last %g\n", rank, received, in[received - 1]);

  /* Collectives: in place, with arrays of counts, with an operation of the program. */
  int sum[2] = {rank, -rank}, most[2] = {rank, -rank}, counts[kMost], displacements[kMost];
  MPI_Allreduce(MPI_IN_PLACE, sum, 2, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  MPI_Op operation;
  MPI_Op_create(largest, 1, &operation);
  MPI_Allreduce(MPI_IN_PLACE, most, 2, MPI_INT, operation, MPI_COMM_WORLD);
  MPI_Op_free(&operation);
  int shares[kMost], gathered[kMost] = {0};
  for (int i = 0; i < size; i++) {
    counts[i] = 1;
    displacements[i] = size - 1 - i;
    shares[i] = 100 * rank + i;
  }
  MPI_Alltoallv(MPI_IN_PLACE, NULL, NULL, MPI_INT, shares, counts, displacements, MPI_INT,
                MPI_COMM_WORLD);
  MPI_Gatherv(&rank, 1, MPI_INT, gathered, counts, displacements, MPI_INT, 0, MPI_COMM_WORLD);
  printf("%d: sum %d %d, most %d %d, share %d, gathered %d\n", rank, sum[0], sum[1], most[0],
         most[1], shares[0], gathered[0]);

  /* Arguments that are no addresses: a buffer that only the root gives, and a constant. */
  int part, sources, destinations, weighted, source, destination;
  MPI_Comm ring;
  MPI_Scatter(rank == 0 ? shares : (void *)16, 1, MPI_INT, &part, 1, MPI_INT, 0, MPI_COMM_WORLD);
  MPI_Dist_graph_create_adjacent(MPI_COMM_WORLD, 1, &before, MPI_UNWEIGHTED, 1, &next,
                                 MPI_UNWEIGHTED, MPI_INFO_NULL, 0, &ring);
  MPI_Dist_graph_neighbors_count(ring, &sources, &destinations, &weighted);
  MPI_Dist_graph_neighbors(ring, 1, &source, MPI_UNWEIGHTED, 1, &destination, MPI_UNWEIGHTED);
  printf("%d: part %d, %d of %d before, %d of %d next, weighted %d\n", rank, part, source, sources,
         destination, destinations, weighted);

  /* Communicators, a grid, attributes. */
  MPI_Comm half, grid;
  MPI_Comm_split(MPI_COMM_WORLD, rank % 2, -rank, &half);
  int dims[2] = {0, 0}, periods[2] = {1, 0}, place[2], found, half_size, keyval, flag, *bound;
  MPI_Dims_create(size, 2, dims);
  MPI_Cart_create(MPI_COMM_WORLD, 2, dims, periods, 0, &grid);
  MPI_Cart_coords(grid, rank, 2, place);
  MPI_Cart_rank(grid, place, &found);
  MPI_Comm_size(half, &half_size);
  MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, delete_attribute, &keyval, NULL);
  int value = 40 + rank;
  MPI_Comm_set_attr(half, keyval, &value);
  MPI_Comm_free(&half);
  MPI_Comm_get_attr(MPI_COMM_WORLD, MPI_TAG_UB, &bound, &flag);
  printf("%d: half of %d, place %d,%d is %d, deleted %d, tags %d\n", rank, half_size, place[0],
         place[1], found == rank, deleted, flag && *bound >= 32767);

  /* Numbers in another representation, with gaps between them. */
  long numbers[4] = {rank, -1, 70000, -1}, again[4] = {5, 6, 7, 8};
  char packed[16];
  MPI_Aint position = 0;
  MPI_Datatype apart;
  MPI_Type_vector(2, 1, 2, MPI_LONG, &apart);
  MPI_Type_commit(&apart);
  MPI_Pack_external("external32", numbers, 1, apart, packed, sizeof packed, &position);
  printf("%d: packed %d bytes, the last %d,", rank, (int)position, packed[7]);
  position = 0;
  MPI_Unpack_external("external32", packed, sizeof packed, &position, again, 1, apart);
  MPI_Type_free(&apart);
  printf(" again %ld %ld %ld %ld\n", again[0], again[1], again[2], again[3]);

  MPI_Errhandler handler;
  MPI_Comm_create_errhandler(handle, &handler);
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, handler);
  MPI_Send(&rank, 1, MPI_INT, size + 7, 0, MPI_COMM_WORLD);
  char name[MPI_MAX_PROCESSOR_NAME];
  int length;
  MPI_Get_processor_name(name, &length);
  printf("%d: handled %d on %s at %.9f\n", rank, handled == size, name, MPI_Wtime());
  MPI_Finalize();
  return 0;
}
