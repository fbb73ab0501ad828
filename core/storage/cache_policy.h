// How caches of several nodes work together: one file for each policy in policies/ (SESAME report,
// 5.4.2). An I/O node asks at the moment it serves a block; the answer may move blocks.
#pragma once

#include <memory>

#include "core/storage/caches.h"

namespace sesame::storage {

class CachePolicy {
 public:
  virtual ~CachePolicy() = default;

  // Source of a block on a client-cache miss.
  struct Source {
    enum class Place { kIonode, kCnode, kDevice };
    Place place = Place::kDevice;
    int cnode = Directory::kNobody;  // whose memory it is in: kCnode
    uint64_t fetch = 0;              // that brings it there, perhaps still in flight
  };
  virtual Source find(Caches& caches, const IonodeBlock& block, int reader) = 0;

  // Whether the I/O node keeps what is read from its device for a compute node.
  virtual bool keeps_what_is_read() const { return true; }
  // Whether a block that is written and in no cache comes to the I/O node's, if it allocates.
  virtual bool allocates_written(Caches&, const IonodeBlock&) const { return true; }
  // A clean block left an I/O node's cache: the compute node that it is sent to, or kNobody.
  virtual int take_ionode_victim(Caches&, const IonodeBlock&, const BlockCache::Slot&) {
    return Directory::kNobody;
  }
  // Whether blocks that leave a compute node's cache come to their I/O node's.
  virtual bool takes_cnode_victims() const { return false; }
  // The block is about to be written: copies that only the policy knows of are dropped. The compute
  // node that has to be told, or kNobody.
  virtual int drop_copies(Caches&, const IonodeBlock&) { return Directory::kNobody; }
};

std::unique_ptr<CachePolicy> make_cache_policy(const machine::StorageParameters& parameters);

// What several policies do first.
inline bool find_at_ionode(Caches& caches, const IonodeBlock& block, CachePolicy::Source& source) {
  BlockCache& cache = caches.ionode(block.ionode);
  BlockCache::Slot* slot = cache.find(block.key);
  if (slot == nullptr) return false;
  cache.touch(*slot);
  source = {CachePolicy::Source::Place::kIonode, Directory::kNobody, slot->fetch};
  return true;
}
inline bool find_at_cnode(Caches& caches, const IonodeBlock& block, int reader,
                          CachePolicy::Source& source) {
  const int holder = caches.directory.holder(block.key, reader);
  if (holder == Directory::kNobody) return false;
  source = {CachePolicy::Source::Place::kCnode, holder,
            caches.cnode(holder).find(block.key)->fetch};
  return true;
}

std::unique_ptr<CachePolicy> make_base_policy();
std::unique_ptr<CachePolicy> make_greedy_policy();
std::unique_ptr<CachePolicy> make_coordinated_policy();
std::unique_ptr<CachePolicy> make_global_policy();

}  // namespace sesame::storage
