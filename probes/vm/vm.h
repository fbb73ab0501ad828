/* Page faults and pages written out to free memory: the six activities of the SESAME report
 * (4.2.6), each split into file, executable and internal memory. */
#pragma once

#define POINTS 8
#define CLASSES 4
#define GROUPS 1

enum vm_point {
  VM_PAGE_IN,       /* the data had to be read */
  VM_PAGE_OUT,      /* a page was written to free memory */
  VM_REACTIVATION,  /* the page was in memory and only had to be mapped */
  VM_ZERO_FILL,     /* first touch of memory that has no file */
  VM_COPY_ON_WRITE, /* a private page was written that had been shared */
  VM_PROTECTION,    /* the mapping was there and did not allow the access, without a copy */
  VM_FIRST_TOUCH,   /* zero-fill or reactivation, not distinguished while points only count; or a
                       minor fault whose begin was not seen */
  VM_TOTAL,         /* all faults: all other points except VM_PAGE_OUT */
};
enum vm_class { VM_UNKNOWN, VM_FILE, VM_EXECUTABLE, VM_INTERNAL };
