// Passive target synchronisation: MPI_Win_lock, MPI_Win_flush and their relatives (MPI 4.1,
// sections 12.5.3 and 12.5.4).
#include <numeric>

#include "core/mpi/api.h"
#include "core/mpi/messages/polling.h"
#include "core/mpi/messages/waiting.h"
#include "core/mpi/messages/world.h"
#include "core/mpi/objects/errors.h"
#include "core/mpi/rma/epoch.h"
#include "core/mpi/rma/lock_message.h"

namespace sesame::mpi {
namespace {

using Condition = WindowWait::Condition;

std::vector<int> all_ranks(const WindowObject& window) {
  std::vector<int> ranks(static_cast<size_t>(window.size_of_group()));
  std::iota(ranks.begin(), ranks.end(), 0);
  return ranks;
}

void claim_locks(WindowObject& window, std::span<const int> targets, int type, bool assumed) {
  for (const int target : targets) {
    window.targets[target].lock = type;
    window.targets[target].lock_is_assumed = assumed;
  }
  if (assumed) return;
  LockMessages::claim(self(), window, targets, type);
  await_window(window, Condition::kLock, targets.size() == 1 ? targets[0] : MPI_ANY_SOURCE);
}

void release_locks(WindowObject& window, std::span<const int> targets) {
  const bool assumed = window.targets[targets[0]].lock_is_assumed;
  for (const int target : targets) window.targets[target].lock = 0;
  if (!assumed) LockMessages::release(self(), window, targets);
}

// A flush without outstanding operations may be the poll of a program that waits for another rank
// to change its memory.
int flush(Win win, Condition condition, int target) {
  WindowObject* window;
  MPI_TRY(check_window(win, &window));
  if (target != MPI_ANY_SOURCE) MPI_TRY(check_target(*window, target));
  MPI_TRY(check_passive(*window, target));
  if (target == MPI_PROC_NULL) return MPI_SUCCESS;
  Strand& strand = self();
  const SimTime begin = strand.now;
  await_window(*window, condition, target);
  if (strand.now == begin) poll_memory(strand);
  return MPI_SUCCESS;
}

}  // namespace

void poll_memory(Strand& strand) {
  schedule_wake(strand, charge_idle_poll(strand));
  strand.rank->memory_poller = &strand;
  strand.rank->world.executive.block();
  strand.rank->memory_poller = nullptr;
  strand.waited += strand.wait_until(strand.wake.time());
}

int Win_lock(int lock_type, int target, int assertion, Win win) {
  WindowObject* window;
  MPI_TRY(check_window(win, &window));
  if (lock_type != MPI_LOCK_SHARED && lock_type != MPI_LOCK_EXCLUSIVE) {
    return fail(MPI_ERR_LOCKTYPE,
                "the lock type is neither MPI_LOCK_SHARED nor "
                "MPI_LOCK_EXCLUSIVE");
  }
  MPI_TRY(check_target(*window, target));
  MPI_TRY(check_assertion(assertion, MPI_MODE_NOCHECK));
  MPI_TRY(begin_access(*window, AccessEpoch::kLock));
  if (window->targets[target].lock != 0) {
    return fail(MPI_ERR_RMA_SYNC,
                "this rank has locked rank " + std::to_string(target) + " of the window already");
  }
  window->access = AccessEpoch::kLock;
  ++window->locks;
  record_target(*window, target);
  const bool is_assumed = (assertion & MPI_MODE_NOCHECK) != 0 || target == MPI_PROC_NULL;
  claim_locks(*window, std::span(&target, 1), lock_type, is_assumed);
  return MPI_SUCCESS;
}

int Win_unlock(int target, Win win) {
  WindowObject* window;
  MPI_TRY(check_window(win, &window));
  MPI_TRY(check_target(*window, target));
  MPI_TRY(check_locked(*window, target));
  record_target(*window, target);
  await_window(*window, Condition::kComplete, target);
  release_locks(*window, std::span(&target, 1));
  if (--window->locks == 0) window->access = AccessEpoch::kNone;
  return MPI_SUCCESS;
}

int Win_lock_all(int assertion, Win win) {
  WindowObject* window;
  MPI_TRY(check_window(win, &window));
  MPI_TRY(check_assertion(assertion, MPI_MODE_NOCHECK));
  MPI_TRY(begin_access(*window, AccessEpoch::kLockAll));
  window->access = AccessEpoch::kLockAll;
  claim_locks(*window, all_ranks(*window), MPI_LOCK_SHARED, (assertion & MPI_MODE_NOCHECK) != 0);
  return MPI_SUCCESS;
}

int Win_unlock_all(Win win) {
  WindowObject* window;
  MPI_TRY(check_window(win, &window));
  if (window->access != AccessEpoch::kLockAll) {
    return fail(MPI_ERR_RMA_SYNC, "MPI_Win_unlock_all without MPI_Win_lock_all");
  }
  await_window(*window, Condition::kComplete, MPI_ANY_SOURCE);
  release_locks(*window, all_ranks(*window));
  window->access = AccessEpoch::kNone;
  return MPI_SUCCESS;
}

int Win_flush(int rank, Win win) { return flush(win, Condition::kComplete, rank); }
int Win_flush_all(Win win) { return flush(win, Condition::kComplete, MPI_ANY_SOURCE); }
int Win_flush_local(int rank, Win win) { return flush(win, Condition::kCompleteLocally, rank); }
int Win_flush_local_all(Win win) { return flush(win, Condition::kCompleteLocally, MPI_ANY_SOURCE); }

// There is one copy of the memory, so this only waits until all earlier events have happened.
int Win_sync(Win win) {
  WindowObject* window;
  MPI_TRY(check_window(win, &window));
  poll_memory(self());
  return MPI_SUCCESS;
}

}  // namespace sesame::mpi
