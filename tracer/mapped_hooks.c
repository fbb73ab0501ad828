/* Files mapped into memory. */
#include <stdarg.h>
#include <stdint.h>
#include <sys/mman.h>
#include <sys/types.h>

#include "hooks.h"
#include "mappings.h"
#include "rings.h"

/* The offset at which a ring of io_uring has its requests (IORING_OFF_SQES). Files are rarely
 * mapped at it; one that is registered as a ring has no operations. */
#define REQUESTS_OF_RING 0x10000000

/* The `protection` of a record. */
static int protection_of(int protection, int flags) {
  int is_shared = (flags & MAP_TYPE) == MAP_SHARED || (flags & MAP_TYPE) == MAP_SHARED_VALIDATE;
  return (protection & PROT_READ ? SESAME_MAPPED_READ : 0) |
         (protection & PROT_WRITE ? SESAME_MAPPED_WRITE : 0) |
         (protection & PROT_EXEC ? SESAME_MAPPED_EXECUTE : 0) |
         (is_shared ? SESAME_MAPPED_SHARED : 0);
}

static void record_map(uint64_t begin, int call, int file, const void* address, const void* old,
                       size_t size, off_t offset, int protection) {
  int failed = address == MAP_FAILED;
  SESAME_RECORD(map, begin, .call = (uint16_t)call, .file = file,
                .address = failed ? 0 : (uintptr_t)address, .old_address = (uintptr_t)old,
                .size = size, .offset = offset, .protection = (uint8_t)protection,
                .error = sesame_error(failed));
}

/* A mapping at a fixed address replaces what is mapped there. */
#define MAP(name)                                                                           \
  SESAME_HOOK(void*, name,                                                                  \
              (void* at, size_t size, int protection, int flags, int file, off_t offset)) { \
    if (flags & MAP_FIXED) sesame_mappings_remove(at, size);                                \
    if ((flags & MAP_ANONYMOUS) || !sesame_watches_file(file))                              \
      return SESAME_REAL(name)(at, size, protection, flags, file, offset);                  \
    uint64_t begin = sesame_enter();                                                        \
    void* address = SESAME_REAL(name)(at, size, protection, flags, file, offset);           \
    int how = protection_of(protection, flags);                                             \
    if (offset == REQUESTS_OF_RING && address != MAP_FAILED) sesame_rings_ensure(file);     \
    record_map(begin, SESAME_CALL_mmap, file, address, NULL, size, offset, how);            \
    if (address != MAP_FAILED) sesame_mappings_add(address, size, file, offset, how);       \
    return address;                                                                         \
  }
MAP(mmap)
MAP(mmap64)

static void record_region(uint64_t begin, int call, const void* at, size_t size, int failed) {
  SESAME_RECORD(region, begin, .call = (uint16_t)call, .address = (uintptr_t)at, .size = size,
                .error = sesame_error(failed));
}

/* Calls on memory to which no file is mapped are not recorded. */
static int watches_region(const void* at, size_t size) {
  return sesame_mappings_overlap(at, size) && sesame_watches(SESAME_IO);
}

#define UNMAP(name)                                                    \
  SESAME_HOOK(int, name, (void* at, size_t size)) {                    \
    if (!watches_region(at, size)) return SESAME_REAL(name)(at, size); \
    sesame_mappings_remove(at, size);                                  \
    uint64_t begin = sesame_enter();                                   \
    int result = SESAME_REAL(name)(at, size);                          \
    record_region(begin, SESAME_CALL_munmap, at, size, result < 0);    \
    return result;                                                     \
  }
UNMAP(munmap)

SESAME_HOOK(int, msync, (void* at, size_t size, int flags)) {
  if (!watches_region(at, size)) return SESAME_REAL(msync)(at, size, flags);
  sesame_mappings_record_pages(at, size, 1);
  uint64_t begin = sesame_enter();
  int result = SESAME_REAL(msync)(at, size, flags);
  record_region(begin, SESAME_CALL_msync, at, size, result < 0);
  return result;
}

#define ADVISE(name)                                                           \
  SESAME_HOOK(int, name, (void* at, size_t size, int advice)) {                \
    if (!watches_region(at, size)) return SESAME_REAL(name)(at, size, advice); \
    if (advice == MADV_DONTNEED) sesame_mappings_record_pages(at, size, 1);    \
    uint64_t begin = sesame_enter();                                           \
    int result = SESAME_REAL(name)(at, size, advice);                          \
    record_region(begin, SESAME_CALL_madvise, at, size, result < 0);           \
    if (advice == MADV_DONTNEED) sesame_mappings_forget_pages(at, size);       \
    return result;                                                             \
  }
ADVISE(madvise)

/* Not recorded; tells the table which mappings may be written. */
SESAME_HOOK(int, mprotect, (void* at, size_t size, int protection)) {
  int result = SESAME_REAL(mprotect)(at, size, protection);
  if (result == 0 && (protection & PROT_WRITE) && sesame_mappings_overlap(at, size)) {
    sesame_mappings_allow_writing(at, size);
  }
  return result;
}

SESAME_HOOK(int, posix_madvise, (void* at, size_t size, int advice)) {
  if (!watches_region(at, size)) return SESAME_REAL(posix_madvise)(at, size, advice);
  uint64_t begin = sesame_enter();
  int error = SESAME_REAL(posix_madvise)(at, size, advice);
  SESAME_RECORD(region, begin, .call = SESAME_CALL_madvise, .address = (uintptr_t)at, .size = size,
                .error = (uint16_t)error);
  return error;
}

SESAME_HOOK(void*, mremap, (void* old, size_t old_size, size_t size, int flags, ...)) {
  va_list arguments;
  va_start(arguments, flags);
  void* at = flags & MREMAP_FIXED ? va_arg(arguments, void*) : NULL;
  va_end(arguments);
  if (flags & MREMAP_FIXED) sesame_mappings_remove(at, size);
  if (!watches_region(old, old_size)) return SESAME_REAL(mremap)(old, old_size, size, flags, at);
  uint64_t begin = sesame_enter();
  void* address = SESAME_REAL(mremap)(old, old_size, size, flags, at);
  SesameMapping mapping = {.file = -1};
  if (address != MAP_FAILED) mapping = sesame_mappings_move(old, old_size, address, size);
  record_map(begin, SESAME_CALL_mremap, mapping.file, address, old, size, mapping.offset,
             mapping.protection);
  return address;
}
