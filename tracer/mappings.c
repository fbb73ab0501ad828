#include "mappings.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "counters.h"
#include "hooks.h"
#include "process.h"
#include "system_call.h"

#define MOST_MAPPINGS 4096 /* mappings at a time */
#define RUNS 64            /* fetched from the kernel at a time */

static SesameMapping mappings[MOST_MAPPINGS];
static atomic_int used; /* entries that were ever used are before this one */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

/* While this thread has the lock, calls of its signal handlers on files are not recorded. */
static uint8_t take_lock(void) {
  uint8_t watched = sesame_hide(SESAME_IO);
  pthread_mutex_lock(&lock);
  return watched;
}

static void give_lock(uint8_t watched) {
  pthread_mutex_unlock(&lock);
  sesame_unhide(watched);
}

void sesame_mappings_inherit(void) {
  lock = (pthread_mutex_t)PTHREAD_MUTEX_INITIALIZER;
  for (int i = 0; i < used; ++i) {
    mappings[i].inherited = 1;
    mappings[i].recorded = NULL; /* the parent's; not unmapped, as other mappings may share it */
  }
}

__attribute__((constructor)) static void watch_forks(void) {
  pthread_atfork(NULL, NULL, sesame_mappings_inherit);
}

/* --- Pages -------------------------------------------------------------------------------- */

/* The interface of Linux 6.7 that finds runs of pages; older headers lack it. */
typedef struct {
  uint64_t begin;
  uint64_t end;
  uint64_t categories;
} Run;

typedef struct {
  uint64_t size;
  uint64_t flags;
  uint64_t begin;
  uint64_t end;
  uint64_t walk_end;
  uint64_t runs;
  uint64_t run_count;
  uint64_t most_pages;
  uint64_t inverted;
  uint64_t needed;
  uint64_t any_of;
  uint64_t wanted;
} Scan;

#define SCAN_PAGES _IOWR('f', 16, Scan)
#define PAGE_OF_FILE (1u << 2)
#define PAGE_PRESENT (1u << 3)
#define PAGE_SWAPPED (1u << 4)

/* What older kernels say for each page, in /proc/self/pagemap. */
#define ENTRY_OF_FILE (1ull << 61)
#define ENTRY_SWAPPED (1ull << 62)
#define ENTRY_PRESENT (1ull << 63)

/* The stream of a forked child records a mapping when pages of it are to be recorded. The
 * record has the descriptor only if that still refers to the file. */
static void record_inherited(SesameMapping* mapping) {
  mapping->inherited = 2;
  struct stat status;
  int is_open = sesame_system_call(SYS_fstat, mapping->file, &status) == 0 &&
                status.st_dev == mapping->device && status.st_ino == mapping->inode;
  if (is_open && !sesame_is_known(mapping->file)) sesame_record_unknown_descriptor(mapping->file);
  sesame_put_map(sesame_ticks(), &(struct sesame_map){.call = SESAME_CALL_fork,
                                                      .file = is_open ? mapping->file : -1,
                                                      .address = mapping->begin,
                                                      .size = mapping->end - mapping->begin,
                                                      .offset = mapping->offset,
                                                      .protection = (uint8_t)mapping->protection});
}

/* A page of a private mapping is no longer the file's once it was written. Of a shared mapping
 * the kernel does not tell which pages were. */
static uint8_t written(const SesameMapping* mapping, int is_of_file) {
  if (!(mapping->protection & SESAME_MAPPED_SHARED)) {
    return !is_of_file && mapping->inherited ? SESAME_PAGES_OTHER : !is_of_file;
  }
  if (!(mapping->protection & SESAME_MAPPED_WRITE)) return 0;
  return mapping->is_regular ? SESAME_PAGES_SHARED : SESAME_PAGES_OTHER;
}

/* A bit for each page from `begin` on. Parts of a mapping that was cut share it. */
struct SesameRecordedPages {
  uintptr_t begin;
  uint32_t pages;
  uint32_t users;
  uint64_t bits[];
};

