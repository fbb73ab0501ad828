// BlockCache: one cache of blocks, direct mapped, set associative or fully associative, with LRU
// replacement in each set. It knows which blocks are cached and which are dirty; it has neither
// data nor times. It has no errors; one thread.
//
// Use: find() a block. If it is there, touch() it; else insert() it, and write back the victim if
// that is dirty. Blocks are named by block_key().
//
// A hash table of slots finds a block in constant time. The slots of a set are a doubly linked list
// from the most to the least recently used; invalid slots are at its old end. Memory grows with the
// number of cached blocks up to the capacity; after that nothing is allocated.
#pragma once

#include <cstdint>
#include <cstdlib>
#include <memory>
#include <vector>

#include "core/storage/access.h"

namespace sesame::storage {

// A block of a file in one number; never 0.
enum class BlockKey : uint64_t {};
constexpr int kBlockBits = 40;
constexpr BlockKey block_key(FileId file, uint64_t block) {
  return static_cast<BlockKey>(((static_cast<uint64_t>(file) + 1) << kBlockBits) | block);
}
constexpr FileId file_of(BlockKey key) {
  return static_cast<FileId>((static_cast<uint64_t>(key) >> kBlockBits) - 1);
}
constexpr uint64_t block_of(BlockKey key) {
  return static_cast<uint64_t>(key) & ((UINT64_C(1) << kBlockBits) - 1);
}

class BlockCache {
 public:
  struct Slot {
    BlockKey key{};       // 0: invalid
    uint64_t fetch = 0;   // the fetch that brings its data (fetches.h), perhaps complete; 0: none
    uint32_t holder = 0;  // its entry in the directory; in caches of compute nodes only
    bool dirty = false;   // change it with set_dirty()

   private:
    friend class BlockCache;
    uint32_t set = 0;
    uint32_t newer = 0;
    uint32_t older = 0;
    uint32_t chain = 0;  // the next slot of the same bucket
  };

  // `ways` 0: fully associative. A capacity that is no multiple of `ways` is rounded down.
  BlockCache(uint64_t blocks, int ways);

  uint64_t capacity() const { return sets_ * ways_; }

  // Returns the slot of the block, or null. Pointers to slots are valid until the next insert().
  Slot* find(BlockKey key) {
    for (uint32_t at = buckets_[bucket(key)]; at != 0; at = slots_[at].chain)
      if (slots_[at].key == key) return &slots_[at];
    return nullptr;
  }
  uint32_t number(const Slot& slot) const { return static_cast<uint32_t>(&slot - slots_.data()); }
  void touch(Slot& slot);  // makes it the most recently used of its set

  // Inserts a block that is not cached, as the most recently used one of the set that `index`
  // selects (modulo the number of sets). Copies the evicted slot to `victim`; its key is 0 if none
  // was evicted. REQUIRES: capacity() > 0.
  Slot& insert(BlockKey key, uint64_t index, Slot& victim);
  void erase(Slot& slot);

  void set_dirty(Slot& slot, bool dirty) {
    dirty_ += static_cast<uint64_t>(dirty) - static_cast<uint64_t>(slot.dirty);
    slot.dirty = dirty;
  }
  uint64_t dirty_blocks() const { return dirty_; }

  // Calls visit(Slot&) for every valid slot, in the order of slot numbers. It may erase the slot.
  template <typename Visit>
  void for_each(Visit visit) {
    for (size_t at = 1; at < slots_.size(); ++at)
      if (slots_[at].key != BlockKey{}) visit(slots_[at]);
  }

 private:
  struct Set {
    uint32_t newest;
    uint32_t oldest;
    uint32_t count;
  };
  size_t bucket(BlockKey key) const {
    return (static_cast<uint64_t>(key) * UINT64_C(0x9E3779B97F4A7C15)) >> shift_;
  }
  void unlink(uint32_t at);
  void link_newest(uint32_t at);
  void link_oldest(uint32_t at);
  void unchain(uint32_t at);
  void rehash();

  uint64_t ways_ = 0;
  uint64_t sets_ = 0;
  uint64_t dirty_ = 0;
  int shift_ = 60;
  std::vector<Slot> slots_;  // number 0 is not used
  std::vector<uint32_t> buckets_;
  struct Free {
    void operator()(Set* sets) const { std::free(sets); }
  };
  std::unique_ptr<Set[], Free> set_list_;  // from calloc: untouched pages use no memory
};

}  // namespace sesame::storage
