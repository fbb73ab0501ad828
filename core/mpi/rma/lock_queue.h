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
    WindowObject* origin;
    int type;  // MPI_LOCK_SHARED or MPI_LOCK_EXCLUSIVE
  };

  // Returns whether the claim holds the lock now; otherwise it waits.
  bool claim(Claim claim);
  // One holder releases the lock. Calls grant(claim) for every claim that holds it now.
  template <typename Grant>
  void release(Grant grant) {
    --holders_;
    holder_ = nullptr;
    while (waiting_ != nullptr && !waiting_->empty() && is_free_for(waiting_->front().type)) {
      const Claim next = waiting_->front();
      waiting_->pop_front();
      hold(next);
      grant(next);
    }
  }

  int holders() const { return holders_; }
  // The holder of an exclusive lock, or null.
  const WindowObject* holder() const { return holder_; }

 private:
  bool is_free_for(int type) const {
    return holders_ == 0 || (holder_ == nullptr && type == MPI_LOCK_SHARED);
  }
  void hold(const Claim& claim) {
    ++holders_;
    holder_ = claim.type == MPI_LOCK_EXCLUSIVE ? claim.origin : nullptr;
  }

  int holders_ = 0;
  const WindowObject* holder_ = nullptr;
  std::unique_ptr<std::deque<Claim>> waiting_;  // null until a claim has waited
};

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