static size_t recorded_bytes(uint32_t pages) {
  return sizeof(struct SesameRecordedPages) + ((size_t)pages + 63) / 64 * sizeof(uint64_t);
}

static uintptr_t page_bytes(void) {
  static uintptr_t bytes;
  if (bytes == 0) bytes = (uintptr_t)sysconf(_SC_PAGESIZE);
  return bytes;
}

/* Without memory for the bits, pages may be recorded again. */
static void begin_marking(SesameMapping* mapping) {
  const uintptr_t pages = (mapping->end - mapping->begin) / page_bytes();
  if (mapping->recorded != NULL || pages > UINT32_MAX) return;
  void* memory = mmap(NULL, recorded_bytes((uint32_t)pages), PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) return;
  mapping->recorded = memory;
  mapping->recorded->begin = mapping->begin;
  mapping->recorded->pages = (uint32_t)pages;
  mapping->recorded->users = 1;
}

static void release_recorded(struct SesameRecordedPages* recorded) {
  if (recorded != NULL && --recorded->users == 0) munmap(recorded, recorded_bytes(recorded->pages));
}

/* The bit of a page, and the word that it is in; null where there is none. */
static uint64_t* recorded_word(const SesameMapping* mapping, uint64_t at, uint64_t* bit) {
  if (mapping->recorded == NULL || at < mapping->recorded->begin) return NULL;
  const uint64_t page = (at - mapping->recorded->begin) / page_bytes();
  *bit = 1ull << (page % 64);
  return page < mapping->recorded->pages ? &mapping->recorded->bits[page / 64] : NULL;
}

/* Whether the page is recorded already; it is from now on. */
static int mark_recorded(const SesameMapping* mapping, uint64_t at) {
  uint64_t bit;
  uint64_t* word = recorded_word(mapping, at, &bit);
  if (word == NULL) return 0;
  const int is_recorded = (*word & bit) != 0;
  *word |= bit;
  return is_recorded;
}

static void put_run(const SesameMapping* mapping, uint64_t begin, uint64_t end, int is_of_file) {
  if (begin == end) return;
  sesame_put_pages(sesame_ticks(), &(struct sesame_pages){.address = begin,
                                                          .size = end - begin,
                                                          .written = written(mapping, is_of_file)});
}

static void record_run(const SesameMapping* mapping, uint64_t begin, uint64_t end, int is_of_file) {
  if (mapping->recorded == NULL) {
    put_run(mapping, begin, end, is_of_file);
    return;
  }
  uint64_t first = begin;
  for (uint64_t at = begin; at < end; at += page_bytes()) {
    if (!mark_recorded(mapping, at)) continue;
    put_run(mapping, first, at, is_of_file);
    first = at + page_bytes();
  }
  put_run(mapping, first, end, is_of_file);
}

static int scan(int file, const SesameMapping* mapping) {
  Run runs[RUNS];
  Scan arguments = {.size = sizeof arguments,
                    .begin = mapping->begin,
                    .end = mapping->end,
                    .runs = (uintptr_t)runs,
                    .run_count = RUNS,
                    .any_of = PAGE_PRESENT | PAGE_SWAPPED,
                    .wanted = PAGE_OF_FILE};
  while (arguments.begin < arguments.end) {
    long count = sesame_system_call(SYS_ioctl, file, SCAN_PAGES, &arguments);
    if (count < 0) return errno;
    for (long i = 0; i < count; ++i) {
      record_run(mapping, runs[i].begin, runs[i].end, runs[i].categories & PAGE_OF_FILE ? 1 : 0);
    }
    arguments.begin = arguments.walk_end;
  }
  return 0;
}

