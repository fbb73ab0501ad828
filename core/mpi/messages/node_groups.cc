#include "core/mpi/messages/node_groups.h"

#include <unordered_map>

namespace sesame::mpi {

NodeGroups::NodeGroups(const Members& members, const network::Network& network) {
  std::unordered_map<int, int> known;
  for (int rank = 0; rank < members.size(); ++rank) {
    const int number = network.node_of(members[rank]);
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

std::shared_ptr<const NodeGroups> node_groups(const Members& members,
                                              const network::Network& network) {
  auto groups = members.by_node.lock();
  if (groups == nullptr) {
    groups = std::make_shared<const NodeGroups>(members, network);
    members.by_node = groups;
  }
  return groups;
}

}  // namespace sesame::mpi
