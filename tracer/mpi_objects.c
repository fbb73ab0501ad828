#include "mpi_objects.h"

#include <stdlib.h>

#include "recorder.h"

/* --- Tables of handles -------------------------------------------------------------------- */

typedef struct {
  _Atomic uintptr_t handle; /* 0: none was ever here */
  _Atomic(void*) value;     /* null: forgotten */
} Slot;

struct SesameSlots {
  size_t mask;
  size_t used; /* slots that have a handle */
  Slot slot[];
};

static struct SesameSlots* new_slots(size_t size) {
  struct SesameSlots* slots = calloc(1, sizeof *slots + size * sizeof(Slot));
  if (slots != NULL) slots->mask = size - 1;
  return slots;
}

/* The slot of a handle, or the empty one where it would be. */
static Slot* slot_of(struct SesameSlots* slots, uintptr_t handle) {
  uint64_t hash = (uint64_t)handle * 0x9e3779b97f4a7c15u; /* 2^64 / golden ratio */
  for (size_t i = (size_t)(hash >> 32) & slots->mask;; i = (i + 1) & slots->mask) {
    uintptr_t there = atomic_load_explicit(&slots->slot[i].handle, memory_order_acquire);
    if (there == handle || there == 0) return &slots->slot[i];
  }
}

void* sesame_handle_find(SesameHandles* handles, uintptr_t handle) {
  struct SesameSlots* slots = atomic_load_explicit(&handles->slots, memory_order_acquire);
  if (slots == NULL) return NULL;
  return atomic_load_explicit(&slot_of(slots, handle)->value, memory_order_acquire);
}

static void set(struct SesameSlots* slots, uintptr_t handle, void* value) {
  Slot* slot = slot_of(slots, handle);
  slots->used += atomic_load_explicit(&slot->handle, memory_order_relaxed) == 0;
  atomic_store_explicit(&slot->value, value, memory_order_release);
  atomic_store_explicit(&slot->handle, handle, memory_order_release);
}

static size_t remembered(const struct SesameSlots* slots) {
  size_t count = 0;
  for (size_t i = 0; slots != NULL && i <= slots->mask; ++i) count += slots->slot[i].value != NULL;
  return count;
}

/* A new table without forgotten handles. The old one is not freed, as threads may be reading it. */
static struct SesameSlots* renewed(struct SesameSlots* before) {
  size_t size = 64;
  while (size < 4 * remembered(before)) size *= 2;
  struct SesameSlots* slots = new_slots(size);
  for (size_t i = 0; slots != NULL && before != NULL && i <= before->mask; ++i) {
    void* value = atomic_load_explicit(&before->slot[i].value, memory_order_relaxed);
    if (value != NULL) set(slots, before->slot[i].handle, value);
  }
  return slots;
}

void sesame_handle_put(SesameHandles* handles, uintptr_t handle, void* value) {
  pthread_mutex_lock(&handles->lock);
  struct SesameSlots* slots = atomic_load_explicit(&handles->slots, memory_order_relaxed);
  if (slots == NULL || 2 * slots->used > slots->mask) {
    slots = renewed(slots);
    if (slots != NULL) atomic_store_explicit(&handles->slots, slots, memory_order_release);
  }
  if (slots != NULL) {
    set(slots, handle, value);
  } else {
    sesame_discard(); /* calls with this handle cannot be recorded correctly */
  }
  atomic_fetch_add(&handles->changes, 1);
  pthread_mutex_unlock(&handles->lock);
}

void sesame_handle_forget(SesameHandles* handles, uintptr_t handle) {
  if (sesame_handle_find(handles, handle) != NULL) sesame_handle_put(handles, handle, NULL);
}

/* --- Communicators ------------------------------------------------------------------------ */

const SesameComm sesame_no_comm = {.number = -1, .remote_size = -1};
SesameHandles sesame_comms = SESAME_NO_HANDLES;
SesameHandles sesame_windows = SESAME_NO_HANDLES;
SesameHandles sesame_files = SESAME_NO_HANDLES;
SesameHandles sesame_messages = SESAME_NO_HANDLES;

atomic_uintptr_t sesame_pointer_base;

static atomic_int next_comm = 2; /* after MPI_COMM_WORLD and MPI_COMM_SELF */
static atomic_int next_file;

/* Without memory all further communicators share one entry, and a record counts as lost; the
 * program continues. */
SesameComm* sesame_new_comm(int32_t number) {
  static SesameComm spare;
  SesameComm* comm = malloc(sizeof *comm);
  if (comm == NULL) {
    comm = &spare;
    sesame_discard();
  }
  *comm = (SesameComm){.number = number, .remote_size = -1, .neighbours = -1};
  return comm;
}

int32_t sesame_next_comm(void) { return atomic_fetch_add(&next_comm, 1); }
int32_t sesame_next_file(void) { return atomic_fetch_add(&next_file, 1); }

/* Returns how many ranks from `ranks` on make one run, and sets its step. */
static int run_length(const int* ranks, int count, int undefined, int* step) {
  int length = 1;
  *step = 1;
  if (ranks[0] == undefined) {
    while (length < count && ranks[length] == undefined) ++length;
    *step = 0;
  } else if (count > 1 && ranks[1] != undefined) {
    *step = ranks[1] - ranks[0];
    while (length < count && ranks[length] != undefined &&
           ranks[length] - ranks[length - 1] == *step) {
      ++length;
    }
  }
  return length;
}

SesameList sesame_runs(const int* ranks, int count, int undefined, int32_t* runs) {
  uint32_t numbers = 0;
  for (int i = 0; i < count;) {
    int step;
    int length = run_length(ranks + i, count - i, undefined, &step);
    runs[numbers++] = ranks[i] == undefined ? -1 : ranks[i];
    runs[numbers++] = length;
    runs[numbers++] = step;
    i += length;
  }
  return (SesameList){numbers, runs};
}
