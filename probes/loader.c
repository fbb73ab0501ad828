#include <bpf/bpf.h>
#include <bpf/btf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <linux/capability.h>
#include <linux/membarrier.h>
#include <linux/perf_event.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "probes/loaded.h"

#define SUBSYSTEM(name) extern const struct subsystem sesame_##name;
#include "subsystems.def"
#undef SUBSYSTEM

static const struct subsystem* const subsystems[] = {
#define SUBSYSTEM(name) &sesame_##name,
#include "subsystems.def"
#undef SUBSYSTEM
};

static char error_text[512];
static char libbpf_text[256];

EXPORT const char* sesame_probes_error(void) { return error_text; }

void fail(const char* format, ...) {
  va_list arguments;
  va_start(arguments, format);
  vsnprintf(error_text, sizeof error_text, format, arguments);
  va_end(arguments);
}

/* The last warning of libbpf is the reason why it fails. */
static int keep_last(enum libbpf_print_level level, const char* format, va_list arguments) {
  if (level != LIBBPF_WARN) return 0;
  vsnprintf(libbpf_text, sizeof libbpf_text, format, arguments);
  libbpf_text[strcspn(libbpf_text, "\n")] = 0;
  return 0;
}

unsigned cpu_count(void) { return (unsigned)libbpf_num_possible_cpus(); }

static unsigned cell_count(const struct subsystem* subsystem) {
  return subsystem->point_count * subsystem->class_count * subsystem->group_count;
}

static size_t whole_pages(size_t bytes) {
  const size_t page = (size_t)sysconf(_SC_PAGESIZE);
  return (bytes + page - 1) / page * page;
}

/* ---- What there is ---- */

static void describe_points(FILE* out, const struct subsystem* subsystem) {
  for (unsigned i = 0; i < subsystem->point_count; ++i) {
    const struct point* point = &subsystem->points[i];
    fprintf(out, "%s{\"name\": \"%s\", \"meaning\": \"%s\", \"finest\": %d, \"sum\": %d}",
            i > 0 ? ", " : "", point->name, point->meaning, point->finest, point->is_sum);
  }
}

static void describe_absent(FILE* out, const struct absence* absent) {
  for (unsigned i = 0; absent != NULL && absent[i].name != NULL; ++i) {
    fprintf(out, "%s{\"name\": \"%s\", \"meaning\": \"%s\", \"why\": \"%s\"}", i > 0 ? ", " : "",
            absent[i].name, absent[i].meaning, absent[i].why);
  }
}

EXPORT const char* sesame_probes_describe(void) {
  static char* text;
  if (text != NULL) return text;
  size_t bytes;
  FILE* out = open_memstream(&text, &bytes);
  fputc('[', out);
  for (unsigned i = 0; i < COUNT_OF(subsystems); ++i) {
    const struct subsystem* one = subsystems[i];
    fprintf(out, "%s{\"name\": \"%s\", \"meaning\": \"%s\", ", i > 0 ? ", " : "", one->name,
            one->meaning);
    fprintf(out, "\"where\": \"%s\", \"what\": \"%s\", \"groups\": %u, \"classes\": [", one->where,
            one->what, one->group_count);
    for (unsigned k = 0; k < one->class_count; ++k) {
      fprintf(out, "%s\"%s\"", k > 0 ? ", " : "", one->classes[k] != NULL ? one->classes[k] : "");
    }
    fputs("], \"points\": [", out);
    describe_points(out, one);
    fputs("], \"absent\": [", out);
    describe_absent(out, one->absent);
    fputs("]}", out);
  }
  fputc(']', out);
  fclose(out);
  return text;
}

static unsigned number_of(const char* name) {
  unsigned i = 0;
  while (i < COUNT_OF(subsystems) && strcmp(subsystems[i]->name, name) != 0) ++i;
  return i;
}

/* ---- Loading ---- */

/* errno does not tell: it has the same values when the verifier refuses a program. */
EXPORT int sesame_probes_has_rights(void) {
  struct __user_cap_header_struct header = {_LINUX_CAPABILITY_VERSION_3, 0};
  struct __user_cap_data_struct data[_LINUX_CAPABILITY_U32S_3] = {0};
  if (syscall(SYS_capget, &header, data) != 0) return 0;
#define HAS(cap) ((data[CAP_TO_INDEX(cap)].effective & CAP_TO_MASK(cap)) != 0)
  return HAS(CAP_SYS_ADMIN) || (HAS(CAP_BPF) && HAS(CAP_PERFMON));
#undef HAS
}

