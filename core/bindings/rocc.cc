// The resource-occupancy model in Python: one replication of a model that is given as a dict of
// plain values (python/sesame/overhead/native_model.py makes it; times in s).
#include <nanobind/nanobind.h>
#include <nanobind/stl/vector.h>

#include <cstdint>
#include <utility>
#include <vector>

#include "core/rocc/simulation.h"

namespace nb = nanobind;
using namespace nb::literals;

namespace sesame::bindings {
namespace {

using rocc::Distribution;
using rocc::Model;

template <typename T>
T at(const nb::dict& table, const char* key) {
  return nb::cast<T>(table[key]);
}

SimTime time_at(const nb::dict& table, const char* key) {
  return SimTime::from_seconds(at<double>(table, key));
}

// (family, parameters, components)
Distribution distribution_of(nb::handle value) {
  const auto parts = nb::cast<nb::tuple>(value);
  std::vector<Distribution> components;
  for (const nb::handle component : parts[2]) components.push_back(distribution_of(component));
  return {static_cast<rocc::Family>(nb::cast<int>(parts[0])),
          nb::cast<std::vector<double>>(parts[1]), std::move(components)};
}

Distribution distribution_at(const nb::dict& table, const char* key) {
  return distribution_of(table[key]);
}

rocc::ProcessClass class_of(const nb::dict& table) {
  rocc::ProcessClass kind;
  kind.count = at<uint32_t>(table, "count");
  kind.instrumented = at<bool>(table, "instrumented");
  const nb::object interarrival = table["interarrival"];
  if (!interarrival.is_none()) kind.interarrival = distribution_of(interarrival);
  kind.cpu = distribution_at(table, "cpu");
  kind.network = distribution_at(table, "network");
  kind.disk = distribution_at(table, "disk");
  kind.pause = distribution_at(table, "pause");
  kind.weight = at<double>(table, "weight");
  return kind;
}

rocc::DaemonClass daemon_of(const nb::dict& table) {
  rocc::DaemonClass daemon;
  daemon.count = at<uint32_t>(table, "daemons");
  daemon.has_timer = at<bool>(table, "has_timer");
  daemon.collect = distribution_at(table, "collect");
  daemon.poll = distribution_at(table, "poll");
  daemon.forward = distribution_at(table, "forward");
  daemon.network = distribution_at(table, "network");
  daemon.waits_for_network = at<bool>(table, "waits_for_network");
  daemon.batch_size = at<uint32_t>(table, "batch_size");
  daemon.batch_age = time_at(table, "batch_age");
  daemon.pipe = at<uint32_t>(table, "pipe");
  daemon.insertion = distribution_at(table, "insertion");
  daemon.stop = distribution_at(table, "stop");
  daemon.change_time = time_at(table, "change_time");
  daemon.weight = at<double>(table, "weight");
  return daemon;
}

void read_node(const nb::dict& table, Model* model) {
  model->nodes = at<uint32_t>(table, "nodes");
  model->detailed_nodes = at<uint32_t>(table, "detailed_nodes");
  model->scheduling.fair = at<bool>(table, "fair");
  model->scheduling.processors = at<uint32_t>(table, "processors");
  model->scheduling.quantum = time_at(table, "quantum");
  model->scheduling.period = time_at(table, "period");
  model->scheduling.granularity = time_at(table, "granularity");
  model->scheduling.context_switch = time_at(table, "context_switch");
  model->network_channels = at<uint32_t>(table, "network_channels");
  model->disk_channels = at<uint32_t>(table, "disk_channels");
  model->latency = time_at(table, "latency");
}

Model model_of(const nb::dict& tables) {
  Model model;
  read_node(at<nb::dict>(tables, "node"), &model);
  for (const nb::handle table : at<nb::list>(tables, "processes")) {
    model.classes.push_back(class_of(nb::cast<nb::dict>(table)));
  }
  const auto instrumentation = at<nb::dict>(tables, "instrumentation");
  model.instrumentation = {time_at(instrumentation, "sampling_period"),
                           at<double>(instrumentation, "records_per_request"),
                           distribution_at(instrumentation, "sample_cpu"),
                           time_at(instrumentation, "instrumentation_period")};
  model.daemon = daemon_of(at<nb::dict>(tables, "daemon"));
  const auto main = at<nb::dict>(tables, "main");
  model.main = {distribution_at(main, "cpu"), distribution_at(main, "cpu_per_sample"),
                distribution_at(main, "network")};
  return model;
}

nb::dict class_dict(const rocc::ClassStatistics& sums) {
  nb::dict dict;
  dict["own_cpu"] = sums.own_cpu.seconds();
  dict["writing_cpu"] = sums.writing_cpu.seconds();
  dict["blocked"] = sums.blocked.seconds();
  dict["response"] = sums.response.seconds();
  dict["completed"] = sums.completed;
  dict["missed"] = sums.missed;
  return dict;
}

nb::dict node_dict(const rocc::NodeStatistics& sums) {
  nb::dict dict;
  nb::list classes;
  for (const rocc::ClassStatistics& of_class : sums.classes) classes.append(class_dict(of_class));
  dict["classes"] = classes;
  dict["daemon_cpu"] = sums.daemon_cpu.seconds();
  dict["collected"] = sums.daemons.collected;
  dict["forwarded_samples"] = sums.daemons.forwarded_samples;
  dict["forwarded_messages"] = sums.daemons.forwarded_messages;
  dict["lost"] = sums.daemons.lost;
  dict["processors_busy"] = sums.processors_busy.seconds();
  dict["network_busy"] = sums.network_busy.seconds();
  dict["disk_busy"] = sums.disk_busy.seconds();
  dict["waiting"] = sums.waiting;
  dict["events"] = sums.events;
  return dict;
}

nb::dict main_dict(const rocc::MainQueue& main) {
  nb::dict dict;
  dict["cpu"] = main.cpu().seconds();
  dict["requested_cpu"] = main.requested_cpu().seconds();
  dict["requested_network"] = main.requested_network().seconds();
  dict["samples"] = main.received_samples();
  dict["messages"] = main.received_messages();
  dict["latency_mean"] = main.mean_latency_s();
  dict["latency_p99"] = main.latency_quantile_s(0.99);
  return dict;
}

// (statistics of each detailed node, statistics of the main process)
nb::tuple statistics(rocc::Simulation& simulation) {
  nb::list nodes;
  for (const rocc::NodeStatistics& node : simulation.nodes()) nodes.append(node_dict(node));
  return nb::make_tuple(nodes, main_dict(simulation.main()));
}

// A million values drawn cost some tens of milliseconds: for tests and figures.
std::vector<double> draw(nb::handle distribution, uint64_t seed, uint64_t source, size_t count) {
  const Distribution drawn = distribution_of(distribution);
  rocc::RandomStream random({seed, 0, 0, source});
  std::vector<double> values(count);
  for (double& value : values) value = drawn.draw(random).seconds();
  return values;
}

std::vector<uint64_t> random_words(uint64_t seed, uint32_t replication, uint32_t node,
                                   uint64_t source, size_t count) {
  rocc::RandomStream random({seed, replication, node, source});
  std::vector<uint64_t> words(count);
  for (uint64_t& word : words) word = random.next();
  return words;
}

}  // namespace

void register_rocc(nb::module_& module) {
  nb::class_<rocc::Simulation>(module, "OccupancySimulation", "One replication of a node model.")
      .def(
          "__init__",
          [](rocc::Simulation* self, const nb::dict& model, uint64_t seed, uint32_t replication,
             double warm_up_s, double end_s) {
            new (self)
                rocc::Simulation(model_of(model), seed, replication,
                                 SimTime::from_seconds(warm_up_s), SimTime::from_seconds(end_s));
          },
          "model"_a, "seed"_a, "replication"_a, "warm_up_s"_a, "end_s"_a)
      .def(
          "advance",
          [](rocc::Simulation& self, double until_s) {
            const nb::gil_scoped_release others;
            self.advance(SimTime::from_seconds(until_s));
          },
          "until_s"_a, "Simulates until then; other Python threads run meanwhile.")
      .def("statistics", &statistics);
  module.def("draw_lengths", &draw, "distribution"_a, "seed"_a, "source"_a, "count"_a);
  module.def("random_words", &random_words, "seed"_a, "replication"_a, "node"_a, "source"_a,
             "count"_a);
}

}  // namespace sesame::bindings