static int read_entries(int file, const SesameMapping* mapping) {
  uint64_t entries[512], page = (uint64_t)sysconf(_SC_PAGESIZE), run = 0;
  int run_is_of_file = 0;
  for (uint64_t at = mapping->begin; at < mapping->end; at += page * 512) {
    uint64_t count = (mapping->end - at + page - 1) / page;
    if (count > 512) count = 512;
    long got = sesame_unrecorded(
        false, sesame_system_call(SYS_pread64, file, entries, 8 * count, at / page * 8));
    if (got < 0) return errno;
    for (uint64_t i = 0; i < count; ++i) {
      uint64_t here = at + i * page;
      int touched = 8 * (long)i < got && (entries[i] & (ENTRY_PRESENT | ENTRY_SWAPPED)) != 0;
      int is_of_file = (entries[i] & ENTRY_OF_FILE) != 0;
      if (run != 0 && (!touched || is_of_file != run_is_of_file)) {
        record_run(mapping, run, here, run_is_of_file);
        run = 0;
      }
      if (touched && run == 0) run = here, run_is_of_file = is_of_file;
    }
  }
  if (run != 0) record_run(mapping, run, mapping->end, run_is_of_file);
  return 0;
}

static void record_pages(const SesameMapping* mapping) {
  static atomic_bool said;
  int file =
      (int)sesame_system_call(SYS_openat, AT_FDCWD, "/proc/self/pagemap", O_RDONLY | O_CLOEXEC);
  int error = file < 0 ? errno : scan(file, mapping);
  if (file >= 0 && error != 0) error = read_entries(file, mapping);
  if (file >= 0) sesame_system_call(SYS_close, file);
  if (error != 0 && !atomic_exchange(&said, 1)) {
    sesame_say("accesses to mapped files are not seen", "/proc/self/pagemap", error);
  }
}

/* --- The table ---------------------------------------------------------------------------- */

static uintptr_t page_end(uintptr_t end) {
  uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE);
  return (end + page - 1) / page * page;
}

static void add(SesameMapping mapping) {
  static atomic_bool said;
  for (int i = 0; i < MOST_MAPPINGS; ++i) {
    if (mappings[i].begin != mappings[i].end) continue;
    mappings[i] = mapping;
    if (i >= used) used = i + 1;
    return;
  }
  if (!atomic_exchange(&said, 1)) {
    sesame_say("too many mapped files at a time: accesses to some are not seen", NULL, 0);
  }
}

void sesame_mappings_add(const void* at, size_t size, int file, int64_t offset, int protection) {
  uintptr_t begin = (uintptr_t)at;
  SesameMapping mapping = {.begin = begin,
                           .end = page_end(begin + size),
                           .offset = offset,
                           .file = file,
                           .protection = protection};
  struct stat status;
  int saved = errno;
  if (sesame_system_call(SYS_fstat, file, &status) == 0) {
    mapping.is_regular = S_ISREG(status.st_mode);
    mapping.device = status.st_dev;
    mapping.inode = status.st_ino;
  }
  errno = saved;
  uint8_t watched = take_lock();
  add(mapping);
  give_lock(watched);
}

/* The part of a mapping between two addresses; empty when there is none. */
static SesameMapping part_of(const SesameMapping* mapping, uintptr_t begin, uintptr_t end) {
  SesameMapping part = *mapping;
  if (part.begin < begin) part.begin = begin;
  if (part.end > end) part.end = end;
  if (part.begin >= part.end) return (SesameMapping){0};
  part.offset += (int64_t)(part.begin - mapping->begin);
  return part;
}

/* Without the lock: the program does not map and unmap the same memory at the same time. */
int sesame_mappings_overlap(const void* at, size_t size) {
  uintptr_t begin = (uintptr_t)at, end = begin + size;
  for (int i = 0, count = used; i < count; ++i) {
    if (mappings[i].begin < end && begin < mappings[i].end) return 1;
  }
  return 0;
}

static void record_pages_of(SesameMapping* mapping, const SesameMapping* part) {
  int saved = errno;
  if (mapping->inherited == 1) record_inherited(mapping);
  record_pages(part);
  errno = saved;
}

