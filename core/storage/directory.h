// Directory: which compute nodes cache a block. The block's I/O node uses it to find, invalidate
// and update copies. It is always exact: a node that drops a block reports this with its next
// message, so the report costs no message of its own.
//
// A hash table with open addressing leads from a block to a linked list of its holders, the latest
// first.
#pragma once

#include <cstdint>
#include <vector>

#include "core/storage/block_cache.h"

namespace sesame::storage {

class Directory {
 public:
  static constexpr int kNoNode = -1;

  // Adds a holder. Returns its entry, for remove(); never 0.
  uint32_t add(BlockKey key, int cnode);
  void remove(BlockKey key, uint32_t entry);

  // The latest holder of the block other than `except`, or kNoNode.
  int holder(BlockKey key, int except) const {
    for (uint32_t at = first(key); at != 0; at = holders_[at].next)
      if (holders_[at].cnode != except) return holders_[at].cnode;
    return kNoNode;
  }

  // Calls visit(int cnode) for every holder. It may remove that holder.
  template <typename Visit>
  void for_each_holder(BlockKey key, Visit visit) const {
    for (uint32_t at = first(key), next = 0; at != 0; at = next) {
      next = holders_[at].next;
      visit(holders_[at].cnode);
    }
  }

 private:
  struct Holder {
    int cnode;
    uint32_t next;
    uint32_t before;  // 0: it is the first
  };
  struct Entry {
    BlockKey key{};
    uint32_t first = 0;
  };

  size_t home(BlockKey key) const {
    return (static_cast<uint64_t>(key) * UINT64_C(0x9E3779B97F4A7C15)) >> shift_;
  }
  // The index of the block's table entry, or of the free one where it would be.
  size_t slot(BlockKey key) const {
    size_t at = home(key);
    while (table_[at].key != BlockKey{} && table_[at].key != key) at = next_slot(at);
    return at;
  }
  size_t next_slot(size_t at) const { return (at + 1) & (table_.size() - 1); }
  uint32_t first(BlockKey key) const { return table_[slot(key)].first; }
  void erase_entry(size_t at);
  void grow();

  std::vector<Entry> table_{16};  // open addressing, a power of two
  int shift_ = 60;
  size_t used_ = 0;
  std::vector<Holder> holders_{1};
  uint32_t free_ = 0;
};

}  // namespace sesame::storage
