/* Communicators: their numbers and their records. Part of mpi_hooks.h. */

static Group world = (Group)0; /* while `has_world` */
static bool has_world;

static __thread struct {
  uintptr_t key;
  unsigned changes;
  const SesameComm* comm;
} last_comm __attribute__((tls_model("initial-exec")));

/* --- Members ------------------------------------------------------------------------------ */

/* The processes of a group as runs of ranks of MPI_COMM_WORLD; the caller frees `items`. */
static SesameList members_of(Group group, int* size) {
  SesameList none = {0, NULL};
  if (library.Group_size(group, size) != 0 || *size <= 0 || !has_world) return none;
  size_t count = (size_t)*size;
  int32_t* runs = malloc(5 * count * sizeof(int)); /* and behind them two lists of ranks */
  if (runs == NULL) {
    sesame_discard();
    return none;
  }
  int* inside = (int*)(runs + 3 * count);
  int* ranks = inside + count;
  for (int i = 0; i < *size; ++i) inside[i] = i;
  if (library.Group_translate_ranks(group, *size, inside, world, ranks) != 0) {
    free(runs);
    return none;
  }
  return sesame_runs(ranks, *size, UNDEFINED, runs);
}

typedef struct {
  SesameList members;
  SesameList remote;
} Groups;

/* Fills what is known of a communicator, and gives the members for its record. */
static Groups examine(SesameComm* known, Comm comm) {
  Groups groups = {{0, NULL}, {0, NULL}};
  Group group;
  int inter = 0;
  if (library.Comm_group(comm, &group) != 0) return groups;
  groups.members = members_of(group, &known->size);
  library.Group_rank(group, &known->rank);
  library.Group_free(&group);
  if (library.Comm_test_inter(comm, &inter) == 0 && inter != 0 &&
      library.Comm_remote_group(comm, &group) == 0) {
    groups.remote = members_of(group, &known->remote_size);
    library.Group_free(&group);
  }
  return groups;
}

static void put_communicator(Span span, int call, int32_t parent, const SesameComm* comm,
                             Groups groups, uint64_t request) {
  SESAME_PUT(communicator, (uint16_t)call, .parent = parent, .comm = comm->number,
             .request = request, .members = groups.members, .remote = groups.remote);
  free((void*)groups.members.items);
  free((void*)groups.remote.items);
}

/* A communicator that the program has just got. */
static void made(const Span* span, int call, int32_t parent, Comm comm) {
  if (comm == COMM_NULL) {
    put_communicator(*span, call, parent, &sesame_no_comm, (Groups){{0, NULL}, {0, NULL}}, 0);
    return;
  }
  SesameComm* known = sesame_new_comm(sesame_next_comm());
  Groups groups = examine(known, comm);
  sesame_handle_put(&sesame_comms, KEY(comm), known);
  put_communicator(*span, call, parent, known, groups, 0);
}

/* --- Looking up --------------------------------------------------------------------------- */

/* One that was made where we do not look, as by an extension, gets its number when it is met. */
static const SesameComm* meet(Comm comm) {
  if (comm == COMM_NULL) return &sesame_no_comm;
  uint64_t now = sesame_ticks();
  made(&(Span){now, now, 0}, SESAME_CALL_unknown, -1, comm);
  return sesame_handle_find(&sesame_comms, KEY(comm));
}

static __attribute__((noinline)) const SesameComm* find_comm(Comm comm) {
  unsigned changes = atomic_load_explicit(&sesame_comms.changes, memory_order_acquire);
  const SesameComm* known = sesame_handle_find(&sesame_comms, KEY(comm));
  if (known == NULL) {
    known = meet(comm);
    if (known == NULL) known = &sesame_no_comm;
    changes = atomic_load_explicit(&sesame_comms.changes, memory_order_acquire);
  }
  last_comm.key = KEY(comm);
  last_comm.changes = changes;
  last_comm.comm = known;
  return known;
}

static inline const SesameComm* comm_of(Comm comm) {
  if (__builtin_expect(last_comm.key == KEY(comm) &&
                           last_comm.changes ==
                               atomic_load_explicit(&sesame_comms.changes, memory_order_relaxed),
                       1)) {
    return last_comm.comm;
  }
  return find_comm(comm);
}

/* Whether this rank is the one that gives data to all. */
static inline bool is_root(const SesameComm* comm, int root) {
  return comm->remote_size >= 0 ? root == ROOT : root == comm->rank;
}

static int count_neighbours(const SesameComm* known, Comm comm) {
  int kind = UNDEFINED, in = 0, out = 0, weighted = 0;
  library.Topo_test(comm, &kind);
  if (kind == CART && library.Cartdim_get(comm, &out) == 0) return 2 * out;
  if (kind == GRAPH && library.Graph_neighbors_count(comm, known->rank, &out) == 0) return out;
  if (kind == DIST_GRAPH) library.Dist_graph_neighbors_count(comm, &in, &out, &weighted);
  return out;
}

static uint64_t neighbours(const SesameComm* known, Comm comm) {
  int32_t count = atomic_load_explicit(&known->neighbours, memory_order_relaxed);
  if (count < 0) {
    count = count_neighbours(known, comm);
    atomic_store_explicit(&((SesameComm*)known)->neighbours, count, memory_order_relaxed);
  }
  return (uint64_t)count;
}

