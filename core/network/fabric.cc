#include "core/network/fabric.h"

#include <algorithm>

#include "core/network/transfer_time.h"

namespace sesame::network {

Fabric::Fabric(const machine::Machine& machine)
    : routes_(make_routes(machine)),
      is_adaptive_(machine.topology.routing == machine::Routing::kAdaptive),
      hop_latency_(plain(machine.network.hop_latency)),
      links_(routes_->links()),
      first_global_(links_.data() + routes_->first_global()) {
  const double alone = std::max(machine.network.bandwidth, machine.network.stream_bandwidth);
  const machine::LinkParameters& given = machine.sharing.link;
  const double bandwidth = given.bandwidth > 0 ? given.bandwidth : alone;
  link_ps_ = 1e12 / bandwidth;
  global_ps_ = 1e12 / (given.global_bandwidth > 0 ? given.global_bandwidth : bandwidth);
  link_key_ = given.bandwidth > 0 ? given.key : machine.network.bandwidth_key;
  global_key_ = given.global_bandwidth > 0 ? given.global_key : link_key_;
}

SimTime Fabric::time_of(const Link& link, uint64_t bytes) const {
  return &link >= first_global_ ? transfer_time(bytes, global_ps_).due_to(global_key_)
                                : transfer_time(bytes, link_ps_).due_to(link_key_);
}

Route Fabric::choose(int from_node, int to_node, uint64_t draw, uint64_t bytes, SimTime now) {
  const Ends ends = {static_cast<uint32_t>(from_node), static_cast<uint32_t>(to_node)};
  Route route = routes_->choose(ends, draw, {links_, now, hop_latency_});
  plan(route, bytes);
  return route;
}

Link* Fabric::advance(Route& route) {
  uint32_t number = 0;
  return routes_->next(route, &number) ? &links_[number] : nullptr;
}

// Until the link serves the message, messages that choose see it in `expected`; then in `free`.
SimTime Fabric::serve(Route& route, Link& link, SimTime now, uint64_t bytes) const {
  const SimTime time = time_of(link, bytes);
  if (route.planned > 0) {
    --route.planned;
    link.expected -= plain(time);
  }
  return link.serve(now, time);
}

// Lets messages that choose later know of this one before it has got to its links.
void Fabric::plan(const Route& route, uint64_t bytes) {
  Route rest = route;
  for (uint32_t i = 0; i < route.planned; ++i) {
    uint32_t link = 0;
    routes_->next(rest, &link);
    links_[link].expected += plain(time_of(links_[link], bytes));
  }
}

}  // namespace sesame::network
