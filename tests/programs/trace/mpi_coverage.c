/* Calls every function of MPI that the tracer records, at least once by each of two ranks.
 *
 *   mpi_coverage FILE|spawn|join|connect|abort
 *
 * FILE is made and removed by MPI's calls; with it, all but the rest is called. `spawn` starts
 * processes of the same program, `join` and `connect` connect the two ranks anew, `abort` ends with
 * MPI_Abort. Failing calls are recorded as well, so errors return. */
#include <arpa/inet.h>
#include <mpi.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define MPI_AT_LEAST(major, minor) \
  (MPI_VERSION > (major) || (MPI_VERSION == (major) && MPI_SUBVERSION >= (minor)))

static MPI_Comm world, ring;
static int me, other, size;
static double in[1024], out[1024];
static char attached[1 << 16];

#define C(name) MPI_##name
#define NAME(name) name##_classic
#define COUNT int
#define DISPLACEMENT int
#include "mpi_coverage_counts.h"

#if MPI_VERSION >= 4
#undef C
#undef NAME
#undef COUNT
#undef DISPLACEMENT
#define C(name) MPI_##name##_c
#define NAME(name) name##_large
#define COUNT MPI_Count
#define DISPLACEMENT MPI_Aint
#define LARGE 1
#include "mpi_coverage_counts.h"
#endif

static void requests(void) {
  MPI_Request request[2];
  MPI_Status status, statuses[2];
  MPI_Message message;
  int flag, index, some, indices[2];
#define PAIR(tag)                                         \
  MPI_Irecv(in, 1, MPI_INT, me, tag, world, &request[0]); \
  MPI_Isend(out, 1, MPI_INT, me, tag, world, &request[1])
  PAIR(1);
  do MPI_Test(&request[0], &flag, &status);
  while (!flag);
  MPI_Waitany(2, request, &index, &status);
  PAIR(2);
  do MPI_Testall(2, request, &flag, statuses);
  while (!flag);
  PAIR(3);
  MPI_Waitsome(2, request, &some, indices, statuses);
  MPI_Waitall(2, request, statuses);
  PAIR(4);
  MPI_Request_get_status(request[0], &flag, &status);
#if MPI_AT_LEAST(4, 1)
  MPI_Request_get_status_all(2, request, &flag, statuses);
  MPI_Request_get_status_any(2, request, &index, &flag, &status);
  MPI_Request_get_status_some(2, request, &some, indices, statuses);
#endif
  do MPI_Testsome(2, request, &some, indices, MPI_STATUSES_IGNORE);
  while (some == 0);
  do MPI_Testany(2, request, &index, &flag, MPI_STATUS_IGNORE);
  while (!flag);
  MPI_Waitall(2, request, statuses);
  MPI_Isend(out, 1, MPI_INT, me, 5, world, &request[0]);
  MPI_Probe(me, 5, world, &status);
  do MPI_Iprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, world, &flag, &status);
  while (!flag);
  do MPI_Improbe(me, 5, world, &flag, &message, &status);
  while (!flag);
  MPI_Mrecv(in, 1, MPI_INT, &message, &status);
  MPI_Wait(&request[0], &status);
  MPI_Irecv(in, 1, MPI_INT, me, 6, world, &request[0]);
  MPI_Cancel(&request[0]);
  MPI_Wait(&request[0], &status);
  MPI_Irecv(in, 1, MPI_INT, me, 7, world, &request[0]);
  MPI_Send_init(out, 1, MPI_INT, me, 7, world, &request[1]);
  MPI_Start(&request[1]);
  MPI_Waitall(2, request, statuses);
  MPI_Request_free(&request[1]);
}

static int query(void* state, MPI_Status* status) {
  (void)state;
  MPI_Status_set_elements(status, MPI_INT, 0);
  MPI_Status_set_cancelled(status, 0);
  status->MPI_SOURCE = MPI_UNDEFINED;
  status->MPI_TAG = MPI_UNDEFINED;
  return MPI_SUCCESS;
}
static int release(void* state) {
  (void)state;
  return MPI_SUCCESS;
}
static int cancel(void* state, int complete) {
  (void)state;
  (void)complete;
  return MPI_SUCCESS;
}

