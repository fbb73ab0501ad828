/* The rings of io_uring of this process: which of their operations left a record. */
#ifndef SESAME_TRACER_RINGS_H
#define SESAME_TRACER_RINGS_H

#include <stdint.h>

/* Registers the descriptor of a new ring. */
void sesame_rings_add(int file);

/* Registers it unless it is registered already. */
void sesame_rings_ensure(int file);

/* So many operations of the ring have been recorded. */
void sesame_rings_count_recorded(int file, uint32_t operations);

/* Whether the process has rings. If so, call sesame_rings_close before any descriptor is closed.
 * Both keep errno. */
int sesame_rings_any(void);
void sesame_rings_close(int file);

/* Operations submitted to the kernel without a record, of open and closed rings. */
uint64_t sesame_rings_unrecorded(void);

/* In a forked child: forgets the operations of its parent. */
void sesame_rings_forget(void);

#endif
