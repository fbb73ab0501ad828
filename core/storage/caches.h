// All caches of a file system: what each compute node and each I/O node holds, and the part of the
// compute nodes' caches that an I/O node manages for them. Contents only; times are the I/O nodes'
// and the clients' matter.
#pragma once

#include <deque>
#include <optional>
#include <vector>

#include "core/machine/storage.h"
#include "core/network/network.h"
#include "core/storage/block_cache.h"
#include "core/storage/directory.h"
#include "core/storage/fetches.h"
#include "core/storage/file_system.h"

namespace sesame::storage {

// A block as the I/O node that has it sees it.
struct IonodeBlock {
  BlockKey key{};
  uint32_t ionode = 0;
  uint64_t index = 0;  // which set of a cache it belongs to: rises by one along a cell
};

class Caches {
 public:
  // `coordinated` blocks of each compute node are the I/O nodes'.
  Caches(const machine::StorageParameters& parameters, const network::Network& network,
         uint64_t coordinated);

  bool at_cnodes() const { return !cnodes_.empty(); }
  bool at_ionodes() const { return has_ionode_caches_; }

  // A compute node is known here by its number among those that run ranks. One that runs none until
  // a spawn puts some there is added when first asked for.
  int cnode_of(int node) {
    const int cnode = by_node_[static_cast<size_t>(node)];
    return cnode >= 0 ? cnode : add_node(node);
  }
  int node_of(int cnode) const { return nodes_[static_cast<size_t>(cnode)]; }
  size_t cnodes() const { return nodes_.size(); }

  BlockCache& cnode(int cnode) { return cnodes_[static_cast<size_t>(cnode)]; }
  BlockCache& ionode(uint32_t ionode) { return ionodes_[ionode]; }
  BlockCache& coordinated(uint32_t ionode) { return coordinated_[ionode]; }
  CacheStatistics& cnode_totals(int cnode) { return cnode_totals_[static_cast<size_t>(cnode)]; }
  CacheStatistics& ionode_totals(uint32_t ionode) { return ionode_totals_[ionode]; }
  // The compute node whose memory a block of an I/O node's coordinated part is in.
  int home_of(uint32_t ionode, const BlockCache::Slot& slot) {
    const uint64_t place = coordinated_[ionode].number(slot) - 1;
    return static_cast<int>((place * ionodes_.size() + ionode) % coordinating_);
  }

  // A block comes to a compute node's cache, by `fetch`. `victim` had to make room for it. The I/O
  // node does not know of it yet.
  BlockCache::Slot& bring_to_cnode(int cnode, BlockKey key, uint64_t fetch,
                                   BlockCache::Slot& victim);
  // The I/O node serves the request that brings the block: from now on the node is a holder. Not so
  // if the block has gone meanwhile. Only then may others wait for this fetch: whoever waits was
  // served after what it waits for, so that no two wait for each other.
  void register_holder(int cnode, BlockKey key, uint64_t fetch);
  void drop_from_cnode(int cnode, BlockCache::Slot& slot);
  // Blocks from this one on are no longer the file's: nobody holds them, dirty or not.
  void forget(FileId file, uint64_t first_block);
  // Of a node's cache, or of the one that a node's own file system has, clean blocks that nobody
  // waits for, up to the last one exclusive.
  void drop_clean(FileId file, int node, uint64_t first_block, uint64_t last_block);

  Directory directory;
  Fetches fetches;

  std::vector<CacheStatistics> statistics_by_node() const;

 private:
  int add_node(int node);

  std::vector<int> nodes_;    // by cnode
  std::vector<int> by_node_;  // -1: runs no rank
  size_t coordinating_ = 0;   // nodes whose memory the I/O nodes manage: those of the start
  uint64_t own_blocks_ = 0;   // of each compute node
  int ways_ = 0;
  std::deque<BlockCache> cnodes_;  // others hold references to them
  std::vector<BlockCache> ionodes_;
  std::vector<BlockCache> coordinated_;
  std::vector<CacheStatistics> cnode_totals_;
  std::vector<CacheStatistics> ionode_totals_;
  bool has_ionode_caches_ = false;
  bool is_local_ = false;  // a node's own
};

// Each file begins at a set of its own, or all would crowd the first sets.
inline uint64_t set_index(FileId file, uint64_t block) {
  return block + static_cast<uint64_t>(file) * UINT64_C(2654435761);
}

}  // namespace sesame::storage
