// How far apart two nodes of a topology are, in hops. Neighbouring nodes are one hop apart: a hop
// is a link between routers in a mesh or torus, and a switch or router passed elsewhere.
#pragma once

#include <cstdint>
#include <vector>

#include "core/machine/machine.h"

namespace sesame::network {

class Distance {
 public:
  // `topology` is consistent with `nodes`, as a Machine that was read is.
  Distance(const machine::Topology& topology, int nodes);

  int hops(int from_node, int to_node) const {  // 0 for a node and itself
    return hops(&coordinates_[static_cast<size_t>(from_node) * stride_],
                &coordinates_[static_cast<size_t>(to_node) * stride_]);
  }

  // The same for coordinates that the caller keeps beside its own data.
  int hops(const uint32_t* from, const uint32_t* to) const;
  const uint32_t* coordinates(int node) const {
    return &coordinates_[static_cast<size_t>(node) * stride_];
  }
  uint32_t stride() const { return stride_; }

  int nodes() const { return nodes_; }
  int diameter() const;      // the largest number of hops between two nodes
  double mean_hops() const;  // over all ordered pairs of different nodes

 private:
  int dragonfly_hops(const uint32_t* from, const uint32_t* to) const;

  machine::TopologyKind kind_;
  int nodes_;
  uint32_t stride_;                    // coordinates per node
  std::vector<uint32_t> extents_;      // of each coordinate
  std::vector<uint32_t> coordinates_;  // nodes × stride
  std::vector<uint32_t> gateway_;      // dragonfly: the router with the n-th global link of a group
};

}  // namespace sesame::network
