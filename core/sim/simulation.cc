#include "core/sim/simulation.h"

#include <fcntl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <limits>

#include "core/abi/handles.h"
#include "core/mpi/calls/charge.h"
#include "core/mpi/calls/environment.h"
#include "core/network/traffic.h"
#include "core/sim/deadlock.h"
#include "core/sim/file_systems.h"
#include "core/sim/host_use.h"
#include "core/sim/polling.h"
#include "core/sim/program_files.h"
#include "core/sim/program_output.h"
#include "core/sim/recorded_compute.h"
#include "core/sim/sensitivity.h"

namespace sesame::sim {
namespace {

constexpr double kProgressIntervalSeconds = 0.2;
constexpr int kSampledRanks = 64;
// A rank's fiber where ranks are processes: it runs only the simulator's own code, though nested
// where functions that MPI called call MPI (remote::kMostCallbacks).
constexpr size_t kServingStackBytes = 1 << 20;
// Durations below ten readings of the clock are measured with an error of 10 % and more.
constexpr int64_t kShortReadings = 10;

// The real time at simulated time zero in runs that must be reproducible:
// 2000-01-01 00:00:00 UTC.
constexpr int64_t kFixedEpochNs = 946'684'800LL * 1'000'000'000LL;

Simulation* running = nullptr;

double monotonic_seconds() {
  timespec time{};
  clock_gettime(CLOCK_MONOTONIC, &time);
  return static_cast<double>(time.tv_sec) + 1e-9 * static_cast<double>(time.tv_nsec);
}

int64_t wall_epoch_ns() {
  timespec time{};
  clock_gettime(CLOCK_REALTIME, &time);
  return time.tv_sec * 1'000'000'000LL + time.tv_nsec;
}

void raise_descriptor_limit() {
  rlimit limit{};
  if (getrlimit(RLIMIT_NOFILE, &limit) != 0) return;
  limit.rlim_cur = limit.rlim_max;
  setrlimit(RLIMIT_NOFILE, &limit);
}

loader::RankProcess* process_of(const mpi::Rank& rank) {
  return static_cast<loader::RankProcess*>(rank.process);
}

}  // namespace

// Callbacks of the executive and the loader while ranks run.
struct Hooks {
  static void on_switch(pdes::Fiber* next) {
    loader::activate(next == nullptr ? nullptr
                                     : process_of(*static_cast<mpi::Strand*>(next)->rank));
  }

  static void run_rank(pdes::Fiber* fiber) {
    auto* strand = static_cast<mpi::Strand*>(fiber);
    mpi::resume_compute(*strand);
    loader::run_program(*process_of(*strand->rank));
  }

  static void run_process(pdes::Fiber* fiber) {
    mpi::Rank& rank = *static_cast<mpi::Strand*>(fiber)->rank;
    end_rank(running->process_ranks_->run(rank));
  }
  // The first process that uses MPI says which one.
  static void connected(const std::string& name) {
    using loader::BinaryInterface;
    for (const auto interface :
         {BinaryInterface::kMpich, BinaryInterface::kMpiStandard, BinaryInterface::kOpenMpi}) {
      if (name != loader::name_of(interface)) continue;
      if (running->parallel_ != nullptr)
        running->interface_ = running->parallel_->agree_on(interface);
      if (running->interface_ && *running->interface_ != interface) {
        abort_job(2, mpi::this_rank().name() + " uses another MPI (" + name +
                         ") than the rank before it (" + loader::name_of(*running->interface_) +
                         ")");
      }
      running->interface_ = interface;
    }
    running->mpi_was_used_ = true;
    running->choose_collectives();
  }

  static void exit_rank(int status) {
    mpi::Strand& strand = mpi::self();
    if (strand.call_depth == 0) mpi::charge_compute(strand, mpi::ComputeEnd::kExit);
    end_rank(status);
  }

  [[noreturn]] static void end_rank(int status) {
    mpi::Strand& strand = mpi::self();
    mpi::Rank& rank = *strand.rank;
    strand.now.pass({strand.rank_number, PathKind::kComputation});
    rank.main.ended = true;
    rank.exit_status = status;
    ++running->ended_ranks_;
    if (running->parallel_ != nullptr) running->parallel_->end_rank();
    rank.world.executive.finish([](pdes::Fiber*) {});
  }

