#include "core/network/distance.h"

#include <algorithm>
#include <cstdlib>

#include "core/base/check.h"

namespace sesame::network {
namespace {

using machine::TopologyKind;

// The extents of the coordinates, the slowest first. The coordinates are the digits of a node's
// number in this mixed radix.
std::vector<uint32_t> extents_of(const machine::Topology& topology) {
  switch (topology.kind) {
    case TopologyKind::kCrossbar:
      return {};
    case TopologyKind::kMesh:
    case TopologyKind::kTorus:
      return topology.dims;
    case TopologyKind::kFatTree:
      return {topology.arity.rbegin(), topology.arity.rend()};
    case TopologyKind::kHyperX: {
      std::vector<uint32_t> extents = topology.dims;
      extents.push_back(topology.nodes_per_router);
      return extents;
    }
    case TopologyKind::kDragonfly:
      return {topology.groups, topology.routers, topology.nodes_per_router};
  }
  return {};
}

}  // namespace

Distance::Distance(const machine::Topology& topology, int nodes)
    : kind_(topology.kind), nodes_(nodes), extents_(extents_of(topology)) {
  if (kind_ == TopologyKind::kDragonfly) group_links_ = GroupLinks(topology);
  // A crossbar has no coordinates; its nodes have their number as the only one.
  if (extents_.empty()) extents_.push_back(static_cast<uint32_t>(nodes));
  stride_ = static_cast<uint32_t>(extents_.size());
  coordinates_.resize(static_cast<size_t>(nodes) * stride_);
  for (int node = 0; node < nodes; ++node) {
    uint32_t rest = static_cast<uint32_t>(node);
    for (size_t i = stride_; i-- > 0;) {
      coordinates_[static_cast<size_t>(node) * stride_ + i] = rest % extents_[i];
      rest /= extents_[i];
    }
    CHECK(rest == 0);
  }
}

int Distance::hops(const uint32_t* from, const uint32_t* to) const {
  int sum = 0;
  switch (kind_) {
    case TopologyKind::kCrossbar:
      return from[0] != to[0] ? 1 : 0;
    case TopologyKind::kMesh:
      for (uint32_t i = 0; i < stride_; ++i) {
        sum += std::abs(static_cast<int>(from[i]) - static_cast<int>(to[i]));
      }
      return sum;
    case TopologyKind::kTorus:
      for (uint32_t i = 0; i < stride_; ++i) {
        const int direct = std::abs(static_cast<int>(from[i]) - static_cast<int>(to[i]));
        const int around = static_cast<int>(extents_[i]) - direct;
        sum += direct < around ? direct : around;
      }
      return sum;
    case TopologyKind::kFatTree:
      // Up to the lowest common switch and down: the first digit that differs tells its level.
      for (uint32_t i = 0; i < stride_; ++i) {
        if (from[i] != to[i]) return static_cast<int>(2 * (stride_ - i) - 1);
      }
      return 0;
    case TopologyKind::kHyperX:
      return hyperx_hops(from, to);
    case TopologyKind::kDragonfly:
      return dragonfly_hops(from, to);
  }
  return 0;
}

// A link for each dimension in which the routers differ; counted in routers.
int Distance::hyperx_hops(const uint32_t* from, const uint32_t* to) const {
  const uint32_t port = stride_ - 1;
  int different = 0;
  for (uint32_t i = 0; i < port; ++i) different += from[i] != to[i] ? 1 : 0;
  return different > 0 || from[port] != to[port] ? different + 1 : 0;
}

// Minimal routing: at most one local link, one global link, one local link; counted in routers.
int Distance::dragonfly_hops(const uint32_t* from, const uint32_t* to) const {
  if (from[0] == to[0]) {
    if (from[1] != to[1]) return 2;
    return from[2] != to[2] ? 1 : 0;
  }
  const uint32_t exit = group_links_.offset_of(from[1], from[0], to[0]);
  const uint32_t entry = group_links_.offset_of(to[1], to[0], from[0]);
  if (!group_links_.begin_at(exit) && !group_links_.begin_at(entry)) return 4;
  return exit == entry ? 2 : 3;
}

int Distance::diameter() const {
  if (nodes_ == 1) return 0;
  switch (kind_) {
    case TopologyKind::kMesh:
    case TopologyKind::kTorus:
      return grid_diameter();
    case TopologyKind::kCrossbar:
    case TopologyKind::kFatTree:  // between the first and the last node, also if partly filled
      return hops(0, nodes_ - 1);
    case TopologyKind::kHyperX:
      return hyperx_diameter();
    case TopologyKind::kDragonfly:
      return dragonfly_diameter();
  }
  return 0;
}

int Distance::grid_diameter() const {
  int sum = 0;
  for (const uint32_t extent : extents_) {
    sum += static_cast<int>(kind_ == TopologyKind::kMesh ? extent - 1 : extent / 2);
  }
  return sum;
}

// The last router's first coordinate that is not 0 and all behind it differ between two nodes,
// even if the machine is partly filled: those with a smaller one there have any behind it.
int Distance::hyperx_diameter() const {
  const uint32_t* last = coordinates(nodes_ - 1);
  int different = 0;
  for (uint32_t i = 0; i + 1 < stride_; ++i) {
    if (last[i] > 0 || different > 0) different += extents_[i] > 1 ? 1 : 0;
  }
  return different + 1;
}

// It may be partly filled, by the nodes with the lowest numbers, so that the extents alone do not
// give the largest distance.
int Distance::dragonfly_diameter() const {
  int largest = 0;
  const int step = static_cast<int>(extents_[2]);  // one node stands for its router
  for (int from = 0; from < nodes_ && largest < 4; from += step) {
    for (int to = from; to < nodes_ && largest < 4; to += step) {
      largest = std::max(largest, hops(from, to));
    }
  }
  return largest > 1 ? largest : hops(0, nodes_ - 1);
}

double Distance::mean_hops() const {
  if (nodes_ == 1) return 0;
  const double n = nodes_;
  switch (kind_) {
    case TopologyKind::kCrossbar:
      return 1;
    case TopologyKind::kMesh:
    case TopologyKind::kTorus:
      break;
    case TopologyKind::kFatTree:
      return tree_sum() / (n * (n - 1));
    case TopologyKind::kHyperX:
      return hyperx_sum() / (n * (n - 1));
    case TopologyKind::kDragonfly:
      return dragonfly_mean();
  }
  // The mean of |i - j| over a line of k is (k² - 1) / 3k; over a ring k / 4, or (k² - 1) / 4k
  // when k is odd. Dimensions add; pairs of a node with itself are taken out at the end.
  double sum = 0;
  for (const uint32_t extent : extents_) {
    const double k = extent;
    if (kind_ == TopologyKind::kMesh)
      sum += (k * k - 1) / (3 * k);
    else
      sum += extent % 2 == 0 ? k / 4 : (k * k - 1) / (4 * k);
  }
  return sum * n / (n - 1);
}

// The sum over all ordered pairs: those below a common switch of each level, less those that have
// one below it already.
double Distance::tree_sum() const {
  const auto pairs = [](double nodes) { return nodes * (nodes - 1); };
  int64_t size = 1;  // of a full subtree
  double sum = 0;
  double below = 0;
  for (uint32_t level = 1; level <= stride_; ++level) {
    size *= extents_[stride_ - level];
    const int64_t full = nodes_ / size;
    const double together = static_cast<double>(full) * pairs(static_cast<double>(size)) +
                            pairs(static_cast<double>(nodes_ % size));
    sum += (2.0 * level - 1) * (together - below);
    below = together;
  }
  return sum;
}

// The sum over all ordered pairs of different nodes: 1 for each, and 1 for each dimension in which
// their routers differ.
double Distance::hyperx_sum() const {
  const double n = nodes_;
  double sum = n * (n - 1);
  for (uint32_t i = 0; i + 1 < stride_; ++i) {
    std::vector<double> nodes(
        std::min<size_t>(extents_[i], static_cast<size_t>(nodes_)));  // with each coordinate
    for (int node = 0; node < nodes_; ++node) ++nodes[coordinates(node)[i]];
    sum += n * n;
    for (const double same : nodes) sum -= same * same;
  }
  return sum;
}

// Pairs of groups in place of pairs of nodes: all full groups are alike.
double Distance::dragonfly_mean() const {
  const int64_t per_group = int64_t{extents_[1]} * extents_[2];
  const auto full = static_cast<uint32_t>(nodes_ / per_group);
  double sum = full * hops_inside_group(0);
  if (full > 1) sum += static_cast<double>(full) * (full - 1) * hops_between_groups(0, 1);
  if (nodes_ % per_group != 0) {
    sum += hops_inside_group(full);
    for (uint32_t group = 0; group < full; ++group) sum += 2 * hops_between_groups(group, full);
  }
  const double n = nodes_;
  return sum / (n * (n - 1));
}

// The sum over all pairs of its nodes: 2 for each, at one router 1, 0 for a node and itself.
double Distance::hops_inside_group(uint32_t group) const {
  int64_t nodes = 0;
  int64_t less = 0;
  for (uint32_t router = 0; router < extents_[1]; ++router) {
    const int64_t together = nodes_at(group, router);
    nodes += together;
    less += together * (together + 1);
  }
  return static_cast<double>(2 * nodes * nodes - less);
}

// The sum over all pairs of their nodes: 3 for each, 1 less if one link joins both routers, 1 more
// if neither has a link to the other group.
double Distance::hops_between_groups(uint32_t from, uint32_t to) const {
  int64_t here = 0;
  int64_t there = 0;
  int64_t here_without = 0;  // nodes at routers without a link
  int64_t there_without = 0;
  int64_t joined = 0;
  for (uint32_t router = 0; router < extents_[1]; ++router) {
    const uint32_t offset = group_links_.offset_of(router, from, to);
    const int64_t first = nodes_at(from, router);
    const int64_t second = nodes_at(to, group_links_.router_at(offset, to, from));
    here += first;
    there += second;
    if (group_links_.begin_at(offset)) {
      joined += first * second;
    } else {
      here_without += first;
      there_without += second;
    }
  }
  return static_cast<double>(3 * here * there - joined + here_without * there_without);
}

int64_t Distance::nodes_at(uint32_t group, uint32_t router) const {
  const int64_t per_router = extents_[2];
  const int64_t first = (int64_t{group} * extents_[1] + router) * per_router;
  return std::clamp<int64_t>(nodes_ - first, 0, per_router);
}

}  // namespace sesame::network