/* --- Requests that end with more than a message ------------------------------------------- */

/* Of a duplicate that is made in the background: its handle is there when the request is
 * complete. Of a send and a receive in one: there is a record for each, and MPICH 4.0 forgets to
 * say what came, but for a wildcard it is known. Of an access to a file: while one is under way,
 * what the library does to files inside a wait is of interest. */
typedef struct Awaited {
  struct Awaited* next;
  Request request;
  Comm* where;
  SesameComm* known; /* of a duplicate; else null */
  bool on_file;
  int32_t peer; /* of the receive; -1 for any */
  int32_t tag;
} Awaited;
static pthread_mutex_t awaited_lock = PTHREAD_MUTEX_INITIALIZER;
static Awaited* awaited;
static atomic_int awaited_count;
static atomic_int awaited_files;

static void await(Awaited what) {
  Awaited* one = malloc(sizeof *one);
  if (one == NULL) {
    sesame_discard();
    return;
  }
  *one = what;
  pthread_mutex_lock(&awaited_lock);
  one->next = awaited;
  awaited = one;
  pthread_mutex_unlock(&awaited_lock);
  atomic_fetch_add(&awaited_count, 1);
}

static void await_two(Request request, int source, int tag) {
  await((Awaited){.request = request, .peer = peer_of(source), .tag = tag_of(tag)});
}

static void await_file(Request request) {
  if (request == REQUEST_NULL) return;
  await((Awaited){.request = request, .on_file = true});
  atomic_fetch_add(&awaited_files, 1);
}

/* What a wait or test does not record of its inside. */
static inline uint8_t hidden_by_wait(void) {
  return atomic_load_explicit(&awaited_files, memory_order_relaxed) != 0 ? HIDE_MPI : HIDE_ALL;
}

/* What a request stood for that is complete, if it was such; the caller frees it. */
static Awaited* take_awaited(Request request) {
  pthread_mutex_lock(&awaited_lock);
  Awaited** place = &awaited;
  while (*place != NULL && (*place)->request != request) place = &(*place)->next;
  Awaited* one = *place;
  if (one != NULL) {
    *place = one->next;
    atomic_fetch_sub(&awaited_count, 1);
  }
  pthread_mutex_unlock(&awaited_lock);
  return one;
}

static void put_duplicate(Span span, int call, Comm comm, Comm* where, Request request) {
  int32_t parent = comm_of(comm)->number;
  SesameComm* known = sesame_new_comm(sesame_next_comm());
  Groups groups = examine(known, comm); /* those of the original */
  await((Awaited){.request = request, .where = where, .known = known});
  put_communicator(span, call, parent, known, groups, request_id(request));
}

static int hook_MPI_Comm_idup(Comm comm, Comm* newcomm, Request* request) {
  SESAME_MPI_CALL(MPI_Comm_idup, SESAME_CALL_MPI_Comm_idup, (comm, newcomm, request));
  put_duplicate(span, SESAME_CALL_MPI_Comm_idup, comm, newcomm, *request);
  return leave(before, result);
}

static int hook_MPI_Comm_idup_with_info(Comm comm, Info info, Comm* newcomm, Request* request) {
  SESAME_MPI_CALL(MPI_Comm_idup_with_info, SESAME_CALL_MPI_Comm_idup_with_info,
                  (comm, info, newcomm, request));
  put_duplicate(span, SESAME_CALL_MPI_Comm_idup_with_info, comm, newcomm, *request);
  return leave(before, result);
}

/* --- Their end and their names ------------------------------------------------------------ */

/* Forgotten before the call, as another thread may get the same handle right after it. */
#define END_COMMUNICATOR(symbol)                                                                 \
  static int hook_##symbol(Comm* comm) {                                                         \
    uint8_t before;                                                                              \
    if (!enter(HIDE_ALL, &before)) return leave(before, REAL(symbol)(comm));                     \
    const Comm gone = *comm;                                                                     \
    const SesameComm* known = comm_of(gone);                                                     \
    sesame_handle_forget(&sesame_comms, KEY(gone));                                              \
    Span span = {.begin = sesame_enter()};                                                       \
    int result = REAL(symbol)(comm);                                                             \
    end_span(&span);                                                                             \
    if (result != 0) {                                                                           \
      if (known->number >= 0) sesame_handle_put(&sesame_comms, KEY(gone), (void*)known);         \
      return failed(SESAME_CALL_##symbol, span, before, result);                                 \
    }                                                                                            \
    SESAME_PUT(collective, SESAME_CALL_##symbol, .comm = known->number, .peer = -1, .bytes = 0); \
    return leave(before, result);                                                                \
  }
END_COMMUNICATOR(MPI_Comm_free)
END_COMMUNICATOR(MPI_Comm_disconnect)

static int hook_MPI_Comm_set_name(Comm comm, const char* name) {
  SESAME_MPI_CALL(MPI_Comm_set_name, SESAME_CALL_MPI_Comm_set_name, (comm, name));
  SESAME_PUT(named, SESAME_CALL_MPI_Comm_set_name, .comm = comm_of(comm)->number, .name = name);
  return leave(before, result);
}
