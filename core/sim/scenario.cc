#include "core/sim/scenario.h"

#include <fstream>
#include <nlohmann/json.hpp>

namespace sesame::sim {
namespace {

using Json = nlohmann::json;

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
  scenario->fixed_compute_ps = compute.value("fixed_ps", int64_t{0});
  if (compute.contains("recorded") && compute.at("recorded").is_string()) {
    scenario->recorded_compute = compute.at("recorded");
  }
  if (compute.contains("save") && compute.at("save").is_string()) {
    scenario->saved_compute = compute.at("save");
  }
}

Result<Scenario> from_json(const Json& json) {
  Scenario scenario;
  scenario.program = json.at("program");
  scenario.arguments = json.value("arguments", scenario.arguments);
  scenario.ranks = json.at("ranks");
  scenario.machine = json.at("machine");
  scenario.overrides = json.value("overrides", scenario.overrides);
  scenario.placement = json.value("placement", scenario.placement);
  if (scenario.placement.starts_with("file:")) scenario.placement.erase(0, 5);
  scenario.output_directory = json.at("output_directory");
  scenario.record = json.value("record", false);
  scenario.label_output = json.value("label_output", false);
  scenario.program_stdout_to_stderr = json.value("program_stdout", "stdout") == "stderr";
  scenario.stack_bytes = json.value("stack_size_bytes", scenario.stack_bytes);
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
  scenario.seed = json.value("seed", scenario.seed);
  scenario.progress_descriptor = json.value("progress_fd", -1);
  Result<> outcome;
  read_compute(json, &scenario, &outcome);
  if (!outcome) return std::unexpected(outcome.error());
  if (scenario.ranks < 1) {
    return error("the number of ranks must be at least 1, got " + std::to_string(scenario.ranks));
  }
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
