#include "probes/vm/vm.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <stdint.h>
#include <sys/mman.h>
#include <unistd.h>

#include "probes/subsystem.h"

#define FAULT(name, meaning, finest, ...)                                            \
  {                                                                                  \
    name, meaning, {"user_fault", "kernel_fault", "minor_end", "major_end"}, finest, \
        {"count_user", "count_kernel", "count_major"}, __VA_ARGS__                   \
  }

static const struct point points[POINTS] = {
    [VM_PAGE_IN] = FAULT("page-in", "a fault whose data had to be read", DETAIL_DURATION),
    [VM_PAGE_OUT] = {"page-out", "a page is written to free memory", {"write_folio"}, DETAIL_COUNT},
    [VM_REACTIVATION] = FAULT("reactivation", "a fault on a page that was in memory",
                              DETAIL_DURATION, .needs_class = 1),
    [VM_ZERO_FILL] = FAULT("zero-fill", "first touch of memory without a file", DETAIL_DURATION,
                           .needs_class = 1),
    [VM_COPY_ON_WRITE] =
        FAULT("copy-on-write", "a write to a page that was shared or protected", DETAIL_DURATION),
    [VM_PROTECTION] =
        FAULT("protection", "another access that the mapping did not allow", DETAIL_DURATION),
    [VM_FIRST_TOUCH] = FAULT(
        "first-touch",
        "zero-fill or reactivation, not distinguished when only counted, or its begin not seen",
        DETAIL_COUNT),
    [VM_TOTAL] = FAULT("total", "all faults", DETAIL_DURATION, .is_sum = 1),
};

static const struct substitute substitutes[] = {{"write_folio", "write_page"}, {NULL}};

static const char* const classes[CLASSES] = {"unknown", "file", "executable", "internal"};

extern const unsigned char sesame_vm_object[];

/* Tests addresses of known classes: this library's code and constants, which are mapped from its
 * file, and anonymous memory. */
static const char* check_classes(struct bpf_object* object) {
  const int program = bpf_program__fd(bpf_object__find_program_by_name(object, "class_at"));
  if (program < 0) return "this kernel refuses to look for the memory that a fault is in";
  const size_t bytes = (size_t)sysconf(_SC_PAGESIZE);
  void* ours = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  const struct {
    uintptr_t address;
    enum vm_class class_;
  } known[] = {
      {(uintptr_t)check_classes, VM_EXECUTABLE},
      {(uintptr_t)sesame_vm_object, VM_FILE},
      {(uintptr_t)ours, VM_INTERNAL},
  };
  unsigned right = 0;
  for (unsigned i = 0; i < COUNT_OF(known); ++i) {
    const uint64_t arguments[1] = {known[i].address};
    LIBBPF_OPTS(bpf_test_run_opts, options, .ctx_in = arguments, .ctx_size_in = sizeof arguments);
    right += bpf_prog_test_run_opts(program, &options) == 0 && options.retval == known[i].class_;
  }
  munmap(ours, bytes);
  if (right == COUNT_OF(known)) return NULL;
  return "the areas of memory are not where they are in the kernels known so far";
}

DEFINE_SUBSYSTEM(vm, "page faults, and pages written out to free memory", "the address",
                 "the activity: number of a point", .check_classes = check_classes,
                 .substitutes = substitutes);
