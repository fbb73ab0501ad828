// What the links of a topology (routes.h) carry, and how long messages wait at them
// (docs/models/sharing.md).
//
// Use: choose() a route when the message enters the network, then advance() it link by link and
// serve() it by each link when the head of the message has reached that. Both are to be called in
// the order of simulated time. Sizes are bytes. Nothing here fails. One thread.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "core/base/units.h"
#include "core/machine/machine.h"
#include "core/network/routes.h"

namespace sesame::network {

class Fabric {
 public:
  explicit Fabric(const machine::Machine& machine);

  // Whether the first link of a route begins at the node's own router. Otherwise the message has a
  // hop behind it when it gets there.
  bool begins_at_node() const { return routes_->begin_at_node(); }

  // The route of a message that enters the network at `now`. `draw` is a random number of the
  // message.
  Route choose(int from_node, int to_node, uint64_t draw, uint64_t bytes, SimTime now);
  // Whether choose() depends on `now`.
  bool is_adaptive() const { return is_adaptive_; }
  // Returns the next link of the route, or null behind the last one.
  Link* advance(Route& route);
  // The head of a message on this route is at the link at `now`. Returns when it begins to pass.
  // `bytes` are those given to choose().
  SimTime serve(Route& route, Link& link, SimTime now, uint64_t bytes) const;
  // How long the message occupies the link.
  SimTime time_of(const Link& link, uint64_t bytes) const;

  const std::vector<Link>& links() const { return links_; }
  Link& at(uint32_t link) { return links_[link]; }
  uint32_t number_of(const Link& link) const {
    return static_cast<uint32_t>(&link - links_.data());
  }
  uint32_t node_of(uint32_t link) const { return routes_->node_of(link); }
  uint32_t nodes_choosing_together() const { return routes_->nodes_choosing_together(); }
  LinkPlace place_of(size_t link) const { return routes_->place_of(static_cast<uint32_t>(link)); }

 private:
  void plan(const Route& route, uint64_t bytes);

  std::unique_ptr<Routes> routes_;
  bool is_adaptive_;
  double link_ps_;    // for a byte
  double global_ps_;  // of links between groups
  [[no_unique_address]] Parameter link_key_, global_key_;
  SimTime hop_latency_;
  std::vector<Link> links_;
  const Link* first_global_;  // the first one between groups
};

}  // namespace sesame::network
