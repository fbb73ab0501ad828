/* What every MPI hook does around the real function. Interface-dependent: included once by each
 * of mpi_mpich.c, mpi_mpiabi.c and mpi_openmpi.c, after its types. */
#include <stdbool.h>

#include "calls.h"
#include "mpi_library.h"
#include "mpi_objects.h"
#include "recorder.h"

typedef void* Function; /* of the program; only passed on */

/* Functions of the library that hooks call besides: MPI_Type_size_x and so on. Some are absent
 * from older libraries. */
#define LIBRARY_FUNCTIONS(F)                                                                    \
  F(Error_class, "PMPI_Error_class", (int, int*))                                               \
  F(Type_size_x, "PMPI_Type_size_x", (Datatype, Count*))                                        \
  F(Type_get_extent, "PMPI_Type_get_extent", (Datatype, Aint*, Aint*))                          \
  F(Type_get_envelope, "PMPI_Type_get_envelope", (Datatype, int*, int*, int*, int*))            \
  F(Type_get_envelope_c, "PMPI_Type_get_envelope_c",                                            \
    (Datatype, Count*, Count*, Count*, Count*, int*))                                           \
  F(Type_get_contents, "PMPI_Type_get_contents",                                                \
    (Datatype, int, int, int, int*, Aint*, Datatype*))                                          \
  F(Type_free, "PMPI_Type_free", (Datatype*))                                                   \
  F(Comm_rank, "PMPI_Comm_rank", (Comm, int*))                                                  \
  F(Comm_size, "PMPI_Comm_size", (Comm, int*))                                                  \
  F(Comm_remote_size, "PMPI_Comm_remote_size", (Comm, int*))                                    \
  F(Comm_group, "PMPI_Comm_group", (Comm, Group*))                                              \
  F(Comm_remote_group, "PMPI_Comm_remote_group", (Comm, Group*))                                \
  F(Comm_test_inter, "PMPI_Comm_test_inter", (Comm, int*))                                      \
  F(Group_rank, "PMPI_Group_rank", (Group, int*))                                               \
  F(Group_size, "PMPI_Group_size", (Group, int*))                                               \
  F(Group_free, "PMPI_Group_free", (Group*))                                                    \
  F(Group_translate_ranks, "PMPI_Group_translate_ranks", (Group, int, const int*, Group, int*)) \
  F(Group_from_session_pset, "PMPI_Group_from_session_pset", (Session, const char*, Group*))    \
  F(Test_cancelled, "PMPI_Test_cancelled", (const Status*, int*))                               \
  F(Topo_test, "PMPI_Topo_test", (Comm, int*))                                                  \
  F(Cartdim_get, "PMPI_Cartdim_get", (Comm, int*))                                              \
  F(Graph_neighbors_count, "PMPI_Graph_neighbors_count", (Comm, int, int*))                     \
  F(Dist_graph_neighbors_count, "PMPI_Dist_graph_neighbors_count", (Comm, int*, int*, int*))

static struct {
#define F(name, symbol, arguments) int(*name) arguments;
  LIBRARY_FUNCTIONS(F)
#undef F
} library;

/* --- Entering and leaving ----------------------------------------------------------------- */

/* All records of a call have the same times: the clock may be renewed between two of them. */
typedef struct {
  uint64_t begin; /* ticks */
  uint64_t end;
  uint64_t duration; /* ns */
} Span;

static inline void end_span(Span* span) {
  span->end = sesame_leave(span->begin);
  span->duration = sesame_ticks_to_ns(&sesame_stream.clock, span->end - span->begin);
}

/* What the library does inside a call is not the program's: its own MPI calls and its files,
 * except in calls on files, whose accesses to the file are of interest. */
enum { HIDE_ALL = SESAME_IO | SESAME_MPI, HIDE_MPI = SESAME_MPI };

static __attribute__((noinline)) bool enter_slowly(uint8_t hidden, uint8_t* before) {
  bool recorded = sesame_watches(SESAME_MPI);
  if (!recorded && !(sesame_stream.watched & SESAME_WRITING)) sesame_watches(SESAME_IO);
  *before = sesame_hide(hidden);
  return recorded;
}

/* Whether the call is to be recorded; leave() in any case. */
static inline bool enter(uint8_t hidden, uint8_t* before) {
  if (__builtin_expect(!(sesame_stream.watched & SESAME_MPI), 0)) {
    return enter_slowly(hidden, before);
  }
  *before = sesame_hide(hidden);
  return true;
}

static inline int leave(uint8_t before, int result) {
  sesame_unhide(before);
  return result;
}

static int class_of(int result) {
  int class = 0;
  if (result != 0 && library.Error_class(result, &class) != 0) class = result;
  return class;
}