/* A tracepoint that the kernel does not have fails the whole object, so it is left out before. */
static void leave_out_missing(struct program* program, const struct btf* kernel) {
  const char* section = bpf_program__section_name(program->bpf);
  if (strncmp(section, "tp_btf/", 7) != 0) return;
  char type[128];
  snprintf(type, sizeof type, "btf_trace_%s", section + 7);
  if (btf__find_by_name_kind(kernel, type, BTF_KIND_TYPEDEF) >= 0) return;
  snprintf(program->missing, sizeof program->missing, "this kernel has no tracepoint %s",
           section + 7);
}

/* Opens the object with all programs that are not known to be missing. */
static int open_object(struct loaded* loaded, const struct btf* kernel) {
  const struct subsystem* subsystem = loaded->subsystem;
  const bool is_older = subsystem->needs != NULL &&
                        btf__find_by_name_kind(kernel, subsystem->needs, BTF_KIND_FUNC) < 0;
  const unsigned char* begin = is_older ? subsystem->older : subsystem->object;
  const unsigned char* end = is_older ? subsystem->older_end : subsystem->object_end;
  loaded->object = bpf_object__open_mem(begin, (size_t)(end - begin), NULL);
  if (loaded->object == NULL) return -1;
  struct bpf_program* bpf;
  loaded->program_count = 0;
  bpf_object__for_each_program(bpf, loaded->object) {
    struct program* program = &loaded->programs[loaded->program_count++];
    program->bpf = bpf;
    if (program->missing[0] == 0) leave_out_missing(program, kernel);
    bpf_program__set_autoload(bpf, program->missing[0] == 0);
  }
  struct bpf_map* cells = bpf_object__find_map_by_name(loaded->object, "cells");
  return bpf_map__set_max_entries(cells, cpu_count());
}

static void* mapped(struct bpf_map* map, size_t bytes) {
  void* place =
      mmap(NULL, whole_pages(bytes), PROT_READ | PROT_WRITE, MAP_SHARED, bpf_map__fd(map), 0);
  return place == MAP_FAILED ? NULL : place;
}

static int map_memory(struct loaded* loaded) {
  struct bpf_map* cells = bpf_object__find_map_by_name(loaded->object, "cells");
  loaded->cells_bytes = (size_t)bpf_map__value_size(cells) * cpu_count();
  loaded->cells = mapped(cells, loaded->cells_bytes);
  struct bpf_map* settings = bpf_object__find_map_by_name(loaded->object, ".data.settings");
  loaded->settings = settings != NULL ? mapped(settings, sizeof(struct settings)) : NULL;
  struct bpf_map* shared = bpf_object__find_map_by_name(loaded->object, ".data.shared");
  if (shared != NULL) {
    loaded->shared_bytes = bpf_map__value_size(shared);
    loaded->shared = mapped(shared, loaded->shared_bytes);
    if (loaded->shared == NULL) return -1;
  }
  return loaded->cells != NULL && loaded->settings != NULL ? 0 : -1;
}

static int load_object(struct loaded* loaded) {
  return share_rings(loaded->object) == 0 ? bpf_object__load(loaded->object) : -1;
}

/* The last line of the verifier's log before its statistics. */
static const char* reason_in(char* log, int error) {
  char* figures = strstr(log, "processed ");
  if (figures == NULL || figures == log) return strerror(error);
  figures[-1] = 0;
  const char* line = strrchr(log, '\n');
  return line != NULL ? line + 1 : log;
}

/* One program that the kernel refuses makes the whole object fail. So each is loaded alone. */
static void find_refused(struct loaded* loaded, const struct btf* kernel) {
  static char log[1 << 16];
  for (unsigned i = 0; i < loaded->program_count; ++i) {
    struct program* program = &loaded->programs[i];
    if (program->missing[0] != 0) continue;
    bpf_object__close(loaded->object);
    if (open_object(loaded, kernel) != 0) return;
    for (unsigned k = 0; k < loaded->program_count; ++k) {
      if (k != i) bpf_program__set_autoload(loaded->programs[k].bpf, false);
    }
    log[0] = 0;
    bpf_program__set_log_buf(program->bpf, log, sizeof log);
    if (load_object(loaded) == 0) continue;
    snprintf(
        program->missing, sizeof program->missing,
        "this kernel refuses the program of this point; others are available, and on Linux 5.15 "
        "or newer please report it: %s",
        reason_in(log, errno));
  }
  bpf_object__close(loaded->object);
  loaded->object = NULL;
}

