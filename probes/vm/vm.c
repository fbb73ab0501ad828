#include "probes/vm/vm.h"

#include "probes/subsystem.h"

#define FAULTS \
  { "user_fault", "kernel_fault", "minor_end", "major_end" }

static const struct point points[POINTS] = {
    [VM_PAGE_IN] = {"page-in", "a fault whose data had to be read", FAULTS, DETAIL_DURATION},
    [VM_PAGE_OUT] = {"page-out", "a page is written to make room", {"page_out"}, DETAIL_COUNT},
    [VM_REACTIVATION] = {"reactivation", "a fault on a page that was in memory", FAULTS,
                         DETAIL_DURATION},
    [VM_ZERO_FILL] = {"zero-fill", "first touch of memory without a file", FAULTS, DETAIL_DURATION},
    [VM_COPY_ON_WRITE] = {"copy-on-write", "a write to a page that was shared or protected", FAULTS,
                          DETAIL_DURATION},
    [VM_PROTECTION] = {"protection", "another access that the mapping did not allow", FAULTS,
                       DETAIL_DURATION},
    [VM_FIRST_TOUCH] = {"first-touch",
                        "zero-fill or reactivation, not told apart when only counted", FAULTS,
                        DETAIL_COUNT},
    [VM_TOTAL] = {"total", "all faults", FAULTS, DETAIL_DURATION, .is_sum = 1},
};

static const char* const classes[CLASSES] = {"unknown", "file", "executable", "internal"};

DEFINE_SUBSYSTEM(vm, "page faults, and pages written out to make room", "the address",
                 "the activity: number of a point");
