#include "core/mpi/messages/node_groups.h"

#include <unordered_map>

namespace sesame::mpi {

NodeGroups::NodeGroups(MembersRef of, const network::Network& network) : members(std::move(of)) {
  std::unordered_map<int, int> known;
  for (int rank = 0; rank < members->size(); ++rank) {
    const int number = network.node_of((*members)[rank]);
    const auto [found, is_new] = known.try_emplace(number, static_cast<int>(ranks.size()));
    if (is_new) {
      ranks.emplace_back();
      leaders.push_back(rank);
    }
    auto& of_node = ranks[static_cast<size_t>(found->second)];
    node.push_back(found->second);
    place.push_back(static_cast<int>(of_node.size()));
    of_node.push_back(rank);
  }
}

}  // namespace sesame::mpi
