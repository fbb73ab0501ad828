#include "core/sim/process_ranks.h"

#include <sched.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>

#include "core/base/processors.h"
#include "core/mpi/call_ids.h"
#include "core/remote/computing.h"
#include "core/remote/files.h"
#include "core/remote/idle_polling.h"
#include "core/remote/launch.h"
#include "core/remote/progress.h"
#include "core/remote/server.h"
#include "core/remote/shared_memory.h"
#include "core/remote/threads.h"
#include "core/sim/program_files.h"
#include "core/sim/program_output.h"

namespace sesame::abi {

// Handles are translated in the processes.
const void* handles_of_program(const mpi::Rank&) { return nullptr; }

}  // namespace sesame::abi

namespace sesame::sim {
namespace {

// How often a side looks for its turn before it sleeps, if the host has several processors: about
// 50 us, since to sleep and be woken takes 30 us (docs/decisions/0052-ranks-as-processes.md).
constexpr uint32_t kSpins = 1500;

std::vector<std::string> variables_in(const std::string& text) {
  std::vector<std::string> variables;
  for (size_t begin = 0; begin < text.size(); begin += variables.back().size() + 1)
    variables.emplace_back(text.c_str() + begin);
  return variables;
}

class Processes final : public ProcessRanks {
 public:
  Result<std::vector<Doorbell*>> make_bells(int workers) override;
  Result<> start(const ProcessStart& start, std::span<const ProcessRank> ranks) override;
  Result<> add(std::span<const ProcessRank> ranks) override;
  void remove_from(int rank) override;
  int run(mpi::Rank& rank) override;
  void finish() override;

 private:
  Result<> start_one(remote::Process& process, const ProcessRank& rank);
  remote::IdlePolling* poll_when_idle(const ProcessStart& start);
  uint32_t spins() const { return processors_ > 1 ? kSpins : 0; }

