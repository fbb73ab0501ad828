#include "core/mpi/rma/epoch.h"

#include <algorithm>

#include "core/mpi/messages/rank.h"
#include "core/mpi/objects/errors.h"

namespace sesame::mpi {
namespace {

const char* opened_by(AccessEpoch epoch) {
  switch (epoch) {
    case AccessEpoch::kNone:
      return "nothing";
    case AccessEpoch::kFence:
      return "MPI_Win_fence";
    case AccessEpoch::kStart:
      return "MPI_Win_start";
    case AccessEpoch::kLock:
      return "MPI_Win_lock";
    case AccessEpoch::kLockAll:
      return "MPI_Win_lock_all";
  }
  return "";
}

bool is_locked(const WindowObject& window, int target) {
  const auto found = window.targets.find(target);
  return found != window.targets.end() && found->second.lock != 0;
}

}  // namespace

int check_assertion(int assertion, int allowed) {
  if ((assertion & ~allowed) == 0) return MPI_SUCCESS;
  return fail(MPI_ERR_ASSERT, "the assertion has bits that this call does not know");
}

int begin_access(WindowObject& window, AccessEpoch epoch) {
  const AccessEpoch open = window.access;
  if (open == AccessEpoch::kNone || (open == AccessEpoch::kLock && epoch == open)) {
    return MPI_SUCCESS;
  }
  if (open == AccessEpoch::kFence && !window.used_since_fence) return MPI_SUCCESS;
  return fail(MPI_ERR_RMA_SYNC,
              std::string("the access epoch that ") + opened_by(open) + " opened has not ended");
}

int check_access(const WindowObject& window, int target) {
  bool allowed = false;
  switch (window.access) {
    case AccessEpoch::kNone:
      return fail(MPI_ERR_RMA_SYNC,
                  "no access epoch is open: MPI_Win_fence, MPI_Win_start or MPI_Win_lock first");
    case AccessEpoch::kFence:
      return MPI_SUCCESS;
    case AccessEpoch::kStart:
      allowed = std::binary_search(window.started.begin(), window.started.end(), target);
      break;
    case AccessEpoch::kLock:
    case AccessEpoch::kLockAll:
      allowed = is_locked(window, target);
      break;
  }
  if (allowed || target == MPI_PROC_NULL) return MPI_SUCCESS;
  return fail(MPI_ERR_RMA_SYNC, "rank " + std::to_string(target) + " is not among those that " +
                                    opened_by(window.access) + " named");
}

int check_passive(const WindowObject& window, int target) {
  if (window.access != AccessEpoch::kLock && window.access != AccessEpoch::kLockAll) {
    return fail(MPI_ERR_RMA_SYNC, "no rank of the window is locked: MPI_Win_lock first");
  }
  if (target < 0 || is_locked(window, target)) return MPI_SUCCESS;
  return fail(MPI_ERR_RMA_SYNC, "rank " + std::to_string(target) + " of the window is not locked");
}

int check_locked(const WindowObject& window, int target) {
  if (window.access == AccessEpoch::kLock && is_locked(window, target)) return MPI_SUCCESS;
  return fail(MPI_ERR_RMA_SYNC,
              "MPI_Win_unlock of rank " + std::to_string(target) + " without MPI_Win_lock of it");
}

int check_idle(const WindowObject& window) {
  if (window.exposed) {
    return fail(MPI_ERR_RMA_SYNC, "the exposure epoch that MPI_Win_post opened has not ended");
  }
  const bool fenced = window.access == AccessEpoch::kFence && !window.used_since_fence;
  if (window.access == AccessEpoch::kNone || fenced) return MPI_SUCCESS;
  return fail(MPI_ERR_RMA_SYNC, std::string("the access epoch that ") + opened_by(window.access) +
                                    " opened has not ended");
}

void record_target(const WindowObject& window, int target) {
  if (target == MPI_PROC_NULL) return;
  window.rank.call_peer = window.world_rank(target);
  window.rank.call_context = window.comm->context;
}

}  // namespace sesame::mpi
