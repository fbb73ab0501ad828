// A dragonfly. Links inside a group come first; their number is (group × routers + from router) ×
// routers + to router. That of a link between groups is from group × groups + to group.
#include <algorithm>

#include "core/network/group_links.h"
#include "core/network/routes.h"

namespace sesame::network {
namespace {

using machine::Routing;

class DragonflyRoutes : public Routes {
 public:
  explicit DragonflyRoutes(const machine::Machine& machine)
      : groups_(machine.topology.groups),
        routers_(machine.topology.routers),
        nodes_per_router_(machine.topology.nodes_per_router),
        ports_(machine.topology.global_links),
        routing_(machine.topology.routing),
        group_links_(machine.topology) {}

  uint64_t first_global() const override { return uint64_t{groups_} * routers_ * routers_; }
  uint64_t links() const override { return first_global() + uint64_t{groups_} * groups_ * ports_; }
  LinkPlace place_of(uint32_t link) const override;
  uint32_t node_of(uint32_t link) const override;
  uint32_t nodes_choosing_together() const override {
    return routing_ == Routing::kAdaptive ? routers_ * nodes_per_router_ : 1;
  }
  Route choose(Ends ends, uint64_t draw, const Waits& waits) const override;
  bool next(Route& route, uint32_t* link) const override;

 private:
  uint32_t global_link(uint32_t group, uint32_t other, uint32_t port) const {
    return static_cast<uint32_t>(first_global()) + (group * groups_ + other) * ports_ + port;
  }
  uint32_t target_of(const Route& route) const {  // the group that it goes to next
    return route.via != Route::kNone ? route.via : route.to / routers_;
  }
  uint32_t shortest_port(const Route& route) const;
  Route choose_adaptive(const Route& minimal, uint64_t draw, const Waits& waits) const;
  Route by_another_group(Route route, uint64_t draw) const;
  Route least_used(Route route, const Waits& waits) const;
  SimTime delay_of_port(const Route& route, uint32_t port, const Waits& waits) const;
  SimTime look_ahead(Route& route, const Waits& waits) const;

  uint32_t groups_;
  uint32_t routers_;  // of a group
  uint32_t nodes_per_router_;
  uint32_t ports_;  // parallel links between two groups
  Routing routing_;
  GroupLinks group_links_;
};

LinkPlace DragonflyRoutes::place_of(uint32_t link) const {
  if (link < first_global()) return {kLocalLink, link, 0};
  const uint32_t global = link - static_cast<uint32_t>(first_global());
  return {kGlobalLink, global / ports_, global % ports_};
}

uint32_t DragonflyRoutes::node_of(uint32_t link) const {
  if (link < first_global()) return link / routers_ * nodes_per_router_;
  const LinkPlace place = place_of(link);
  const auto group = static_cast<uint32_t>(place.number / groups_);
  const auto other = static_cast<uint32_t>(place.number % groups_);
  return (group * routers_ + group_links_.router_of(place.port, group, other)) * nodes_per_router_;
}

Route DragonflyRoutes::choose(Ends ends, uint64_t draw, const Waits& waits) const {
  Route minimal{.at = ends.from / nodes_per_router_, .to = ends.to / nodes_per_router_};
  minimal.port = shortest_port(minimal);
  if (routing_ == Routing::kAdaptive) return choose_adaptive(minimal, draw, waits);
  const bool is_inside = minimal.at / routers_ == minimal.to / routers_;
  return routing_ == Routing::kMinimal || is_inside ? minimal : by_another_group(minimal, draw);
}

// The one with less delay, the minimal one if both have the same.
Route DragonflyRoutes::choose_adaptive(const Route& minimal, uint64_t draw,
                                       const Waits& waits) const {
  const bool is_inside = minimal.at / routers_ == minimal.to / routers_;
  Route direct = is_inside ? minimal : least_used(minimal, waits);
  const SimTime delay = look_ahead(direct, waits);
  if (is_inside) return direct;
  Route detour = least_used(by_another_group(minimal, draw), waits);
  return look_ahead(detour, waits) < delay ? detour : direct;
}

// Any other group is as likely. With two groups there is none.
Route DragonflyRoutes::by_another_group(Route route, uint64_t draw) const {
  if (groups_ <= 2) return route;
  const auto [low, high] = std::minmax({route.at / routers_, route.to / routers_});  // by value
  route.via = static_cast<uint32_t>(draw % (groups_ - 2));
  if (route.via >= low) ++route.via;
  if (route.via >= high) ++route.via;
  route.port = shortest_port(route);
  return route;
}

// To the group to pass first, if any, then to that of the destination: by a link inside the group
// to the router with the link between the groups, and over it.
bool DragonflyRoutes::next(Route& route, uint32_t* link) const {
  const uint32_t group = route.at / routers_;
  const uint32_t router = route.at % routers_;
  const uint32_t target = target_of(route);
  uint32_t next = route.to % routers_;
  if (group != target) {
    next = group_links_.router_of(route.port, group, target);
    if (router == next) {
      *link = global_link(group, target, route.port);
      route.at = target * routers_ + group_links_.router_of(route.port, target, group);
      if (target == route.via) {
        route.via = Route::kNone;
        route.port = shortest_port(route);
      }
      return true;
    }
  } else if (router == next) {
    return false;
  }
  *link = (group * routers_ + router) * routers_ + next;
  route.at = group * routers_ + next;
  return true;
}

// Which of the parallel links to the next group makes the route shortest. If that is another group
// than the destination's, as if the destination were in it.
uint32_t DragonflyRoutes::shortest_port(const Route& route) const {
  const uint32_t group = route.at / routers_;
  const uint32_t target = target_of(route);
  if (group == target) return 0;
  return group_links_.shortest(group_links_.offset_of(route.at % routers_, group, target),
                               group_links_.offset_of(route.to % routers_, target, group),
                               route.to);
}

// The route with the least used of the parallel links to its first other group; if several are,
// with the shortest.
Route DragonflyRoutes::least_used(Route route, const Waits& waits) const {
  SimTime least = delay_of_port(route, route.port, waits);
  for (uint32_t port = 0; port < ports_; ++port) {
    const SimTime delay = delay_of_port(route, port, waits);
    if (delay < least) {
      least = delay;
      route.port = port;
    }
  }
  return route;
}

// The wait at a link to the next group, and the hop to the router at which it begins.
SimTime DragonflyRoutes::delay_of_port(const Route& route, uint32_t port,
                                       const Waits& waits) const {
  const uint32_t group = route.at / routers_;
  const uint32_t other = target_of(route);
  const bool is_here = group_links_.router_of(port, group, other) == route.at % routers_;
  return waits.at(global_link(group, other, port)) +
         (is_here ? SimTime::zero() : waits.hop_latency);
}

// Returns the longest wait on the route in the group where it is, whose routers know of each
// other's links, plus the time of all hops. Plans the links of that group.
SimTime DragonflyRoutes::look_ahead(Route& route, const Waits& waits) const {
  const uint32_t group = route.at / routers_;
  SimTime wait;
  SimTime hops;
  route.planned = 0;
  Route rest = route;
  for (;;) {
    const bool is_known = rest.at / routers_ == group;
    uint32_t link = 0;
    if (!next(rest, &link)) return wait + hops;
    hops += waits.hop_latency;
    if (!is_known) continue;
    wait = later(wait, waits.at(link));
    ++route.planned;
  }
}

}  // namespace

std::unique_ptr<Routes> make_dragonfly_routes(const machine::Machine& machine) {
  return std::make_unique<DragonflyRoutes>(machine);
}

}  // namespace sesame::network
