// What one rank did in each MPI function: calls, simulated time, bytes. Only functions that were
// called take space, since thousands of ranks each have a profile.
#pragma once

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

  Entry& at(uint16_t call) {
    for (Entry& entry : entries_) {
      if (entry.call == call) return entry;
    }
    return entries_.emplace_back(Entry{call, 0, 0, {}});
  }
  const std::vector<Entry>& entries() const { return entries_; }

 private:
  std::vector<Entry> entries_;
};

}  // namespace sesame::mpi
