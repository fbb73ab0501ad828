// Totals of one rank for each MPI function: calls, simulated time, bytes. Thousands of ranks each
// have a profile, so it has space only for functions that the run has called.
//
// Use: at(slot) with the slot of the function, which is the same for all ranks of a run
// (CallSlots); at() may invalidate references that it returned before. visit() at the end of the
// run. Sizes are bytes, times are simulated. World owns the slots, each rank its profile. One
// thread.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "core/base/units.h"
#include "core/mpi/call_ids.h"

namespace sesame::mpi {

// Numbers the functions (CallIds) in the order in which the run first calls them.
class CallSlots {
 public:
  CallSlots() { slots_.fill(kNone); }

  size_t of(uint16_t call) {
    if (slots_[call] == kNone) [[unlikely]] {
      slots_[call] = static_cast<uint16_t>(calls_.size());
      calls_.push_back(call);
    }
    return slots_[call];
  }
  // The function of each slot.
  const std::vector<uint16_t>& calls() const { return calls_; }

 private:
  static constexpr uint16_t kNone = UINT16_MAX;
  std::array<uint16_t, kCallIds> slots_;
  std::vector<uint16_t> calls_;
};

class CallProfile {
 public:
  struct Entry {
    uint64_t count = 0;
    uint64_t bytes = 0;
    SimTime time;
  };

  // The entry of the function with this slot.
  Entry& at(size_t slot) {
    if (slot < near_.size()) [[likely]]
      return near_[slot];
    if (slot >= near_.size() + far_.size()) far_.resize(slot - near_.size() + 1);
    return far_[slot - near_.size()];
  }

  // Calls `visit(call, entry)` for each function that the rank has called.
  template <typename Visit>
  void visit(const CallSlots& slots, Visit visit) const {
    const size_t used = std::min(slots.calls().size(), near_.size() + far_.size());
    for (size_t slot = 0; slot < used; ++slot) {
      const Entry& entry = slot < near_.size() ? near_[slot] : far_[slot - near_.size()];
      if (entry.count > 0) visit(slots.calls()[slot], entry);
    }
  }

 private:
  std::array<Entry, 10> near_{};  // in the cache when the rank is
  std::vector<Entry> far_;
};

}  // namespace sesame::mpi