static int load(struct loaded* loaded, const struct btf* kernel) {
  if (open_object(loaded, kernel) != 0) return -1;
  if (load_object(loaded) != 0) {
    if (errno == EPERM || !sesame_probes_has_rights()) return -1; /* all would be refused */
    find_refused(loaded, kernel);
    if (open_object(loaded, kernel) != 0 || load_object(loaded) != 0) return -1;
  }
  return map_memory(loaded);
}

static unsigned program_called(const struct loaded* loaded, const char* name) {
  for (unsigned i = 0; i < loaded->program_count; ++i) {
    if (strcmp(bpf_program__name(loaded->programs[i].bpf), name) == 0) return i;
  }
  fprintf(stderr, "subsystem %s: there is no program %s\n", loaded->subsystem->name, name);
  abort(); /* its description is wrong */
}

/* What serves in place of a program that this kernel does not have; NULL: nothing. */
static const struct substitute* substitute_of(const struct loaded* loaded, const char* name) {
  const struct substitute* one = loaded->subsystem->substitutes;
  for (; one != NULL && one->name != NULL; ++one) {
    if (strcmp(one->name, name) != 0) continue;
    if (loaded->programs[program_called(loaded, one->instead)].missing[0] == 0) return one;
  }
  return NULL;
}

/* The program of this name, or its substitute in this kernel. */
static unsigned program_for(const struct loaded* loaded, const char* name) {
  const unsigned number = program_called(loaded, name);
  if (loaded->programs[number].missing[0] == 0) return number;
  const struct substitute* one = substitute_of(loaded, name);
  return one != NULL ? program_called(loaded, one->instead) : number;
}

static uint32_t programs_for(const struct loaded* loaded, const char* const* names) {
  uint32_t programs = 0;
  for (unsigned i = 0; i < SESAME_MAX_PROGRAMS && names[i] != NULL; ++i) {
    programs |= 1U << program_for(loaded, names[i]);
  }
  return programs;
}

/* Why one of these programs is unavailable; NULL if all are available. */
static const char* reason_of(const struct loaded* loaded, uint32_t programs) {
  for (unsigned i = 0; i < loaded->program_count; ++i) {
    if ((programs >> i & 1) != 0 && loaded->programs[i].missing[0] != 0) {
      return loaded->programs[i].missing;
    }
  }
  return NULL;
}

/* Finds the programs of each point, and whether this kernel can find classes. */
static void settle_points(struct loaded* loaded) {
  const struct subsystem* subsystem = loaded->subsystem;
  for (unsigned i = 0; i < subsystem->point_count; ++i) {
    const struct point* point = &subsystem->points[i];
    loaded->serving[i] = programs_for(loaded, point->programs);
    loaded->counting[i] = programs_for(loaded, point->counting);
    if (loaded->counting[i] == 0) loaded->counting[i] = loaded->serving[i];
  }
  if (subsystem->check_classes != NULL) {
    loaded->classless = subsystem->check_classes(loaded->object);
    loaded->settings->classless = loaded->classless != NULL;
  }
}

/* False when memory is short. */
static bool set_names(struct loaded* loaded) {
  const struct subsystem* subsystem = loaded->subsystem;
  loaded->names = calloc(subsystem->class_count, sizeof *loaded->names);
  if (loaded->names == NULL) return subsystem->class_count == 0;
  for (unsigned i = 0; i < subsystem->class_count; ++i) {
    if (subsystem->classes[i] == NULL) continue;
    loaded->names[i] = strdup(subsystem->classes[i]);
    if (loaded->names[i] == NULL) return false;
  }
  return true;
}

/* Allocates the state of a subsystem; NULL if out of memory. */
static struct loaded* new_loaded(unsigned number) {
  struct loaded* loaded = calloc(1, sizeof *loaded);
  if (loaded == NULL) return NULL;
  loaded->subsystem = subsystems[number];
  loaded->before = calloc(cell_count(loaded->subsystem), sizeof *loaded->before);
  if (set_names(loaded) && loaded->before != NULL) return loaded;
  sesame_probes_unload(loaded);
  return NULL;
}

