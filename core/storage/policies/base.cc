// Base caching: caches do not cooperate. A block that is in neither cache on its path is read from
// the device.
#include "core/storage/cache_policy.h"

namespace sesame::storage {
namespace {

class Base : public CachePolicy {
 public:
  Source find(Caches& caches, const IonodeBlock& block, int) override {
    Source source;
    find_at_ionode(caches, block, source);
    return source;
  }
};

}  // namespace

std::unique_ptr<CachePolicy> make_base_policy() { return std::make_unique<Base>(); }

}  // namespace sesame::storage
