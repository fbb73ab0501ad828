// Centrally coordinated caching: part of each compute node's cache is the I/O nodes', in equal
// shares. A block that leaves an I/O node's cache goes to that node's share, whose least recently
// used block is lost. A block found there stays there and is sent to the reader. Forwarding of what
// compute nodes hold for themselves comes after that (Dahlin and others 1994).
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
      return {Source::Place::kCnode, caches.home_of(block.ionode, *slot), slot->fetch};
    }
    find_at_cnode(caches, block, reader, source);
    return source;
  }

  int take_ionode_victim(Caches& caches, const IonodeBlock& block,
                         const BlockCache::Slot& victim) override {
    BlockCache& share = caches.coordinated(block.ionode);
    if (share.capacity() == 0) return Directory::kNobody;
    BlockCache::Slot* slot = share.find(block.key);
    if (slot != nullptr) {
      share.touch(*slot);
      return Directory::kNobody;
    }
    BlockCache::Slot lost;
    slot = &share.insert(block.key, block.index, lost);
    slot->fetch = victim.fetch;
    return caches.home_of(block.ionode, *slot);
  }

  int drop_copies(Caches& caches, const IonodeBlock& block) override {
    BlockCache& share = caches.coordinated(block.ionode);
    BlockCache::Slot* slot = share.find(block.key);
    if (slot == nullptr) return Directory::kNobody;
    const int home = caches.home_of(block.ionode, *slot);
    share.erase(*slot);
    return home;
  }
};

}  // namespace

std::unique_ptr<CachePolicy> make_coordinated_policy() { return std::make_unique<Coordinated>(); }

}  // namespace sesame::storage
