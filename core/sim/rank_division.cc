#include "core/sim/rank_division.h"

#include <algorithm>
#include <cstdint>
#include <unordered_map>

namespace sesame::sim {

std::vector<int> divide_ranks(const std::vector<int>& nodes, int workers) {
  std::unordered_map<int, size_t> order;  // by node: its number in the order of first ranks
  std::vector<int> sizes;                 // in this order: its ranks
  for (const int node : nodes) {
    const auto [known, is_new] = order.emplace(node, sizes.size());
    if (is_new) sizes.push_back(0);
    ++sizes[known->second];
  }
  const auto count = static_cast<int>(sizes.size());
  if (count < workers) return {};
  std::vector<int> worker_of_node;
  int64_t before = 0;  // ranks of earlier nodes
  int last = -1;
  for (int i = 0; i < count; ++i) {
    const int even = static_cast<int>(before * workers / static_cast<int64_t>(nodes.size()));
    // None is left without a node, wherever the large ones are.
    const int least = std::max({last, workers - (count - i), 0});
    last = std::clamp(even, least, last + 1);
    worker_of_node.push_back(last);
    before += sizes[static_cast<size_t>(i)];
  }
  std::vector<int> workers_of_ranks;
  workers_of_ranks.reserve(nodes.size());
  for (const int node : nodes) workers_of_ranks.push_back(worker_of_node[order[node]]);
  return workers_of_ranks;
}

int largest_share(const std::vector<int>& workers_of_ranks) {
  std::vector<int> ranks(workers_of_ranks.size());  // by worker
  for (const int worker : workers_of_ranks) ++ranks[static_cast<size_t>(worker)];
  return std::ranges::max(ranks);
}

}  // namespace sesame::sim
