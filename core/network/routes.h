// The links between the routers or switches of a topology and the routes over them: one class for
// each kind of topology. A link is one direction of a cable. The links between a node and its
// switch are not among them: they are the node's cards.
//
// Use: make_routes() for a topology, choose() a route, then next() until it returns false.
// docs/models/sharing.md says which routes these are. Immutable. Nothing here fails. Any thread.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "core/base/units.h"
#include "core/machine/machine.h"
#include "core/network/server.h"

namespace sesame::network {

struct Link : Server {
  SimTime expected;  // adaptive routes: how long it will be busy with messages that chose it
};

// LinkPlace::kind. The first two belong to every topology, the others each to one.
inline constexpr uint32_t kCardSends = 0;
inline constexpr uint32_t kCardReceives = 1;
inline constexpr uint32_t kGridLink = 2;
inline constexpr uint32_t kHyperXLink = 2;
inline constexpr uint32_t kGlobalLink = 2;  // of a dragonfly, between groups
inline constexpr uint32_t kLocalLink = 3;   // of a dragonfly, inside a group
constexpr uint32_t tree_link(uint32_t level, bool is_down) {
  return 2 + 2 * level + (is_down ? 1 : 0);
}

// Where a link is.
struct LinkPlace {
  uint32_t kind = 0;
  uint64_t number = 0;  // of its kind; each class says how they are numbered
  uint32_t port = 0;    // of several parallel links
};

// A route of which a part may be behind the message. What is not said to belong to one topology is
// used by all.
struct Route {
  static constexpr uint32_t kNone = UINT32_MAX;

  uint32_t at = 0;           // the node or router that it has reached; fat tree: the source
  uint32_t to = 0;           // the destination: a node; HyperX, dragonfly: its router
  uint32_t via = kNone;      // to pass before: HyperX: a router; dragonfly: a group
  uint32_t port = 0;         // dragonfly: which of the parallel links; fat tree: chooses them
  uint32_t levels = 0;       // fat tree: how far it climbs
  uint32_t links_taken = 0;  // fat tree
  uint32_t planned = 0;      // adaptive: so many of the next links have it in Link::expected
};

struct Ends {
  uint32_t from = 0;  // nodes
  uint32_t to = 0;
};

// How long messages wait at each link at one moment.
struct Waits {
  const std::vector<Link>& links;
  SimTime now;
  SimTime hop_latency;

  SimTime at(uint32_t number) const {
    const Link& link = links[number];
    return (link.free > now ? elapsed(now, link.free) : SimTime::zero()) + link.expected;
  }
};

class Routes {
 public:
  virtual ~Routes() = default;

  virtual uint64_t links() const = 0;
  // The route of a message. `draw` is a random number of the message.
  virtual Route choose(Ends ends, uint64_t draw, const Waits& waits) const = 0;
  // Stores the number of the next link of the route, from 0 on, and takes it; false behind the
  // last.
  virtual bool next(Route& route, uint32_t* link) const = 0;
  virtual LinkPlace place_of(uint32_t link) const = 0;
  // The first node at the router where the link begins; fat tree: below its lower end. There may be
  // no node with this number where a machine has fewer than its topology.
  virtual uint32_t node_of(uint32_t link) const = 0;

  // Whether the first link of a route begins at the node's own router. Otherwise the message has a
  // hop behind it when it gets there.
  virtual bool begin_at_node() const { return false; }
  // A choice looks at links of the routers of so many consecutive nodes, 0 to n - 1 and so on; 1
  // unless it is adaptive.
  virtual uint32_t nodes_choosing_together() const { return 1; }
  // The first link with the bandwidth of links between groups; all behind it have it, too.
  virtual uint64_t first_global() const { return links(); }
};

// REQUIRES: `machine` was read from a file, with sharing = "links".
std::unique_ptr<Routes> make_routes(const machine::Machine& machine);

// Of each topology, for make_routes().
std::unique_ptr<Routes> make_grid_routes(const machine::Machine& machine);
std::unique_ptr<Routes> make_tree_routes(const machine::Machine& machine);
std::unique_ptr<Routes> make_hyperx_routes(const machine::Machine& machine);
std::unique_ptr<Routes> make_dragonfly_routes(const machine::Machine& machine);

}  // namespace sesame::network
