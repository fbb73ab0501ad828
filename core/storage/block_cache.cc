#include "core/storage/block_cache.h"

#include <algorithm>
#include <cstdlib>

#include "core/base/check.h"

namespace sesame::storage {

BlockCache::BlockCache(uint64_t blocks, int ways)
    : ways_(ways == 0 ? blocks : std::min<uint64_t>(static_cast<uint64_t>(ways), blocks)),
      sets_(ways_ == 0 ? 0 : blocks / ways_),
      slots_(1),
      buckets_(16) {
  CHECK(blocks < UINT32_MAX);
  set_list_.reset(static_cast<Set*>(std::calloc(std::max<uint64_t>(sets_, 1), sizeof(Set))));
  CHECK(set_list_ != nullptr);
}

void BlockCache::touch(Slot& slot) {
  if (slot.newer == 0) return;
  const uint32_t at = number(slot);
  unlink(at);
  link_newest(at);
}

BlockCache::Slot& BlockCache::insert(BlockKey key, uint64_t index, Slot& victim) {
  const auto set_number = static_cast<uint32_t>(index % sets_);
  Set& set = set_list_[set_number];
  uint32_t at = set.oldest;
  victim.key = BlockKey{};
  if (at != 0 && (set.count == ways_ || slots_[at].key == BlockKey{})) {
    if (slots_[at].key != BlockKey{}) {
      victim = slots_[at];
      unchain(at);
      set_dirty(slots_[at], false);
    }
    unlink(at);
  } else {
    at = static_cast<uint32_t>(slots_.size());
    slots_.emplace_back().set = set_number;
    ++set.count;
    if (slots_.size() > buckets_.size()) rehash();
  }
  Slot& slot = slots_[at];
  slot.key = key;
  slot.fetch = 0;
  slot.holder = 0;
  uint32_t& head = buckets_[bucket(key)];
  slot.chain = head;
  head = at;
  link_newest(at);
  return slot;
}

void BlockCache::erase(Slot& slot) {
  const uint32_t at = number(slot);
  unchain(at);
  set_dirty(slot, false);
  slot.key = BlockKey{};
  unlink(at);
  link_oldest(at);
}

void BlockCache::unlink(uint32_t at) {
  Slot& slot = slots_[at];
  Set& set = set_list_[slot.set];
  (slot.newer != 0 ? slots_[slot.newer].older : set.newest) = slot.older;
  (slot.older != 0 ? slots_[slot.older].newer : set.oldest) = slot.newer;
}

void BlockCache::link_newest(uint32_t at) {
  Slot& slot = slots_[at];
  Set& set = set_list_[slot.set];
  slot.newer = 0;
  slot.older = set.newest;
  (set.newest != 0 ? slots_[set.newest].newer : set.oldest) = at;
  set.newest = at;
}

void BlockCache::link_oldest(uint32_t at) {
  Slot& slot = slots_[at];
  Set& set = set_list_[slot.set];
  slot.older = 0;
  slot.newer = set.oldest;
  (set.oldest != 0 ? slots_[set.oldest].older : set.newest) = at;
  set.oldest = at;
}

void BlockCache::unchain(uint32_t at) {
  uint32_t* link = &buckets_[bucket(slots_[at].key)];
  while (*link != at) link = &slots_[*link].chain;
  *link = slots_[at].chain;
}

void BlockCache::rehash() {
  --shift_;
  buckets_.assign(buckets_.size() * 2, 0);
  for (uint32_t at = 1; at < slots_.size(); ++at) {
    if (slots_[at].key == BlockKey{}) continue;
    uint32_t& head = buckets_[bucket(slots_[at].key)];
    slots_[at].chain = head;
    head = at;
  }
}

}  // namespace sesame::storage
