// A mesh or torus: each node is a router. The number of a link is that of the node at which it
// begins × 2 dimensions + 2 × dimension, and 1 more if it goes backward.
#include "core/network/routes.h"

namespace sesame::network {
namespace {

class GridRoutes : public Routes {
 public:
  explicit GridRoutes(const machine::Machine& machine)
      : dims_(machine.topology.dims),
        strides_(dims_.size(), 1),
        nodes_(static_cast<uint64_t>(machine.nodes)),
        is_torus_(machine.topology.kind == machine::TopologyKind::kTorus) {
    for (size_t i = strides_.size() - 1; i-- > 0;) strides_[i] = strides_[i + 1] * dims_[i + 1];
  }

  uint64_t links() const override { return 2 * nodes_ * dims_.size(); }
  bool begin_at_node() const override { return true; }
  LinkPlace place_of(uint32_t link) const override { return {kGridLink, link, 0}; }
  uint32_t node_of(uint32_t link) const override {
    return link / static_cast<uint32_t>(2 * dims_.size());
  }

  Route choose(Ends ends, uint64_t /*draw*/, const Waits& /*waits*/) const override {
    return {.at = ends.from, .to = ends.to};
  }

  // Dimension order: the first dimension first. In a torus the shorter way round.
  bool next(Route& route, uint32_t* link) const override {
    for (size_t i = 0; i < strides_.size(); ++i) {
      const uint32_t extent = dims_[i];
      const uint32_t at = route.at / strides_[i] % extent;
      const uint32_t to = route.to / strides_[i] % extent;
      if (at == to) continue;
      const bool is_backward = is_torus_ ? 2 * ((to + extent - at) % extent) > extent : to < at;
      *link = static_cast<uint32_t>((route.at * strides_.size() + i) * 2 + (is_backward ? 1 : 0));
      const uint32_t next = is_backward ? (at + extent - 1) % extent : (at + 1) % extent;
      route.at += (next - at) * strides_[i];  // modulo 2^32
      return true;
    }
    return false;
  }

 private:
  std::vector<uint32_t> dims_;
  std::vector<uint32_t> strides_;  // how many nodes one step along each dimension is
  uint64_t nodes_;
  bool is_torus_;
};

}  // namespace

std::unique_ptr<Routes> make_grid_routes(const machine::Machine& machine) {
  return std::make_unique<GridRoutes>(machine);
}

}  // namespace sesame::network
