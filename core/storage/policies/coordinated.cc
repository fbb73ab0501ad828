// Centrally coordinated caching (Dahlin and others 1994): I/O nodes manage a share of each compute
// node's cache, in equal parts. A block that an I/O node evicts moves to its share, which evicts
// its least recently used block. A block found in the share stays there and is sent to the reader.
// After that the I/O node looks in the compute nodes' own caches, as in greedy forwarding.
#include "core/storage/cache_policy.h"

namespace sesame::storage {
namespace {

class Coordinated : public CachePolicy {
 public:
  Source find(Caches& caches, const IonodeBlock& block, int reader) override {
    Source source;
    if (find_at_ionode(caches, block, source)) return source;
    BlockCache& share = caches.coordinated(block.ionode);
    if (BlockCache::Slot* slot = share.find(block.key)) {
      share.touch(*slot);
      return {Source::Kind::kCnode, caches.cnode_of_coordinated(block.ionode, *slot), slot->fetch};
    }
    find_at_cnode(caches, block, reader, source);
    return source;
  }

  int store_ionode_victim(Caches& caches, const IonodeBlock& block,
                          const BlockCache::Slot& victim) override {
    BlockCache& share = caches.coordinated(block.ionode);
    if (share.capacity() == 0) return Directory::kNoNode;
    BlockCache::Slot* slot = share.find(block.key);
    if (slot != nullptr) {
      share.touch(*slot);
      return Directory::kNoNode;
    }
    BlockCache::Slot lost;
    slot = &share.insert(block.key, block.index, lost);
    slot->fetch = victim.fetch;
    return caches.cnode_of_coordinated(block.ionode, *slot);
  }

  int drop_copies(Caches& caches, const IonodeBlock& block) override {
    BlockCache& share = caches.coordinated(block.ionode);
    BlockCache::Slot* slot = share.find(block.key);
    if (slot == nullptr) return Directory::kNoNode;
    const int home = caches.cnode_of_coordinated(block.ionode, *slot);
    share.erase(*slot);
    return home;
  }
};

}  // namespace

std::unique_ptr<CachePolicy> make_coordinated_policy() { return std::make_unique<Coordinated>(); }

}  // namespace sesame::storage
