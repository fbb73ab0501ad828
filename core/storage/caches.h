// Caches: all caches of one fully modelled file system. These are one cache at each compute node
// (cnode), one at each I/O node, and, with the coordinated policy, the share of the compute nodes'
// memory that I/O nodes manage. Caches has the contents; Clients and Ionode charge the times.
//
// A compute node's cache gets a block at its miss, before the data arrives: Fetches says whether
// the data is there. The directory lists a node as a holder only from the moment at which the I/O
// node serves the request that fetches the block (register_holder). So a request waits only for
// fetches that were served before it, and requests cannot wait for each other in a cycle.
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

// A block, and how its I/O node addresses it.
struct IonodeBlock {
  BlockKey key{};
  uint32_t ionode = 0;
  uint64_t index =
      0;  // selects the set of a cache; consecutive blocks of a cell have consecutive numbers
};

class Caches {
 public:
  // I/O nodes manage `coordinated` blocks of each compute node's cache.
  Caches(const machine::StorageParameters& parameters, const network::Network& network,
         uint64_t coordinated);

  bool at_cnodes() const { return !cnodes_.empty(); }
  bool at_ionodes() const { return has_ionode_caches_; }

  // Compute nodes are numbered here in the order of those that run ranks ("cnode"). A node that
  // gets its first ranks by MPI_Comm_spawn is added at its first use.
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
  // The compute node whose memory holds a block of the I/O node's coordinated share.
  int cnode_of_coordinated(uint32_t ionode, const BlockCache::Slot& slot) {
    const uint64_t place = coordinated_[ionode].number(slot) - 1;
    return static_cast<int>((place * ionodes_.size() + ionode) % coordinating_);
  }

  // Inserts a block that `fetch` brings in a compute node's cache. Copies the evicted slot to
  // `victim` and removes it from the directory. The new block is not in the directory yet.
  BlockCache::Slot& insert_at_cnode(int cnode, BlockKey key, uint64_t fetch,
                                    BlockCache::Slot& victim);
  // Adds the node to the block's holders in the directory. Call it when the I/O node serves the
  // request that fetches the block. Does nothing if the block has left the cache since.
  void register_holder(int cnode, BlockKey key, uint64_t fetch);
  // Removes a block from a compute node's cache and from the directory.
  void drop_from_cnode(int cnode, BlockCache::Slot& slot);
  // Removes the file's blocks from this one on from all caches, dirty ones too: they are no longer
  // the file's.
  void discard_from(FileId file, uint64_t first_block);
  // Removes the file's clean blocks that are not being fetched from `first_block` up to, but not
  // including, `last_block`: from the node's cache, or in a node-local file system from its only
  // one.
  void drop_clean(FileId file, int node, uint64_t first_block, uint64_t last_block);

  Directory directory;
  Fetches fetches;

  std::vector<CacheStatistics> statistics_by_node() const;

 private:
  int add_node(int node);

  std::vector<int> nodes_;    // by cnode
  std::vector<int> by_node_;  // node to cnode; -1: runs no rank
  size_t coordinating_ = 0;   // cnodes whose memory I/O nodes manage: those at the start of the run
  uint64_t private_blocks_ = 0;  // of each compute node, without the coordinated share
  int ways_ = 0;
  std::deque<BlockCache> cnodes_;  // a deque: references stay valid when a node is added
  std::vector<BlockCache> ionodes_;
  std::vector<BlockCache> coordinated_;
  std::vector<CacheStatistics> cnode_totals_;
  std::vector<CacheStatistics> ionode_totals_;
  bool has_ionode_caches_ = false;
  bool is_local_ = false;  // a node-local file system
};

// Files start at different sets, or the first sets would hold the first blocks of all files.
inline uint64_t set_index(FileId file, uint64_t block) {
  return block + static_cast<uint64_t>(file) * UINT64_C(2654435761);
}

}  // namespace sesame::storage
