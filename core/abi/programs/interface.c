/* Uses what differs between MPI's binary interfaces: constants in arguments and results, handles,
 * statuses, arrays of them, functions of the program. Prints how many checks failed; any number of
 * ranks. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int rank, size, next, previous, failures;

#define CHECK(condition)                                                    \
  do {                                                                      \
    if (!(condition)) {                                                     \
      printf("rank %d, line %d: not so: %s\n", rank, __LINE__, #condition); \
      ++failures;                                                           \
    }                                                                       \
  } while (0)

static int class_of(int code) {
  int error_class = -1;
  MPI_Error_class(code, &error_class);
  return error_class;
}

static void check_messages(void) {
  int in = -1, count = 0;
  MPI_Request requests[3];
  MPI_Status statuses[3], status;
  MPI_Irecv(&in, 1, MPI_INT, MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &requests[0]);
  MPI_Isend(&rank, 1, MPI_INT, next, 5, MPI_COMM_WORLD, &requests[1]);
  requests[2] = MPI_REQUEST_NULL;
  MPI_Waitall(3, requests, statuses);
  CHECK(in == previous && requests[0] == MPI_REQUEST_NULL);
  CHECK(statuses[0].MPI_SOURCE == previous && statuses[0].MPI_TAG == 5);
  CHECK(statuses[2].MPI_SOURCE == MPI_ANY_SOURCE && statuses[2].MPI_TAG == MPI_ANY_TAG);
  MPI_Get_count(&statuses[0], MPI_INT, &count);
  CHECK(count == 1);
  MPI_Recv(&in, 1, MPI_INT, MPI_PROC_NULL, 3, MPI_COMM_WORLD, &status);
  CHECK(status.MPI_SOURCE == MPI_PROC_NULL && status.MPI_TAG == MPI_ANY_TAG);

  MPI_Request persistent;
  MPI_Recv_init(&in, 1, MPI_INT, previous, 8, MPI_COMM_WORLD, &persistent);
  MPI_Start(&persistent);
  MPI_Send(&rank, 1, MPI_INT, next, 8, MPI_COMM_WORLD);
  MPI_Wait(&persistent, MPI_STATUS_IGNORE);
  CHECK(in == previous && persistent != MPI_REQUEST_NULL);
  MPI_Request_free(&persistent);
  CHECK(persistent == MPI_REQUEST_NULL);

  MPI_Message message;
  MPI_Isend(&rank, 1, MPI_INT, next, 11, MPI_COMM_WORLD, &requests[0]);
  MPI_Mprobe(MPI_ANY_SOURCE, 11, MPI_COMM_WORLD, &message, &status);
  CHECK(status.MPI_SOURCE == previous);
  MPI_Mrecv(&in, 1, MPI_INT, &message, &status);
  CHECK(message == MPI_MESSAGE_NULL && in == previous);
  MPI_Wait(&requests[0], MPI_STATUS_IGNORE);
  MPI_Mprobe(MPI_PROC_NULL, 11, MPI_COMM_WORLD, &message, &status);
  CHECK(message == MPI_MESSAGE_NO_PROC);

  char buffer[10000];
  void* detached = NULL;
  int bytes = 0;
  MPI_Buffer_attach(buffer, sizeof buffer);
  MPI_Bsend(&rank, 1, MPI_INT, next, 30, MPI_COMM_WORLD);
  MPI_Recv(&in, 1, MPI_INT, previous, 30, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  MPI_Buffer_detach(&detached, &bytes);
  CHECK(detached == buffer && bytes == sizeof buffer);
}

static void multiply(void* in, void* inout, int* count, MPI_Datatype* type) {
  CHECK(*type == MPI_INT);
  for (int i = 0; i < *count; ++i) ((int*)inout)[i] *= ((int*)in)[i];
}

static void add(void* in, void* inout, MPI_Count* count, MPI_Datatype* type) {
  CHECK(*type == MPI_INT);
  for (MPI_Count i = 0; i < *count; ++i) ((int*)inout)[i] += ((int*)in)[i];
}

static void check_operations(void) {
  MPI_Op op;
  int value = 2, result = 0;
  MPI_Op_create(multiply, 1, &op);
  MPI_Allreduce(&value, &result, 1, MPI_INT, op, MPI_COMM_WORLD);
  CHECK(result == 1 << size);
  MPI_Op_free(&op);
  CHECK(op == MPI_OP_NULL);
#if MPI_VERSION >= 4
  MPI_Op_create_c(add, 1, &op);
  MPI_Allreduce_c(&value, &result, 1, MPI_INT, op, MPI_COMM_WORLD);
  CHECK(result == 2 * size);
  MPI_Op_free(&op);
#endif
  result = rank;
  MPI_Allreduce(MPI_IN_PLACE, &result, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD);
  CHECK(result == size - 1);
  struct {
    double value;
    int place;
  } mine = {-rank, rank}, least;
  MPI_Allreduce(&mine, &least, 1, MPI_DOUBLE_INT, MPI_MINLOC, MPI_COMM_WORLD);
  CHECK(least.place == size - 1);
}

static int handled_code;
static MPI_Comm handled_comm;
static void handle(MPI_Comm* comm, int* code, ...) {
  handled_comm = *comm;
  handled_code = *code;
}

static void check_errors(void) {
  MPI_Errhandler handler;
  MPI_Comm_create_errhandler(handle, &handler);
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, handler);
  CHECK(class_of(MPI_Send(&rank, 1, MPI_INT, size + 7, 0, MPI_COMM_WORLD)) == MPI_ERR_RANK);
  CHECK(handled_comm == MPI_COMM_WORLD && class_of(handled_code) == MPI_ERR_RANK);
  MPI_Errhandler_free(&handler);
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  MPI_Comm_get_errhandler(MPI_COMM_WORLD, &handler);
  CHECK(handler == MPI_ERRORS_RETURN);
  CHECK(class_of(MPI_Send(&rank, 1, MPI_INT, 0, -77, MPI_COMM_WORLD)) == MPI_ERR_TAG);

  int new_class = 0, code = 0, length = 0, flag = 0, *last = NULL;
  char text[MPI_MAX_ERROR_STRING];
  MPI_Add_error_class(&new_class);
  MPI_Add_error_code(new_class, &code);
  MPI_Add_error_string(code, "of the program");
  CHECK(new_class > MPI_ERR_LASTCODE && class_of(code) == new_class);
  MPI_Error_string(code, text, &length);
  CHECK(strcmp(text, "of the program") == 0);
  MPI_Comm_get_attr(MPI_COMM_WORLD, MPI_LASTUSEDCODE, &last, &flag);
  CHECK(flag && *last >= new_class);

  char small[4], large[8] = {0};
  int in = 0;
  MPI_Request requests[2];
  MPI_Status statuses[2];
  MPI_Irecv(small, 4, MPI_CHAR, previous, 20, MPI_COMM_WORLD, &requests[0]);
  MPI_Irecv(&in, 1, MPI_INT, previous, 21, MPI_COMM_WORLD, &requests[1]);
  MPI_Send(large, 8, MPI_CHAR, next, 20, MPI_COMM_WORLD);
  MPI_Send(&rank, 1, MPI_INT, next, 21, MPI_COMM_WORLD);
  CHECK(class_of(MPI_Waitall(2, requests, statuses)) == MPI_ERR_IN_STATUS);
  CHECK(class_of(statuses[0].MPI_ERROR) == MPI_ERR_TRUNCATE);
}

static int copies, deletes;
static int copy(MPI_Comm comm, int keyval, void* state, void* in, void* out, int* flag) {
  CHECK(comm == MPI_COMM_WORLD && state == &copies && keyval != MPI_KEYVAL_INVALID);
  ++copies;
  *(void**)out = (char*)in + 1;
  *flag = 1;
  return MPI_SUCCESS;
}
static int delete (MPI_Comm comm, int keyval, void* value, void* state) {
  (void)comm, (void)keyval, (void)value, (void)state;
  ++deletes;
  return MPI_SUCCESS;
}

static void check_attributes(void) {
  int keyval, flag, comparison, *number;
  void* value;
  MPI_Comm duplicate;
  MPI_Comm_create_keyval(copy, delete, &keyval, &copies);
  MPI_Comm_set_attr(MPI_COMM_WORLD, keyval, (void*)100);
  MPI_Comm_dup(MPI_COMM_WORLD, &duplicate);
  MPI_Comm_get_attr(duplicate, keyval, &value, &flag);
  CHECK(flag && value == (void*)101 && copies == 1);
  MPI_Comm_compare(MPI_COMM_WORLD, duplicate, &comparison);
  CHECK(comparison == MPI_CONGRUENT);
  MPI_Comm_free(&duplicate);
  CHECK(deletes == 1 && duplicate == MPI_COMM_NULL);
  MPI_Comm_delete_attr(MPI_COMM_WORLD, keyval);
  MPI_Comm_free_keyval(&keyval);
  CHECK(keyval == MPI_KEYVAL_INVALID);

  MPI_Comm_create_keyval(MPI_COMM_DUP_FN, MPI_COMM_NULL_DELETE_FN, &keyval, NULL);
  MPI_Comm_set_attr(MPI_COMM_WORLD, keyval, &keyval);
  MPI_Comm_dup(MPI_COMM_WORLD, &duplicate);
  MPI_Comm_get_attr(duplicate, keyval, &value, &flag);
  CHECK(flag && value == &keyval);
  MPI_Comm_free(&duplicate);
  MPI_Comm_get_attr(MPI_COMM_WORLD, MPI_TAG_UB, &number, &flag);
  CHECK(flag && *number >= 32767);
  MPI_Comm_get_attr(MPI_COMM_WORLD, MPI_HOST, &number, &flag);
  CHECK(!flag || *number == MPI_PROC_NULL);
  MPI_Comm_get_attr(MPI_COMM_WORLD, MPI_IO, &number, &flag);
  CHECK(!flag || *number == MPI_ANY_SOURCE);
}

static void check_datatypes(void) {
  MPI_Datatype array, of[1];
  int integers[12], sizes[] = {8, 4 * size}, processes[] = {1, size};
  int distributions[] = {MPI_DISTRIBUTE_NONE, MPI_DISTRIBUTE_BLOCK};
  int arguments[] = {MPI_DISTRIBUTE_DFLT_DARG, MPI_DISTRIBUTE_DFLT_DARG};
  int ni, na, nd, combiner, bytes;
  MPI_Type_create_darray(size, rank, 2, sizes, distributions, arguments, processes,
                         MPI_ORDER_FORTRAN, MPI_DOUBLE, &array);
  MPI_Type_get_envelope(array, &ni, &na, &nd, &combiner);
  CHECK(combiner == MPI_COMBINER_DARRAY && ni == 12 && nd == 1);
  MPI_Type_get_contents(array, ni, na, nd, integers, NULL, of);
  CHECK(of[0] == MPI_DOUBLE && integers[11] == MPI_ORDER_FORTRAN);
  CHECK(integers[5] == MPI_DISTRIBUTE_NONE && integers[6] == MPI_DISTRIBUTE_BLOCK);
  CHECK(integers[7] == MPI_DISTRIBUTE_DFLT_DARG);
  MPI_Type_size(array, &bytes);
  CHECK(bytes == 8 * 4 * (int)sizeof(double));
  MPI_Type_free(&array);
  CHECK(array == MPI_DATATYPE_NULL);

  int matrix[16], part[4], full[] = {4, 4}, two[] = {2, 2}, one[] = {1, 1};
  for (int i = 0; i < 16; ++i) matrix[i] = i;
  MPI_Type_create_subarray(2, full, two, one, MPI_ORDER_C, MPI_INT, &array);
  MPI_Type_commit(&array);
  MPI_Sendrecv(matrix, 1, array, rank, 1, part, 4, MPI_INT, rank, 1, MPI_COMM_WORLD,
               MPI_STATUS_IGNORE);
  CHECK(part[0] == 5 && part[3] == 10);
  MPI_Type_free(&array);

  MPI_Aint lower_bound, extent;
  MPI_Type_vector(3, 1, 2, MPI_CHAR, &array);
  MPI_Type_get_extent(array, &lower_bound, &extent);
  CHECK(lower_bound == 0 && extent == 5);
  MPI_Type_free(&array);
  char name[MPI_MAX_OBJECT_NAME];
  MPI_Type_get_name(MPI_DOUBLE_INT, name, &bytes);
  CHECK(strcmp(name, "MPI_DOUBLE_INT") == 0);
  CHECK(MPI_Aint_diff(MPI_Aint_add(1000, 24), 24) == 1000);
}

static void check_arrays_of_types(void) {
  int *send = malloc(size * sizeof *send), *receive = malloc(size * sizeof *receive);
  int *counts = malloc(size * sizeof *counts), *places = malloc(size * sizeof *places);
  MPI_Datatype* types = malloc(size * sizeof *types);
  for (int i = 0; i < size; ++i) {
    send[i] = rank * 100 + i;
    counts[i] = 1;
    places[i] = i * (int)sizeof(int);
    types[i] = MPI_INT;
  }
  MPI_Alltoallw(send, counts, places, types, receive, counts, places, types, MPI_COMM_WORLD);
  for (int i = 0; i < size; ++i) CHECK(receive[i] == i * 100 + rank);
  MPI_Request request;
  MPI_Ialltoallw(MPI_IN_PLACE, NULL, NULL, NULL, receive, counts, places, types, MPI_COMM_WORLD,
                 &request);
  MPI_Wait(&request, MPI_STATUS_IGNORE);
  for (int i = 0; i < size; ++i) CHECK(receive[i] == rank * 100 + i);
  free(send), free(receive), free(counts), free(places), free(types);
}

static void check_topologies(void) {
  MPI_Comm cart, graph;
  int dimensions[] = {size}, periods[] = {0}, low, high, kind;
  MPI_Cart_create(MPI_COMM_WORLD, 1, dimensions, periods, 0, &cart);
  MPI_Cart_shift(cart, 0, 1, &low, &high);
  CHECK(low == (rank > 0 ? rank - 1 : MPI_PROC_NULL));
  CHECK(high == (rank < size - 1 ? rank + 1 : MPI_PROC_NULL));
  MPI_Topo_test(cart, &kind);
  CHECK(kind == MPI_CART);
  MPI_Topo_test(MPI_COMM_WORLD, &kind);
  CHECK(kind == MPI_UNDEFINED);
  int mine[] = {rank, rank}, theirs[] = {-1, -1}, counts[] = {1, 1};
  MPI_Aint places[] = {0, sizeof(int)};
  MPI_Datatype types[] = {MPI_INT, MPI_INT};
  MPI_Neighbor_alltoallw(mine, counts, places, types, theirs, counts, places, types, cart);
  CHECK(theirs[0] == (rank > 0 ? rank - 1 : -1));
  CHECK(theirs[1] == (rank < size - 1 ? rank + 1 : -1));
  MPI_Comm_free(&cart);

  int source[1], target[1], weight[] = {3}, weights[2], in, out, weighted;
  source[0] = previous, target[0] = next;
  MPI_Dist_graph_create_adjacent(MPI_COMM_WORLD, 1, source, MPI_UNWEIGHTED, 1, target,
                                 MPI_UNWEIGHTED, MPI_INFO_NULL, 0, &graph);
  MPI_Dist_graph_neighbors_count(graph, &in, &out, &weighted);
  CHECK(in == 1 && out == 1 && !weighted);
  MPI_Dist_graph_neighbors(graph, 1, source, MPI_UNWEIGHTED, 1, target, MPI_UNWEIGHTED);
  CHECK(source[0] == previous && target[0] == next);
  MPI_Comm_free(&graph);
  MPI_Dist_graph_create_adjacent(MPI_COMM_WORLD, 1, source, weight, 1, target, weight,
                                 MPI_INFO_NULL, 0, &graph);
  MPI_Dist_graph_neighbors(graph, 1, source, &weights[0], 1, target, &weights[1]);
  CHECK(weights[0] == 3 && weights[1] == 3);
  MPI_Comm_free(&graph);
}

static void check_communicators(void) {
  MPI_Comm comm;
  MPI_Comm_split(MPI_COMM_WORLD, rank == 0 ? MPI_UNDEFINED : 1, 0, &comm);
  CHECK((comm == MPI_COMM_NULL) == (rank == 0));
  if (comm != MPI_COMM_NULL) MPI_Comm_free(&comm);
  MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &comm);
  CHECK(comm != MPI_COMM_NULL);
  MPI_Comm_free(&comm);
  MPI_Comm_get_parent(&comm);
  CHECK(comm == MPI_COMM_NULL);

  MPI_Group world, first;
  int from[] = {0, MPI_PROC_NULL}, to[2], own;
  MPI_Comm_group(MPI_COMM_WORLD, &world);
  MPI_Group_incl(world, 1, from, &first);
  MPI_Group_translate_ranks(world, 2, from, first, to);
  CHECK(to[0] == 0 && to[1] == MPI_PROC_NULL);
  MPI_Group_rank(first, &own);
  CHECK(own == (rank == 0 ? 0 : MPI_UNDEFINED));
  MPI_Group_free(&first);
  CHECK(first == MPI_GROUP_NULL);
  MPI_Group_free(&world);
  if (size == 1) return;

  MPI_Comm half, inter;
  int value = rank == 0 ? 77 : 0;
  const int root = rank == 0 ? MPI_ROOT : rank % 2 == 0 ? MPI_PROC_NULL : 0;
  MPI_Comm_split(MPI_COMM_WORLD, rank % 2, rank, &half);
  MPI_Intercomm_create(half, 0, MPI_COMM_WORLD, rank % 2 == 0 ? 1 : 0, 9, &inter);
  MPI_Bcast(&value, 1, MPI_INT, root, inter);
  CHECK(rank % 2 == 0 || value == 77);
  MPI_Comm_free(&inter);
  MPI_Comm_free(&half);
}

static int query(void* state, MPI_Status* status) {
  (void)state;
  MPI_Status_set_elements(status, MPI_INT, 7);
  MPI_Status_set_cancelled(status, 0);
  status->MPI_SOURCE = status->MPI_TAG = MPI_UNDEFINED;
  return MPI_SUCCESS;
}
static int release(void* state) { return state == &size ? MPI_SUCCESS : MPI_ERR_OTHER; }
static int cancel(void* state, int complete) {
  (void)state, (void)complete;
  return MPI_SUCCESS;
}

static void check_the_rest(void) {
  MPI_Request request;
  MPI_Status status;
  int count, flag, provided;
  MPI_Grequest_start(query, release, cancel, &size, &request);
  MPI_Grequest_complete(request);
  MPI_Wait(&request, &status);
  MPI_Get_elements(&status, MPI_INT, &count);
  CHECK(count == 7 && status.MPI_SOURCE == MPI_UNDEFINED);

  MPI_Info info;
  char value[10];
  MPI_Info_create(&info);
  MPI_Info_set(info, "key", "value");
  MPI_Info_get(info, "key", 9, value, &flag);
  CHECK(flag && strcmp(value, "value") == 0);
  MPI_Info_free(&info);
  CHECK(info == MPI_INFO_NULL);

#if MPI_VERSION >= 4
  MPI_Session session;
  MPI_Group group;
  MPI_Comm comm;
  MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_RETURN, &session);
  MPI_Group_from_session_pset(session, "mpi://WORLD", &group);
  MPI_Comm_create_from_group(group, "tag", MPI_INFO_NULL, MPI_ERRORS_RETURN, &comm);
  MPI_Comm_rank(comm, &count);
  CHECK(count == rank);
  MPI_Comm_free(&comm);
  MPI_Group_free(&group);
  MPI_Session_finalize(&session);
  CHECK(session == MPI_SESSION_NULL);
#endif

  MPI_T_init_thread(MPI_THREAD_SINGLE, &provided);
  CHECK(MPI_T_cvar_get_num(&count) == MPI_SUCCESS);
  MPI_T_finalize();
}

int main(int argc, char** argv) {
  int provided, total = 0;
  MPI_Init_thread(&argc, &argv, MPI_THREAD_FUNNELED, &provided);
  CHECK(provided == MPI_THREAD_SINGLE || provided >= MPI_THREAD_FUNNELED);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  next = (rank + 1) % size;
  previous = (rank + size - 1) % size;
  check_messages();
  check_operations();
  check_errors();
  check_attributes();
  check_datatypes();
  check_arrays_of_types();
  check_topologies();
  check_communicators();
  check_the_rest();
  MPI_Reduce(&failures, &total, 1, MPI_INT, MPI_SUM, 0, MPI_COMM_WORLD);
  if (rank == 0) printf("%d checks failed\n", total);
  MPI_Finalize();
  return failures != 0;
}
