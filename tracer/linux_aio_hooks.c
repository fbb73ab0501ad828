/* Asynchronous I/O of Linux, by the functions of libaio: each is one system call. The hooks make
 * the system call themselves, because dlsym does not find a libaio that was loaded without
 * RTLD_GLOBAL. The functions return -errno and do not change errno. */
#include <linux/aio_abi.h>
#include <sys/uio.h>
#include <time.h>

#include "hooks.h"
#include "system_call.h"

static uint64_t size_of(const struct iocb* block) {
  if (block->aio_lio_opcode != IOCB_CMD_PREADV && block->aio_lio_opcode != IOCB_CMD_PWRITEV) {
    return block->aio_nbytes;
  }
  const struct iovec* parts = (const struct iovec*)(uintptr_t)block->aio_buf;
  uint64_t size = 0;
  for (uint64_t i = 0; i < block->aio_nbytes; ++i) size += parts[i].iov_len;
  return size;
}

/* SESAME_CALL_unknown for what is no I/O on a file. */
static int call_of(const struct iocb* block) {
  switch (block->aio_lio_opcode) {
    case IOCB_CMD_PREAD:
    case IOCB_CMD_PREADV:
      return SESAME_CALL_aio_read;
    case IOCB_CMD_PWRITE:
    case IOCB_CMD_PWRITEV:
      return SESAME_CALL_aio_write;
    case IOCB_CMD_FSYNC:
    case IOCB_CMD_FDSYNC:
      return SESAME_CALL_aio_fsync;
    default:
      return SESAME_CALL_unknown;
  }
}

/* Only for requests that the kernel accepted: other pointers may be wrong. */
static void record_request(uint64_t begin, const struct iocb* block) {
  int call = call_of(block);
  if (call == SESAME_CALL_unknown || !sesame_watches_file((int)block->aio_fildes)) return;
  SESAME_RECORD(request, begin, .call = (uint16_t)call, .file = (int)block->aio_fildes,
                .size = call == SESAME_CALL_aio_fsync ? 0 : size_of(block),
                .offset = block->aio_offset, .block = (uintptr_t)block, .interface = 2);
}

static void record_results(uint64_t begin, const struct io_event* events, long count) {
  int saved = errno;
  SESAME_RECORD(plain, begin, .call = SESAME_CALL_aio_suspend,
                .error = (uint16_t)(count < 0 ? -count : 0));
  for (long i = 0; i < count; ++i) {
    const int64_t result = events[i].res;
    uint64_t now = sesame_ticks();
    SESAME_RECORD(request_done, now, .call = SESAME_CALL_aio_return, .block = events[i].obj,
                  .bytes = result < 0 ? 0 : (uint64_t)result,
                  .error = (uint16_t)(result < 0 ? -result : 0));
  }
  errno = saved;
}

/* The result of a system call as libaio returns it. */
static long without_errno(long result, int saved) {
  if (result < 0) result = -errno;
  errno = saved;
  return result;
}

SESAME_HOOK(int, io_submit, (aio_context_t context, long count, struct iocb* blocks[])) {
  int is_watched = sesame_watches(SESAME_IO), saved = errno;
  uint64_t begin = is_watched ? sesame_enter() : 0;
  long result = sesame_system_call(SYS_io_submit, context, count, blocks);
  result = without_errno(result, saved);
  for (long i = 0; is_watched && i < result; ++i) record_request(begin, blocks[i]);
  return (int)result;
}

SESAME_HOOK(int, io_getevents,
            (aio_context_t context, long least, long most, struct io_event* events,
             struct timespec* limit)) {
  int is_watched = sesame_watches(SESAME_IO), saved = errno;
  uint64_t begin = is_watched ? sesame_enter() : 0;
  long count = sesame_system_call(SYS_io_getevents, context, least, most, events, limit);
  count = without_errno(count, saved);
  if (is_watched) record_results(begin, events, count);
  return (int)count;
}

/* The mask of signals and its size in bytes, as the kernel expects them. */
typedef struct {
  const void* signals;
  size_t size;
} Mask;

SESAME_HOOK(int, io_pgetevents,
            (aio_context_t context, long least, long most, struct io_event* events,
             struct timespec* limit, const void* signals)) {
  int is_watched = sesame_watches(SESAME_IO), saved = errno;
  uint64_t begin = is_watched ? sesame_enter() : 0;
  Mask mask = {signals, 8};
  long count = sesame_system_call(SYS_io_pgetevents, context, least, most, events, limit, &mask);
  count = without_errno(count, saved);
  if (is_watched) record_results(begin, events, count);
  return (int)count;
}
