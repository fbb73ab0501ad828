// The costs of messages on a machine in Python, for many messages at a time: for the analysis of
// records.
#include "core/network/network.h"

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <array>

#include "core/bindings/unwrap.h"

namespace nb = nanobind;

namespace sesame::bindings {
namespace {

constexpr size_t kFields = 7;
constexpr std::array<const char*, kFields> kNames = {
    "send_overhead",    "injection",       "latency",   "transfer",
    "receive_overhead", "control_latency", "rendezvous"};

using Column = nb::ndarray<const int64_t, nb::ndim<1>, nb::c_contig, nb::device::cpu>;

class NetworkOfRun {
 public:
  NetworkOfRun(const std::string& path, const std::vector<std::string>& overrides, int ranks,
               const std::string& placement)
      : network_(unwrap(network::Network::create(unwrap(machine::read_machine(path, overrides)),
                                                 ranks, placement))) {}

  std::vector<int> nodes() const {
    std::vector<int> nodes(static_cast<size_t>(network_.ranks()));
    for (size_t rank = 0; rank < nodes.size(); ++rank)
      nodes[rank] = network_.node_of(static_cast<int>(rank));
    return nodes;
  }

  int nodes_of_machine() const { return network_.nodes(); }

  nb::dict costs(const Column& sources, const Column& destinations, const Column& sizes) const {
    return columns_of(&network::Network::cost, sources, destinations, sizes);
  }

  nb::dict rdma_costs(const Column& sources, const Column& destinations,
                      const Column& sizes) const {
    return columns_of(&network::Network::rdma_cost, sources, destinations, sizes);
  }

 private:
  using CostOfMessage = network::MessageCost (network::Network::*)(int, int, uint64_t) const;

  // A dict of columns in ps.
  nb::dict columns_of(CostOfMessage cost_of, const Column& sources, const Column& destinations,
                      const Column& sizes) const {
    const size_t rows = sources.shape(0);
    if (destinations.shape(0) != rows || sizes.shape(0) != rows)
      throw nb::value_error("the columns are not equally long");
    auto* values = new std::vector<int64_t>(rows * kFields);
    const nb::capsule owner(values,
                            [](void* p) noexcept { delete static_cast<std::vector<int64_t>*>(p); });
    for (size_t row = 0; row < rows; ++row) {
      const auto cost = (network_.*cost_of)(rank_of(sources(row)), rank_of(destinations(row)),
                                            static_cast<uint64_t>(sizes(row)));
      const std::array<int64_t, kFields> fields = {
          cost.send_overhead.ps(), cost.injection.ps(),        cost.latency.ps(),
          cost.transfer.ps(),      cost.receive_overhead.ps(), cost.control_latency.ps(),
          cost.rendezvous ? 1 : 0};
      for (size_t field = 0; field < kFields; ++field)
        (*values)[field * rows + row] = fields[field];
    }
    nb::dict columns;
    for (size_t field = 0; field < kFields; ++field) {
      columns[kNames[field]] = nb::ndarray<nb::numpy, int64_t, nb::ndim<1>>(
          values->data() + field * rows, {rows}, owner);
    }
    return columns;
  }

  int rank_of(int64_t number) const {
    if (number < 0 || number >= network_.ranks()) throw nb::index_error("there is no such rank");
    return static_cast<int>(number);
  }

  network::Network network_;
};

}  // namespace

void register_network(nb::module_& module) {
  nb::class_<NetworkOfRun>(module, "Network", "The network of a machine with ranks on its nodes.")
      .def(nb::init<const std::string&, const std::vector<std::string>&, int, const std::string&>(),
           nb::arg("path"), nb::arg("overrides"), nb::arg("ranks"), nb::arg("placement"))
      .def("nodes", &NetworkOfRun::nodes, "The node of each rank.")
      .def("nodes_of_machine", &NetworkOfRun::nodes_of_machine, "The number of its nodes.")
      .def("costs", &NetworkOfRun::costs, nb::arg("sources"), nb::arg("destinations"),
           nb::arg("sizes"),
           "The fields of MessageCost, a column each: times in ps, rendezvous as 0 or 1.")
      .def("rdma_costs", &NetworkOfRun::rdma_costs, nb::arg("sources"), nb::arg("destinations"),
           nb::arg("sizes"), "The same of messages that no processor copies: one-sided ones.");
}

}  // namespace sesame::bindings