  std::vector<std::unique_ptr<remote::SlotsFile>> slots_;  // by worker, until it has started
  std::unique_ptr<remote::Launch> launch_;
  std::unique_ptr<remote::IdlePolling> idle_polling_;
  int processors_ = 1;  // for this simulator and its ranks
  int64_t epoch_ns_ = 0;
  uint64_t eager_limit_ = 0;
};

mpi::World* world = nullptr;

void report_signal(const mpi::Rank& rank, int number, const std::string& where) {
  rank.world.hooks.abort_job(128 + number, rank.name() + " ended by signal " +
                                               std::to_string(number) + " (" + strsignal(number) +
                                               ")" + where);
}

// The rank's fiber is in the call for ever: another thread of the process, or another process, has
// ended it.
void report_end_in_call(const remote::Process& process) {
  const mpi::Rank& rank = *world->ranks[static_cast<size_t>(process.rank)];
  const auto call = static_cast<mpi::CallId>(rank.main.call);
  const std::string where = std::string(" while it was in ") + mpi::call_name(call);
  if (WIFSIGNALED(process.status)) return report_signal(rank, WTERMSIG(process.status), where);
  const int status = WEXITSTATUS(process.status);
  world->hooks.abort_job(status == 0 ? 1 : status,
                         rank.name() + " ended with exit status " + std::to_string(status) + where);
}

// The rank's fiber has no turn while others compute.
void report_killed(const remote::Process& process) {
  report_signal(*world->ranks[static_cast<size_t>(process.rank)], WTERMSIG(process.status), "");
}

// After how long without a call of any rank a line says which ones compute.
Result<int64_t> longest_silence_ns() {
  constexpr double kUsualS = 10, kShortestS = 0.001, kLongestS = 1e9;
  const char* const text = getenv("SESAME_REPORT_SILENCE_S");
  if (text == nullptr) return static_cast<int64_t>(kUsualS * 1e9);
  char* end = nullptr;
  const double seconds = strtod(text, &end);
  if (end == text || *end != '\0' || !(seconds > 0))
    return error(std::string("SESAME_REPORT_SILENCE_S is '") + text +
                 "', expected seconds, or inf for no report");
  return static_cast<int64_t>(std::clamp(seconds, kShortestS, kLongestS) * 1e9);
}

// Prepares the slot, and starts the process.
Result<> Processes::start_one(remote::Process& process, const ProcessRank& rank) {
  remote::Slot& slot = process.main.slot;
  strncpy(slot.node_name, world->hooks.node_name(rank.node), sizeof slot.node_name - 1);
  slot.cores = rank.cores;
  slot.epoch_ns = epoch_ns_;
  slot.spins = spins();
  slot.may_defer = 1;
  slot.eager_limit = eager_limit_;
  slot.reserved_taken = remote::kReservedRequests;  // none is there yet
  slot.meter = world->meter;
  const mpi::ComputeOptions& compute = slot.meter.options();
  slot.target_time =
      compute.mode == mpi::ComputeMode::kMeasured ? compute.ratio * rank.slowdown : 0;
  remote::RankProgram program{rank.program.path, rank.launch.arguments, rank.launch.environment,
                              rank.launch.directory, rank.program.is_static};
  for (std::string& variable : variables_in(rank.own_variables))
    program.environment.push_back(std::move(variable));
  return launch_->start(process, program);
}

Result<std::vector<Doorbell*>> Processes::make_bells(int workers) {
  std::vector<Doorbell*> bells;
  for (int i = 0; i < workers; ++i) {
    auto file = remote::SlotsFile::create();
    if (!file) return std::unexpected(file.error());
    bells.push_back(&(*file)->head().bell);
    slots_.push_back(*std::move(file));
  }
  return bells;
}

// Not with several workers: each would count the computation of its own ranks only.
remote::IdlePolling* Processes::poll_when_idle(const ProcessStart& start) {
  cpu_set_t processors;
  const bool is_measured = start.world.meter.options().mode == mpi::ComputeMode::kMeasured;
  if (start.workers == 1 && processors_ > 1 && is_measured && remote::halts_lose_caches() &&
      sched_getaffinity(0, sizeof processors, &processors) == 0)
    idle_polling_ = std::make_unique<remote::IdlePolling>(processors);
  return idle_polling_.get();
}

Result<> Processes::start(const ProcessStart& start, std::span<const ProcessRank> ranks) {
  const Result<int64_t> silence_ns = longest_silence_ns();
  if (!silence_ns) return std::unexpected(silence_ns.error());
  if (slots_.empty())
    if (auto made = make_bells(1); !made) return std::unexpected(made.error());
  remote::LaunchOptions options;
  for (const ProcessRank& rank : ranks) options.ranks.push_back(rank.rank);
  options.slots = std::move(slots_[static_cast<size_t>(start.worker)]);
  options.libraries = std::filesystem::read_symlink("/proc/self/exe").parent_path();
  options.write_output = write_program_output;
  options.group = start.group;
  auto launch = remote::Launch::create(std::move(options));
  if (!launch) return std::unexpected(launch.error());
  launch_ = std::move(*launch);
  processors_ = std::max(usable_processors() / start.workers, 1);
  epoch_ns_ = start.epoch_ns;
  eager_limit_ = start.eager_limit;
  world = &start.world;
  remote::start_computing({launch_->slots().head(), spins(), static_cast<size_t>(processors_),
                           start.world.executive, report_end_in_call, launch_->killed(),
                           report_killed, *silence_ns});
  remote::start_progress(poll_when_idle(start));
  remote::start_serving({launch_->processes(), launch_->slots().head(), start.connected});
  remote::start_threads(
      {launch_->slots(), launch_->processes(), start.world, remote::serve_thread});
  remote::start_sharing();
  world->hooks.working_directory = [](const mpi::Rank&) {
    return remote::working_directory(remote::this_process());
  };
  remote::start_files(world->mounts == nullptr ? nullptr : &program_file_hooks(*world));
  for (const ProcessRank& rank : ranks)
    if (auto started = start_one(*launch_->processes().find(rank.rank), rank); !started)
      return started;
  return {};
}

Result<> Processes::add(std::span<const ProcessRank> ranks) {
  for (const ProcessRank& rank : ranks) {
    const Result<remote::Process*> process = launch_->add_rank();
    if (!process) return std::unexpected(process.error());
    if (auto started = start_one(**process, rank); !started) return started;
  }
  return {};
}

void Processes::remove_from(int rank) { launch_->remove_from(static_cast<size_t>(rank)); }

int Processes::run(mpi::Rank& rank) {
  remote::Process& process = *launch_->processes().find(rank.id);
  remote::serve_rank(process);
  if (!WIFSIGNALED(process.status)) return WEXITSTATUS(process.status);
  report_signal(rank, WTERMSIG(process.status), "");
  return 128 + WTERMSIG(process.status);
}

void Processes::finish() {
  remote::start_progress(nullptr);
  idle_polling_.reset();
  launch_->finish();
}

}  // namespace

std::unique_ptr<ProcessRanks> make_process_ranks() { return std::make_unique<Processes>(); }
void end_process_ranks() { remote::end_processes(); }

}  // namespace sesame::sim
