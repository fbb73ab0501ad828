// The links between the groups of a dragonfly, and the routers at which they begin.
//
// A group has `global_links` parallel links, the ports, to each other group. With L of them and R
// routers, port p begins at router (g + floor(p R / L)) mod R: spread evenly over the group. Its
// first one, at router g, is that of machines with one link between two groups: the first links to
// the other groups, in the order of these, are in runs of ceil((groups - 1) / R) at the routers.
//
// Immutable. Nothing here fails. Any thread.
#pragma once

#include <cstdint>
#include <vector>

#include "core/machine/machine.h"

namespace sesame::network {

class GroupLinks {
 public:
  GroupLinks() = default;
  // REQUIRES: a dragonfly that was read from a machine file.
  explicit GroupLinks(const machine::Topology& topology)
      : routers_(topology.routers),
        ports_(topology.global_links),
        each_((topology.groups - 1 + routers_ - 1) / routers_) {
    for (uint64_t offset = 0; offset <= routers_; ++offset) {
      first_ports_.push_back(static_cast<uint32_t>((offset * ports_ + routers_ - 1) / routers_));
    }
  }

  // How far behind the router of the first link to the other group a router is.
  uint32_t offset_of(uint32_t router, uint32_t group, uint32_t other) const {
    const uint32_t first = first_router(group, other);
    return router - first + (router < first ? routers_ : 0);
  }
  // Whether links to the other group begin this far behind the router of the first one.
  bool begin_at(uint32_t offset) const { return first_ports_[offset] < first_ports_[offset + 1]; }
  // The router of the group that is so far behind.
  uint32_t router_at(uint32_t offset, uint32_t group, uint32_t other) const {
    return (first_router(group, other) + offset) % routers_;
  }
  // The router of the group at which this link to the other one begins.
  uint32_t router_of(uint32_t port, uint32_t group, uint32_t other) const {
    return router_at(static_cast<uint32_t>(uint64_t{port} * routers_ / ports_), group, other);
  }
  // A link on the shortest way between two routers, whose offsets towards each other's group are
  // given: that at the first one, else that at the second one, else any. `choice` chooses among
  // equal ones.
  uint32_t shortest(uint32_t from_offset, uint32_t to_offset, uint32_t choice) const {
    const bool is_here = begin_at(from_offset);
    if (!is_here && !begin_at(to_offset)) return choice % ports_;
    const uint32_t offset = is_here ? from_offset : to_offset;
    const uint32_t first = first_ports_[offset];
    return first + choice % (first_ports_[offset + 1] - first);
  }

 private:
  uint32_t first_router(uint32_t group, uint32_t other) const {
    return (group < other ? other - 1 : other) / each_;
  }

  uint32_t routers_ = 1;
  uint32_t ports_ = 1;
  uint32_t each_ = 1;                  // first links of a router
  std::vector<uint32_t> first_ports_;  // the first one at each offset or behind it
};

}  // namespace sesame::network