EXPORT struct loaded* sesame_probes_load(const char* name) {
  libbpf_set_print(keep_last);
  const unsigned number = number_of(name);
  if (number == COUNT_OF(subsystems)) return fail("there is no subsystem %s", name), NULL;
  struct btf* kernel = btf__load_vmlinux_btf();
  if (kernel == NULL) {
    fail("this kernel does not describe its structures: it has no /sys/kernel/btf/vmlinux");
    return NULL;
  }
  struct loaded* loaded = new_loaded(number);
  if (loaded == NULL) {
    btf__free(kernel);
    fail("memory is short");
    return NULL;
  }
  libbpf_text[0] = 0;
  const int result = load(loaded, kernel);
  const int reason = errno;
  btf__free(kernel);
  if (result == 0) {
    settle_points(loaded);
    loaded->settings->subsystem = number;
    loaded->settings->reader = (__u32)getpid();
    return loaded;
  }
  if (!sesame_probes_has_rights()) {
    fail(
        "the kernel does not take probes from this user: expected root, or the capabilities "
        "CAP_BPF and CAP_PERFMON");
  } else {
    fail("the probes of %s were not loaded: %s%s%s", name, strerror(reason),
         libbpf_text[0] != 0 ? "; " : "", libbpf_text);
  }
  sesame_probes_unload(loaded);
  return NULL;
}

/* ---- Attaching ---- */

static void detach(struct program* program) {
  for (unsigned i = 0; program->links != NULL && i < cpu_count(); ++i) {
    if (program->links[i] != NULL) bpf_link__destroy(program->links[i]);
  }
  free(program->links);
  program->links = NULL;
}

/* Each minor fault of a CPU is a sample of the kernel's own counter of them; or each major one,
 * when the program's name says so. */
static struct bpf_link* attach_to_faults(struct bpf_program* bpf, unsigned cpu) {
  const bool is_major = strstr(bpf_program__name(bpf), "major") != NULL;
  struct perf_event_attr attributes = {
      .type = PERF_TYPE_SOFTWARE,
      .size = sizeof attributes,
      .config = is_major ? PERF_COUNT_SW_PAGE_FAULTS_MAJ : PERF_COUNT_SW_PAGE_FAULTS_MIN,
      .sample_period = 1,
  };
  const int file =
      (int)syscall(SYS_perf_event_open, &attributes, -1, cpu, -1, PERF_FLAG_FD_CLOEXEC);
  if (file < 0) return NULL;
  struct bpf_link* link = bpf_program__attach_perf_event(bpf, file);
  if (link == NULL) close(file);
  return link;
}

static int attach(struct program* program) {
  program->links = calloc(cpu_count(), sizeof *program->links);
  if (program->links == NULL) return -1;
  if (bpf_program__type(program->bpf) != BPF_PROG_TYPE_PERF_EVENT) {
    program->links[0] = bpf_program__attach(program->bpf);
    return program->links[0] != NULL ? 0 : -1;
  }
  bool any = false;
  for (unsigned i = 0; i < cpu_count(); ++i) {
    program->links[i] = attach_to_faults(program->bpf, i);
    any = any || program->links[i] != NULL; /* absent CPUs have none */
  }
  return any ? 0 : -1;
}

EXPORT const char* sesame_probes_missing(struct loaded* loaded, unsigned number) {
  const struct point* point = &loaded->subsystem->points[number];
  const char* reason = reason_of(loaded, loaded->serving[number] | loaded->counting[number]);
  return reason == NULL && point->needs_class ? loaded->classless : reason;
}

EXPORT const char* sesame_probes_substituted(struct loaded* loaded, unsigned number) {
  static char text[480];
  const struct point* point = &loaded->subsystem->points[number];
  for (unsigned i = 0; i < SESAME_MAX_PROGRAMS && point->programs[i] != NULL; ++i) {
    const struct program* own = &loaded->programs[program_called(loaded, point->programs[i])];
    if (own->missing[0] == 0) continue;
    const struct substitute* one = substitute_of(loaded, point->programs[i]);
    if (one == NULL || one->meaning == NULL) continue;
    snprintf(text, sizeof text, "%s: %s", one->meaning, own->missing);
    return text;
  }
  return NULL;
}

/* The programs of points that are on, for the present level of detail. */
static uint32_t programs_needed(const struct loaded* loaded) {
  const struct settings* settings = loaded->settings;
  const uint32_t* needed = settings->finest == DETAIL_COUNT ? loaded->counting : loaded->serving;
  uint32_t programs = 0;
  for (unsigned i = 0; i < loaded->subsystem->point_count; ++i) {
    if (settings->detail[i] != DETAIL_OFF) programs |= needed[i];
  }
  return programs;
}

