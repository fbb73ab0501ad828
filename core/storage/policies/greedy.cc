// Greedy forwarding: before an I/O node reads a block from its device, it asks a compute node that
// holds the block to send it to the reader.
#include "core/storage/cache_policy.h"

namespace sesame::storage {
namespace {

class Greedy : public CachePolicy {
 public:
  Source find(Caches& caches, const IonodeBlock& block, int reader) override {
    Source source;
    if (!find_at_ionode(caches, block, source)) find_at_cnode(caches, block, reader, source);
    return source;
  }
};

}  // namespace

std::unique_ptr<CachePolicy> make_greedy_policy() { return std::make_unique<Greedy>(); }

}  // namespace sesame::storage
