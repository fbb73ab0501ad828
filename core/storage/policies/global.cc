// Globally managed caching: a block is in one cache only. It moves to the compute node that reads
// it. A block that a compute node evicts moves to the cache of its I/O node; a block that an I/O
// node evicts is dropped, even if other compute nodes have space.
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

  bool caches_reads() const override { return false; }
  bool accepts_cnode_victims() const override { return true; }
  bool allocates_written(Caches& caches, const IonodeBlock& block) const override {
    return caches.directory.holder(block.key, Directory::kNoNode) == Directory::kNoNode;
  }
};

}  // namespace

std::unique_ptr<CachePolicy> make_global_policy() { return std::make_unique<Global>(); }

}  // namespace sesame::storage
