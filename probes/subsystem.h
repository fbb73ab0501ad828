/* The description of a subsystem for the user side. Each subsystem has one, in its directory. */
#pragma once

#include <stddef.h>

#include "probes/cell.h"

#define SESAME_MAX_PROGRAMS 5

struct point {
  const char* name;
  const char* meaning;
  /* The programs that it needs, by their names in x.bpf.c; points may share them. */
  const char* programs[SESAME_MAX_PROGRAMS];
  enum detail finest;
  /* The programs that suffice while all points of the subsystem only count; none: the same. */
  const char* counting[SESAME_MAX_PROGRAMS];
  int is_sum;      /* it counts events of other points again */
  int needs_class; /* it is distinguished from other points by the class */
};

/* The program `instead` replaces the program `name` in kernels that cannot load that. */
struct substitute {
  const char* name;
  const char* instead;
  const char* meaning; /* what it counts otherwise; NULL: the same */
};

/* What users may look for here, but no kernel reports as events. */
struct absence {
  const char* name;
  const char* meaning;
  const char* why; /* and where it is available */
};

struct bpf_object;

struct subsystem {
  const char* name;
  const char* meaning;
  const struct point* points;
  unsigned point_count;
  const char* const* classes; /* NULL: named while it runs */
  unsigned class_count;
  unsigned group_count;
  /* What these members of a trace's events are. */
  const char* where;
  const char* what;
  /* Tests the loaded programs with known classes. Returns why this kernel cannot find classes; NULL
   * if it can. */
  const char* (*check_classes)(struct bpf_object* object);
  /* Of subsystems that name classes while they run; `shared` is the programs' variable in the
   * section .data.shared. */
  unsigned (*classes_seen)(const void* shared); /* no class from this on has ever had events */
  /* Sets `names`, which the caller frees, to the present names of classes. Returns whether any has
   * changed. */
  int (*name_classes)(void* shared, char** names);
  /* Called after a reading: checks classes whose object may have changed. */
  void (*after_read)(void* shared);
  /* Frees classes, and their names, that were no longer used at the previous call. Returns how
   * many. */
  int (*free_classes)(struct bpf_object* object, void* shared, char** names);
  const struct substitute* substitutes; /* ends with one without a name; NULL: none */
  const struct absence* absent;         /* ends with one without a name; NULL: nothing */
  /* The compiled programs, as they are in this library. */
  const unsigned char* object;
  const unsigned char* object_end;
  /* The same for kernels without the function `needs`; NULL: it needs none. A program that may do
   * without it is not enough: libbpf before 1.4 looks for such a function in modules, which takes
   * CAP_SYS_ADMIN. */
  const char* needs;
  const unsigned char* older;
  const unsigned char* older_end;
};

#define COUNT_OF(array) (sizeof(array) / sizeof *(array))

/* Defines the description of the subsystem `name_`. The file must define the arrays `points` and
 * `classes`, with the sizes of its header (POINTS, CLASSES). */
#define DEFINE_SUBSYSTEM(name_, meaning_, where_, what_, ...)                          \
  extern const unsigned char sesame_##name_##_object[], sesame_##name_##_object_end[]; \
  const struct subsystem sesame_##name_ = {.name = #name_,                             \
                                           .meaning = meaning_,                        \
                                           .points = points,                           \
                                           .point_count = POINTS,                      \
                                           .classes = classes,                         \
                                           .class_count = CLASSES,                     \
                                           .group_count = GROUPS,                      \
                                           .where = where_,                            \
                                           .what = what_,                              \
                                           .object = sesame_##name_##_object,          \
                                           .object_end = sesame_##name_##_object_end,  \
                                           __VA_ARGS__}
