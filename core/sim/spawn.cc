// MPI_Comm_spawn: more ranks, of the same or of other programs, during the run.
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <numeric>

#include "core/base/spelling.h"
#include "core/machine/placement.h"
#include "core/sim/file_systems.h"
#include "core/sim/simulation.h"

namespace sesame::sim {
namespace {

using mpi::ProgramStart;

std::vector<std::string> split(const std::string& text, char separator) {
  std::vector<std::string> parts;
  for (size_t begin = 0; begin < text.size();) {
    const size_t end = std::min(text.find(separator, begin), text.size());
    if (end > begin) parts.push_back(text.substr(begin, end - begin));
    begin = end + 1;
  }
  return parts;
}

bool is_program(const std::string& path) {
  struct stat status;
  return stat(path.c_str(), &status) == 0 && S_ISREG(status.st_mode) &&
         access(path.c_str(), X_OK) == 0;
}

// The path of a command: searched in the directories of the keys `path` and `wdir`, and last in the
// run's working directory, as MPICH's launcher does. `is_usable` looks on PATH.
template <typename IsUsable>
std::string find_command(const ProgramStart& program, IsUsable&& is_usable) {
  const std::string& command = program.command;
  if (command.starts_with('/')) return command;
  const bool has_directory = command.find('/') != std::string::npos;
  std::vector<std::string> directories;
  if (!has_directory) directories = split(program.path, ':');
  if (!program.directory.empty()) directories.push_back(program.directory);
  for (const std::string& directory : directories) {
    if (is_program(directory + "/" + command)) return directory + "/" + command;
  }
  if (!has_directory && is_program(command) && !is_usable(command)) return "./" + command;
  return command;
}

}  // namespace

// The nodes that the key `host` names, as MPI_Get_processor_name does; other names are ignored
// with a warning.
std::vector<int> Simulation::named_nodes(const std::string& hosts) const {
  std::vector<int> nodes;
  for (const std::string& name : split(hosts, ',')) {
    const std::string prefix = machine_.name + "-";
    const bool is_node = name.starts_with(prefix) && name.size() > prefix.size() &&
                         name.find_first_not_of("0123456789", prefix.size()) == std::string::npos;
    const long node = is_node ? std::strtol(name.c_str() + prefix.size(), nullptr, 10) : -1;
    if (node >= 0 && node < machine_.nodes) {
      nodes.push_back(static_cast<int>(node));
    } else {
      std::fprintf(
          stderr, "sesame: MPI_Comm_spawn: %s has no node \"%s\", expected %s0 to %s%d: ignored\n",
          machine_.name.c_str(), name.c_str(), prefix.c_str(), prefix.c_str(), machine_.nodes - 1);
    }
  }
  std::ranges::sort(nodes);
  return nodes;
}

// How many ranks occupy each node at this time: one that has ended leaves its core.
std::vector<int> Simulation::occupied_cores(SimTime now) const {
  std::vector<int> taken(static_cast<size_t>(machine_.nodes), 0);
  for (const auto& rank : world_->ranks) {
    if (rank->main.ended && rank->main.now <= now) continue;
    ++taken[static_cast<size_t>(world_->network.node_of(rank->id))];
  }
  return taken;
}

// The nodes of all ranks to start, command after command; sets how many of each.
Result<std::vector<int>> Simulation::place_spawned(std::vector<ProgramStart>& programs,
                                                   SimTime now) const {
  std::vector<int> taken = occupied_cores(now);
  std::vector<int> nodes;
  for (ProgramStart& program : programs) {
    const std::vector<int> places = machine::place_more(
        machine_, program.allowed.front(), scenario_.placement, taken, named_nodes(program.host));
    const auto fits = std::ranges::find_if(
        program.allowed, [&](int count) { return static_cast<size_t>(count) <= places.size(); });
    if (fits == program.allowed.end()) {
      const int64_t occupied = std::accumulate(taken.begin(), taken.end(), int64_t{0});
      return error(std::to_string(program.allowed.back()) + " more ranks do not fit on " +
                       machine_.name + ": of its " + std::to_string(machine_.capacity()) +
                       " cores " + std::to_string(machine_.capacity() - occupied) + " are free" +
                       (program.host.empty()
                            ? ""
                            : ", those on " + program.host + ": " + std::to_string(places.size())),
                   std::string("spawn fewer, or enlarge the machine: nodes or node.cores, with ") +
                       spelled("--set", "settings=") +
                       "; with the info key soft fewer ranks will do");
    }
    program.started = *fits;
    for (int i = 0; i < *fits; ++i) {
      nodes.push_back(places[static_cast<size_t>(i)]);
      ++taken[static_cast<size_t>(nodes.back())];
    }
  }
  if (nodes.empty()) return error("there is no rank to start");
  return nodes;
}

Result<loader::ProgramImage*> Simulation::open_image(const std::string& command) {
  loader::InspectOptions options;
  options.private_libraries = scenario_.private_libraries;
  auto program = loader::inspect_program(command, options);
  if (!program) return std::unexpected(program.error());
  std::unique_ptr<loader::ProgramImage>& image = images_[program->path];
  if (image == nullptr) {
    auto opened = loader::ProgramImage::open(*program);
    if (!opened) return std::unexpected(opened.error());
    image = std::move(*opened);
  }
  if (auto same = check_interface(command, program->interface); !same)
    return std::unexpected(same.error());
  interface_ = program->interface;
  return image.get();
}

Result<> Simulation::check_interface(const std::string& command,
                                     loader::BinaryInterface interface) const {
  if (!interface_ || *interface_ == interface) return {};
  return error("\"" + command +
                   "\" is built for another MPI binary interface than the program that spawns it",
               "build both with the same MPI compiler");
}

void Simulation::add_launches(const std::vector<ProgramStart>& programs) {
  std::vector<StartedProgram> started;
  for (const ProgramStart& program : programs) {
    StartedProgram& one = started.emplace_back();
    one.arguments.push_back(program.command);
    one.arguments.insert(one.arguments.end(), program.arguments.begin(), program.arguments.end());
    one.ranks = program.started;
  }
  for (size_t i = 0; i < programs.size(); ++i) {
    loader::LaunchArguments& launch = launches_.emplace_back();
    launch.arguments = started[i].arguments;
    launch.environment = launches_.front().environment;
    add_open_mpi_variables(&launch, started, i);
    launch.directory = programs[i].directory;
  }
}

namespace {

// A program that cannot be copied may be one for processes.
std::unexpected<Error> refused_copy(const std::string& command, Error error) {
  if (!loader::reason_for_processes(command).empty())
    error.hint =
        std::string("run with ") + spelled("--ranks-as processes", "ranks_as=\"processes\"");
  return std::unexpected(std::move(error));
}

}  // namespace

Result<> Simulation::load_spawned(const std::vector<ProgramStart>& programs,
                                  const std::vector<int>& nodes, std::vector<Loaded>* copies) {
  const int ranks = static_cast<int>(nodes.size());
  const std::vector<RankPlace> places = places_of(nodes, occupied_cores(mpi::self().now));
  const size_t first = launches_.size() - programs.size();
  const auto is_usable = [](const std::string& command) {
    return loader::inspect_program(command).has_value();
  };
  for (size_t i = 0; i < programs.size(); ++i) {
    const ProgramStart& program = programs[i];
    const std::string command = find_command(program, is_usable);
    auto image = open_image(command);
    if (!image) return refused_copy(command, std::move(image.error()));
    const int stack_mappings = pdes::mappings_per_stack(pdes::available_guard());
    auto fit =
        loader::check_mapping_limit((*image)->program(), world_->size() + ranks, stack_mappings);
    if (!fit) return fit;
    for (int j = 0; j < program.started; ++j) {
      const int number = world_->size() + static_cast<int>(copies->size());
      auto process =
          (*image)->load(number, launches_[first + i], own_variables(places[copies->size()]));
      if (!process) return std::unexpected(process.error());
      auto stack = spawned_stacks_->take();
      if (!stack) return std::unexpected(stack.error());
      copies->push_back({std::move(*process), *stack, static_cast<int>(i)});
    }
  }
  return {};
}

namespace {

// Whether a command on PATH is meant, rather than a program of this name in the run's working
// directory: one that calls MPI, as with fibers, or may start one that does.
bool is_program_for_processes(const std::string& command) {
  const auto program = loader::inspect_for_processes(command);
  return program && (program->interface || !loader::reason_for_processes(command).empty());
}

}  // namespace

// The path of the command's program, if processes of it can be ranks of this run.
Result<loader::ProcessProgram> Simulation::find_process_program(const ProgramStart& start) const {
  const auto program = loader::inspect_for_processes(find_command(start, is_program_for_processes));
  if (!program) return std::unexpected(program.error());
  if (program->interface) {
    auto same = check_interface(start.command, *program->interface);
    if (!same) return std::unexpected(same.error());
  }
  std::error_code failure;  // without it, a directory that cannot be looked up is an exception
  if (!start.directory.empty() && !std::filesystem::is_directory(start.directory, failure))
    return error_at(start.directory, 0,
                    "cannot work in this directory: " +
                        (failure ? failure.message() : std::string("it is none")));
  return program;
}

// Ranks of a node share its cores evenly. `taken` counts them.
ProcessRank Simulation::process_rank(const loader::ProcessProgram& program,
                                     const loader::LaunchArguments& launch, const RankPlace& place,
                                     int node, const std::vector<int>& taken) const {
  const int cores = std::max(machine_.cores / taken[static_cast<size_t>(node)], 1);
  return {0, program, launch, own_variables(place), node, cores, slowdown_on(node, taken)};
}

Result<> Simulation::start_spawned_processes(const std::vector<ProgramStart>& programs,
                                             const std::vector<int>& nodes,
                                             std::vector<Loaded>* copies) {
  std::vector<int> taken = occupied_cores(mpi::self().now);
  const std::vector<RankPlace> places = places_of(nodes, taken);
  for (int node : nodes) ++taken[static_cast<size_t>(node)];
  const size_t first = launches_.size() - programs.size();
  std::vector<loader::ProcessProgram> found;
  for (const ProgramStart& start : programs) {
    auto program = find_process_program(start);
    if (!program) return std::unexpected(program.error());
    found.push_back(*std::move(program));
  }
  std::vector<ProcessRank> ranks;
  for (size_t i = 0; i < programs.size(); ++i) {
    for (int j = 0; j < programs[i].started; ++j) {
      const size_t number = ranks.size();
      ranks.push_back(
          process_rank(found[i], launches_[first + i], places[number], nodes[number], taken));
      auto stack = spawned_stacks_->take();
      if (!stack) return std::unexpected(stack.error());
      copies->push_back({nullptr, *stack, static_cast<int>(i)});
    }
  }
  return process_ranks_->add(ranks);
}

Result<> Simulation::spawn(std::vector<ProgramStart>& programs, int parent_port) {
  const loader::HostScope host;
  const size_t launches = launches_.size();
  std::vector<Loaded> copies;
  auto started = start_spawned(programs, parent_port, &copies);
  if (started) return started;
  if (process_ranks_ != nullptr) process_ranks_->remove_from(world_->size());
  for (Loaded& copy : copies) {
    copy.process.reset();
    spawned_stacks_->give_back(copy.stack);
  }
  launches_.resize(launches);
  return started;
}

Result<> Simulation::start_spawned(std::vector<ProgramStart>& programs, int parent_port,
                                   std::vector<Loaded>* copies) {
  const SimTime now = mpi::self().now;
  auto nodes = place_spawned(programs, now);
  if (!nodes) return std::unexpected(nodes.error());
  add_launches(programs);
  auto loaded = process_ranks_ != nullptr ? start_spawned_processes(programs, *nodes, copies)
                                          : load_spawned(programs, *nodes, copies);
  if (!loaded) return loaded;
  if (world_->mounts != nullptr) {
    auto extended = extend_file_systems(*world_->mounts, std::ranges::max(*nodes) + 1, scenario_,
                                        machine_, world_->network, world_->executive.events());
    if (!extended) return extended;
  }
  mpi::Job* job = world_->add_job(*nodes, now + machine_.spawn_time, parent_port);
  if (job == nullptr) return error("the run has too many ranks already");
  if (recording_ != nullptr) recording_->add_ranks(job->size);
  const std::vector<int> taken = occupied_cores(now);
  for (size_t i = 0; i < copies->size(); ++i) {
    Loaded& copy = (*copies)[i];
    mpi::Rank& rank = *world_->ranks[static_cast<size_t>(job->first_rank) + i];
    rank.application = copy.program;
    rank.program = programs[static_cast<size_t>(copy.program)].command;
    take_recorded_times(rank);
    measure_compute(rank);
    share_node(rank, taken);
    begin_rank(rank, std::move(copy.process), copy.stack);
    world_->executive.make_ready(rank.main);
  }
  return {};
}

}  // namespace sesame::sim
