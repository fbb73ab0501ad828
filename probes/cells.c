/* What the programs have counted: their cells, the names of classes, the costs. */
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "probes/loaded.h"

EXPORT struct account* sesame_probes_cells(struct loaded* loaded, unsigned* cpus, size_t* stride) {
  *cpus = cpu_count();
  *stride = loaded->cells_bytes / cpu_count();
  return loaded->cells;
}

/* No class from this on has ever had events. */
static unsigned classes_seen(const struct loaded* loaded) {
  const struct subsystem* subsystem = loaded->subsystem;
  return subsystem->classes_seen != NULL ? subsystem->classes_seen(loaded->shared)
                                         : subsystem->class_count;
}

static void make_class_text(struct loaded* loaded) {
  free(loaded->class_text);
  size_t bytes;
  FILE* out = open_memstream(&loaded->class_text, &bytes);
  for (unsigned i = 0; i < loaded->subsystem->class_count; ++i) {
    fprintf(out, "%s%s", i > 0 ? "\n" : "", loaded->names[i] != NULL ? loaded->names[i] : "");
  }
  fclose(out);
}

EXPORT int sesame_probes_free_classes(struct loaded* loaded) {
  const struct subsystem* subsystem = loaded->subsystem;
  if (subsystem->free_classes == NULL) return 0;
  const int is_any = subsystem->free_classes(loaded->object, loaded->shared, loaded->names);
  if (is_any) make_class_text(loaded);
  return is_any;
}

EXPORT const char* sesame_probes_classes(struct loaded* loaded) {
  const struct subsystem* subsystem = loaded->subsystem;
  const bool is_renamed =
      subsystem->name_classes != NULL && subsystem->name_classes(loaded->shared, loaded->names);
  if (loaded->class_text == NULL || is_renamed) make_class_text(loaded);
  return loaded->class_text;
}

EXPORT struct settings* sesame_probes_settings(struct loaded* loaded) { return loaded->settings; }

/* The account of a CPU; its cells follow it. */
static struct account* account_of(const struct loaded* loaded, unsigned cpu) {
  return (struct account*)((char*)loaded->cells + loaded->cells_bytes / cpu_count() * cpu);
}

static struct cell* cells_of(const struct loaded* loaded, unsigned cpu) {
  return (struct cell*)(account_of(loaded, cpu) + 1);
}

/* Longest durations are stored in two members in turn: programs no longer write max_ns[old]. */
static void sum_cell(const struct loaded* loaded, unsigned index, unsigned old,
                     struct cell_reading* sum) {
  for (unsigned cpu = 0, cpus = cpu_count(); cpu < cpus; ++cpu) {
    struct cell* cell = &cells_of(loaded, cpu)[index];
    sum->count += cell->count;
    sum->bytes += cell->bytes;
    sum->timed += cell->timed;
    sum->total_ns += cell->total_ns;
    if (cell->max_ns[old] == 0) continue;
    if (cell->max_ns[old] > sum->max_ns) sum->max_ns = cell->max_ns[old];
    cell->max_ns[old] = 0;
  }
}

/* Stores the counts of a cell since the last reading; false if there are none. */
static bool read_cell(const struct loaded* loaded, unsigned index, unsigned old,
                      struct cell_reading* reading) {
  struct cell_reading sum = {.index = index};
  sum_cell(loaded, index, old, &sum);
  struct cell_reading* before = &loaded->before[index];
  if (sum.count == before->count) return false;
  *reading = (struct cell_reading){index,
                                   sum.count - before->count,
                                   sum.bytes - before->bytes,
                                   sum.timed - before->timed,
                                   sum.total_ns - before->total_ns,
                                   sum.max_ns};
  *before = sum;
  return true;
}

EXPORT unsigned sesame_probes_read(struct loaded* loaded, struct cell_reading* reading) {
  const struct subsystem* subsystem = loaded->subsystem;
  const unsigned old = loaded->settings->epoch, groups = subsystem->group_count;
  loaded->settings->epoch = 1 - old;
  const unsigned classes = classes_seen(loaded);
  unsigned count = 0;
  for (unsigned point = 0; point < subsystem->point_count; ++point) {
    const unsigned first = point * subsystem->class_count * groups;
    for (unsigned index = first; index < first + classes * groups; ++index) {
      if (read_cell(loaded, index, old, &reading[count])) ++count;
    }
  }
  if (subsystem->after_read != NULL) subsystem->after_read(loaded->shared);
  return count;
}

EXPORT void sesame_probes_sums(struct loaded* loaded, uint64_t* row, unsigned stride) {
  const struct subsystem* subsystem = loaded->subsystem;
  const unsigned cells_of_point = subsystem->class_count * subsystem->group_count;
  const unsigned seen = classes_seen(loaded) * subsystem->group_count;
  for (unsigned cpu = 0; cpu < cpu_count(); ++cpu, row += stride) {
    uint64_t* sums = row;
    *sums++ = account_of(loaded, cpu)->charged_ns;
    *sums++ = account_of(loaded, cpu)->runs;
    const struct cell* cells = cells_of(loaded, cpu);
    for (unsigned point = 0; point < subsystem->point_count; ++point, ++sums) {
      *sums = 0;
      for (unsigned i = 0; i < seen; ++i) *sums += cells[point * cells_of_point + i].count;
    }
  }
}

EXPORT void sesame_probes_compare(const uint64_t* before, const uint64_t* now, unsigned cpus,
                                  const unsigned* begins, unsigned subsystems, uint64_t* found) {
  const unsigned width = begins[subsystems];
  memset(found, 0, (2 * subsystems + 1) * sizeof *found);
  for (const uint64_t* end = now + (size_t)cpus * width; now < end; now += width, before += width) {
    uint64_t of_all = 0;
    for (unsigned i = 0; i < subsystems; ++i) {
      const uint64_t charged = now[begins[i]] - before[begins[i]];
      of_all += charged;
      if (charged > found[2 * i]) found[2 * i] = charged;
      for (unsigned k = begins[i] + 2; k < begins[i + 1]; ++k)
        found[2 * i + 1] += now[k] - before[k];
    }
    if (of_all > found[2 * subsystems]) found[2 * subsystems] = of_all;
  }
}

EXPORT void sesame_probes_set_quota(struct loaded* loaded, uint64_t ns) {
  for (unsigned cpu = 0, cpus = cpu_count(); cpu < cpus; ++cpu) {
    struct account* account = account_of(loaded, cpu);
    account->quota_ns = account->charged_ns + (ns > 0 ? ns : 1);
  }
}