#define SESAME_PUT(shape, call_, ...) \
  sesame_put_##shape(                 \
      span.end, &(struct sesame_##shape){.call = (call_), .duration = span.duration, __VA_ARGS__})

/* A call that failed did not do what its record would say. */
static __attribute__((noinline)) int failed(int call, Span span, uint8_t before, int result) {
  SESAME_PUT(plain, (uint16_t)call, .error = class_of(result));
  return leave(before, result);
}

#define REAL(symbol) ((__typeof__(&hook_##symbol))sesame_mpi_real[SESAME_SYMBOL_##symbol])

#define ANY_FAILURE(result) true
#define NOT_TRUNCATED(result) (class_of(result) != ERR_TRUNCATE)

/* Calls the real function; goes on when there is something to record. */
#define SESAME_CALL_HIDING(symbol, call, arguments, hidden, fails)  \
  uint8_t before;                                                   \
  const bool recorded = enter(hidden, &before);                     \
  Span span;                                                        \
  span.begin = sesame_enter();                                      \
  const int result = REAL(symbol) arguments;                        \
  end_span(&span);                                                  \
  if (__builtin_expect(!recorded, 0)) return leave(before, result); \
  if (__builtin_expect(result != 0, 0) && fails(result)) return failed(call, span, before, result)

#define SESAME_MPI_CALL(symbol, call, arguments) \
  SESAME_CALL_HIDING(symbol, call, arguments, HIDE_ALL, ANY_FAILURE)
#define SESAME_MPI_CALL_RECEIVE(symbol, call, arguments) \
  SESAME_CALL_HIDING(symbol, call, arguments, HIDE_ALL, NOT_TRUNCATED)
#define SESAME_MPI_FILE_CALL(symbol, call, arguments) \
  SESAME_CALL_HIDING(symbol, call, arguments, HIDE_MPI, ANY_FAILURE)

/* --- Ranks, tags, requests ---------------------------------------------------------------- */

enum {
  ASKED_ANY_SOURCE = 1,
  ASKED_ANY_TAG = 2,
  ASKED_EXCHANGE = 4,
  ASKED_CANCELLED = 8,
  ASKED_NOTHING = 16
};

static inline int32_t peer_of(int rank) {
  if (__builtin_expect(rank >= 0, 1)) return rank;
  return rank == PROC_NULL ? -2 : rank == ROOT ? -3 : -1;
}

static inline int32_t tag_of(int tag) { return tag == ANY_TAG ? -1 : tag; }

static inline uint8_t asked_of(int source, int tag) {
  return (uint8_t)((source == ANY_SOURCE ? ASKED_ANY_SOURCE : 0) |
                   (tag == ANY_TAG ? ASKED_ANY_TAG : 0));
}

static inline uint64_t request_id(Request request) { return REQUEST_ID(request); }

/* --- Sizes of datatypes ------------------------------------------------------------------- */

enum { KNOWN_TYPES = 16 };
static __thread struct {
  unsigned changes;
  struct {
    uintptr_t type;
    uint64_t size;
  } known[KNOWN_TYPES];
} types __attribute__((tls_model("initial-exec")));
static atomic_uint type_changes; /* grows when a datatype is freed: its handle may come again */

static __attribute__((noinline)) uint64_t ask_size(Datatype type, unsigned place) {
  Count size = 0;
  if (library.Type_size_x(type, &size) != 0 || size < 0) size = 0;
  unsigned changes = atomic_load_explicit(&type_changes, memory_order_acquire);
  if (types.changes != changes) {
    memset(&types, 0, sizeof types);
    types.changes = changes;
  }
  types.known[place].type = KEY(type);
  types.known[place].size = (uint64_t)size;
  return (uint64_t)size;
}

static inline uint64_t size_of(Datatype type) {
  uintptr_t key = KEY(type);
  unsigned place = (unsigned)(((uint64_t)key * 0x9e3779b97f4a7c15u) >> 60);
  if (__builtin_expect(
          types.known[place].type == key &&
              types.changes == atomic_load_explicit(&type_changes, memory_order_relaxed),
          1)) {
    return types.known[place].size;
  }
  return ask_size(type, place);
}

static int hook_MPI_Type_free(Datatype* datatype) {
  atomic_fetch_add(&type_changes, 1);
  int result = REAL(MPI_Type_free)(datatype);
  atomic_fetch_add(&type_changes, 1);
  return result;
}

#define bytes(count, type) ((uint64_t)(count)*size_of(type))

#define total(counts, length)                                                           \
  ({                                                                                    \
    uint64_t sum_ = 0;                                                                  \
    for (uint64_t i_ = 0, n_ = (length); i_ < n_; ++i_) sum_ += (uint64_t)(counts)[i_]; \
    sum_;                                                                               \
  })

#define total_of_types(counts, types_, length)                         \
  ({                                                                   \
    uint64_t sum_ = 0;                                                 \
    for (uint64_t i_ = 0, n_ = (length); i_ < n_; ++i_) {              \
      if ((counts)[i_] > 0) sum_ += bytes((counts)[i_], (types_)[i_]); \
    }                                                                  \
    sum_;                                                              \
  })
