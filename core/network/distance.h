// The distance between two nodes of a topology in hops. In a mesh or torus a hop is a link between
// routers, in other topologies a switch or router on the way; neighbouring nodes are one hop apart.
// Immutable; hops() may be called from any thread.
//
// Coordinates are the digits of a node's number, the last one varies fastest: the position in a
// mesh or torus; in a fat tree the child at each level from the root down; in a dragonfly group,
// router and port. A group of a dragonfly has one global link to each other group. Its links, in
// the order of the other groups, are at its routers in consecutive runs of
// ceil((groups - 1) / routers).
#pragma once

#include <cstdint>
#include <vector>

#include "core/machine/machine.h"

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
  int diameter() const;  // the largest number of hops between two nodes
  // The mean over all ordered pairs of different nodes. In a dragonfly of more than 4096 groups an
  // estimate: from 1024 evenly spread groups to all others.
  double mean_hops() const;

 private:
  int dragonfly_hops(const uint32_t* from, const uint32_t* to) const;
  uint32_t exit_of(uint32_t group, uint32_t other) const;  // the router with the link to the other
  double tree_sum() const;
  double dragonfly_mean() const;

  machine::TopologyKind kind_;
  int nodes_;
  uint32_t stride_;                    // coordinates per node
  std::vector<uint32_t> extents_;      // of each coordinate
  std::vector<uint32_t> coordinates_;  // nodes × stride
  std::vector<uint32_t> gateway_;      // dragonfly: the router of a group's n-th global link
};

}  // namespace sesame::network
