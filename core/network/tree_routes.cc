// A fat tree. The number of a link is that of the switch at its lower end.
#include <algorithm>

#include "core/base/mixing.h"
#include "core/network/routes.h"

namespace sesame::network {
namespace {

class TreeRoutes : public Routes {
 public:
  explicit TreeRoutes(const machine::Machine& machine)
      : uplinks_(machine.topology.uplinks),
        is_hashed_(machine.topology.routing == machine::Routing::kHashed) {
    const auto nodes = static_cast<uint32_t>(machine.nodes);
    uint32_t below = 1;
    uint32_t trunk = 1;
    for (size_t level = 0; level < machine.topology.arity.size(); ++level) {
      below_.push_back(below *= machine.topology.arity[level]);
      if (level == uplinks_.size()) break;  // the top
      trunks_.push_back(trunk *= uplinks_[level]);
      offsets_.push_back(static_cast<uint32_t>(links_));
      links_ += uint64_t{2} * trunk * ((nodes + below - 1) / below);
    }
  }

  uint64_t links() const override { return links_; }

  Route choose(Ends ends, uint64_t /*draw*/, const Waits& /*waits*/) const override {
    Route route{.at = ends.from, .to = ends.to};
    while (route.at / below_[route.levels] != route.to / below_[route.levels]) ++route.levels;
    route.port = is_hashed_ ? static_cast<uint32_t>(mix64({route.at, route.to})) : route.to;
    return route;
  }

  // Up to the lowest common switch, then down. A message that goes up through the n-th uplink of a
  // switch goes down through the n-th of the other one: both lead to the same switch above.
  bool next(Route& route, uint32_t* link) const override {
    if (route.links_taken == 2 * route.levels) return false;
    const bool is_down = route.links_taken >= route.levels;
    const uint32_t level = is_down ? 2 * route.levels - 1 - route.links_taken : route.links_taken;
    ++route.links_taken;
    uint32_t port = 0;
    uint32_t rest = route.port;
    for (uint32_t i = 0; i <= level; ++i) {
      port = port * uplinks_[i] + rest % uplinks_[i];
      rest /= uplinks_[i];
    }
    const uint32_t lower = (is_down ? route.to : route.at) / below_[level];
    *link = offsets_[level] + (lower * trunks_[level] + port) * 2 + (is_down ? 1 : 0);
    return true;
  }

  LinkPlace place_of(uint32_t link) const override {
    const auto above = std::ranges::upper_bound(offsets_, link);
    const auto level = static_cast<uint32_t>(above - offsets_.begin()) - 1;
    const uint32_t cable = (link - offsets_[level]) / 2;
    return {tree_link(level, link % 2 == 1), cable / trunks_[level], cable % trunks_[level]};
  }
  uint32_t node_of(uint32_t link) const override {
    const LinkPlace place = place_of(link);
    return static_cast<uint32_t>(place.number) * below_[(place.kind - tree_link(0, false)) / 2];
  }

 private:
  std::vector<uint32_t> uplinks_;
  bool is_hashed_;
  std::vector<uint32_t> below_;    // nodes below a switch of each level
  std::vector<uint32_t> trunks_;   // uplinks of all that is below a switch of each level
  std::vector<uint32_t> offsets_;  // the first link of each level
  uint64_t links_ = 0;
};

}  // namespace

std::unique_ptr<Routes> make_tree_routes(const machine::Machine& machine) {
  return std::make_unique<TreeRoutes>(machine);
}

}  // namespace sesame::network
