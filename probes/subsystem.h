/* What a subsystem says of itself to the user side. Each has one such description, in its own
 * directory. */
#pragma once

#include <stddef.h>

#include "probes/cell.h"

#define SESAME_MAX_PROGRAMS 5

struct point {
  const char* name;
  const char* meaning;
  /* Those that it needs, by their names in x.bpf.c; points may share them. */
  const char* programs[SESAME_MAX_PROGRAMS];
  enum detail finest;
  /* Those that do while no point of the subsystem does more than count; none: the same. */
  const char* counting[SESAME_MAX_PROGRAMS];
  int is_sum;      /* its events are those of other points again */
  int needs_class; /* it is distinguished from other points by the class */
};

/* A program that does what another does, in kernels that cannot have that. */
struct substitute {
  const char* name;
  const char* instead;
};

/* What one might look for here and no kernel lets a program see as events. */
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
  /* Tests the loaded programs with known classes. Why this kernel cannot find them; NULL if it
   * can. */
  const char* (*check_classes)(struct bpf_object* object);
  /* Of subsystems that name classes while they run; `shared` is the programs' variable in the
   * section .data.shared. */
  unsigned (*classes_seen)(const void* shared); /* no class from this on has ever had events */
  /* Puts the names that classes have by now into `names`, to be freed; whether any has changed. */
  int (*name_classes)(void* shared, char** names);
  /* Called after a reading: checks classes whose object may have changed. */
  void (*after_read)(void* shared);
  /* Takes the names, and the places, of classes that were done with when this was called last;
   * whether there were any. */
  int (*free_classes)(struct bpf_object* object, void* shared, char** names);
  const struct substitute* substitutes; /* ends with one without a name; NULL: none */
  const struct absence* absent;         /* ends with one without a name; NULL: nothing */
  /* The compiled programs, as they are in this library. */
  const unsigned char* object;
  const unsigned char* object_end;
};

#define COUNT_OF(array) (sizeof(array) / sizeof *(array))

/* The description of the subsystem `name`, whose file has `points` and `classes`, of the sizes that
 * name.h says. */
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
