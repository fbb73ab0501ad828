#include "core/network/fabric.h"

#include <algorithm>

#include "core/base/mixing.h"
#include "core/network/transfer_time.h"

namespace sesame::network {
namespace {

using machine::Routing;
using machine::TopologyKind;

uint32_t count(uint64_t number) { return static_cast<uint32_t>(number); }

SimTime delay_at(const Link& link, SimTime now) {
  return (link.free > now ? elapsed(now, link.free) : SimTime::zero()) + link.expected;
}

}  // namespace

Fabric::Fabric(const machine::Machine& machine)
    : topology_(machine.topology),
      is_grid_(topology_.kind == TopologyKind::kMesh || topology_.kind == TopologyKind::kTorus),
      hop_latency_(plain(machine.network.hop_latency)) {
  const double alone = std::max(machine.network.bandwidth, machine.network.stream_bandwidth);
  const machine::LinkParameters& given = machine.sharing.link;
  const double bandwidth = given.bandwidth > 0 ? given.bandwidth : alone;
  link_ps_ = 1e12 / bandwidth;
  global_ps_ = 1e12 / (given.global_bandwidth > 0 ? given.global_bandwidth : bandwidth);
  link_key_ = given.bandwidth > 0 ? given.key : machine.network.bandwidth_key;
  global_key_ = given.global_bandwidth > 0 ? given.global_key : link_key_;

  uint64_t links = 0;  // at most machine::kMostLinks
  const auto nodes = static_cast<uint32_t>(machine.nodes);
  if (is_grid_) {
    links = uint64_t{2} * nodes * topology_.dims.size();
    strides_.assign(topology_.dims.size(), 1);
    for (size_t i = strides_.size() - 1; i-- > 0;) {
      strides_[i] = strides_[i + 1] * topology_.dims[i + 1];
    }
  } else if (topology_.kind == TopologyKind::kFatTree) {
    uint32_t below = 1;
    uint32_t trunk = 1;
    for (size_t level = 0; level < topology_.arity.size(); ++level) {
      strides_.push_back(below *= topology_.arity[level]);
      if (level == topology_.uplinks.size()) break;  // the top
      trunks_.push_back(trunk *= topology_.uplinks[level]);
      offsets_.push_back(count(links));
      links += uint64_t{2} * trunk * ((nodes + below - 1) / below);
    }
  } else if (topology_.kind == TopologyKind::kDragonfly) {
    group_links_ = GroupLinks(topology_);
    first_global_ = topology_.groups * topology_.routers * topology_.routers;
    links = first_global_ + uint64_t{topology_.groups} * topology_.groups * topology_.global_links;
  }
  links_.resize(links);
}

SimTime Fabric::time_of(const Link& link, uint64_t bytes) const {
  const bool is_global = &link - links_.data() >= first_global_;
  return is_global ? transfer_time(bytes, global_ps_).due_to(global_key_)
                   : transfer_time(bytes, link_ps_).due_to(link_key_);
}

Route Fabric::choose(int from_node, int to_node, uint64_t draw, uint64_t bytes, SimTime now) {
  if (topology_.kind == TopologyKind::kDragonfly) {
    return dragonfly_route(from_node, to_node, draw, bytes, now);
  }
  Route route;
  route.at = static_cast<uint32_t>(from_node);
  route.to = static_cast<uint32_t>(to_node);
  if (topology_.kind == TopologyKind::kFatTree) {
    route.via = 0;
    while (route.at / strides_[route.via] != route.to / strides_[route.via]) ++route.via;
    route.port =
        topology_.routing == Routing::kHashed ? count(mix64({route.at, route.to})) : route.to;
  }
  return route;
}

Link* Fabric::advance(Route& route) {
  uint32_t number = 0;
  return next(route, &number) ? &links_[number] : nullptr;
}

// Until the link serves the message, messages that choose see it in `expected`; then in `free`.
SimTime Fabric::serve(const Route& route, Link& link, SimTime now, uint64_t bytes) const {
  const SimTime time = time_of(link, bytes);
  if (route.is_planned) link.expected -= plain(time);
  return link.serve(now, time);
}

bool Fabric::next(Route& route, uint32_t* link) const {
  switch (topology_.kind) {
    case TopologyKind::kCrossbar:
      return false;
    case TopologyKind::kMesh:
    case TopologyKind::kTorus:
      return next_in_grid(route, link);
    case TopologyKind::kFatTree:
      return next_in_tree(route, link);
    case TopologyKind::kDragonfly:
      return next_in_dragonfly(route, link);
  }
  return false;
}

// Dimension order: the first dimension first. In a torus the shorter way round.
bool Fabric::next_in_grid(Route& route, uint32_t* link) const {
  for (size_t i = 0; i < strides_.size(); ++i) {
    const uint32_t extent = topology_.dims[i];
    const uint32_t at = route.at / strides_[i] % extent;
    const uint32_t to = route.to / strides_[i] % extent;
    if (at == to) continue;
    const bool is_down = topology_.kind == TopologyKind::kMesh
                             ? to < at
                             : 2 * ((to + extent - at) % extent) > extent;
    *link = count((route.at * strides_.size() + i) * 2 + (is_down ? 1 : 0));
    const uint32_t next = is_down ? (at + extent - 1) % extent : (at + 1) % extent;
    route.at += (next - at) * strides_[i];  // modulo 2^32
    return true;
  }
  return false;
}

// Up to the lowest common switch, then down. A message that goes up through the n-th uplink of a
// switch goes down through the n-th of the other one: both lead to the same switch above.
bool Fabric::next_in_tree(Route& route, uint32_t* link) const {
  const uint32_t climbed = route.via;
  if (route.step == 2 * climbed) return false;
  const bool is_down = route.step >= climbed;
  const uint32_t level = is_down ? 2 * climbed - 1 - route.step : route.step;
  ++route.step;
  uint32_t port = 0;
  uint32_t rest = route.port;
  for (uint32_t i = 0; i <= level; ++i) {
    port = port * topology_.uplinks[i] + rest % topology_.uplinks[i];
    rest /= topology_.uplinks[i];
  }
  const uint32_t below = (is_down ? route.to : route.at) / strides_[level];
  *link = offsets_[level] + (below * trunks_[level] + port) * 2 + (is_down ? 1 : 0);
  return true;
}

// To the group to pass first, if any, then to that of the destination: by a link inside the group
// to the router with the link between the groups, and over it.
bool Fabric::next_in_dragonfly(Route& route, uint32_t* link) const {
  const uint32_t routers = topology_.routers;
  const uint32_t group = route.at / routers;
  const uint32_t router = route.at % routers;
  const uint32_t target = route.via != Route::kNone ? route.via : route.to / routers;
  uint32_t next = route.to % routers;
  if (group != target) {
    next = group_links_.router_of(route.port, group, target);
    if (router == next) {
      *link = global_link(group, target, route.port);
      route.at = target * routers + group_links_.router_of(route.port, target, group);
      if (target == route.via) {
        route.via = Route::kNone;
        route.port = shortest_port(route);
      }
      return true;
    }
  } else if (router == next) {
    return false;
  }
  *link = (group * routers + router) * routers + next;
  route.at = group * routers + next;
  return true;
}

uint32_t Fabric::global_link(uint32_t group, uint32_t other, uint32_t port) const {
  return first_global_ + (group * topology_.groups + other) * topology_.global_links + port;
}

// Which of the parallel links to the next group makes the route shortest. If that is another group
// than the destination's, as if the destination were in it.
uint32_t Fabric::shortest_port(const Route& route) const {
  const uint32_t routers = topology_.routers;
  const uint32_t group = route.at / routers;
  const uint32_t target = route.via != Route::kNone ? route.via : route.to / routers;
  if (group == target) return 0;
  return group_links_.shortest(group_links_.offset_of(route.at % routers, group, target),
                               group_links_.offset_of(route.to % routers, target, group), route.to);
}

Route Fabric::dragonfly_route(int from_node, int to_node, uint64_t draw, uint64_t bytes,
                              SimTime now) {
  Route route;
  route.at = static_cast<uint32_t>(from_node) / topology_.nodes_per_router;
  route.to = static_cast<uint32_t>(to_node) / topology_.nodes_per_router;
  route.port = shortest_port(route);
  const uint32_t from_group = route.at / topology_.routers;
  const uint32_t to_group = route.to / topology_.routers;
  if (topology_.routing == Routing::kMinimal || from_group == to_group) return route;
  Route indirect = route;
  if (topology_.groups > 2) {  // any other group is as likely
    const auto [low, high] = std::minmax(from_group, to_group);
    indirect.via = count(draw % (topology_.groups - 2));
    if (indirect.via >= low) ++indirect.via;
    if (indirect.via >= high) ++indirect.via;
  }
  indirect.port = shortest_port(indirect);
  if (topology_.routing == Routing::kValiant) return indirect;
  route = least_used(route, now);
  indirect = least_used(indirect, now);
  if (expected_delay(indirect, now) < expected_delay(route, now)) route = indirect;
  plan(route, bytes);
  return route;
}

// The route with the least used of the parallel links to its first other group; if several are,
// with the shortest.
Route Fabric::least_used(Route route, SimTime now) const {
  SimTime least = delay_of_port(route, route.port, now);
  for (uint32_t port = 0; port < topology_.global_links; ++port) {
    const SimTime delay = delay_of_port(route, port, now);
    if (delay < least) {
      least = delay;
      route.port = port;
    }
  }
  return route;
}

// The wait at a link to the next group, and the hop to the router at which it begins.
SimTime Fabric::delay_of_port(const Route& route, uint32_t port, SimTime now) const {
  const uint32_t group = route.at / topology_.routers;
  const uint32_t other = route.via != Route::kNone ? route.via : route.to / topology_.routers;
  const bool is_here = group_links_.router_of(port, group, other) == route.at % topology_.routers;
  return delay_at(links_[global_link(group, other, port)], now) +
         (is_here ? SimTime::zero() : hop_latency_);
}

// The longest wait on the route, and the time of its hops.
SimTime Fabric::expected_delay(Route route, SimTime now) const {
  SimTime wait;
  SimTime hops;
  for (uint32_t link = 0; next(route, &link); hops += hop_latency_) {
    wait = later(wait, delay_at(links_[link], now));
  }
  return wait + hops;
}

// Lets messages that choose later know of this one before it has got to its links.
void Fabric::plan(Route& route, uint64_t bytes) {
  route.is_planned = true;
  Route rest = route;
  for (uint32_t link = 0; next(rest, &link);) {
    links_[link].expected += plain(time_of(links_[link], bytes));
  }
}

LinkPlace Fabric::place_of(size_t link) const {
  const auto number = static_cast<uint32_t>(link);
  if (topology_.kind == TopologyKind::kDragonfly) {
    if (number < first_global_) return {3, number, 0};
    const uint32_t global = number - first_global_;
    return {2, global / topology_.global_links, global % topology_.global_links};
  }
  if (is_grid_) return {2, number, 0};
  const auto next = std::ranges::upper_bound(offsets_, number);
  const auto level = static_cast<uint32_t>(next - offsets_.begin()) - 1;
  const uint32_t cable = (number - offsets_[level]) / 2;
  return {2 + 2 * level + number % 2, cable / trunks_[level], cable % trunks_[level]};
}

}  // namespace sesame::network
