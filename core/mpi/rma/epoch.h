// Which calls a rank may make on a window in which epoch (MPI 4.1, section 12.5). The check
// functions return MPI_SUCCESS, or MPI_ERR_RMA_SYNC with a sentence that names the missing call.
#pragma once

#include "core/mpi/rma/window.h"

namespace sesame::mpi {

struct Strand;

// MPI_ERR_ASSERT if bits other than `allowed` are set.
int check_assertion(int assertion, int allowed);

// Checks that an epoch of this kind may begin. An MPI_Win_fence epoch without operations ends
// implicitly.
int begin_access(WindowObject& window, AccessEpoch epoch);
// Checks that an operation on this target may be issued.
int check_access(const WindowObject& window, int target);
// Checks that the rank has locked this target (MPI_ANY_SOURCE: any), by MPI_Win_lock or _lock_all.
int check_passive(const WindowObject& window, int target);
// Checks that the rank has locked this target by MPI_Win_lock.
int check_locked(const WindowObject& window, int target);
// Checks that no epoch is open, so that the window may be freed.
int check_idle(const WindowObject& window);

// Records the target as the peer of the running call.
void record_target(const WindowObject& window, int target);

// Yields until all earlier events have happened. For calls that a program may repeat while it waits
// for another rank to change its memory.
void poll_memory(Strand& strand);

}  // namespace sesame::mpi
