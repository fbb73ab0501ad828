#include "core/network/node_division.h"

#include <algorithm>
#include <cstddef>

namespace sesame::network {

std::vector<int> divide_nodes(std::vector<int> with_ranks, int processes) {
  const auto last_used = std::ranges::find_if(with_ranks.rbegin(), with_ranks.rend(),
                                              [](int process) { return process >= 0; });
  const auto rest = last_used.base();
  int last = 0;
  for (auto node = with_ranks.begin(); node != rest; ++node)
    last = *node = *node < 0 ? last : *node;
  const ptrdiff_t count = with_ranks.end() - rest;
  for (ptrdiff_t i = 0; i < count; ++i) rest[i] = static_cast<int>(i * processes / count);
  return with_ranks;
}

}  // namespace sesame::network
