/* The numbers of recorded calls: SESAME_CALL_pwrite, SESAME_CALL_MPI_Send, … */
#ifndef SESAME_TRACER_CALLS_H
#define SESAME_TRACER_CALLS_H

#define SESAME_CALL(name) SESAME_CALL_##name,
enum sesame_call_number {
#include "calls.def"
  SESAME_CALLS
};
_Static_assert(SESAME_CALLS <= 65536, "a call is 16 bits");

#endif