static void other_requests(void) {
  MPI_Request request;
  MPI_Barrier(world);
  MPI_Ibarrier(world, &request);
  MPI_Wait(&request, MPI_STATUS_IGNORE);
  MPI_Grequest_start(query, release, cancel, NULL, &request);
  MPI_Grequest_complete(request);
  MPI_Wait(&request, MPI_STATUS_IGNORE);
#if MPI_VERSION >= 4
  MPI_Barrier_init(world, MPI_INFO_NULL, &request);
  MPI_Start(&request);
  MPI_Wait(&request, MPI_STATUS_IGNORE);
  MPI_Request_free(&request);
  int flag, last = 3;
  MPI_Request give, take;
  MPI_Psend_init(out, 4, 1, MPI_INT, other, 7, world, MPI_INFO_NULL, &give);
  MPI_Precv_init(in, 4, 1, MPI_INT, other, 7, world, MPI_INFO_NULL, &take);
  MPI_Start(&give);
  MPI_Start(&take);
  MPI_Pready(0, give);
  MPI_Pready_range(1, 2, give);
  MPI_Pready_list(1, &last, give);
  // With pauses: without, ranks of MPICH may poll for seconds, and each call is recorded.
  while (MPI_Parrived(take, 2, &flag) == MPI_SUCCESS && !flag) usleep(1000);
  MPI_Wait(&give, MPI_STATUS_IGNORE);
  MPI_Wait(&take, MPI_STATUS_IGNORE);
  MPI_Request_free(&give);
  MPI_Request_free(&take);
#endif
#if MPI_AT_LEAST(4, 1)
  MPI_Buffer_attach(attached, sizeof attached);
  MPI_Buffer_flush();
  MPI_Buffer_iflush(&request);
  MPI_Wait(&request, MPI_STATUS_IGNORE);
  void* taken;
  int length;
  MPI_Buffer_detach(&taken, &length);
  MPI_Comm_attach_buffer(world, attached, sizeof attached);
  MPI_Comm_flush_buffer(world);
  MPI_Comm_iflush_buffer(world, &request);
  MPI_Wait(&request, MPI_STATUS_IGNORE);
  MPI_Comm_detach_buffer(world, &taken, &length);
  MPI_Comm_attach_buffer(world, attached, sizeof attached);
  MPI_Count large;
  MPI_Comm_detach_buffer_c(world, &taken, &large);
#endif
}

static void communicators(void) {
  MPI_Comm made;
  MPI_Request request;
  MPI_Group group;
  MPI_Info info;
  int one = 1, next = other, rank, degrees[] = {1, 2}, edges[] = {1, 0};
  MPI_Comm_group(world, &group);
  MPI_Info_create(&info);
#define MAKE(call) \
  call;            \
  MPI_Comm_free(&made)
  MAKE(MPI_Comm_create(world, group, &made));
  MAKE(MPI_Comm_create_group(world, group, 1, &made));
  MAKE(MPI_Comm_dup(world, &made));
  MAKE(MPI_Comm_dup_with_info(world, info, &made));
  MAKE(MPI_Comm_idup(world, &made, &request); MPI_Wait(&request, MPI_STATUS_IGNORE));
#if MPI_VERSION >= 4
  MAKE(MPI_Comm_idup_with_info(world, info, &made, &request);
       MPI_Wait(&request, MPI_STATUS_IGNORE));
#endif
  MAKE(MPI_Comm_split(world, me % 2, -me, &made));
  MAKE(MPI_Comm_split_type(world, MPI_COMM_TYPE_SHARED, 0, info, &made));
  MAKE(MPI_Cart_sub(ring, &one, &made));
  MAKE(MPI_Graph_create(world, 2, degrees, edges, 0, &made));
  MAKE(MPI_Dist_graph_create_adjacent(world, 1, &next, MPI_UNWEIGHTED, 1, &next, MPI_UNWEIGHTED,
                                      info, 0, &made));
  MAKE(MPI_Dist_graph_create(world, 1, &me, &one, &next, MPI_UNWEIGHTED, info, 0, &made));
  MPI_Cart_map(world, 1, &size, &one, &rank);
  MPI_Graph_map(world, 2, degrees, edges, &rank);
  MPI_Group_free(&group);
  MPI_Info_free(&info);
}

