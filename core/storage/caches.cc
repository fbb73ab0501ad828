#include "core/storage/caches.h"

#include <algorithm>

namespace sesame::storage {

Caches::Caches(const machine::StorageParameters& parameters, const network::Network& network,
               uint64_t coordinated)
    : by_node_(static_cast<size_t>(network.nodes()), -1) {
  for (int rank = 0; rank < network.ranks(); ++rank)
    by_node_[static_cast<size_t>(network.node_of(rank))] = 0;
  for (size_t node = 0; node < by_node_.size(); ++node) {
    if (by_node_[node] < 0) continue;
    by_node_[node] = static_cast<int>(nodes_.size());
    nodes_.push_back(static_cast<int>(node));
  }
  const auto ionodes = static_cast<size_t>(std::max(parameters.ionodes, 1));
  coordinating_ = nodes_.size();
  private_blocks_ = parameters.cnode_cache.size / parameters.block - coordinated;
  ways_ = parameters.cnode_cache.ways;
  if (parameters.cnode_cache.size > 0) {
    for (size_t i = 0; i < nodes_.size(); ++i) cnodes_.emplace_back(private_blocks_, ways_);
    cnode_totals_.resize(nodes_.size());
  }
  for (size_t i = 0; i < ionodes; ++i) {
    ionodes_.emplace_back(parameters.ionode_cache.size / parameters.block,
                          parameters.ionode_cache.ways);
    const uint64_t all = coordinated * nodes_.size();
    coordinated_.emplace_back(all / ionodes + (i < all % ionodes ? 1 : 0), 0);
  }
  ionode_totals_.resize(ionodes);
  has_ionode_caches_ = ionodes_.front().capacity() > 0;
  is_local_ = parameters.ionodes == 0;
}

int Caches::add_node(int node) {
  const int cnode = by_node_[static_cast<size_t>(node)] = static_cast<int>(nodes_.size());
  nodes_.push_back(node);
  if (at_cnodes()) {
    cnodes_.emplace_back(private_blocks_, ways_);
    cnode_totals_.emplace_back();
  }
  return cnode;
}

BlockCache::Slot& Caches::insert_at_cnode(int cnode, BlockKey key, uint64_t fetch,
                                          BlockCache::Slot& victim) {
  BlockCache& cache = this->cnode(cnode);
  BlockCache::Slot& slot = cache.insert(key, set_index(file_of(key), block_of(key)), victim);
  if (victim.key != BlockKey{}) {
    ++cnode_totals(cnode).evictions;
    if (victim.holder != 0) directory.remove(victim.key, victim.holder);
  }
  slot.fetch = fetch;
  return slot;
}

void Caches::register_holder(int cnode, BlockKey key, uint64_t fetch) {
  BlockCache::Slot* slot = this->cnode(cnode).find(key);
  if (slot == nullptr || slot->holder != 0 || slot->fetch != fetch) return;
  slot->holder = directory.add(key, cnode);
}

void Caches::drop_from_cnode(int cnode, BlockCache::Slot& slot) {
  if (slot.holder != 0) directory.remove(slot.key, slot.holder);
  this->cnode(cnode).erase(slot);
}

void Caches::discard_from(FileId file, uint64_t first_block) {
  const auto is_gone = [&](const BlockCache::Slot& slot) {
    return file_of(slot.key) == file && block_of(slot.key) >= first_block;
  };
  for (size_t i = 0; i < cnodes_.size(); ++i) {
    cnodes_[i].for_each([&](BlockCache::Slot& slot) {
      if (is_gone(slot)) drop_from_cnode(static_cast<int>(i), slot);
    });
  }
  for (std::vector<BlockCache>* caches : {&ionodes_, &coordinated_}) {
    for (BlockCache& cache : *caches) {
      cache.for_each([&](BlockCache::Slot& slot) {
        if (is_gone(slot)) cache.erase(slot);
      });
    }
  }
}

void Caches::drop_clean(FileId file, int node, uint64_t first_block, uint64_t last_block) {
  const auto is_meant = [&](const BlockCache::Slot& slot) {
    return file_of(slot.key) == file && block_of(slot.key) >= first_block &&
           block_of(slot.key) < last_block && !slot.dirty && !fetches.is_pending(slot.fetch);
  };
  if (at_cnodes()) {
    const int cnode = cnode_of(node);
    this->cnode(cnode).for_each([&](BlockCache::Slot& slot) {
      if (is_meant(slot)) drop_from_cnode(cnode, slot);
    });
  } else if (at_ionodes() && is_local_) {
    ionode(0).for_each([&](BlockCache::Slot& slot) {
      if (is_meant(slot)) ionode(0).erase(slot);
    });
  }
}

std::vector<CacheStatistics> Caches::statistics_by_node() const {
  std::vector<CacheStatistics> by_node;
  if (cnodes_.empty()) return by_node;
  by_node.resize(by_node_.size());
  for (size_t i = 0; i < nodes_.size(); ++i)
    by_node[static_cast<size_t>(nodes_[i])] = cnode_totals_[i];
  return by_node;
}

}  // namespace sesame::storage
