// A HyperX (Ahn, Binkert, Davis, McLaren, Schreiber 2009): routers on a grid, each with a link to
// every other one that differs from it in one coordinate. The number of a link is that of the
// router at which it begins × the sum of all extents + the extents of the dimensions before its own
// + the coordinate at which it ends.
#include "core/network/routes.h"

namespace sesame::network {
namespace {

class HyperXRoutes : public Routes {
 public:
  explicit HyperXRoutes(const machine::Machine& machine)
      : extents_(machine.topology.dims),
        nodes_per_router_(machine.topology.nodes_per_router),
        is_valiant_(machine.topology.routing == machine::Routing::kValiant),
        strides_(extents_.size()) {
    for (size_t i = extents_.size(); i-- > 0;) {
      strides_[i] = routers_;
      routers_ *= extents_[i];
      ports_ += extents_[i];
    }
  }

  uint64_t links() const override { return uint64_t{routers_} * ports_; }
  LinkPlace place_of(uint32_t link) const override { return {kHyperXLink, link, 0}; }
  uint32_t node_of(uint32_t link) const override { return link / ports_ * nodes_per_router_; }

  // Valiant's: by way of any router, each as likely, the two ends among them.
  Route choose(Ends ends, uint64_t draw, const Waits& /*waits*/) const override {
    Route route{.at = ends.from / nodes_per_router_, .to = ends.to / nodes_per_router_};
    if (is_valiant_ && route.at != route.to) route.via = static_cast<uint32_t>(draw % routers_);
    return route;
  }

  // Dimension order: one link for each dimension in which the routers differ, the first one first.
  bool next(Route& route, uint32_t* link) const override {
    if (route.at == route.via) route.via = Route::kNone;
    const uint32_t target = route.via != Route::kNone ? route.via : route.to;
    uint32_t first_port = 0;
    for (size_t i = 0; i < extents_.size(); first_port += extents_[i++]) {
      const uint32_t at = route.at / strides_[i] % extents_[i];
      const uint32_t to = target / strides_[i] % extents_[i];
      if (at == to) continue;
      *link = route.at * ports_ + first_port + to;
      route.at += (to - at) * strides_[i];  // modulo 2^32
      return true;
    }
    return false;
  }

 private:
  std::vector<uint32_t> extents_;
  uint32_t nodes_per_router_;
  bool is_valiant_;
  std::vector<uint32_t> strides_;  // how many routers one step along each dimension is
  uint32_t routers_ = 1;
  uint32_t ports_ = 0;  // of a router, with one to itself in each dimension, which is not used
};

}  // namespace

std::unique_ptr<Routes> make_hyperx_routes(const machine::Machine& machine) {
  return std::make_unique<HyperXRoutes>(machine);
}

}  // namespace sesame::network
