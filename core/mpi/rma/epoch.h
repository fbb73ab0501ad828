// Which calls a rank may make on a window when (MPI 4.1, section 12.5). What a program gets wrong
// is MPI_ERR_RMA_SYNC with a sentence that says which call is missing.
#pragma once

#include "core/mpi/rma/window.h"

namespace sesame::mpi {

struct Strand;

// Only these bits may be set.
int check_assertion(int assertion, int allowed);

// An epoch of this kind may begin. One of MPI_Win_fence in which nothing happened ends silently.
int begin_access(WindowObject& window, AccessEpoch epoch);
// An operation on this target may be issued.
int check_access(const WindowObject& window, int target);
// The rank has locked this target (MPI_ANY_SOURCE: any), by either call.
int check_passive(const WindowObject& window, int target);
// The rank has locked this target by MPI_Win_lock.
int check_locked(const WindowObject& window, int target);
// Nothing is under way; the window may be freed.
int check_idle(const WindowObject& window);

// For the record of the call.
void note_target(const WindowObject& window, int target);

// Lets everything earlier happen; called by what a program repeats while it waits for others to
// change its memory.
void poll_memory(Strand& strand);

}  // namespace sesame::mpi
