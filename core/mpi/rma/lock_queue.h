// LockQueue: the lock of one rank's memory in a window. It knows the holders and the claims that
// wait. Claims are served in the order in which they came: a shared claim waits behind an exclusive
// one that came before it.
#pragma once

#include <deque>
#include <memory>

#include "core/base/units.h"
#include "core/mpi/objects/constants.h"

namespace sesame::mpi {

struct WindowObject;

class LockQueue {
 public:
  struct Claim {
    int rank;              // of the run
    WindowObject* origin;  // of its worker, in a parallel simulation
    int type;              // MPI_LOCK_SHARED or MPI_LOCK_EXCLUSIVE
  };

  // Returns whether the claim holds the lock now; otherwise it waits.
  bool claim(Claim claim);
  // One holder releases the lock. Calls grant(claim) for every claim that holds it now.
  template <typename Grant>
  void release(Grant grant) {
    --holders_;
    holder_ = -1;
    while (waiting_ != nullptr && !waiting_->empty() && is_free_for(waiting_->front().type)) {
      const Claim next = waiting_->front();
      waiting_->pop_front();
      hold(next);
      grant(next);
    }
  }

  int holders() const { return holders_; }
  // The rank of the run that holds an exclusive lock, or -1.
  int holder() const { return holder_; }
  template <typename Visit>
  void visit_waiting(Visit visit) const {
    if (waiting_ == nullptr) return;
    for (const Claim& claim : *waiting_) visit(claim);
  }

 private:
  bool is_free_for(int type) const {
    return holders_ == 0 || (holder_ < 0 && type == MPI_LOCK_SHARED);
  }
  void hold(const Claim& claim) {
    ++holders_;
    holder_ = claim.type == MPI_LOCK_EXCLUSIVE ? claim.rank : -1;
  }

  int holders_ = 0;
  int holder_ = -1;
  std::unique_ptr<std::deque<Claim>> waiting_;  // null until a claim has waited
};

// A claim to a lock, or its release, at its target.
struct LockDelivery {
  SimTime arrival;
  int target;              // in the window's group
  LockQueue::Claim claim;  // of type kRelease: the holder releases the lock
  SimTime reply_latency;   // latency of a grant
};
inline constexpr int kRelease = 0;

inline bool LockQueue::claim(Claim claim) {
  const bool is_next = waiting_ == nullptr || waiting_->empty();
  if (is_next && is_free_for(claim.type)) {
    hold(claim);
    return true;
  }
  if (waiting_ == nullptr) waiting_ = std::make_unique<std::deque<Claim>>();
  waiting_->push_back(claim);
  return false;
}

}  // namespace sesame::mpi
