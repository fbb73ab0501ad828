/* Data moved through descriptors. */
#include <linux/fs.h>
#include <stdarg.h>
#include <sys/types.h>
#include <sys/uio.h>

#include "counters.h"
#include "hooks.h"
#include "process.h"

/* Counts what a call moved that is not recorded, because it is a part of one that is. Returns
 * `moved`. */
static __attribute__((noinline)) ssize_t hidden(int call, ssize_t moved) {
  if (!(sesame_settings.kinds & SESAME_IO) || sesame_in_vfork) return moved;
  switch (call) {
    case SESAME_CALL_write:
    case SESAME_CALL_writev:
    case SESAME_CALL_pwrite:
    case SESAME_CALL_pwritev:
    case SESAME_CALL_pwritev2:
      return sesame_unrecorded(true, moved);
    default:
      return sesame_unrecorded(false, moved);
  }
}

/* --- Plain -------------------------------------------------------------------------------- */

#define MOVE(name, call, pointer)                                             \
  SESAME_HOOK(ssize_t, name, (int file, pointer data, size_t size)) {         \
    if (!sesame_watches_file(file))                                           \
      return hidden(SESAME_CALL_##call, SESAME_REAL(name)(file, data, size)); \
    uint64_t begin = sesame_enter();                                          \
    ssize_t moved = SESAME_REAL(name)(file, data, size);                      \
    sesame_record_moved(begin, SESAME_CALL_##call, file, size, moved);        \
    return moved;                                                             \
  }
MOVE(read, read, void*)
MOVE(__read, read, void*)
MOVE(write, write, const void*)
MOVE(__write, write, const void*)

#define MOVE_AT(name, call, pointer)                                                  \
  SESAME_HOOK(ssize_t, name, (int file, pointer data, size_t size, off_t offset)) {   \
    if (!sesame_watches_file(file))                                                   \
      return hidden(SESAME_CALL_##call, SESAME_REAL(name)(file, data, size, offset)); \
    uint64_t begin = sesame_enter();                                                  \
    ssize_t moved = SESAME_REAL(name)(file, data, size, offset);                      \
    sesame_record_moved_at(begin, SESAME_CALL_##call, file, size, moved, offset);     \
    return moved;                                                                     \
  }
MOVE_AT(pread, pread, void*)
MOVE_AT(pread64, pread, void*)
MOVE_AT(__pread64, pread, void*)
MOVE_AT(pwrite, pwrite, const void*)
MOVE_AT(pwrite64, pwrite, const void*)
MOVE_AT(__pwrite64, pwrite, const void*)

/* Called by programs that were compiled with -D_FORTIFY_SOURCE. */
SESAME_HOOK(ssize_t, __read_chk, (int file, void* data, size_t size, size_t capacity)) {
  if (!sesame_watches_file(file)) {
    return hidden(SESAME_CALL_read, SESAME_REAL(__read_chk)(file, data, size, capacity));
  }
  uint64_t begin = sesame_enter();
  ssize_t moved = SESAME_REAL(__read_chk)(file, data, size, capacity);
  sesame_record_moved(begin, SESAME_CALL_read, file, size, moved);
  return moved;
}

#define READ_AT_CHECKED(name)                                                                      \
  SESAME_HOOK(ssize_t, name, (int file, void* data, size_t size, off_t offset, size_t capacity)) { \
    if (!sesame_watches_file(file))                                                                \
      return hidden(SESAME_CALL_pread, SESAME_REAL(name)(file, data, size, offset, capacity));     \
    uint64_t begin = sesame_enter();                                                               \
    ssize_t moved = SESAME_REAL(name)(file, data, size, offset, capacity);                         \
    sesame_record_moved_at(begin, SESAME_CALL_pread, file, size, moved, offset);                   \
    return moved;                                                                                  \
  }
READ_AT_CHECKED(__pread_chk)
READ_AT_CHECKED(__pread64_chk)

/* --- Vectors ------------------------------------------------------------------------------ */

/* The pointers of a call that failed may be wrong. */
static size_t size_of(const struct iovec* parts, int count, ssize_t moved) {
  size_t size = 0;
  for (int i = 0; moved >= 0 && i < count; ++i) size += parts[i].iov_len;
  return size;
}

#define MOVE_VECTOR(name, call)                                                  \
  SESAME_HOOK(ssize_t, name, (int file, const struct iovec* parts, int count)) { \
    if (!sesame_watches_file(file))                                              \
      return hidden(SESAME_CALL_##call, SESAME_REAL(name)(file, parts, count));  \
    uint64_t begin = sesame_enter();                                             \
    ssize_t moved = SESAME_REAL(name)(file, parts, count);                       \
    size_t size = size_of(parts, count, moved);                                  \
    sesame_record_moved(begin, SESAME_CALL_##call, file, size, moved);           \
    return moved;                                                                \
  }
MOVE_VECTOR(readv, readv)
MOVE_VECTOR(writev, writev)

#define MOVE_VECTOR_AT(name, call)                                                             \
  SESAME_HOOK(ssize_t, name, (int file, const struct iovec* parts, int count, off_t offset)) { \
    if (!sesame_watches_file(file))                                                            \
      return hidden(SESAME_CALL_##call, SESAME_REAL(name)(file, parts, count, offset));        \
    uint64_t begin = sesame_enter();                                                           \
    ssize_t moved = SESAME_REAL(name)(file, parts, count, offset);                             \
    size_t size = size_of(parts, count, moved);                                                \
    sesame_record_moved_at(begin, SESAME_CALL_##call, file, size, moved, offset);              \
    return moved;                                                                              \
  }
MOVE_VECTOR_AT(preadv, preadv)
MOVE_VECTOR_AT(preadv64, preadv)
MOVE_VECTOR_AT(pwritev, pwritev)
MOVE_VECTOR_AT(pwritev64, pwritev)

/* With the offset -1 they use the file's position. */
#define MOVE_VECTOR_FLAGS(name, call)                                                          \
  SESAME_HOOK(ssize_t, name,                                                                   \
              (int file, const struct iovec* parts, int count, off_t offset, int flags)) {     \
    if (!sesame_watches_file(file))                                                            \
      return hidden(SESAME_CALL_##call, SESAME_REAL(name)(file, parts, count, offset, flags)); \
    uint64_t begin = sesame_enter();                                                           \
    ssize_t moved = SESAME_REAL(name)(file, parts, count, offset, flags);                      \
    size_t size = size_of(parts, count, moved);                                                \
    if (offset == -1) {                                                                        \
      sesame_record_moved(begin, SESAME_CALL_##call, file, size, moved);                       \
    } else {                                                                                   \
      sesame_record_moved_at(begin, SESAME_CALL_##call, file, size, moved, offset);            \
    }                                                                                          \
    return moved;                                                                              \
  }
MOVE_VECTOR_FLAGS(preadv2, preadv2)
MOVE_VECTOR_FLAGS(preadv64v2, preadv2)
MOVE_VECTOR_FLAGS(pwritev2, pwritev2)
MOVE_VECTOR_FLAGS(pwritev64v2, pwritev2)

/* --- From file to file -------------------------------------------------------------------- */

/* The offset at which a copy began: the call has advanced `*position` by what it copied. */
static int64_t begin_of(const off_t* position, ssize_t moved) {
  return position == NULL ? -1 : moved < 0 ? 0 : *position - moved;
}

static void record_copy(uint64_t begin, int call, int from, const off_t* from_position, int to,
                        const off_t* to_position, size_t size, ssize_t moved) {
  SESAME_RECORD(copy, begin, .call = (uint16_t)call, .file = from, .other_file = to, .size = size,
                .bytes = moved < 0 ? 0 : (uint64_t)moved, .offset = begin_of(from_position, moved),
                .other_offset = begin_of(to_position, moved), .error = sesame_error(moved < 0));
}

static int watches_both(int from, int to) {
  return sesame_watches_file(from) && sesame_watches_file(to);
}

#define SEND_FILE(name)                                                              \
  SESAME_HOOK(ssize_t, name, (int to, int from, off_t* position, size_t size)) {     \
    if (!watches_both(from, to)) return SESAME_REAL(name)(to, from, position, size); \
    uint64_t begin = sesame_enter();                                                 \
    ssize_t moved = SESAME_REAL(name)(to, from, position, size);                     \
    record_copy(begin, SESAME_CALL_sendfile, from, position, to, NULL, size, moved); \
    return moved;                                                                    \
  }
SEND_FILE(sendfile)
SEND_FILE(sendfile64)

#define COPY(name)                                                                                 \
  SESAME_HOOK(                                                                                     \
      ssize_t, name,                                                                               \
      (int from, off_t* from_position, int to, off_t* to_position, size_t size, unsigned flags)) { \
    if (!watches_both(from, to))                                                                   \
      return SESAME_REAL(name)(from, from_position, to, to_position, size, flags);                 \
    uint64_t begin = sesame_enter();                                                               \
    ssize_t moved = SESAME_REAL(name)(from, from_position, to, to_position, size, flags);          \
    record_copy(begin, SESAME_CALL_##name, from, from_position, to, to_position, size, moved);     \
    return moved;                                                                                  \
  }
COPY(copy_file_range)
COPY(splice)

SESAME_HOOK(ssize_t, tee, (int from, int to, size_t size, unsigned flags)) {
  if (!watches_both(from, to)) return SESAME_REAL(tee)(from, to, size, flags);
  uint64_t begin = sesame_enter();
  ssize_t moved = SESAME_REAL(tee)(from, to, size, flags);
  record_copy(begin, SESAME_CALL_tee, from, NULL, to, NULL, size, moved);
  return moved;
}

SESAME_HOOK(ssize_t, vmsplice,
            (int file, const struct iovec* parts, size_t count, unsigned flags)) {
  if (!sesame_watches_file(file)) return SESAME_REAL(vmsplice)(file, parts, count, flags);
  uint64_t begin = sesame_enter();
  ssize_t moved = SESAME_REAL(vmsplice)(file, parts, count, flags);
  size_t size = size_of(parts, (int)count, moved);
  sesame_record_moved(begin, SESAME_CALL_vmsplice, file, size, moved);
  return moved;
}

/* The only commands of ioctl that are I/O on files make a file share the data of another. */
static void record_clone(uint64_t begin, int to, unsigned long command, const void* argument,
                         int result) {
  struct file_clone_range range = {.src_fd = (int)(intptr_t)argument};
  if (command == FICLONERANGE && result == 0) range = *(const struct file_clone_range*)argument;
  if (command == FICLONERANGE && result < 0) range.src_fd = -1; /* the pointer may be wrong */
  SESAME_RECORD(copy, begin, .call = SESAME_CALL_ioctl, .file = (int)range.src_fd, .other_file = to,
                .size = range.src_length, .bytes = result < 0 ? 0 : range.src_length,
                .offset = (int64_t)range.src_offset, .other_offset = (int64_t)range.dest_offset,
                .error = sesame_error(result < 0));
}

SESAME_HOOK(int, ioctl, (int file, unsigned long command, ...)) {
  va_list arguments;
  va_start(arguments, command);
  void* argument = va_arg(arguments, void*);
  va_end(arguments);
  int is_clone = command == FICLONE || command == FICLONERANGE;
  if (!is_clone || !sesame_watches_file(file)) return SESAME_REAL(ioctl)(file, command, argument);
  uint64_t begin = sesame_enter();
  int result = SESAME_REAL(ioctl)(file, command, argument);
  record_clone(begin, file, command, argument, result);
  return result;
}

#define EVENT(name, parameters, arguments)                                 \
  SESAME_HOOK(int, name, parameters) {                                     \
    if (!sesame_watches_file(file)) return SESAME_REAL(name) arguments;    \
    uint64_t begin = sesame_enter();                                       \
    int result = SESAME_REAL(name) arguments;                              \
    sesame_record_moved(begin, SESAME_CALL_##name, file, sizeof(uint64_t), \
                        result < 0 ? -1 : (ssize_t)sizeof(uint64_t));      \
    return result;                                                         \
  }
EVENT(eventfd_read, (int file, uint64_t* value), (file, value))
EVENT(eventfd_write, (int file, uint64_t value), (file, value))