/* Debian and Ubuntu have levels of this setting at which CAP_PERFMON does not count. */
static const char* advice_for(int error) {
  static char text[128];
  int level = 0;
  FILE* file = fopen("/proc/sys/kernel/perf_event_paranoid", "re");
  if (file != NULL && fscanf(file, "%d", &level) != 1) level = 0;
  if (file != NULL) fclose(file);
  if (error != EACCES || level <= 2) return "";
  snprintf(text, sizeof text,
           "; the setting kernel.perf_event_paranoid is %d: expected at most 2 (see sysctl(8))",
           level);
  return text;
}

/* Detaches before it attaches, so that no event is counted by an old and a new program. */
static int attach_needed(struct loaded* loaded) {
  const uint32_t needed = programs_needed(loaded);
  for (unsigned i = 0; i < loaded->program_count; ++i) {
    struct program* program = &loaded->programs[i];
    if (program->links != NULL && (needed >> i & 1) == 0) detach(program);
  }
  for (unsigned i = 0; i < loaded->program_count; ++i) {
    struct program* program = &loaded->programs[i];
    if (program->links != NULL || (needed >> i & 1) == 0 || attach(program) == 0) continue;
    const int error = errno;
    snprintf(program->missing, sizeof program->missing, "%s cannot be attached: %s%s",
             bpf_program__section_name(program->bpf), strerror(error), advice_for(error));
    detach(program);
    return -1;
  }
  return 0;
}

EXPORT void sesame_probes_wait(void) { syscall(SYS_membarrier, MEMBARRIER_CMD_GLOBAL, 0, 0); }

/* The clock of bpf_ktime_get_ns. */
static __u64 now_ns(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (__u64)now.tv_sec * 1000000000 + (__u64)now.tv_nsec;
}

static void set_detail(const struct loaded* loaded, unsigned number, enum detail detail) {
  struct settings* settings = loaded->settings;
  __u32 finest = settings->detail[number] = detail;
  for (unsigned i = 0; i < loaded->subsystem->point_count; ++i) {
    if (settings->detail[i] > finest) finest = settings->detail[i];
  }
  settings->finest = finest;
}

EXPORT int sesame_probes_set(struct loaded* loaded, unsigned number, enum detail detail,
                             int tracing) {
  const struct subsystem* subsystem = loaded->subsystem;
  if (number >= subsystem->point_count) return fail("no such point"), -1;
  const struct point* point = &subsystem->points[number];
  const char* missing = sesame_probes_missing(loaded, number);
  if (detail != DETAIL_OFF && missing != NULL) {
    fail("%s.%s is unavailable: %s", subsystem->name, point->name, missing);
    return -1;
  }
  if (tracing != 0 && detail != DETAIL_OFF && read_event_ring() != 0) return -1;
  loaded->settings->since_ns = now_ns(); /* begin times stored before are not used */
  loaded->settings->tracing[number] = tracing != 0 && detail != DETAIL_OFF;
  set_detail(loaded, number, detail < point->finest ? detail : point->finest);
  const int result = attach_needed(loaded);
  loaded->settings->since_ns = now_ns();
  if (result == 0) return 0;
  fail("%s.%s is unavailable: %s", subsystem->name, point->name,
       sesame_probes_missing(loaded, number));
  set_detail(loaded, number, DETAIL_OFF);
  attach_needed(loaded);
  return -1;
}

EXPORT void sesame_probes_unload(struct loaded* loaded) {
  for (unsigned i = 0; i < loaded->program_count; ++i) detach(&loaded->programs[i]);
  if (loaded->cells != NULL) munmap(loaded->cells, whole_pages(loaded->cells_bytes));
  if (loaded->settings != NULL) munmap(loaded->settings, whole_pages(sizeof(struct settings)));
  if (loaded->shared != NULL) munmap(loaded->shared, whole_pages(loaded->shared_bytes));
  bpf_object__close(loaded->object);
  for (unsigned i = 0; loaded->names != NULL && i < loaded->subsystem->class_count; ++i) {
    free(loaded->names[i]);
  }
  free(loaded->names);
  free(loaded->class_text);
  free(loaded->before);
  free(loaded);
}
