// Globally managed caching: a block is in one cache only. It moves to the compute node that reads
// it; what a compute node evicts goes to the cache of the block's I/O node, and what that evicts is
// lost, whether or not other compute nodes have room.
#include "core/storage/cache_policy.h"

namespace sesame::storage {
namespace {

class Global : public CachePolicy {
 public:
  Source find(Caches& caches, const IonodeBlock& block, int reader) override {
    Source source;
    if (find_at_ionode(caches, block, source)) {
      BlockCache& cache = caches.ionode(block.ionode);
      BlockCache::Slot* slot = cache.find(block.key);
      // Dirty data stays with the I/O node until it is on the device.
      if (!slot->dirty) cache.erase(*slot);
    } else if (find_at_cnode(caches, block, reader, source)) {
      caches.drop_from_cnode(source.cnode, *caches.cnode(source.cnode).find(block.key));
    }
    return source;
  }

  bool keeps_what_is_read() const override { return false; }
  bool takes_cnode_victims() const override { return true; }
  bool allocates_written(Caches& caches, const IonodeBlock& block) const override {
    return caches.directory.holder(block.key, Directory::kNobody) == Directory::kNobody;
  }
};

}  // namespace

std::unique_ptr<CachePolicy> make_global_policy() { return std::make_unique<Global>(); }

}  // namespace sesame::storage
