#include "core/sim/scenario.h"

#include <fcntl.h>

#include <fstream>
#include <limits>
#include <nlohmann/json.hpp>

#include "core/base/spelling.h"

namespace sesame::sim {
namespace {

using Json = nlohmann::json;

// A whole number between two limits. The conversions of the JSON library would truncate numbers
// that are not whole or too large.
Result<int64_t> number(const Json& json, const char* key, int64_t least, int64_t most) {
  const Json& value = json.at(key);
  const bool is_large = value.is_number_unsigned() && value.get<uint64_t>() > INT64_MAX;
  if (value.is_number_integer() && !is_large && value.get<int64_t>() >= least &&
      value.get<int64_t>() <= most)
    return value.get<int64_t>();
  return error(std::string("\"") + key + "\": expected a whole number from " +
               std::to_string(least) + " to " + std::to_string(most) + ", got " + value.dump());
}

constexpr int64_t kRankLimit = 1 << 24;
constexpr int64_t kLeastStack = 64 << 10;  // calls of the simulator run on it, too
constexpr int64_t kMostStack = int64_t{1} << 40;
constexpr int64_t kMostStacks = int64_t{1} << 46;  // half of the address space
constexpr int64_t kMostTogether = std::numeric_limits<int32_t>::max();
constexpr int64_t kMostFixedPs = int64_t{86'400} * 1'000'000'000'000;  // a day

Result<> read_numbers(const Json& json, Scenario* scenario) {
  const auto ranks = number(json, "ranks", 1, kRankLimit);
  if (!ranks) return std::unexpected(ranks.error());
  scenario->ranks = static_cast<int>(*ranks);
  if (json.contains("stack_size_bytes")) {
    const auto stack = number(json, "stack_size_bytes", kLeastStack, kMostStack);
    if (!stack) return std::unexpected(stack.error());
    scenario->stack_bytes = static_cast<uint64_t>(*stack);
  }
  if (*ranks * (static_cast<int64_t>(scenario->stack_bytes) >> 12) > kMostStacks >> 12)
    return error(
        std::to_string(*ranks) + " stacks of " + std::to_string(scenario->stack_bytes) +
            " bytes do not fit the address space",
        std::string("give ranks smaller stacks with ") + spelled("--stack-size", "stack_size="));
  if (json.contains("workers")) {
    const auto workers = number(json, "workers", 1, kRankLimit);
    if (!workers) return std::unexpected(workers.error());
    scenario->workers = static_cast<int>(*workers);
  }
  if (json.contains("seed")) {
    const Json& seed = json.at("seed");
    if (!seed.is_number_unsigned())
      return error("\"seed\": expected a whole number from 0 to 18446744073709551615, got " +
                   seed.dump());
    scenario->seed = seed.get<uint64_t>();
  }
  return {};
}

Result<mpi::ComputeMode> compute_mode(const std::string& name) {
  if (name == "measured") return mpi::ComputeMode::kMeasured;
  if (name == "none") return mpi::ComputeMode::kNone;
  if (name == "fixed") return mpi::ComputeMode::kFixed;
  if (name == "recorded") return mpi::ComputeMode::kRecorded;
  return error("unknown compute mode \"" + name + "\", expected measured, none, fixed or recorded");
}

void read_compute(const Json& json, Scenario* scenario, Result<>* outcome) {
  if (!json.contains("compute")) return;
  const Json& compute = json.at("compute");
  Result<mpi::ComputeMode> mode = compute_mode(compute.value("mode", "measured"));
  if (!mode) {
    *outcome = std::unexpected(mode.error());
    return;
  }
  scenario->compute = *mode;
  if (compute.contains("fixed_ps")) {
    const auto fixed = number(compute, "fixed_ps", 0, kMostFixedPs);
    if (!fixed) {
      *outcome = std::unexpected(fixed.error());
      return;
    }
    scenario->fixed_compute_ps = *fixed;
  }
  if (compute.contains("recorded") && compute.at("recorded").is_string()) {
    scenario->recorded_compute = compute.at("recorded");
  }
  if (compute.contains("together")) {
    const auto together = number(compute, "together", 1, kMostTogether);
    if (!together) {
      *outcome = std::unexpected(together.error());
      return;
    }
    scenario->together = static_cast<int>(*together);
  }
  if (compute.contains("save") && compute.at("save").is_string()) {
    scenario->saved_compute = compute.at("save");
  }
}

// Described as in the info.json of a data set.
Result<> read_tables(const Json& json, Scenario* scenario) {
  if (!json.contains("tables")) return {};
  for (const auto& [name, described] : json.at("tables").items()) {
    trace::parquet::Table& table = scenario->tables.emplace_back();
    table.name = name;
    table.meaning = described.at("meaning");
    table.complete = described.at("complete");
    for (const Json& field : described.at("fields")) {
      const std::string type_name = field.at("type");
      const auto type = trace::parquet::column_type(type_name);
      if (!type) return error("table " + name + ": there is no type " + type_name);
      table.columns.push_back({field.at("name"), *type, field.at("unit"), field.at("meaning")});
    }
  }
  return {};
}

// The sockets must not stay open in processes that ranks start.
Result<> read_hosts(const Json& json, Scenario* scenario) {
  if (!json.contains("hosts")) return {};
  const Json& described = json.at("hosts");
  HostScenario& hosts = scenario->hosts;
  hosts.names = described.at("names").get<std::vector<std::string>>();
  const auto here = number(described, "here", 0, hosts.count() - 1);
  if (!here) return std::unexpected(here.error());
  hosts.here = static_cast<int>(*here);
  hosts.descriptors = described.at("descriptors").get<std::vector<int>>();
  hosts.epoch_ns = described.at("epoch_ns");
  const int connections = hosts.here == 0 ? hosts.count() - 1 : 1;
  if (static_cast<int>(hosts.descriptors.size()) != connections)
    return error("\"descriptors\": expected " + std::to_string(connections));
  for (const int descriptor : hosts.descriptors) fcntl(descriptor, F_SETFD, FD_CLOEXEC);
  return {};
}

Result<> read_sources(const Json& json, Scenario* scenario) {
  static constexpr std::pair<const char*, Sources> kNames[] = {
      {"any", Sources::kAny},
      {"members", Sources::kMembers},
      {"tags", Sources::kTags},
      {"expected", Sources::kExpected},
  };
  const std::string given = json.value("sources", "any");
  scenario->expected_sources = json.value("expected_sources", "");
  for (const auto& [name, sources] : kNames) {
    if (given != name) continue;
    scenario->sources = sources;
    return {};
  }
  return error("there are no sources " + given, "there are any, members, tags and expected");
}

Result<Scenario> from_json(const Json& json) {
  if (json.value("settings", "options") == "arguments") spell_settings_as_arguments();
  Scenario scenario;
  scenario.program = json.at("program");
  scenario.arguments = json.value("arguments", scenario.arguments);
  scenario.machine = json.at("machine");
  scenario.overrides = json.value("overrides", scenario.overrides);
  scenario.placement = json.value("placement", scenario.placement);
  if (scenario.placement.starts_with("file:")) scenario.placement.erase(0, 5);
  scenario.output_directory = json.at("output_directory");
  scenario.raw = json.value("raw", false);
  scenario.label_output = json.value("label_output", false);
  scenario.program_stdout_to_stderr = json.value("program_stdout", "stdout") == "stderr";
  scenario.private_libraries = json.value("private_libraries", scenario.private_libraries);
  if (json.contains("environment")) {
    for (const auto& [name, value] : json.at("environment").items()) {
      scenario.environment.emplace_back(name, value.get<std::string>());
    }
  }
  if (json.contains("working_directory") && json.at("working_directory").is_string()) {
    scenario.working_directory = json.at("working_directory");
  }
  scenario.files_directory = json.value("files_directory", scenario.files_directory);
  scenario.discard_data = json.value("discard_data", false);
  if (json.contains("initial_files") && json.at("initial_files").is_object()) {
    scenario.initial_files.emplace();
    for (const auto& [path, bytes] : json.at("initial_files").items())
      scenario.initial_files->emplace_back(path, bytes.get<int64_t>());
  }
  scenario.may_be_processes = json.value("may_be_processes", false);
  scenario.traced_open_mpi = json.value("traced_open_mpi", false);
  if (json.contains("shuffle") && json.at("shuffle").is_number()) {
    scenario.shuffle = json.at("shuffle").get<uint64_t>();
  }
  scenario.protocol = json.value("protocol", scenario.protocol);
  scenario.quantum = SimTime::from_ps(json.value("quantum_ps", int64_t{0}));
  scenario.inexact = json.value("inexact", false);
  if (auto read = read_sources(json, &scenario); !read) return std::unexpected(read.error());
  scenario.confirm_receives = json.value("confirm_receives", false);
  scenario.progress_descriptor = json.value("progress_fd", -1);
  if (auto read = read_tables(json, &scenario); !read) return std::unexpected(read.error());
  if (auto read = read_hosts(json, &scenario); !read) return std::unexpected(read.error());
  Result<> outcome = read_numbers(json, &scenario);
  if (!outcome) return std::unexpected(outcome.error());
  read_compute(json, &scenario, &outcome);
  if (!outcome) return std::unexpected(outcome.error());
  return scenario;
}

}  // namespace

Result<Scenario> read_scenario(const std::string& path) {
  std::ifstream file(path);
  if (!file) return error_at(path, 0, "cannot read the scenario");
  try {
    Result<Scenario> scenario = from_json(Json::parse(file));
    if (!scenario && scenario.error().path.empty()) scenario.error().path = path;
    return scenario;
  } catch (const Json::exception& exception) {
    return error_at(path, 0, std::string("not a scenario: ") + exception.what());
  }
}

}  // namespace sesame::sim