static void intercommunicators(void) {
  MPI_Comm half, inter, merged;
  MPI_Comm_split(world, me % 2, me, &half);
  MPI_Comm_set_name(half, "half");
  MPI_Intercomm_create(half, 0, world, other % 2, 5, &inter);
  MPI_Bcast(out, 1, MPI_INT, me % 2 == 0 ? MPI_ROOT : 0, inter);
  MPI_Intercomm_merge(inter, me % 2, &merged);
  MPI_Barrier(merged);
  MPI_Comm_disconnect(&merged);
  MPI_Comm_disconnect(&inter);
  MPI_Comm_free(&half);
}

#if MPI_VERSION >= 4
static void sessions(void) {
  MPI_Session session;
  MPI_Group all, mine, theirs;
  MPI_Comm made;
  int theirs_first = other;
  MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_RETURN, &session);
  MPI_Group_from_session_pset(session, "mpi://WORLD", &all);
  MPI_Comm_create_from_group(all, "all", MPI_INFO_NULL, MPI_ERRORS_RETURN, &made);
  MPI_Barrier(made);
  MPI_Comm_free(&made);
  MPI_Group_incl(all, 1, &me, &mine);
  MPI_Group_incl(all, 1, &theirs_first, &theirs);
  MPI_Intercomm_create_from_groups(mine, 0, theirs, 0, "halves", MPI_INFO_NULL, MPI_ERRORS_RETURN,
                                   &made);
  if (made != MPI_COMM_NULL) MPI_Comm_free(&made);
  MPI_Group_free(&mine);
  MPI_Group_free(&theirs);
  MPI_Group_free(&all);
#if MPI_AT_LEAST(4, 1)
  MPI_Request request;
  void* taken;
  int length;
  MPI_Count large;
  MPI_Session_attach_buffer(session, attached, sizeof attached);
  MPI_Session_flush_buffer(session);
  MPI_Session_iflush_buffer(session, &request);
  MPI_Wait(&request, MPI_STATUS_IGNORE);
  MPI_Session_detach_buffer(session, &taken, &length);
  MPI_Session_attach_buffer(session, attached, sizeof attached);
  MPI_Session_detach_buffer_c(session, &taken, &large);
#endif
  MPI_Session_finalize(&session);
}
#endif

static void windows(void) {
  MPI_Win window;
  MPI_Group group, neighbour;
  int flag, value = 1, result = 0, compare = 0;
  MPI_Win_create_dynamic(MPI_INFO_NULL, world, &window);
  MPI_Win_free(&window);
  MPI_Win_create(in, sizeof in, 1, MPI_INFO_NULL, world, &window);
  MPI_Win_fence(0, window);
  MPI_Win_fence(MPI_MODE_NOSUCCEED, window);
  MPI_Win_lock_all(0, window);
  MPI_Fetch_and_op(&value, &result, MPI_INT, other, 0, MPI_SUM, window);
  MPI_Win_flush_local(other, window);
  MPI_Compare_and_swap(&value, &compare, &result, MPI_INT, other, 64, window);
  MPI_Win_flush_local_all(window);
  MPI_Win_flush_all(window);
  MPI_Win_sync(window);
  MPI_Win_unlock_all(window);
  MPI_Comm_group(world, &group);
  MPI_Group_incl(group, 1, &other, &neighbour);
  for (int test = 0; test < 2; ++test) {
    MPI_Win_post(neighbour, 0, window);
    MPI_Win_start(neighbour, 0, window);
    MPI_Put(&value, 1, MPI_INT, other, 128, 1, MPI_INT, window);
    MPI_Win_complete(window);
    if (test == 0) MPI_Win_wait(window);
    for (flag = test == 0; !flag;) MPI_Win_test(window, &flag);
  }
  MPI_Group_free(&neighbour);
  MPI_Group_free(&group);
  MPI_Win_free(&window);
}

static void one_file(const char* path) {
  MPI_File file;
  MPI_Offset length;
  MPI_File_open(world, path, MPI_MODE_CREATE | MPI_MODE_RDWR, MPI_INFO_NULL, &file);
  MPI_File_preallocate(file, 4096);
  MPI_File_set_size(file, 8192);
  MPI_File_get_size(file, &length);
  MPI_File_set_view(file, 8, MPI_DOUBLE, MPI_DOUBLE, "native", MPI_INFO_NULL);
  MPI_File_seek(file, 2, MPI_SEEK_SET);
  MPI_File_seek_shared(file, 1, MPI_SEEK_SET);
  MPI_File_get_position_shared(file, &length);
  MPI_File_set_atomicity(file, 0);
  MPI_File_set_info(file, MPI_INFO_NULL);
  all_classic(file);
#ifdef LARGE
  all_large(file);
#endif
  MPI_File_sync(file);
  MPI_File_close(&file);
  if (me == 0) MPI_File_delete(path, MPI_INFO_NULL);
}

