// Totals of one rank for each MPI function: calls, simulated time, bytes. Only functions that were
// called take space, since thousands of ranks each have a profile.
//
// Use: add to the entry that at() returns; visit() at the end of the run. at() searches linearly,
// since programs call few functions, and may invalidate references that it returned before. Sizes
// are bytes, times are simulated. The rank owns its profile. One thread.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "core/base/units.h"

namespace sesame::mpi {

class CallProfile {
 public:
  struct Entry {
    uint16_t call = 0;
    uint64_t count = 0;
    uint64_t bytes = 0;
    SimTime time;
  };

  // The entry of a function (a CallId), made at its first use.
  Entry& at(uint16_t call) {
    for (size_t i = 0; i < used_; ++i) {
      if (near_[i].call == call) return near_[i];
    }
    for (Entry& entry : far_) {
      if (entry.call == call) return entry;
    }
    Entry& entry = used_ < near_.size() ? near_[used_++] : far_.emplace_back();
    entry.call = call;
    return entry;
  }

  template <typename Visit>
  void visit(Visit visit) const {
    for (size_t i = 0; i < used_; ++i) visit(near_[i]);
    for (const Entry& entry : far_) visit(entry);
  }

 private:
  size_t used_ = 0;
  std::array<Entry, 6> near_;  // in the cache when the rank is
  std::vector<Entry> far_;
};

}  // namespace sesame::mpi
