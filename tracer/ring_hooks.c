/* io_uring, by the functions of liburing. A program writes requests to memory that it shares with
 * the kernel, and reads results there. So the hooks read both there when the program calls the
 * library: the requests that a call submits, and the results since the previous call. Their names
 * and opcodes are those of linux/io_uring.h; the layout of a ring is liburing's binary interface
 * (liburing.so.2), which only grows at its end. */
#include <linux/io_uring.h>
#include <sys/uio.h>
#include <time.h>

#include "hooks.h"
#include "rings.h"

typedef struct {
  unsigned *head, *tail, *mask, *entries, *flags, *dropped, *array;
  struct io_uring_sqe* requests;
  unsigned first, end; /* filled in and not submitted yet */
  size_t size;
  void* memory;
  unsigned unused[4];
} Requests;

typedef struct {
  unsigned *head, *tail, *mask, *entries, *flags, *overflow;
  struct io_uring_cqe* results;
  size_t size;
  void* memory;
  unsigned unused[4];
} Results;

typedef struct {
  Requests requests;
  Results results;
  unsigned flags;
  int file;
} Ring;

/* How far the results of a ring have been read. If two rings share an entry here, results are
 * missed. */
#define SEEN 64
static struct {
  const void* memory;
  unsigned next;
} seen[SEEN];

static unsigned* next_of(const Ring* ring) {
  uintptr_t place = (uintptr_t)ring->results.memory / 4096 % SEEN;
  if (seen[place].memory != ring->results.memory) {
    seen[place].memory = ring->results.memory;
    seen[place].next = __atomic_load_n(ring->results.head, __ATOMIC_ACQUIRE);
  }
  return &seen[place].next;
}

/* Another ring, whose results are numbered from 0 again, may get the same memory. */
static void forget_results(const Ring* ring) {
  uintptr_t place = (uintptr_t)ring->results.memory / 4096 % SEEN;
  if (seen[place].memory == ring->results.memory) seen[place].memory = NULL;
}

/* A request and its result have the same `user_data`, which is unique only within a ring. */
static uint64_t number_of(const Ring* ring, uint64_t user_data) {
  return user_data ^ ((uint64_t)(uintptr_t)ring->results.memory << 16);
}

/* --- Requests ----------------------------------------------------------------------------- */

typedef enum { DATA, SYNC, OTHER_FILE, NO_FILE } Kind;

static Kind kind_of(unsigned operation) {
  switch (operation) {
    case IORING_OP_READ:
    case IORING_OP_READV:
    case IORING_OP_READ_FIXED:
    case IORING_OP_WRITE:
    case IORING_OP_WRITEV:
    case IORING_OP_WRITE_FIXED:
      return DATA;
    case IORING_OP_FSYNC:
    case IORING_OP_SYNC_FILE_RANGE:
      return SYNC;
    case IORING_OP_FALLOCATE:
    case IORING_OP_OPENAT:
    case IORING_OP_OPENAT2:
    case IORING_OP_CLOSE:
    case IORING_OP_STATX:
    case IORING_OP_FADVISE:
    case IORING_OP_SPLICE:
    case IORING_OP_TEE:
    case IORING_OP_RENAMEAT:
    case IORING_OP_UNLINKAT:
    case IORING_OP_MKDIRAT:
    case IORING_OP_SYMLINKAT:
    case IORING_OP_LINKAT:
      return OTHER_FILE;
    default:
      return NO_FILE;
  }
}

static int call_of(unsigned operation) {
  switch (operation) {
    case IORING_OP_READ:
    case IORING_OP_READV:
    case IORING_OP_READ_FIXED:
      return SESAME_CALL_aio_read;
    case IORING_OP_WRITE:
    case IORING_OP_WRITEV:
    case IORING_OP_WRITE_FIXED:
      return SESAME_CALL_aio_write;
    default:
      return SESAME_CALL_aio_fsync;
  }
}

static uint64_t size_of(const struct io_uring_sqe* request) {
  if (kind_of(request->opcode) == SYNC) return 0;
  if (request->opcode != IORING_OP_READV && request->opcode != IORING_OP_WRITEV) {
    return request->len;
  }
  const struct iovec* parts = (const struct iovec*)(uintptr_t)request->addr;
  uint64_t size = 0;
  for (unsigned i = 0; i < request->len; ++i) size += parts[i].iov_len;
  return size;
}

/* Returns false if the request concerns a file and is not recorded. A registered file is known by
 * its number in the ring, not by a descriptor. */
