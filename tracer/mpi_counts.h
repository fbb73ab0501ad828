/* The hooks that count calls: each stands in front of the real function, and behind the hook that
 * records the call where there is one. Part of mpi_hooks.h. */
#include "cells.h"

#define BENEATH(symbol) ((__typeof__(&count_##symbol))sesame_mpi_counted[SESAME_SYMBOL_##symbol])

/* --- Communicators ------------------------------------------------------------------------ */

static atomic_uint freed_comms; /* a handle may come again */

/* What sizes of collective calls need to know of a communicator, asked of MPI once. */
static __thread struct {
  bool known;
  unsigned freed;
  uintptr_t key;
  SesameComm comm;
} counted_last __attribute__((tls_model("initial-exec")));

static __attribute__((noinline)) void ask_comm(Comm comm) {
  int rank = 0, size = 0, inter = 0, remote = -1;
  library.Comm_rank(comm, &rank);
  library.Comm_size(comm, &size);
  library.Comm_test_inter(comm, &inter);
  if (inter != 0) library.Comm_remote_size(comm, &remote);
  counted_last.comm = (SesameComm){
      .number = -1, .rank = rank, .size = size, .remote_size = remote, .neighbours = -1};
}

static inline const SesameComm* counted_comm(Comm comm) {
  const unsigned freed = atomic_load_explicit(&freed_comms, memory_order_acquire);
  if (__builtin_expect(
          !counted_last.known || counted_last.key != KEY(comm) || counted_last.freed != freed, 0)) {
    ask_comm(comm);
    counted_last.key = KEY(comm);
    counted_last.freed = freed;
    counted_last.known = true;
  }
  return &counted_last.comm;
}

/* --- What every hook does ----------------------------------------------------------------- */

static inline int uncounted(SesameCount begun, int result) {
  sesame_counter.inside = begun.was_inside;
  return result;
}

/* Calls the real function; goes on, with its size, when the call is to be counted. A call that
 * failed has no size. */
#define SESAME_COUNT_CALL(symbol, point, arguments)    \
  const SesameCount begun = sesame_count_begin(point); \
  const int result = BENEATH(symbol) arguments;        \
  const uint64_t end = sesame_count_ticks(begun);      \
  if (begun.detail == SESAME_OFF) return uncounted(begun, result)

static int count_MPI_Type_free(Datatype* datatype) {
  atomic_fetch_add(&type_changes, 1);
  int result = BENEATH(MPI_Type_free)(datatype);
  atomic_fetch_add(&type_changes, 1);
  return result;
}