  static void abort_job(int status, const std::string& why) {
    if (running->parallel_ != nullptr) running->parallel_->end_job(status, why);
    running->outcome_ = Outcome::kAborted;
    running->exit_status_ = status;
    running->outcome_text_ = why;
    if (pdes::current_fiber == nullptr) {
      std::fprintf(stderr, "sesame: %s\n", why.c_str());
      std::_Exit(status);
    }
    running->world_->executive.stop();
  }
  static void begin_again_as_processes() {
    if (running->parallel_ != nullptr) running->parallel_->begin_again();
    running->needs_processes_ = true;
    running->world_->executive.stop();
  }
  static void warn(const std::string& text) {
    const loader::HostScope host;
    std::fprintf(stderr, "sesame: warning: %s\n", text.c_str());
  }
  static void abort_from_program(int status, const char* why) { abort_job(status, why); }

  static SimTime cpu_time() {
    mpi::Strand& strand = mpi::self();
    mpi::read_clock();
    return strand.rank->computed;
  }
  static const void* program_variable(const mpi::Rank& rank, const char* name) {
    return loader::program_variable(*process_of(rank), name);
  }
  static const void* program_function(const mpi::Rank& rank, const char* name) {
    return loader::program_function(*process_of(rank), name);
  }
  static const void* private_variable(const mpi::Rank& rank, const char* name) {
    return loader::private_variable(*process_of(rank), name);
  }