/* A connection by TCP between rank 0 and rank 1. */
static int connected(void) {
  struct sockaddr_in address = {.sin_family = AF_INET};
  socklen_t length = sizeof address;
  int port = 0, listener = socket(AF_INET, SOCK_STREAM, 0), made = listener;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  if (me == 0) {
    bind(listener, (struct sockaddr*)&address, sizeof address);
    listen(listener, 1);
    getsockname(listener, (struct sockaddr*)&address, &length);
    port = address.sin_port;
  }
  MPI_Bcast(&port, 1, MPI_INT, 0, world);
  address.sin_port = (in_port_t)port;
  if (me == 0) {
    made = accept(listener, NULL, NULL);
    close(listener);
  } else {
    connect(made, (struct sockaddr*)&address, sizeof address);
  }
  return made;
}

static void spawn(char* program) {
  MPI_Comm made;
  char* argument[] = {"child", NULL};
  char** arguments[] = {argument};
  char* programs[] = {program};
  int error, one = 1;
  MPI_Info info = MPI_INFO_NULL;
  MPI_Comm_spawn(program, argument, 1, info, 0, world, &made, &error);
  MPI_Comm_disconnect(&made);
  MPI_Comm_spawn_multiple(1, programs, arguments, &one, &info, 0, world, &made, &error);
  MPI_Comm_disconnect(&made);
}

static void join(void) {
  MPI_Comm made;
  int connection = connected();
  MPI_Comm_join(connection, &made);
  if (made != MPI_COMM_NULL) MPI_Comm_disconnect(&made);
  close(connection);
}

static void connect_ranks(void) {
  MPI_Comm made;
  char port[MPI_MAX_PORT_NAME] = "";
  if (me == 0) MPI_Open_port(MPI_INFO_NULL, port);
  MPI_Bcast(port, sizeof port, MPI_CHAR, 0, world);
  if (me == 0) MPI_Comm_accept(port, MPI_INFO_NULL, 0, MPI_COMM_SELF, &made);
  if (me == 1) MPI_Comm_connect(port, MPI_INFO_NULL, 0, MPI_COMM_SELF, &made);
  MPI_Barrier(made);
  MPI_Comm_disconnect(&made);
  if (me == 0) MPI_Close_port(port);
}

/* Without a name server these fail. */
static void names(void) {
  char port[MPI_MAX_PORT_NAME] = "port";
  MPI_Publish_name("sesame", MPI_INFO_NULL, port);
  MPI_Lookup_name("sesame", MPI_INFO_NULL, port);
  MPI_Unpublish_name("sesame", MPI_INFO_NULL, port);
}

static int child(void) {
  MPI_Comm parent;
  MPI_Comm_get_parent(&parent);
  MPI_Comm_disconnect(&parent);
  return MPI_Finalize();
}

int main(int argc, char** argv) {
  int provided, one = 1;
  const char* last = argv[argc - 1];
  if (strcmp(last, "abort") == 0 || strcmp(last, "child") == 0) {
    MPI_Init(&argc, &argv);
    if (strcmp(last, "child") == 0) return child();
    MPI_Abort(MPI_COMM_WORLD, 3);
  }
  MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  MPI_Comm_dup(MPI_COMM_WORLD, &world);
  MPI_Comm_rank(world, &me);
  MPI_Comm_size(world, &size);
  other = size - 1 - me;
  MPI_Cart_create(world, 1, &size, &one, 0, &ring);
  if (strcmp(last, "spawn") == 0) {
    spawn(argv[0]);
  } else if (strcmp(last, "join") == 0) {
    join();
  } else if (strcmp(last, "connect") == 0) {
    connect_ranks();
  } else {
    requests();
    other_requests();
    communicators();
    intercommunicators();
    windows();
    one_file(last);
    names();
#if MPI_VERSION >= 4
    sessions();
#endif
  }
  MPI_Comm_free(&ring);
  MPI_Comm_free(&world);
  MPI_Finalize();
  return 0;
}
