// The distance between two nodes of a topology in hops. In a mesh or torus a hop is a link between
// routers, in other topologies a switch or router on the way; neighbouring nodes are one hop apart.
// Immutable; hops() may be called from any thread.
//
// Coordinates are the digits of a node's number, the last one varies fastest: the position in a
// mesh or torus; in a fat tree the child at each level from the root down; in a HyperX the position
// of the router, and the port; in a dragonfly group, router and port.
#pragma once

#include <cstdint>
#include <vector>

#include "core/machine/machine.h"
#include "core/network/group_links.h"

namespace sesame::network {

class Distance {
 public:
  // REQUIRES: `topology` is that of a Machine that was read from a file, and has space for `nodes`
  // (a CHECK). A fat tree or dragonfly may have more; the nodes are those with the lowest numbers.
  Distance(const machine::Topology& topology, int nodes);

  int hops(int from_node, int to_node) const {  // 0 for a node and itself
    return hops(&coordinates_[static_cast<size_t>(from_node) * stride_],
                &coordinates_[static_cast<size_t>(to_node) * stride_]);
  }

  // The same from the nodes' coordinates (stride() numbers), which the caller may keep in its own
  // data.
  int hops(const uint32_t* from, const uint32_t* to) const;
  const uint32_t* coordinates(int node) const {
    return &coordinates_[static_cast<size_t>(node) * stride_];
  }
  uint32_t stride() const { return stride_; }

  int nodes() const { return nodes_; }
  int diameter() const;      // the largest number of hops between two nodes
  double mean_hops() const;  // over all ordered pairs of different nodes

 private:
  int hyperx_hops(const uint32_t* from, const uint32_t* to) const;
  int dragonfly_hops(const uint32_t* from, const uint32_t* to) const;
  int grid_diameter() const;
  int hyperx_diameter() const;
  int dragonfly_diameter() const;
  double tree_sum() const;
  double hyperx_sum() const;
  double dragonfly_mean() const;
  double hops_inside_group(uint32_t group) const;
  double hops_between_groups(uint32_t from, uint32_t to) const;
  int64_t nodes_at(uint32_t group, uint32_t router) const;

  machine::TopologyKind kind_;
  int nodes_;
  uint32_t stride_;                    // coordinates per node
  std::vector<uint32_t> extents_;      // of each coordinate
  std::vector<uint32_t> coordinates_;  // nodes × stride
  GroupLinks group_links_;             // of a dragonfly
};

}  // namespace sesame::network
