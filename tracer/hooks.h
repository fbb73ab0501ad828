/* What all hooks share: how a hook replaces a function and calls the real one, and which
 * descriptors have a record. A hook of a call on an open file:
 *
 *   SESAME_HOOK(ssize_t, read, (int file, void* data, size_t size)) {
 *     if (!sesame_watches_file(file)) return SESAME_REAL(read)(file, data, size);
 *     uint64_t begin = sesame_enter();
 *     ssize_t moved = SESAME_REAL(read)(file, data, size);
 *     sesame_record_moved(begin, SESAME_CALL_read, file, size, moved);
 *     return moved;
 *   }
 *
 * List the call in posix_calls.def. sesame_watches_…() comes first, since it makes the record of an
 * unknown descriptor; sesame_enter() directly before the real call, SESAME_RECORD or
 * sesame_record_…() directly after it.
 *
 * All of this may be called on any thread and in signal handlers, and keeps errno. Nothing fails: a
 * record that cannot be made is counted as discarded (recorder.h). */
#ifndef SESAME_TRACER_HOOKS_H
#define SESAME_TRACER_HOOKS_H

#include <errno.h>
#include <stdatomic.h>
#include <stddef.h>
#include <sys/types.h>

#include "calls.h"
#include "recorder.h"

/* The real function that a hook calls. All of these are in one section of the library, so that a
 * loop looks them up before the program runs. */
typedef struct {
  const char* name;
  void* function; /* null until it was looked up */
} SesameReal;

void* sesame_look_up(SesameReal* real);

static inline void* sesame_real(SesameReal* real) {
  void* function = real->function;
  return __builtin_expect(function != NULL, 1) ? function : sesame_look_up(real);
}

/* SESAME_HOOK(ssize_t, read, (int file, void* data, size_t size)) { … SESAME_REAL(read)(…) … }
 * In C the hook has a name of its own. So it does not conflict with the declaration in the system's
 * header, and the compiler does not assume what that declares: that a pointer is never null, for
 * instance. */
#define SESAME_HOOK(type, name, parameters)                                                 \
  SESAME_DECLARE_REAL(type, name, parameters)                                               \
  __attribute__((visibility("default"))) type sesame_hook_##name parameters __asm__(#name); \
  type sesame_hook_##name parameters

#define SESAME_DECLARE_REAL(type, name, parameters) \
  typedef type(*sesame_type_##name) parameters;     \
  static SesameReal sesame_real_##name              \
      __attribute__((section("sesame_real"), used)) = {#name, NULL};

#define SESAME_REAL(name) ((sesame_type_##name)sesame_real(&sesame_real_##name))

/* --- Descriptors -------------------------------------------------------------------------- */

/* One bit for each descriptor that has a record which says what it is. Those beyond the end get
 * such a record at every call. */
#define SESAME_DESCRIPTORS (1 << 20) /* the kernel's own limit, unless it was raised */
extern atomic_uint_fast64_t sesame_known[SESAME_DESCRIPTORS / 64];

static inline int sesame_is_known(int file) {
  return (unsigned)file < SESAME_DESCRIPTORS &&
         (atomic_load_explicit(&sesame_known[(unsigned)file / 64], memory_order_relaxed) >>
              ((unsigned)file % 64) &
          1);
}

/* The descriptor has a record of its opening, or will have one at once: call it after a successful
 * open. */
void sesame_know(int file);

/* The descriptor will be closed or refer to something else: call it before the real close, after
 * which another thread may get the number. */
void sesame_forget(int file);
void sesame_forget_all(void);
int sesame_highest_known(void);

/* Not 0 in the child of a vfork: its memory is the parent's, its descriptors are not. */
extern __thread int sesame_in_vfork __attribute__((tls_model("initial-exec")));

/* Makes the record `descriptor` if `file` is open. Keeps errno. */
void sesame_record_unknown_descriptor(int file);

/* Whether to record a call on an open file. First records the descriptor if it has no record. */
static inline int sesame_watches_file(int file) {
  if (!sesame_watches(SESAME_IO)) return 0;
  if (__builtin_expect(!sesame_is_known(file), 0)) sesame_record_unknown_descriptor(file);
  return 1;
}

/* Likewise for a call that names a file relative to `directory`. */
static inline int sesame_watches_path(int directory) {
  if (!sesame_watches(SESAME_IO)) return 0;
  if (directory >= 0 && !sesame_is_known(directory)) sesame_record_unknown_descriptor(directory);
  return 1;
}

/* --- Records of more than one family ------------------------------------------------------ */

static inline uint16_t sesame_error(int failed) { return failed ? (uint16_t)errno : 0; }

/* The path for a record; empty if the kernel could not read it. */
static inline const char* sesame_path(const char* path, int error) {
  return path == NULL || error == EFAULT ? "" : path;
}

/* Less was moved than asked for. `offset` is -1 for the file's own position. */
void sesame_record_partial(uint64_t begin, int call, int file, size_t size, size_t moved,
                           int64_t offset, uint16_t error);
void sesame_record_open(uint64_t begin, int call, int file, int directory, const char* path,
                        int flags);
void sesame_record_path(uint64_t begin, int call, int failed, int directory, const char* path,
                        int64_t size);

/* `moved`: the result of read or write, bytes or -1. */
static inline void sesame_record_moved(uint64_t begin, int call, int file, size_t size,
                                       ssize_t moved) {
  if (__builtin_expect(moved >= 0 && (size_t)moved == size, 1)) {
    SESAME_RECORD(data, begin, .call = (uint16_t)call, .file = file, .bytes = size);
  } else {
    sesame_record_partial(begin, call, file, size, moved < 0 ? 0 : (size_t)moved, -1,
                          sesame_error(moved < 0));
  }
}

static inline void sesame_record_moved_at(uint64_t begin, int call, int file, size_t size,
                                          ssize_t moved, int64_t offset) {
  if (__builtin_expect(moved >= 0 && (size_t)moved == size, 1)) {
    SESAME_RECORD(data_at, begin, .call = (uint16_t)call, .file = file, .bytes = size,
                  .offset = offset);
  } else {
    sesame_record_partial(begin, call, file, size, moved < 0 ? 0 : (size_t)moved, offset,
                          sesame_error(moved < 0));
  }
}

#define SESAME_RECORD_HANDLE(begin, name, descriptor, failed)                    \
  SESAME_RECORD(handle, begin, .call = SESAME_CALL_##name, .file = (descriptor), \
                .error = sesame_error(failed))

#endif
