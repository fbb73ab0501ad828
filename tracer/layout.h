/* Which bytes a datatype covers, in the order of its type map, as runs: each is `count` blocks of
 * `bytes`, which begin `stride` bytes apart. A layout is built from the inside out, as datatypes
 * are: a section of it, all runs from index `first` on, is repeated, moved, joined with others.
 * Blocks that touch become one, blocks at one distance one run. */
#ifndef SESAME_TRACER_LAYOUT_H
#define SESAME_TRACER_LAYOUT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct {
  int64_t offset;
  int64_t bytes;
  int64_t count;
  int64_t stride; /* 0 of a single block */
} SesameRun;

enum {
  SESAME_MOST_RUNS = 1 << 12, /* of a layout that is recorded: 128 KiB */
  SESAME_LAYOUT_CAPACITY =
      3 * SESAME_MOST_RUNS,    /* a section, what it was made of, one more of it */
  SESAME_LAYOUT_WORK = 1 << 20 /* runs that are moved, before a layout is taken for too long */
};

typedef struct {
  bool failed; /* it is too long: what follows changes nothing */
  uint32_t work;
  size_t used;
  SesameRun runs[SESAME_LAYOUT_CAPACITY];
} SesameLayout;

/* Adds a block at offset 0 after all runs. */
void sesame_layout_add(SesameLayout* layout, int64_t bytes);

/* Adds a copy of the runs from `first` to `end`. */
void sesame_layout_copy(SesameLayout* layout, size_t first, size_t end);

/* Adds `by` to the offsets of the section. */
void sesame_layout_move(SesameLayout* layout, size_t first, int64_t by);

/* Replaces the section by `count` copies, `stride` bytes apart. */
void sesame_layout_repeat(SesameLayout* layout, size_t first, int64_t count, int64_t stride);

/* Joins the runs from `section` on with those before it, back to `first`. */
void sesame_layout_join(SesameLayout* layout, size_t first, size_t section);

/* Removes the runs from `first` to `end`. */
void sesame_layout_remove(SesameLayout* layout, size_t first, size_t end);

/* The section is one element. Replaces it by the elements of process number `place`, when `total`
 * elements, `stride` bytes apart, are dealt in blocks of `block` to `processes` in turn. */
void sesame_layout_deal(SesameLayout* layout, size_t first, int64_t total, int64_t block,
                        int64_t processes, int64_t place, int64_t stride);

#endif