static int record_request(uint64_t begin, const Ring* ring, const struct io_uring_sqe* request) {
  Kind kind = kind_of(request->opcode);
  if (kind == NO_FILE) return 1;
  if (kind == OTHER_FILE || (request->flags & IOSQE_FIXED_FILE)) return 0;
  if (!sesame_watches_file(request->fd)) return 0;
  SESAME_RECORD(request, begin, .call = (uint16_t)call_of(request->opcode), .file = request->fd,
                .size = size_of(request), .offset = kind == SYNC ? 0 : (int64_t)request->off,
                .interface = 3, .block = number_of(ring, request->user_data));
  return 1;
}

static void record_requests(uint64_t begin, const Ring* ring, unsigned first) {
  const Requests* requests = &ring->requests;
  const unsigned shift = ring->flags & IORING_SETUP_SQE128 ? 1 : 0;
  uint32_t recorded = 0;
  for (unsigned at = first; at != requests->first; ++at) {
    const unsigned place = (at & *requests->mask) << shift;
    recorded += (uint32_t)record_request(begin, ring, &requests->requests[place]);
  }
  if (recorded > 0) sesame_rings_count_recorded(ring->file, recorded);
}

/* --- Results ------------------------------------------------------------------------------ */

static void record_results(const Ring* ring) {
  const Results* results = &ring->results;
  const unsigned shift = ring->flags & IORING_SETUP_CQE32 ? 1 : 0;
  const unsigned end = __atomic_load_n(results->tail, __ATOMIC_ACQUIRE);
  unsigned* next = next_of(ring);
  if (end - *next > *results->mask + 1) *next = end - (*results->mask + 1); /* written over */
  for (; *next != end; ++*next) {
    const struct io_uring_cqe* result = &results->results[(*next & *results->mask) << shift];
    uint64_t now = sesame_ticks();
    SESAME_RECORD(request_done, now, .call = SESAME_CALL_aio_return,
                  .block = number_of(ring, result->user_data),
                  .bytes = result->res < 0 ? 0 : (uint64_t)result->res,
                  .error = (uint16_t)(result->res < 0 ? -result->res : 0));
  }
}

/* --- Functions ---------------------------------------------------------------------------- */

#define RING_CALL(type, name, parameters, arguments)                    \
  SESAME_HOOK(type, name, parameters) {                                 \
    if (!sesame_watches(SESAME_IO)) return SESAME_REAL(name) arguments; \
    int saved = errno;                                                  \
    record_results(ring);                                               \
    const unsigned first = ring->requests.first;                        \
    errno = saved;                                                      \
    uint64_t begin = sesame_enter();                                    \
    type result = SESAME_REAL(name) arguments;                          \
    saved = errno;                                                      \
    record_requests(begin, ring, first);                                \
    SESAME_RECORD(plain, begin, .call = SESAME_CALL_aio_suspend);       \
    record_results(ring);                                               \
    errno = saved;                                                      \
    return result;                                                      \
  }
RING_CALL(int, io_uring_submit, (Ring * ring), (ring))
RING_CALL(int, io_uring_submit_and_wait, (Ring * ring, unsigned count), (ring, count))
RING_CALL(int, io_uring_submit_and_wait_timeout,
          (Ring * ring, struct io_uring_cqe** result_, unsigned count, void* limit, void* signals),
          (ring, result_, count, limit, signals))
RING_CALL(int, io_uring_submit_and_get_events, (Ring * ring), (ring))
RING_CALL(int, io_uring_get_events, (Ring * ring), (ring))
RING_CALL(int, io_uring_wait_cqes,
          (Ring * ring, struct io_uring_cqe** result_, unsigned count, void* limit, void* signals),
          (ring, result_, count, limit, signals))
RING_CALL(int, io_uring_wait_cqe_timeout, (Ring * ring, struct io_uring_cqe** result_, void* limit),
          (ring, result_, limit))
RING_CALL(int, __io_uring_get_cqe,
          (Ring * ring, struct io_uring_cqe** result_, unsigned submit, unsigned count,
           void* signals),
          (ring, result_, submit, count, signals))
RING_CALL(unsigned, io_uring_peek_batch_cqe,
          (Ring * ring, struct io_uring_cqe** results, unsigned count), (ring, results, count))

#define RING_START(name, parameters, arguments)    \
  SESAME_HOOK(int, name, parameters) {             \
    int result = SESAME_REAL(name) arguments;      \
    if (result >= 0) sesame_rings_add(ring->file); \
    return result;                                 \
  }
RING_START(io_uring_queue_init, (unsigned entries, Ring* ring, unsigned flags),
           (entries, ring, flags))
RING_START(io_uring_queue_init_params, (unsigned entries, Ring* ring, void* parameters_),
           (entries, ring, parameters_))

SESAME_HOOK(void, io_uring_queue_exit, (Ring * ring)) {
  if (sesame_watches(SESAME_IO)) {
    int saved = errno;
    record_results(ring);
    errno = saved;
  }
  forget_results(ring);
  sesame_rings_close(ring->file);
  SESAME_REAL(io_uring_queue_exit)(ring);
}
