#include "core/sim/worker_protocol.h"

#include <array>
#include <string>
#include <utility>

#include "core/base/spelling.h"
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

bool has_links(const machine::Machine& machine) {
  return machine.sharing.mode == machine::SharingMode::kLinks &&
         machine.topology.kind != machine::TopologyKind::kCrossbar;
}

// Where messages share cards, events at these cards wait for the protocol anyway.
Result<> check_sources(const Scenario& scenario, const machine::Machine& machine) {
  if (scenario.sources == Sources::kAny) return {};
  const std::string named = spelled("--sources", "sources");
  if (machine.sharing.mode != machine::SharingMode::kNone)
    return error(named + " is not for a network whose cards messages share",
                 "leave it out, or use network.sharing = \"none\"");
  if (scenario.sources == Sources::kExpected && scenario.hosts.are_several())
    return error(named + " with an earlier run is for workers on one host",
                 "use " + named + " tags, or leave it out");
  return {};
}

}  // namespace

bool has_null_messages(const Scenario& scenario) {
  const pdes::Announcements* announcements = announcements_of(scenario.protocol);
  return announcements != nullptr && announcements->null_messages;
}

SimTime quantum_of(const Scenario& scenario, SimTime look_ahead) {
  return scenario.quantum > SimTime::zero() ? scenario.quantum : look_ahead;
}

Result<> check_protocol(const Scenario& scenario, const machine::Machine& machine,
                        SimTime look_ahead) {
  if (auto checked = check_sources(scenario, machine); !checked) return checked;
  if (scenario.quantum < SimTime::zero()) return error("a quantum is a time of 0 or more");
  if (scenario.protocol == "quantum") {
    if (scenario.quantum <= look_ahead || scenario.inexact) return {};
    return error(
        "a quantum of " + format_duration(scenario.quantum) +
            " gives wrong results: what a rank does may have an effect on another worker after " +
            format_duration(look_ahead),
        "use a shorter one, or the key \"inexact\" of the scenario");
  }
  if (scenario.quantum > SimTime::zero())
    return error("the protocol " + scenario.protocol + " has no quantum");
  if (announcements_of(scenario.protocol) == nullptr)
    return error("there is no protocol " + scenario.protocol,
                 "there are quantum, null, conditional and null+conditional");
  if (scenario.hosts.are_several())
    return error("the protocol " + scenario.protocol + " is for workers on one host",
                 "use the protocol quantum");
  if (has_links(machine))
    return error(
        "the protocol " + scenario.protocol + " is not for a network whose links messages share",
        "use the protocol quantum");
  if (has_null_messages(scenario) && (machine.sharing.mode != machine::SharingMode::kNone ||
                                      machine.collective_tables.hardware_latency > SimTime::zero()))
    return error(
        "the protocol " + scenario.protocol +
            " is not for a network whose cards messages share, or that does collectives itself",
        "use the protocol quantum or conditional");
  return {};
}

std::unique_ptr<pdes::Synchronizer> make_protocol(const Scenario& scenario, SimTime look_ahead,
                                                  pdes::Worker& worker, pdes::Executive& executive,
                                                  pdes::Worker::Take take,
                                                  std::function<SimTime()> next_send) {
  const pdes::Announcements* announcements = announcements_of(scenario.protocol);
  if (announcements != nullptr) {
    auto protocol = std::make_unique<pdes::AsynchronousProtocol>(worker, executive, *announcements,
                                                                 look_ahead, std::move(take));
    if (announcements->null_messages) protocol->set_next_send(std::move(next_send));
    return protocol;
  }
  return std::make_unique<pdes::QuantumProtocol>(worker, executive,
                                                 quantum_of(scenario, look_ahead), std::move(take));
}

}  // namespace sesame::sim
