// The names and values are those of Open MPI 4.1.4: setup_fork() and setup_child() in
// orte/mca/schizo/ompi/schizo_ompi.c, create_app() in orte/orted/orted_submit.c. Variables for the
// library itself (OMPI_MCA_…, PMIX_…) are left out.
#include "core/sim/open_mpi_environment.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <map>

namespace sesame::sim {
namespace {

constexpr const char* kNames[] = {
    "OMPI_APP_CTX_NUM_PROCS",
    "OMPI_ARGV",
    "OMPI_COMMAND",
    "OMPI_COMM_WORLD_LOCAL_RANK",
    "OMPI_COMM_WORLD_LOCAL_SIZE",
    "OMPI_COMM_WORLD_NODE_RANK",
    "OMPI_COMM_WORLD_RANK",
    "OMPI_COMM_WORLD_SIZE",
    "OMPI_FILE_LOCATION",
    "OMPI_FIRST_RANKS",
    "OMPI_NUM_APP_CTX",
    "OMPI_UNIVERSE_SIZE",
};

std::string entry(const char* name, const std::string& value) {
  return std::string(name) + "=" + value;
}
std::string entry(const char* name, int64_t value) { return entry(name, std::to_string(value)); }

std::string joined(const std::vector<std::string>& words, size_t first) {
  std::string text;
  for (size_t i = first; i < words.size(); ++i) text += (i > first ? " " : "") + words[i];
  return text;
}

}  // namespace

std::vector<std::string> open_mpi_variables(std::span<const StartedProgram> programs,
                                            size_t program, int universe_size) {
  std::vector<std::string> first_ranks;
  std::vector<std::string> ranks;
  int total = 0;
  for (const StartedProgram& one : programs) {
    first_ranks.push_back(std::to_string(total));
    ranks.push_back(std::to_string(one.ranks));
    total += one.ranks;
  }
  const std::vector<std::string>& arguments = programs[program].arguments;
  std::vector<std::string> variables = {
      entry("OMPI_COMM_WORLD_SIZE", total),
      entry("OMPI_UNIVERSE_SIZE", universe_size),
      entry("OMPI_NUM_APP_CTX", static_cast<int64_t>(programs.size())),
      entry("OMPI_FIRST_RANKS", joined(first_ranks, 0)),
      entry("OMPI_APP_CTX_NUM_PROCS", joined(ranks, 0)),
      entry("OMPI_COMMAND", arguments.front()),
  };
  if (arguments.size() > 1) variables.push_back(entry("OMPI_ARGV", joined(arguments, 1)));
  return variables;
}

// One text: with thousands of ranks, a text for each variable made the start noticeably slower.
std::string open_mpi_variables(const RankPlace& place) {
  std::string text;
  const auto add = [&text](const char* name, int value) {
    std::array<char, 16> digits;
    const auto end = std::to_chars(digits.data(), digits.data() + digits.size(), value).ptr;
    text.append(name).append(1, '=').append(digits.data(), end).append(1, '\0');
  };
  text.reserve(160);
  add("OMPI_COMM_WORLD_RANK", place.rank);
  add("OMPI_COMM_WORLD_LOCAL_RANK", place.local_rank);
  add("OMPI_COMM_WORLD_LOCAL_SIZE", place.local_size);
  add("OMPI_COMM_WORLD_NODE_RANK", place.node_rank);
  return text;
}

std::vector<RankPlace> places_of(std::span<const int> nodes, std::span<const int> taken) {
  std::map<int, int> sizes;
  std::vector<RankPlace> places;
  for (const int node : nodes) {
    const int local = sizes[node]++;
    const auto number = static_cast<size_t>(node);
    const int before = number < taken.size() ? taken[number] : 0;
    places.push_back({static_cast<int>(places.size()), local, 0, before + local});
  }
  for (size_t i = 0; i < places.size(); ++i) places[i].local_size = sizes[nodes[i]];
  return places;
}

bool is_open_mpi_variable(const std::string& entry) {
  return std::ranges::any_of(
      kNames, [&](const char* name) { return entry.starts_with(std::string(name) + "="); });
}

}  // namespace sesame::sim
