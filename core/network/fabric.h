// The links between the routers or switches of a topology, and which of them a message passes
// (docs/models/sharing.md). A link is one direction of a cable. The links between a node and its
// switch are not among them: they are the node's cards.
//
// Use: choose() a route when the message enters the network, then advance() it link by link and
// serve() it by each link when the head of the message has reached that. Both are to be called in
// the order of simulated time. Nothing here fails. One thread.
#pragma once

#include <cstdint>
#include <vector>

#include "core/base/units.h"
#include "core/machine/machine.h"
#include "core/network/group_links.h"
#include "core/network/server.h"

namespace sesame::network {

struct Link : Server {
  SimTime expected;  // adaptive routes: how long it will be busy with messages that come this way
};

// Kinds that every topology has.
inline constexpr uint32_t kCardSends = 0;
inline constexpr uint32_t kCardReceives = 1;

// Where a link is.
struct LinkPlace {
  uint32_t kind = 0;  // above, or grid: 2; fat tree: 2 + 2 level up, 3 + 2 level down; dragonfly: 2
                      // between groups, 3 inside
  uint64_t number = 0;  // grid: of the node, its dimension and direction; fat tree: of the lower
                        // switch; dragonfly: of the two groups, or of the group and two routers
  uint32_t port = 0;    // of several parallel links
};

// A route of which a part may be behind the message.
struct Route {
  static constexpr uint32_t kNone = UINT32_MAX;

  uint32_t at = 0;          // grid, dragonfly: the router that it has reached; fat tree: the source
  uint32_t to = 0;          // the destination: router of a dragonfly, else node
  uint32_t via = kNone;     // dragonfly: the group to pass first; fat tree: levels to climb
  uint32_t step = 0;        // fat tree: links passed
  uint32_t port = 0;        // which of the parallel links; fat tree: chooses them
  bool is_planned = false;  // Link::expected has it
};

class Fabric {
 public:
  explicit Fabric(const machine::Machine& machine);

  // Whether the first link of a route begins at the node's own router: mesh and torus. Otherwise
  // the message has a hop behind it when it gets there.
  bool is_grid() const { return is_grid_; }

  // The route of a message that enters the network at `now`. `draw` is a random number of the
  // message.
  Route choose(int from_node, int to_node, uint64_t draw, uint64_t bytes, SimTime now);
  // Whether choose() depends on `now`.
  bool is_adaptive() const { return topology_.routing == machine::Routing::kAdaptive; }
  // Returns the next link of the route, or null behind the last one.
  Link* advance(Route& route);
  // The head of a message on this route is at the link at `now`. Returns when it begins to pass.
  SimTime serve(const Route& route, Link& link, SimTime now, uint64_t bytes) const;
  // How long the message occupies the link.
  SimTime time_of(const Link& link, uint64_t bytes) const;

  const std::vector<Link>& links() const { return links_; }
  LinkPlace place_of(size_t link) const;

 private:
  bool next(Route& route, uint32_t* link) const;
  bool next_in_grid(Route& route, uint32_t* link) const;
  bool next_in_tree(Route& route, uint32_t* link) const;
  bool next_in_dragonfly(Route& route, uint32_t* link) const;
  uint32_t shortest_port(const Route& route) const;
  uint32_t global_link(uint32_t group, uint32_t other, uint32_t port) const;
  Route dragonfly_route(int from_node, int to_node, uint64_t draw, uint64_t bytes, SimTime now);
  Route least_used(Route route, SimTime now) const;
  SimTime delay_of_port(const Route& route, uint32_t port, SimTime now) const;
  SimTime expected_delay(Route route, SimTime now) const;
  void plan(Route& route, uint64_t bytes);

  machine::Topology topology_;
  bool is_grid_;
  double link_ps_;    // for a byte
  double global_ps_;  // of a dragonfly's links between groups
  [[no_unique_address]] Parameter link_key_, global_key_;
  SimTime hop_latency_;
  // Grid: how many nodes one step along each dimension is; fat tree: nodes below a switch of each
  // level.
  std::vector<uint32_t> strides_;
  std::vector<uint32_t> trunks_;   // fat tree: uplinks of all that is below a switch of each level
  std::vector<uint32_t> offsets_;  // fat tree: the first link of each level
  uint32_t first_global_ = UINT32_MAX;  // dragonfly: links between groups follow the others
  GroupLinks group_links_;
  std::vector<Link> links_;
};

}  // namespace sesame::network
