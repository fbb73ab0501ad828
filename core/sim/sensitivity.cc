#include "core/sim/sensitivity.h"

#ifndef SESAME_SENSITIVITY

namespace sesame::sim {

void prepare_sensitivity(int) {}
void add_sensitivity(const mpi::World&, nlohmann::json&) {}

}  // namespace sesame::sim

#else

#include <cxxabi.h>

#include <algorithm>
#include <cstdlib>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "core/loader/images.h"
#include "core/loader/load.h"
#include "core/mpi/call_ids.h"

namespace sesame::sim {
namespace {

using Json = nlohmann::json;

// Paths of ranks that exchange no messages share nothing: half a gigabyte of steps for all ranks.
constexpr uint32_t kMostSteps = 12 << 20;
constexpr uint32_t kMostStepsOfPath = 1 << 15;
constexpr uint32_t kLeastStepsOfPath = 1 << 8;

const char* name_of(PathKind kind) {
  switch (kind) {
    case PathKind::kComputation:
      return "computation";
    case PathKind::kCall:
      return "call";
    case PathKind::kMessage:
      return "message";
    case PathKind::kFile:
      return "file";
  }
  return "";
}

// The name of a function as its source has it; names that are not of C++ stay as they are.
std::string source_name(const char* symbol) {
  if (symbol == nullptr) return "";
  int status = 0;
  const std::unique_ptr<char, decltype(&std::free)> name(
      abi::__cxa_demangle(symbol, nullptr, nullptr, &status), &std::free);
  return name == nullptr ? symbol : name.get();
}

// Numbers the places of calls in programs and libraries: those of different ranks are one place.
class CallSiteTable {
 public:
  int number_of(const void* caller) {
    if (caller == nullptr) return -1;
    const loader::CopyLocation copy = loader::find_copy(caller);
    if (copy.image == nullptr) return -1;
    // The instruction before the return address is the call.
    const uint64_t address = reinterpret_cast<uint64_t>(caller) - copy.base - 1;
    const auto [known, is_new] =
        numbers_.try_emplace({copy.image, address}, static_cast<int>(numbers_.size()));
    if (is_new) {
      uint64_t offset = 0;
      const char* function = copy.image->file.nearest_function(address, &offset);
      described_.push_back({{"object", copy.image->file.path()},
                            {"address", address},
                            {"function", source_name(function)}});
    }
    return known->second;
  }
  Json described() { return std::move(described_); }

 private:
  std::map<std::pair<const loader::Image*, uint64_t>, int> numbers_;
  Json described_ = Json::array();
};

// The steps from the first to the last, as lists by field.
Json path_of(const PathStep* last) {
  std::vector<const PathStep*> steps;
  for (; last != nullptr; last = last->previous) steps.push_back(last);
  CallSiteTable places;
  Json path{{"rank", Json::array()},
            {"end_s", Json::array()},
            {"kind", Json::array()},
            {"call", Json::array()},
            {"place", Json::array()}};
  for (size_t i = steps.size(); i-- > 0;) {
    const PathStep& step = *steps[i];
    path["rank"].push_back(step.rank);
    path["end_s"].push_back(SimTime::from_ps(step.until_ps).seconds());
    path["kind"].push_back(name_of(step.kind));
    path["call"].push_back(step.call == 0 ? ""
                                          : mpi::call_name(static_cast<mpi::CallId>(step.call)));
    path["place"].push_back(places.number_of(step.caller));
  }
  path["places"] = places.described();
  return path;
}

// The factors that a parameter may have as far as the slope is known to hold; null: without limit.
Json range_of(float rise, float fall) {
  Json range = Json::array({nullptr, nullptr});
  if (fall < 0) range[0] = 1 + 1 / static_cast<double>(fall);
  if (rise > 0) range[1] = 1 + 1 / static_cast<double>(rise);
  return range;
}

const PathStep* last_step_of(const SimTime& time) {
  const Attribution* const attribution = time.shared();
  return attribution == nullptr ? nullptr : attribution->last_step();
}

}  // namespace

void prepare_sensitivity(int ranks) {
  Attribution::keep_steps(
      std::clamp(kMostSteps / static_cast<uint32_t>(ranks), kLeastStepsOfPath, kMostStepsOfPath));
}

void add_sensitivity(const mpi::World& world, Json& result) {
  SimTime end;
  for (const auto& rank : world.ranks) end = later(end, rank->main.now);
  const PathStep* const last = last_step_of(end);
  // Of ranks that end at the same time, the one that the path leads to.
  const auto last_rank = std::ranges::find_if(world.ranks, [&](const auto& rank) {
    return rank->main.now == end && last_step_of(rank->main.now) == last;
  });
  result["last_rank"] = (*last_rank)->id;
  Json& seconds = result["sensitivity_s"] = Json::object();
  Json& ranges = result["sensitivity_range"] = Json::object();
  result["critical_path"] = path_of(last);
  const Attribution* const attribution = end.shared();
  if (attribution == nullptr) return;
  const auto& names = Parameter::names();
  for (size_t i = 0; i < names.size(); ++i) {
    const auto [share_ps, rise, fall] = attribution->share_of(Parameter(static_cast<uint8_t>(i)));
    if (share_ps == 0 && rise == 0 && fall == 0) continue;
    seconds[names[i]] = share_ps * 1e-12;
    ranges[names[i]] = range_of(rise, fall);
  }
}

}  // namespace sesame::sim

#endif
