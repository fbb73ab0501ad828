/* The rings of io_uring of this process: which of their operations left a record. */
#ifndef SESAME_TRACER_RINGS_H
#define SESAME_TRACER_RINGS_H

#include <stdint.h>

/* The descriptor is a ring. */
void sesame_rings_add(int file);

/* Likewise, unless that is known already. */
void sesame_rings_meet(int file);

/* So many operations of the ring need no record further than they have. */
void sesame_rings_tell(int file, uint32_t operations);

/* Whether it may be a ring; before it is closed, sesame_rings_close. Both keep errno. */
int sesame_rings_any(void);
void sesame_rings_close(int file);

/* Operations that were handed to the kernel and left no record, of rings that are open now and
 * those that were closed. */
uint64_t sesame_rings_unrecorded(void);

/* In a forked child: what its parent did is none of its own. */
void sesame_rings_forget(void);

#endif
