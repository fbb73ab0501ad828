#include "core/machine/links.h"

#include <cmath>

namespace sesame::machine {

double count_links(const Topology& topology, double nodes) {
  double links = 0;
  switch (topology.kind) {
    case TopologyKind::kCrossbar:
      break;
    case TopologyKind::kMesh:
    case TopologyKind::kTorus:
      links = 2 * nodes * static_cast<double>(topology.dims.size());
      break;
    case TopologyKind::kFatTree: {
      double below = 1;
      double trunk = 1;
      for (size_t level = 0; level < topology.uplinks.size(); ++level) {
        below *= topology.arity[level];
        trunk *= topology.uplinks[level];
        links += 2 * trunk * std::ceil(nodes / below);
      }
      break;
    }
    case TopologyKind::kHyperX: {
      double routers = 1;
      double ports = 0;
      for (const uint32_t extent : topology.dims) {
        routers *= extent;
        ports += extent;
      }
      links = routers * ports;
      break;
    }
    case TopologyKind::kDragonfly: {
      const double groups = topology.groups;
      const double routers = topology.routers;
      links = groups * (routers * routers + groups * topology.global_links);
      break;
    }
  }
  return links;
}

}  // namespace sesame::machine