  static const char* name_of_node(int node) {
    static std::string name;
    name = running->machine_.name + "-" + std::to_string(node);
    return name.c_str();
  }
  static Result<> spawn(std::vector<mpi::ProgramStart>& programs, int parent_port) {
    auto started = running->spawn(programs, parent_port);
    if (!started) {
      const loader::HostScope host;
      std::fprintf(stderr, "sesame: %s: %s: %s\n", mpi::this_rank().name().c_str(), current_call(),
                   started.error().to_string().c_str());
      return error("no rank could be started");
    }
    return {};
  }
  static const char* node_name() {
    const mpi::Rank& rank = mpi::this_rank();
    return name_of_node(rank.world.network.node_of(rank.id));
  }
  static const char* current_call() {
    const mpi::Strand& strand = mpi::self();
    return strand.call_depth > 0 ? mpi::call_name(static_cast<mpi::CallId>(strand.call)) : nullptr;
  }
  static void on_tick() {
    running->report_progress(false);
    if (running->parallel_ != nullptr && running->parallel_->is_stopped())
      running->world_->executive.stop();
    // The run is useless if it cannot be recorded: stop early; why is reported later.
    if (!running->can_record()) abort_job(2, "the run cannot be recorded");
  }
};

Simulation::Simulation(Scenario scenario, machine::Machine machine, network::Network network)
    : scenario_(std::move(scenario)),
      machine_(std::move(machine)),
      world_(std::make_unique<mpi::World>(std::move(network), scenario_.ranks)),
      process_ranks_(make_process_ranks()) {}

// The ranks' copies, stacks and objects end with the process: their destructors would run code of
// programs that have ended.
Simulation::~Simulation() = default;

Result<std::unique_ptr<Simulation>> Simulation::prepare(const Scenario& scenario) {
  const double begin = monotonic_seconds();
  raise_descriptor_limit();
  auto machine = machine::read_machine(scenario.machine, scenario.overrides);
  if (!machine) return std::unexpected(machine.error());
  auto network = network::Network::create(*machine, scenario.ranks, scenario.placement);
  if (!network) return std::unexpected(network.error());

  std::unique_ptr<Simulation> simulation(
      new Simulation(scenario, std::move(*machine), std::move(*network)));
  running = simulation.get();
  prepare_sensitivity(scenario.ranks);
  mpi::ComputeOptions compute;
  compute.mode = scenario.compute;
  compute.ratio = simulation->machine_.compute_ratio;
  compute.fixed =
      SimTime::from_ps(scenario.fixed_compute_ps).due_to(Parameter::of("fixed computation"));
  simulation->world_->meter.configure(compute);
  if (auto read = simulation->read_compute_times(); !read) return std::unexpected(read.error());
  const std::vector<int> taken = simulation->occupied_cores(SimTime::zero());
  for (auto& rank : simulation->world_->ranks) {
    simulation->measure_compute(*rank);
    simulation->share_node(*rank, taken);
  }

  simulation->world_->share_network(simulation->machine_);
  auto mounted = make_file_systems(scenario, simulation->machine_, *simulation->world_);
  if (!mounted) return std::unexpected(mounted.error());
  if (const auto& storage = simulation->machine_.storage) {
    simulation->world_->collective_io = storage->collective;
  }

  if (scenario.workers > 1) {
    auto checked = check_workers(scenario, simulation->machine_, *simulation->world_);
    if (!checked) return std::unexpected(checked.error());
  }
  if (auto started = simulation->start_recording(); !started) {
    return std::unexpected(started.error());
  }
  if (scenario.shuffle) simulation->world_->executive.shuffle(*scenario.shuffle);
  simulation->set_hooks();
  if (auto loaded = simulation->load_ranks(); !loaded) {
    if (simulation->is_worker()) simulation->parallel_->fail(loaded.error());
    return std::unexpected(loaded.error());
  }
  simulation->startup_seconds_ = monotonic_seconds() - begin;
  if (simulation->is_worker()) simulation->parallel_->set_startup(simulation->startup_seconds_);
  return simulation;
}

Result<> Simulation::start_recording() {
  if (scenario_.tables.empty()) return {};
  auto tables = RecordTables::open(scenario_.tables, scenario_.output_directory, scenario_.ranks);
  if (!tables) return std::unexpected(tables.error());
  std::unique_ptr<RawStreams> raw;
  if (scenario_.raw) {
    auto opened =
        RawStreams::open(scenario_.output_directory + "/raw", scenario_.ranks, machine_.name);
    if (!opened) return std::unexpected(opened.error());
    raw = std::move(*opened);
  }
  recording_ = std::make_unique<Recording>(std::move(*tables), std::move(raw), world_->network);
  world_->recorder = recording_.get();
  if (world_->traffic != nullptr) world_->traffic->keep_history();
  return {};
}

Result<> Simulation::read_compute_times() {
  if (scenario_.compute != mpi::ComputeMode::kRecorded) return {};
  auto durations = read_recorded_compute(scenario_.recorded_compute, scenario_.ranks);
  if (!durations) return std::unexpected(durations.error());
  recorded_times_ = std::move(*durations);
  for (auto& rank : world_->ranks) take_recorded_times(*rank);
  return {};
}

// A rank that is not in the earlier run has no computation.
void Simulation::take_recorded_times(mpi::Rank& rank) {
  const auto number = static_cast<size_t>(rank.id);
  if (number >= recorded_times_.size()) return;
  mpi::RecordedCompute& recorded = rank.recorded;
  recorded.durations_ps = std::move(recorded_times_[number]);
  recorded.after_calls_ps = recorded.durations_ps.back();
  recorded.durations_ps.pop_back();
}

// All ranks keep their times if they are to be saved. The spread of samples is estimated from at
// most kSampledRanks ranks, evenly chosen, which bounds memory and time in large runs.
void Simulation::measure_compute(mpi::Rank& rank) const {
  if (scenario_.compute != mpi::ComputeMode::kMeasured) return;
  const bool keeps_times = !scenario_.saved_compute.empty();
  const SimTime short_limit = world_->meter.reading() * kShortReadings;
  const int stride = (scenario_.ranks + kSampledRanks - 1) / kSampledRanks;
  const bool samples_regions = rank.id % stride == 0;
  if (!keeps_times && !samples_regions) return;
  rank.measured = std::make_unique<mpi::MeasuredCompute>(keeps_times, samples_regions, short_limit);
}

size_t Simulation::deepest_stack() const {
  const bool is_known = process_ranks_ == nullptr && parallel_ == nullptr && stacks_ != nullptr;
  return is_known ? stacks_->deepest_use() : 0;
}

int64_t Simulation::epoch_ns() const {
  if (scenario_.hosts.are_several() && scenario_.compute == mpi::ComputeMode::kMeasured)
    return scenario_.hosts.epoch_ns;
  return scenario_.compute == mpi::ComputeMode::kMeasured ? wall_epoch_ns() : kFixedEpochNs;
}

void Simulation::set_hooks() {
  if (process_ranks_ == nullptr) world_->executive.set_switch_hook(Hooks::on_switch);
  world_->executive.set_tick_hook(Hooks::on_tick);
  world_->hooks.abort_job = Hooks::abort_job;
  world_->hooks.node_name = Hooks::name_of_node;
  world_->hooks.spawn = Hooks::spawn;
  world_->hooks.program_variable = Hooks::program_variable;
  world_->hooks.program_function = Hooks::program_function;
  world_->hooks.private_variable = Hooks::private_variable;
  world_->universe_size =
      static_cast<int>(std::min<int64_t>(machine_.capacity(), std::numeric_limits<int>::max()));
  world_->hooks.warn = Hooks::warn;

  loader::SimulationHooks hooks;
  hooks.now_ps = [] { return mpi::read_clock().ps(); };
  hooks.cpu_time_ps = [] { return Hooks::cpu_time().ps(); };
  hooks.skip_host_time = [] { mpi::resume_compute(mpi::self()); };
  hooks.may_cancel = [] { mpi::this_rank().matching.allow_cancels(); };
  hooks.sleep_ns = [](int64_t ns) { mpi::sleep_for(SimTime::from_ns(ns)); };
  hooks.exit_rank = Hooks::exit_rank;
  hooks.abort_job = Hooks::abort_from_program;
  hooks.node_name = Hooks::node_name;
  hooks.write_output = write_program_output;
  hooks.current_call = Hooks::current_call;
  if (world_->mounts != nullptr) hooks.files = &program_file_hooks(*world_);
  hooks.epoch_ns = epoch_ns();
  loader::set_hooks(hooks);
  configure_program_output(scenario_.label_output, scenario_.program_stdout_to_stderr);
  loader::install_crash_reporter();
}

// `process`: null where ranks are processes.
void Simulation::begin_rank(mpi::Rank& rank, loader::RankProcessPtr process, pdes::Stack stack) {
  if (process_ranks_ != nullptr) return rank.main.prepare(stack, Hooks::run_process);
  loader::set_stack(*process, stack.base, stack.size_bytes, pdes::StackPool::kGuardBytes);
  rank.process = process.get();
  rank.tables.address = loader::program_address(*process);
  rank.loaded_program = loader::loaded_program(*process);
  if (loader::may_cancel(*process)) rank.matching.allow_cancels();
  rank.tables.handles = abi::handles_of_program(rank);
  for (const void* place : loader::often_used(*process)) rank.main.always_prefetch(place);
  processes_.push_back(std::move(process));
  rank.main.prepare(stack, Hooks::run_rank);
}

// REQUIRES: the program is open.
void Simulation::choose_collectives() {
  using machine::CollectiveRules;
  const bool has_open_mpi =
      scenario_.traced_open_mpi || interface_ == loader::BinaryInterface::kOpenMpi;
  world_->collective_tables = machine_.collective_tables;
  world_->open_mpi_collectives =
      machine_.collectives == CollectiveRules::kOpenMpi ||
      (machine_.collectives == CollectiveRules::kProgram && has_open_mpi);
}

Result<> Simulation::start_processes() {
  const auto program = loader::inspect_for_processes(scenario_.program);
  if (!program) return std::unexpected(program.error());
  interface_ = program->interface;
  choose_collectives();
  if (auto entered = enter_working_directory(); !entered) return entered;
  if (auto started = start_workers(); !started) return started;
  if (parallel_ != nullptr && parallel_->is_supervisor()) return {};
  stacks_ = std::make_unique<pdes::StackPool>(kServingStackBytes, count_ranks_here());
  spawned_stacks_ = std::make_unique<pdes::StackPool>(kServingStackBytes, 1);
  const loader::LaunchArguments& launch = make_launch();
  const std::vector<RankPlace> places = first_places();
  const std::vector<int> taken = occupied_cores(SimTime::zero());
  std::vector<ProcessRank> ranks;
  for (auto& rank : world_->ranks) {
    if (!simulates(*rank)) continue;
    ranks.push_back(process_rank(*program, launch, places[static_cast<size_t>(rank->id)],
                                 world_->network.node_of(rank->id), taken));
    ranks.back().rank = rank->id;
    auto stack = stacks_->take();
    if (!stack) return std::unexpected(stack.error());
    begin_rank(*rank, nullptr, *stack);
  }
  const uint64_t eager = std::min(machine_.network.eager_limit, machine_.intranode.eager_limit);
  ProcessStart start{Hooks::connected, *world_, epoch_ns(), eager};
  if (parallel_ != nullptr) {
    start.worker = parallel_->number();
    start.workers = parallel_->workers();
    start.group = parallel_->rank_processes();
  }
  return process_ranks_->start(start, ranks);
}

Result<> Simulation::start_workers() {
  if (scenario_.workers == 1) return {};
  std::vector<Doorbell*> bells;
  if (process_ranks_ != nullptr) {
    auto made = process_ranks_->make_bells(scenario_.workers);
    if (!made) return std::unexpected(made.error());
    bells = *std::move(made);
  }
  auto forked = ParallelRun::fork(scenario_, *world_, bells);
  if (!forked) return std::unexpected(forked.error());
  parallel_ = *std::move(forked);
  if (!parallel_->is_supervisor()) parallel_->join(scenario_);
  return {};
}

size_t Simulation::count_ranks_here() const {
  const auto here = std::ranges::count_if(world_->ranks, [&](auto& r) { return simulates(*r); });
  return static_cast<size_t>(here);
}

Result<> Simulation::enter_working_directory() const {
  if (scenario_.working_directory.empty() || chdir(scenario_.working_directory.c_str()) == 0)
    return {};
  return error_at(scenario_.working_directory, 0,
                  std::string("cannot work in this directory: ") + std::strerror(errno));
}

Result<> Simulation::load_ranks() {
  if (process_ranks_ != nullptr) return start_processes();
  auto image = open_image(scenario_.program);
  if (!image) return std::unexpected(image.error());
  if (auto fit = check_mappings((*image)->program(), scenario_, machine_, *world_); !fit)
    return fit;
  if (scenario_.may_be_processes && !scenario_.hosts.are_several())
    world_->hooks.begin_again_as_processes = Hooks::begin_again_as_processes;
  choose_collectives();
  if (auto entered = enter_working_directory(); !entered) return entered;
  const loader::LaunchArguments& launch = make_launch();
  const std::vector<RankPlace> places = first_places();
  if (auto started = start_workers(); !started) return started;
  // Not for ranks of other workers: the guard of each stack needs a page table, or two mappings.
  stacks_ = std::make_unique<pdes::StackPool>(scenario_.stack_bytes, count_ranks_here());
  spawned_stacks_ = std::make_unique<pdes::StackPool>(scenario_.stack_bytes, 1);
  for (auto& rank : world_->ranks) {
    if (!simulates(*rank)) continue;
    const RankPlace& place = places[static_cast<size_t>(rank->id)];
    auto process = (*image)->load(rank->id, launch, own_variables(place));
    if (!process) return std::unexpected(process.error());
    auto stack = stacks_->take();
    if (!stack) return std::unexpected(stack.error());
    begin_rank(*rank, std::move(*process), *stack);
  }
  return {};
}

bool Simulation::simulates(const mpi::Rank& rank) const {
  return parallel_ == nullptr || parallel_->has(rank.id);
}

bool Simulation::can_record() const {
  if (parallel_ != nullptr) return parallel_->can_record();
  return recording_ == nullptr || !recording_->failure();
}

// Runs the ranks until nothing is left to do. A worker ends here.
Result<> Simulation::simulate_ranks() {
  if (parallel_ != nullptr && parallel_->is_supervisor()) return supervise();
  for (auto& rank : world_->ranks)
    if (simulates(*rank)) world_->executive.make_ready(rank->main);
  {
    std::optional<PollingWatch> watch;
    if (process_ranks_ == nullptr) watch.emplace(*world_);
    world_->executive.run();
  }
  if (process_ranks_ != nullptr) process_ranks_->finish();
  loader::activate(nullptr);
  flush_program_output();
  if (parallel_ != nullptr) parallel_->leave();
  return {};
}

Result<> Simulation::supervise() {
  auto verdict = parallel_->supervise([this](const RunProgress& all) { show_progress(all); });
  if (!verdict) return std::unexpected(verdict.error());
  needs_processes_ = parallel_->begins_again();
  if (needs_processes_) return {};
  if (const auto used = parallel_->used_interface()) {
    interface_ = used;
    mpi_was_used_ = true;
    choose_collectives();
  }
  if (*verdict) {
    outcome_ = Outcome::kAborted;
    exit_status_ = (*verdict)->status;
    outcome_text_ = (*verdict)->text;
  }
  if (auto taken = parallel_->take_in(recording_.get()); !taken) return taken;
  ended_ranks_ = static_cast<int>(
      std::ranges::count_if(world_->ranks, [](const auto& rank) { return rank->main.ended; }));
  return {};
}

Result<int> Simulation::run() {
  begin_seconds_ = monotonic_seconds();
  if (is_worker()) parallel_->set_begin(begin_seconds_);
  if (auto simulated = simulate_ranks(); !simulated) return std::unexpected(simulated.error());
  if (needs_processes_) return 0;
  const double end_seconds = monotonic_seconds();
  if (parallel_ != nullptr) begin_seconds_ = parallel_->begin_seconds().value_or(begin_seconds_);
  wall_seconds_ = end_seconds - begin_seconds_;
  determine_outcome();
  if (auto used = check_that_mpi_was_used(); !used) return std::unexpected(used.error());
  report_progress(true);
  // Before the tables are written: the temporary file that they are read from is mapped.
  peak_memory_bytes_ = host_use().peak_memory_bytes;
  if (parallel_ != nullptr) peak_memory_bytes_ += parallel_->totals().host.peak_memory_bytes;
  if (recording_ != nullptr) {
    if (auto closed = recording_->close(); !closed) return std::unexpected(closed.error());
  }
  if (!scenario_.saved_compute.empty() && scenario_.compute == mpi::ComputeMode::kMeasured) {
    auto saved = write_recorded_compute(*world_, scenario_.saved_compute);
    if (!saved) return std::unexpected(saved.error());
  }
  return exit_status_;
}

// Sets the outcome and exit status of the job, unless a rank has aborted it. A rank that exits with
// a non-zero status fails the job with it, as under mpiexec, even when other ranks still wait for
// it.
void Simulation::determine_outcome() {
  const auto conclude = [this](Outcome outcome, int status, std::string text) {
    outcome_ = outcome;
    exit_status_ = status;
    outcome_text_ = std::move(text);
  };
  const std::string failure =
      parallel_ != nullptr ? parallel_->totals().storage_failure : storage_failure(*world_);
  if (!failure.empty()) return conclude(Outcome::kFailed, 2, failure);
  if (outcome_ == Outcome::kAborted) return;
  std::string deadlock;
  if (ended_ranks_ < world_->size())
    deadlock = explain_deadlock(
        *world_, parallel_ != nullptr ? parallel_->totals().blocked : find_blocked(*world_));
  for (const auto& rank : world_->ranks) {
    if (rank->exit_status == 0) continue;
    return conclude(Outcome::kFailed, rank->exit_status,
                    rank->name() + " ended with exit status " + std::to_string(rank->exit_status) +
                        (deadlock.empty() ? "" : "\n" + deadlock));
  }
  if (!deadlock.empty()) return conclude(Outcome::kDeadlock, 1, deadlock);
  for (const auto& rank : world_->ranks) {
    if (!rank->initialized || rank->finalized) continue;
    return conclude(Outcome::kFailed, 1, rank->name() + " ended without calling MPI_Finalize");
  }
}

Result<> Simulation::check_that_mpi_was_used() const {
  if (process_ranks_ == nullptr || mpi_was_used_ || outcome_ != Outcome::kCompleted) return {};
  return error(
      "'" + scenario_.program + "' is not an MPI program: none of its processes loaded MPI",
      "name a program that does");
}

RunProgress Simulation::progress() const {
  RunProgress progress{SimTime::zero(), world_->messages, ended_ranks_};
  for (const auto& rank : world_->ranks) progress.latest = later(progress.latest, rank->main.now);
  return progress;
}

void Simulation::report_progress(bool always) {
  if (scenario_.progress_descriptor < 0) return;
  const loader::HostScope host;
  const double now = monotonic_seconds();
  if (!always && now - last_progress_seconds_ < kProgressIntervalSeconds) return;
  last_progress_seconds_ = now;
  if (is_worker()) {
    parallel_->set_progress(progress());
  } else {
    show_progress(progress());
  }
}

void Simulation::show_progress(const RunProgress& progress) {
  if (scenario_.progress_descriptor < 0) return;
  const double now = monotonic_seconds();
  const double begin =
      parallel_ != nullptr ? parallel_->begin_seconds().value_or(now) : begin_seconds_;
  char line[256];
  const int length =
      std::snprintf(line, sizeof line,
                    "{\"simulated_time_s\": %.9g, \"messages\": %llu, \"ranks_finished\": %d, "
                    "\"ranks\": %d, \"wall_time_s\": %.3f}\n",
                    progress.latest.seconds(), static_cast<unsigned long long>(progress.messages),
                    progress.ended_ranks, world_->size(), now - begin);
  if (write(scenario_.progress_descriptor, line, static_cast<size_t>(length)) < 0) {
    scenario_.progress_descriptor = -1;  // the reader has closed it
  }
}

}  // namespace sesame::sim
