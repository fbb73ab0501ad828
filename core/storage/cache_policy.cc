#include "core/storage/cache_policy.h"

namespace sesame::storage {

std::unique_ptr<CachePolicy> make_cache_policy(const machine::StorageParameters& parameters) {
  switch (parameters.policy) {
    case machine::CachePolicy::kBase:
      return make_base_policy();
    case machine::CachePolicy::kGreedy:
      return make_greedy_policy();
    case machine::CachePolicy::kCoordinated:
      return make_coordinated_policy();
    case machine::CachePolicy::kGlobal:
      return make_global_policy();
  }
  return nullptr;
}

}  // namespace sesame::storage
