#include "core/storage/cache_policy.h"

namespace sesame::storage {

using machine::CachePolicy::kCoordinated;

uint64_t coordinated_blocks(const machine::StorageParameters& parameters) {
  if (parameters.policy != kCoordinated) return 0;
  const auto blocks = static_cast<double>(parameters.cnode_cache.size / parameters.block);
  return static_cast<uint64_t>(blocks * parameters.coordinated_fraction + 0.5);
}

std::unique_ptr<CachePolicy> make_cache_policy(const machine::StorageParameters& parameters) {
  switch (parameters.policy) {
    case machine::CachePolicy::kBase:
      return make_base_policy();
    case machine::CachePolicy::kGreedy:
      return make_greedy_policy();
    case kCoordinated:
      return make_coordinated_policy();
    case machine::CachePolicy::kGlobal:
      return make_global_policy();
  }
  return nullptr;
}

}  // namespace sesame::storage
