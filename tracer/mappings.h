/* The files that the program has mapped, and which of their pages it has touched. Mappings are
 * few and their calls rare, so the table has a lock and is searched from its beginning. */
#ifndef SESAME_TRACER_MAPPINGS_H
#define SESAME_TRACER_MAPPINGS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
  SESAME_MAPPED_READ = 1,
  SESAME_MAPPED_WRITE = 2,
  SESAME_MAPPED_EXECUTE = 4,
  SESAME_MAPPED_SHARED = 8
};

typedef struct {
  uintptr_t begin; /* begin and end are equal in a free entry of the table */
  uintptr_t end;
  int64_t offset; /* in the file */
  int file;       /* the descriptor it was mapped with, which may be closed by now */
  int protection;
  bool is_regular; /* not a device, nor memory of the kernel as the rings of io_uring */
  int inherited;   /* from the process that forked this one. 1: not recorded yet; 2: it is */
  uint64_t device;
  uint64_t inode;
  struct SesameRecordedPages* recorded; /* pages that are recorded already; null for none */
} SesameMapping;

void sesame_mappings_add(const void* at, size_t size, int file, int64_t offset, int protection);

/* Whether a file is mapped there. */
int sesame_mappings_overlap(const void* at, size_t size);

/* Call it before memory is unmapped: records its touched pages and removes its mappings. */
void sesame_mappings_remove(const void* at, size_t size);

/* Call it after mremap. Returns the mapping at its new address; `file` is -1 if there was none. */
SesameMapping sesame_mappings_move(const void* old, size_t old_size, const void* at, size_t size);

/* Records the touched pages that have no record yet. With `stays` the mapping continues to exist,
 * and a later call does not record these pages again. */
void sesame_mappings_record_pages(const void* at, size_t size, int stays);

/* The mappings there may be written from now on. */
void sesame_mappings_allow_writing(const void* at, size_t size);

/* The program has given the pages back: pages that it touches from now on are recorded again. */
void sesame_mappings_forget_pages(const void* at, size_t size);

/* In a forked child: its stream has no records of the mappings yet. */
void sesame_mappings_inherit(void);

#endif