static void cut(SesameMapping* mapping, const SesameMapping* part) {
  SesameMapping behind = part_of(mapping, part->end, mapping->end);
  if (part->begin > mapping->begin) {
    mapping->end = part->begin;
    if (behind.end != 0 && behind.recorded != NULL) ++behind.recorded->users;
    if (behind.end != 0) add(behind);
  } else {
    if (behind.end == 0) release_recorded(mapping->recorded);
    *mapping = behind;
  }
}

void sesame_mappings_remove(const void* at, size_t size) {
  if (!sesame_mappings_overlap(at, size)) return;
  uintptr_t begin = (uintptr_t)at, end = page_end(begin + size);
  uint8_t watched = take_lock();
  for (int i = 0, count = used; i < count; ++i) {
    SesameMapping part = part_of(&mappings[i], begin, end);
    if (part.end == 0) continue;
    if (watched & SESAME_IO) record_pages_of(&mappings[i], &part);
    cut(&mappings[i], &part);
  }
  give_lock(watched);
}

/* The recorded pages of a mapping that moves to `at`; null if they are shared with another mapping.
 */
static struct SesameRecordedPages* moved_recorded(const SesameMapping* part, uintptr_t at) {
  struct SesameRecordedPages* recorded = part->recorded;
  if (recorded == NULL || recorded->users != 1 || recorded->begin != part->begin) return NULL;
  recorded->begin = at;
  ++recorded->users; /* cut() will release the old mapping's */
  return recorded;
}

SesameMapping sesame_mappings_move(const void* old, size_t old_size, const void* at, size_t size) {
  uintptr_t begin = (uintptr_t)old, end = page_end(begin + (old_size > 0 ? old_size : 1));
  SesameMapping moved = {.file = -1};
  uint8_t watched = take_lock();
  for (int i = 0, count = used; i < count; ++i) {
    SesameMapping part = part_of(&mappings[i], begin, end);
    if (part.end == 0) continue;
    moved = part;
    moved.recorded = old_size > 0 ? moved_recorded(&part, (uintptr_t)at) : NULL;
    if (old_size > 0) cut(&mappings[i], &part); /* 0: a second mapping of the same pages */
  }
  if (moved.end != 0) {
    moved.begin = (uintptr_t)at;
    moved.end = page_end(moved.begin + size);
    add(moved);
  }
  give_lock(watched);
  return moved;
}

void sesame_mappings_record_pages(const void* at, size_t size, int stays) {
  uintptr_t begin = (uintptr_t)at, end = size > UINTPTR_MAX - begin ? UINTPTR_MAX : begin + size;
  uint8_t watched = take_lock();
  for (int i = 0, count = used; i < count; ++i) {
    SesameMapping part = part_of(&mappings[i], begin, end);
    if (part.end == 0 || !(watched & SESAME_IO)) continue;
    if (stays) begin_marking(&mappings[i]);
    part.recorded = mappings[i].recorded;
    record_pages_of(&mappings[i], &part);
  }
  give_lock(watched);
}

void sesame_mappings_allow_writing(const void* at, size_t size) {
  uintptr_t begin = (uintptr_t)at, end = begin + size;
  uint8_t watched = take_lock();
  for (int i = 0, count = used; i < count; ++i) {
    if (mappings[i].begin < end && begin < mappings[i].end) {
      mappings[i].protection |= SESAME_MAPPED_WRITE;
    }
  }
  give_lock(watched);
}

void sesame_mappings_forget_pages(const void* at, size_t size) {
  uintptr_t begin = (uintptr_t)at, end = begin + size;
  uint8_t watched = take_lock();
  for (int i = 0, count = used; i < count; ++i) {
    SesameMapping part = part_of(&mappings[i], begin, end);
    for (uint64_t page = part.begin; page < part.end; page += page_bytes()) {
      uint64_t bit;
      uint64_t* word = recorded_word(&mappings[i], page, &bit);
      if (word != NULL) *word &= ~bit;
    }
  }
  give_lock(watched);
}
