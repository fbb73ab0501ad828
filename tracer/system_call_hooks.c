/* `syscall`: calls that read or write files are made by the hooks of the corresponding functions.
 * All other calls are passed on unchanged. The compiler makes that a jump: a call that forks must
 * return to the frame of the program, which must not change. */
#include <fcntl.h>
#include <linux/aio_abi.h>
#include <sys/mman.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include "hooks.h"
#include "rings.h"

#define PARAMETERS (long number, long a, long b, long c, long d, long e, long f)

SESAME_DECLARE_REAL(long, syscall, PARAMETERS)

/* Declared with its name in the C library, so that it is not taken for the hook. */
long sesame_call_past PARAMETERS __asm__("sesame_system_call");
long sesame_call_past PARAMETERS { return SESAME_REAL(syscall)(number, a, b, c, d, e, f); }

__attribute__((visibility("default"))) long sesame_hook_syscall PARAMETERS __asm__("syscall");
long sesame_hook_syscall PARAMETERS {
  switch (number) {
    case SYS_read:
      return read((int)a, (void*)b, (size_t)c);
    case SYS_write:
      return write((int)a, (const void*)b, (size_t)c);
    case SYS_pread64:
      return pread((int)a, (void*)b, (size_t)c, d);
    case SYS_pwrite64:
      return pwrite((int)a, (const void*)b, (size_t)c, d);
    case SYS_readv:
      return readv((int)a, (const struct iovec*)b, (int)c);
    case SYS_writev:
      return writev((int)a, (const struct iovec*)b, (int)c);
    case SYS_preadv:
      return preadv((int)a, (const struct iovec*)b, (int)c, d);
    case SYS_pwritev:
      return pwritev((int)a, (const struct iovec*)b, (int)c, d);
    case SYS_copy_file_range:
      return copy_file_range((int)a, (off_t*)b, (int)c, (off_t*)d, (size_t)e, (unsigned)f);
    case SYS_sendfile:
      return sendfile((int)a, (int)b, (off_t*)c, (size_t)d);
    case SYS_openat:
      return openat((int)a, (const char*)b, (int)c, (mode_t)d);
    case SYS_close:
      return close((int)a);
    case SYS_fsync:
      return fsync((int)a);
    case SYS_fdatasync:
      return fdatasync((int)a);
    case SYS_lseek:
      return lseek((int)a, b, (int)c);
    case SYS_ftruncate:
      return ftruncate((int)a, b);
    case SYS_io_uring_setup: {
      long file = SESAME_REAL(syscall)(number, a, b, c, d, e, f);
      if (file >= 0) sesame_rings_add((int)file);
      return file;
    }
    default:
      return SESAME_REAL(syscall)(number, a, b, c, d, e, f);
  }
}
