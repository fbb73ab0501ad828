/* Asynchronous I/O of POSIX. The C library does the work in threads of its own, which are not
 * recorded. Recorded are the request and the call that fetches its result. */
#include <aio.h>
#include <fcntl.h>

#include "hooks.h"

/* --- Requests ----------------------------------------------------------------------------- */

static void record_request(uint64_t begin, int call, const struct aiocb* block, size_t size,
                           int failed) {
  SESAME_RECORD(request, begin, .call = (uint16_t)call, .file = block->aio_fildes, .size = size,
                .offset = block->aio_offset, .block = (uintptr_t)block, .interface = 1,
                .error = sesame_error(failed));
}

#define REQUEST(name, call, parameters, arguments, size)                             \
  SESAME_HOOK(int, name, parameters) {                                               \
    if (!sesame_watches_file(block->aio_fildes)) return SESAME_REAL(name) arguments; \
    uint64_t begin = sesame_enter();                                                 \
    int result = SESAME_REAL(name) arguments;                                        \
    record_request(begin, SESAME_CALL_##call, block, size, result < 0);              \
    return result;                                                                   \
  }
REQUEST(aio_read, aio_read, (struct aiocb * block), (block), block->aio_nbytes)
REQUEST(aio_read64, aio_read, (struct aiocb * block), (block), block->aio_nbytes)
REQUEST(aio_write, aio_write, (struct aiocb * block), (block), block->aio_nbytes)
REQUEST(aio_write64, aio_write, (struct aiocb * block), (block), block->aio_nbytes)
REQUEST(aio_fsync, aio_fsync, (int how, struct aiocb* block), (how, block), 0)
REQUEST(aio_fsync64, aio_fsync, (int how, struct aiocb* block), (how, block), 0)

/* --- Results ------------------------------------------------------------------------------ */

SESAME_DECLARE_REAL(int, aio_error, (const struct aiocb* block))

#define RESULT(name)                                                                              \
  SESAME_HOOK(ssize_t, name, (struct aiocb * block)) {                                            \
    if (!sesame_watches(SESAME_IO)) return SESAME_REAL(name)(block);                              \
    uint64_t begin = sesame_enter();                                                              \
    ssize_t moved = SESAME_REAL(name)(block);                                                     \
    int error = moved < 0 ? SESAME_REAL(aio_error)(block) : 0;                                    \
    SESAME_RECORD(request_done, begin, .call = SESAME_CALL_aio_return, .block = (uintptr_t)block, \
                  .bytes = moved < 0 ? 0 : (uint64_t)moved, .error = (uint16_t)error);            \
    return moved;                                                                                 \
  }
RESULT(aio_return)
RESULT(aio_return64)

/* --- Lists -------------------------------------------------------------------------------- */

/* One record for each request of a list; their numbers are those of aio_read and aio_write. */
static void record_list(uint64_t begin, struct aiocb* const* blocks, int count, int result) {
  for (int i = 0; i < count; ++i) {
    const struct aiocb* block = blocks[i];
    if (block == NULL || block->aio_lio_opcode == LIO_NOP) continue;
    int call = block->aio_lio_opcode == LIO_READ ? SESAME_CALL_aio_read : SESAME_CALL_aio_write;
    record_request(begin, call, block, block->aio_nbytes, 0);
  }
  SESAME_RECORD(plain, begin, .call = SESAME_CALL_lio_listio, .error = sesame_error(result < 0));
}

/* The requests of a list that was waited for are done. Many programs check only their errors and
 * do not call aio_return. */
static void record_list_done(struct aiocb* const* blocks, int count) {
  int saved = errno;
  for (int i = 0; i < count; ++i) {
    struct aiocb* block = blocks[i];
    if (block == NULL || block->aio_lio_opcode == LIO_NOP) continue;
    int error = SESAME_REAL(aio_error)(block);
    if (error == EINPROGRESS) continue;
    uint64_t now = sesame_ticks();
    /* A later call returns the same. */
    ssize_t moved = error == 0 ? SESAME_REAL(aio_return)(block) : 0;
    SESAME_RECORD(request_done, now, .call = SESAME_CALL_aio_return, .block = (uintptr_t)block,
                  .bytes = moved < 0 ? 0 : (uint64_t)moved, .error = (uint16_t)error);
  }
  errno = saved;
}

#define REQUEST_LIST(name)                                                                   \
  SESAME_HOOK(int, name,                                                                     \
              (int mode, struct aiocb* const blocks[], int count, struct sigevent* event)) { \
    if (!sesame_watches(SESAME_IO)) return SESAME_REAL(name)(mode, blocks, count, event);    \
    for (int i = 0; i < count; ++i) {                                                        \
      if (blocks[i] != NULL) sesame_watches_file(blocks[i]->aio_fildes);                     \
    }                                                                                        \
    uint64_t begin = sesame_enter();                                                         \
    int result = SESAME_REAL(name)(mode, blocks, count, event);                              \
    record_list(begin, blocks, count, result);                                               \
    if (mode == LIO_WAIT) record_list_done(blocks, count);                                   \
    return result;                                                                           \
  }
REQUEST_LIST(lio_listio)
REQUEST_LIST(lio_listio64)

/* --- Waiting ------------------------------------------------------------------------------- */

#define SUSPEND(name)                                                                         \
  SESAME_HOOK(int, name,                                                                      \
              (const struct aiocb* const blocks[], int count, const struct timespec* time)) { \
    if (!sesame_watches(SESAME_IO)) return SESAME_REAL(name)(blocks, count, time);            \
    uint64_t begin = sesame_enter();                                                          \
    int result = SESAME_REAL(name)(blocks, count, time);                                      \
    SESAME_RECORD(plain, begin, .call = SESAME_CALL_aio_suspend,                              \
                  .error = sesame_error(result < 0));                                         \
    return result;                                                                            \
  }
SUSPEND(aio_suspend)
SUSPEND(aio_suspend64)

#define CANCEL(name)                                                       \
  SESAME_HOOK(int, name, (int file, struct aiocb* block)) {                \
    if (!sesame_watches_file(file)) return SESAME_REAL(name)(file, block); \
    uint64_t begin = sesame_enter();                                       \
    int result = SESAME_REAL(name)(file, block);                           \
    SESAME_RECORD_HANDLE(begin, aio_cancel, file, result < 0);             \
    return result;                                                         \
  }
CANCEL(aio_cancel)
CANCEL(aio_cancel64)
