#include "core/sim/worker_protocol.h"

#include <array>
#include <string>
#include <utility>

#include "core/base/units.h"
#include "core/pdes/asynchronous.h"
#include "core/pdes/quantum.h"

namespace sesame::sim {
namespace {

constexpr std::pair<const char*, pdes::Announcements> kAsynchronous[] = {
    {"null", {.null_messages = true, .conditional_events = false}},
    {"conditional", {.null_messages = false, .conditional_events = true}},
    {"null+conditional", {.null_messages = true, .conditional_events = true}},
};

const pdes::Announcements* announcements_of(const std::string& protocol) {
  for (const auto& [name, announcements] : kAsynchronous)
    if (protocol == name) return &announcements;
  return nullptr;
}

}  // namespace

Result<> check_protocol(const Scenario& scenario, const network::Network& network) {
  const SimTime look_ahead = network.least_latency();
  if (scenario.protocol == "quantum") {
    if (scenario.quantum <= look_ahead || scenario.inexact) return {};
    return error("a quantum of " + format_duration(scenario.quantum) +
                     " gives wrong results: messages between nodes take " +
                     format_duration(look_ahead) + " or more",
                 "use a shorter one, or the key \"inexact\" of the scenario");
  }
  if (scenario.quantum > SimTime::zero())
    return error("the protocol " + scenario.protocol + " has no quantum");
  if (announcements_of(scenario.protocol) != nullptr) return {};
  return error("there is no protocol " + scenario.protocol,
               "there are quantum, null, conditional and null+conditional");
}

std::unique_ptr<pdes::Synchronizer> make_protocol(const Scenario& scenario,
                                                  const network::Network& network,
                                                  pdes::Worker& worker, pdes::Executive& executive,
                                                  pdes::Worker::Take take,
                                                  std::function<SimTime()> next_send) {
  const SimTime look_ahead = network.least_latency();
  const pdes::Announcements* announcements = announcements_of(scenario.protocol);
  if (announcements != nullptr) {
    auto protocol = std::make_unique<pdes::AsynchronousProtocol>(worker, executive, *announcements,
                                                                 look_ahead, std::move(take));
    if (announcements->null_messages) protocol->set_next_send(std::move(next_send));
    return protocol;
  }
  return std::make_unique<pdes::QuantumProtocol>(
      worker, executive, scenario.quantum > SimTime::zero() ? scenario.quantum : look_ahead,
      std::move(take));
}

}  // namespace sesame::sim
