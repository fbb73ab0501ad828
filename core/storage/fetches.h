// Data on its way into a cache. A block is in the cache from the moment of its miss; who finds it
// there before the data is waits for the fetch.
#pragma once

#include <cstdint>
#include <vector>

#include "core/storage/access.h"

namespace sesame::storage {

class Fetches {
 public:
  // Never 0, and never the same again.
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
  // REQUIRES: is_pending(fetch)
  void wait(uint64_t fetch, Completion& waiter) {
    entries_[static_cast<uint32_t>(fetch)].waiters.push_back(&waiter);
  }
  void complete(uint64_t fetch, SimTime at) {
    const auto index = static_cast<uint32_t>(fetch);
    ++entries_[index].generation;
    // What a waiter does may begin new fetches, but not this one: it is not free yet.
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
    std::vector<Completion*> waiters;  // keeps its memory
  };
  std::vector<Entry> entries_{1};
  uint32_t free_ = 0;
};

}  // namespace sesame::storage
