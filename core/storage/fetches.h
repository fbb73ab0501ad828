// Fetches: data in flight to caches. A cache contains a block from the moment of its miss; a later
// request that finds the block before its data has arrived waits for the fetch. One fetch may bring
// several blocks.
//
// A fetch is a number: an index and a generation. The index is used again, the generation makes the
// number unique, so caches may keep numbers of fetches that completed long ago.
#pragma once

#include <cstdint>
#include <vector>

#include "core/base/sim_time.h"
#include "core/storage/access.h"

namespace sesame::storage {

class Fetches {
 public:
  // Starts a fetch. The number is never 0 and never used again.
  uint64_t begin() {
    if (free_ == 0) {
      entries_.emplace_back();
      free_ = static_cast<uint32_t>(entries_.size() - 1);
    }
    const uint32_t at = free_;
    free_ = entries_[at].next_free;
    return static_cast<uint64_t>(++entries_[at].generation) << 32 | at;
  }
  bool is_pending(uint64_t fetch) const {
    return fetch != 0 && entries_[static_cast<uint32_t>(fetch)].generation == fetch >> 32;
  }
  // Calls `waiter` at the end of the fetch. REQUIRES: is_pending(fetch).
  void wait(uint64_t fetch, Completion& waiter) {
    entries_[static_cast<uint32_t>(fetch)].waiters.push_back(&waiter);
  }
  // The data has arrived: calls all waiters. REQUIRES: is_pending(fetch).
  void complete(uint64_t fetch, SimTime at) {
    const auto index = static_cast<uint32_t>(fetch);
    ++entries_[index].generation;
    // Waiters may start new fetches, but those cannot use this entry: it is not free yet.
    for (size_t i = 0; i < entries_[index].waiters.size(); ++i)
      entries_[index].waiters[i]->done(at);
    entries_[index].waiters.clear();
    entries_[index].next_free = free_;
    free_ = index;
  }

 private:
  struct Entry {
    uint32_t generation = 0;
    uint32_t next_free = 0;
    std::vector<Completion*> waiters;  // cleared, not freed, between fetches
  };
  std::vector<Entry> entries_{1};
  uint32_t free_ = 0;
};

}  // namespace sesame::storage
