// CachePolicy: how the caches of several nodes cooperate (SESAME report, 5.4.2). Each policy is one
// file in policies/. It decides three things: where a block comes from that the reader's own cache
// does not hold (find), what happens to blocks that a cache evicts, and which copies are invalid
// after a write.
//
// The I/O node of a block calls the policy while it serves a request for the block. A policy may
// move and drop cached blocks; messages and times are the I/O node's part. Policies have no state
// of their own: all is in Caches.
#pragma once

#include <memory>

#include "core/storage/caches.h"

namespace sesame::storage {

class CachePolicy {
 public:
  virtual ~CachePolicy() = default;

  // Source of a block on a client-cache miss.
  struct Source {
    enum class Kind { kIonode, kCnode, kDevice };
    Kind kind = Kind::kDevice;
    int cnode = Directory::kNoNode;  // the compute node that sends it: kCnode
    uint64_t fetch = 0;              // the fetch that brings it to that cache; may be complete
  };
  // Finds the block for the compute node `reader`; may move it.
  virtual Source find(Caches& caches, const IonodeBlock& block, int reader) = 0;

  // Whether the I/O node caches blocks that it reads from its device for a compute node.
  virtual bool caches_reads() const { return true; }
  // Whether a written block that is in no cache is inserted in the I/O node's (if that allocates on
  // writes).
  virtual bool allocates_written(Caches&, const IonodeBlock&) const { return true; }
  // Called when a block leaves an I/O node's cache. Returns the compute node that the block is sent
  // to, or kNoNode.
  virtual int store_ionode_victim(Caches&, const IonodeBlock&, const BlockCache::Slot&) {
    return Directory::kNoNode;
  }
  // Whether clean blocks that a compute node evicts are sent to the cache of their I/O node.
  virtual bool accepts_cnode_victims() const { return false; }
  // Called before a block is written: drops copies that are not in the directory. Returns the
  // compute node that must be notified, or kNoNode.
  virtual int drop_copies(Caches&, const IonodeBlock&) { return Directory::kNoNode; }
};

std::unique_ptr<CachePolicy> make_cache_policy(const machine::StorageParameters& parameters);

// Steps that several policies share: look in the I/O node's cache, then in those of the other
// compute nodes. Return whether `source` was found.
inline bool find_at_ionode(Caches& caches, const IonodeBlock& block, CachePolicy::Source& source) {
  BlockCache& cache = caches.ionode(block.ionode);
  BlockCache::Slot* slot = cache.find(block.key);
  if (slot == nullptr) return false;
  cache.touch(*slot);
  source = {CachePolicy::Source::Kind::kIonode, Directory::kNoNode, slot->fetch};
  return true;
}
inline bool find_at_cnode(Caches& caches, const IonodeBlock& block, int reader,
                          CachePolicy::Source& source) {
  const int holder = caches.directory.holder(block.key, reader);
  if (holder == Directory::kNoNode) return false;
  source = {CachePolicy::Source::Kind::kCnode, holder, caches.cnode(holder).find(block.key)->fetch};
  return true;
}

std::unique_ptr<CachePolicy> make_base_policy();
std::unique_ptr<CachePolicy> make_greedy_policy();
std::unique_ptr<CachePolicy> make_coordinated_policy();
std::unique_ptr<CachePolicy> make_global_policy();

}  // namespace sesame::storage
