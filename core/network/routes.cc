#include "core/network/routes.h"

#include "core/base/check.h"
#include "core/machine/links.h"

namespace sesame::network {
namespace {

// No links: a message comes from a card and goes to a card.
class CrossbarRoutes : public Routes {
 public:
  uint64_t links() const override { return 0; }
  Route choose(Ends, uint64_t, const Waits&) const override { return {}; }
  bool next(Route&, uint32_t*) const override { return false; }
  LinkPlace place_of(uint32_t) const override { return {}; }
  uint32_t node_of(uint32_t) const override { return 0; }
};

std::unique_ptr<Routes> routes_of(const machine::Machine& machine) {
  switch (machine.topology.kind) {
    case machine::TopologyKind::kCrossbar:
      break;
    case machine::TopologyKind::kMesh:
    case machine::TopologyKind::kTorus:
      return make_grid_routes(machine);
    case machine::TopologyKind::kFatTree:
      return make_tree_routes(machine);
    case machine::TopologyKind::kHyperX:
      return make_hyperx_routes(machine);
    case machine::TopologyKind::kDragonfly:
      return make_dragonfly_routes(machine);
  }
  return std::make_unique<CrossbarRoutes>();
}

}  // namespace

std::unique_ptr<Routes> make_routes(const machine::Machine& machine) {
  std::unique_ptr<Routes> routes = routes_of(machine);
  // What a machine file may have at most was checked with this count.
  CHECK(static_cast<double>(routes->links()) ==
        machine::count_links(machine.topology, machine.nodes));
  return routes;
}

}  // namespace sesame::network
