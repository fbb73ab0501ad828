/* What the tracer stores about MPI's objects, whatever the interface: handles and their numbers.
 *
 * Use: the hook of a call that makes an object puts its handle in a table, hooks of other calls
 * find it, and the hook of the call that frees it forgets it, before the real call. The value is
 * the caller's; a table does not free it. A communicator:
 *
 *   SesameComm* known = sesame_new_comm(sesame_next_comm());   after it was made
 *   known->rank = …;                                           and all other members
 *   sesame_handle_put(&sesame_comms, handle, known);
 *   const SesameComm* comm = sesame_handle_find(&sesame_comms, handle);   null: not known
 *
 * Any thread; finding takes no lock, the others take the table's. The data of a communicator is
 * never freed, as another thread may be reading it: some 40 bytes for each communicator that a
 * program ever made. Without memory a handle stays unknown, and a record counts as discarded. */
#ifndef SESAME_TRACER_MPI_OBJECTS_H
#define SESAME_TRACER_MPI_OBJECTS_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "recorder.h"

/* --- Tables of handles -------------------------------------------------------------------- */

struct SesameSlots;
typedef struct {
  pthread_mutex_t lock;
  _Atomic(struct SesameSlots*) slots;
  atomic_uint changes; /* grows when a handle gets another value */
} SesameHandles;

#define SESAME_NO_HANDLES \
  { .lock = PTHREAD_MUTEX_INITIALIZER }

/* Null for a handle that is not there. A handle is not 0. */
void* sesame_handle_find(SesameHandles* handles, uintptr_t handle);
void sesame_handle_put(SesameHandles* handles, uintptr_t handle, void* value);
void sesame_handle_forget(SesameHandles* handles, uintptr_t handle);

/* --- Handles that are pointers ------------------------------------------------------------ */

extern atomic_uintptr_t sesame_pointer_base;

/* A number for a handle in a record: 32 bits for all within 16 GiB of the first one used, which
 * makes records a third shorter; the others are marked by the highest bit. Numbers below 2^32 are
 * handles that an implementation has widened. */
static inline uint64_t sesame_pointer_id(uintptr_t handle) {
  if (handle <= UINT32_MAX) return handle;
  uintptr_t base = atomic_load_explicit(&sesame_pointer_base, memory_order_relaxed);
  if (__builtin_expect(base == 0, 0)) {
    uintptr_t first = handle - (1ull << 34);
    base = atomic_compare_exchange_strong(&sesame_pointer_base, &base, first) ? first : base;
  }
  uint64_t distance = handle - base;
  bool near = distance < 1ull << 35 && distance % 8 == 0;
  return near ? distance / 8 : handle | 1ull << 63;
}

/* --- Communicators ------------------------------------------------------------------------ */

typedef struct {
  int32_t number;
  int32_t rank;               /* of this process in it */
  int32_t size;               /* of its own group */
  int32_t remote_size;        /* of an intercommunicator's other group; else -1 */
  _Atomic int32_t neighbours; /* that this process sends to; -1 when not asked for yet */
} SesameComm;

extern const SesameComm sesame_no_comm; /* number -1 */
extern SesameHandles sesame_comms;      /* values are SesameComm */
extern SesameHandles sesame_windows;    /* likewise, a window's communicator */
extern SesameHandles sesame_files;      /* values are numbers + 1 */
extern SesameHandles sesame_messages;   /* values are Matched (mpi_requests.inc) */

SesameComm* sesame_new_comm(int32_t number);
int32_t sesame_next_comm(void);
int32_t sesame_next_file(void);

/* The processes that this one exchanges data with in a collective call. */
static inline uint64_t sesame_peers(const SesameComm* comm) {
  return (uint64_t)(comm->remote_size >= 0 ? comm->remote_size : comm->size);
}

/* Ranks as runs of first, count, step; `runs` has space for three times as many. */
SesameList sesame_runs(const int* ranks, int count, int undefined, int32_t* runs);

#endif
