#include "core/sim/parallel_run.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <utility>

#include "core/base/check.h"
#include "core/base/process_group.h"
#include "core/base/spelling.h"
#include "core/loader/loader.h"
#include "core/mpi/collectives/hardware.h"
#include "core/mpi/io/shared_files.h"
#include "core/mpi/rma/remote_target.h"
#include "core/pdes/fiber.h"
#include "core/sim/expected_sources.h"
#include "core/sim/rank_division.h"
#include "core/sim/recording.h"
#include "core/sim/worker_protocol.h"

namespace sesame::sim {
namespace {

constexpr int kInterrupted = 130;  // the exit status (main.cc)
constexpr timespec kProgressInterval{0, 200'000'000};

int64_t monotonic_ns() {
  timespec now{};
  loader::host_clock_gettime(CLOCK_MONOTONIC, &now);
  return now.tv_sec * 1'000'000'000LL + now.tv_nsec;
}

const char* one_worker() { return spelled("--workers 1", "workers=1"); }

// How many nodes that follow each other stay together.
int nodes_together(const mpi::World& world) {
  return world.traffic != nullptr ? world.traffic->nodes_choosing_together() : 1;
}

std::vector<int> divide(const mpi::World& world, int workers) {
  std::vector<int> wholes;
  for (int rank = 0; rank < world.size(); ++rank)
    wholes.push_back(world.network.node_of(rank) / nodes_together(world));
  return divide_ranks(wholes, workers);
}

// A file without a name in this directory; null with errno if there can be none.
std::FILE* unnamed_file(const std::string& directory) {
  std::string name = directory + "/worker-XXXXXX";
  const int descriptor = mkostemp(name.data(), O_CLOEXEC);
  if (descriptor < 0) return nullptr;
  unlink(name.c_str());
  return fdopen(descriptor, "w+b");
}

// In memory, so that a worker can say also that the disk is full.
std::FILE* memory_file() {
  const int descriptor = memfd_create("state of a worker", MFD_CLOEXEC);
  return descriptor < 0 ? nullptr : fdopen(descriptor, "w+b");
}

std::string contents(std::FILE* file) {
  std::string text;
  char part[1 << 16];
  std::rewind(file);
  for (size_t got; (got = std::fread(part, 1, sizeof part, file)) > 0;) text.append(part, got);
  return text;
}

// In the supervisor, for end_all_workers(); null elsewhere.
SharedRun* supervised = nullptr;

// Ends what is left of a worker's ranks, whose worker has ended: also what they have started.
void end_ranks(SharedRun::OfWorker& worker) { end_process_group(worker.rank_processes); }

SimTime look_ahead_of(const mpi::World& world) {
  const SimTime shortest = world.network.least_latency();
  const SimTime messages =
      world.traffic != nullptr ? world.traffic->least_step(shortest) : shortest;
  const SimTime collectives = world.collective_tables.hardware_latency;
  return collectives > SimTime::zero() ? std::min(messages, collectives) : messages;
}

}  // namespace

Result<> check_workers(const Scenario& scenario, const machine::Machine& machine,
                       const mpi::World& world) {
  if (sizeof(SimTime) > sizeof(int64_t))
    return error("a run that calculates sensitivities is not simulated with several workers yet",
                 std::string("use ") + one_worker());
  const std::string asked = std::to_string(scenario.workers) + " workers: ";
  if (scenario.workers > pdes::kMostWorkers)
    return error(asked + "expected at most " + std::to_string(pdes::kMostWorkers));
  if (divide(world, scenario.workers).empty()) {
    const std::string wholes = nodes_together(world) == 1 ? "nodes" : "groups of the dragonfly";
    return error(
        asked + "each simulates whole " + wholes + ", and the ranks are on fewer " + wholes,
        std::string("use fewer workers, or ") +
            spelled("--placement cyclic", "placement='cyclic'") + ", which uses more nodes");
  }
  if (world.network.least_latency() <= SimTime::zero())
    return error(asked + "they need a latency between nodes, and this machine has none",
                 std::string("use ") + one_worker());
  if (look_ahead_of(world) <= SimTime::zero())
    return error(asked + "links that messages share need a latency of a hop (hop_latency)",
                 std::string("use network.sharing = \"interface\", or ") + one_worker());
  return check_protocol(scenario, machine, look_ahead_of(world));
}

// The hint says how many workers would do, if the ranks can be divided so.
Result<> check_mappings(const loader::Program& program, const Scenario& scenario,
                        const machine::Machine& machine, const mpi::World& world) {
  const auto check = [&](int workers) {
    return loader::check_mapping_limit(program, largest_share(divide(world, workers)),
                                       pdes::mappings_per_stack(pdes::available_guard()));
  };
  auto checked = check(scenario.workers);
  if (checked) return {};
  Scenario other = scenario;
  while (!check(other.workers)) {
    ++other.workers;
    if (!check_workers(other, machine, world)) return checked;
  }
  std::string& hint = checked.error().hint;
  hint = std::string("use ") + spelled("--workers ", "workers=") + std::to_string(other.workers) +
         ", which divides the ranks; or, " + hint;
  return checked;
}

ParallelRun::ParallelRun(mpi::World& world, std::vector<int> worker_of)
    : world_(world), worker_of_(std::move(worker_of)) {}

Result<std::unique_ptr<ParallelRun>> ParallelRun::fork(const Scenario& scenario, mpi::World& world,
                                                       const std::vector<Doorbell*>& bells) {
  std::unique_ptr<ParallelRun> run(new ParallelRun(world, divide(world, scenario.workers)));
  if (auto shared = run->share(scenario, bells); !shared) return std::unexpected(shared.error());
  if (auto started = run->start_workers(); !started) return std::unexpected(started.error());
  return run;
}

// Makes what the processes share.
Result<> ParallelRun::share(const Scenario& scenario, const std::vector<Doorbell*>& bells) {
  auto memory = pdes::SharedMemory::create(scenario.workers);
  if (!memory) return std::unexpected(memory.error());
  memory_ = *std::move(memory);
  memory_->state().has_outside = !bells.empty();
  for (size_t i = 0; i < bells.size(); ++i) memory_->set_bell(static_cast<int>(i), *bells[i]);
  void* shared =
      mmap(nullptr, sizeof(SharedRun), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (shared == MAP_FAILED)
    return error(std::string("no shared memory for workers: ") + std::strerror(errno));
  shared_ = static_cast<SharedRun*>(shared);
  if (const HostScenario& hosts = scenario.hosts; hosts.are_several()) {
    const int first = hosts.first_worker(hosts.here, scenario.workers);
    memory_->set_here(first, hosts.first_worker(hosts.here + 1, scenario.workers) - first);
    hosts_ = std::make_unique<RunHosts>(scenario, quantum_of(scenario, look_ahead()), *memory_,
                                        *shared_, states_, records_);
  }
  for (int i = 0; i < scenario.workers; ++i) {
    records_.push_back(unnamed_file(scenario.output_directory));
    if (records_.back() == nullptr)
      return error_at(scenario.output_directory, 0,
                      std::string("cannot make a temporary file: ") + std::strerror(errno));
    states_.push_back(memory_file());
    if (states_.back() == nullptr)
      return error(std::string("no memory file for a worker: ") + std::strerror(errno));
  }
  return {};
}

Result<> ParallelRun::start_workers() {
  std::fflush(nullptr);
  signal(SIGCHLD, SIG_DFL);  // ends of workers would be lost where it is ignored
  const pid_t supervisor = getpid();
  for (int i = 0; i < workers(); ++i) {
    if (!memory_->is_here(i)) continue;
    const pid_t process = ::fork();
    if (process < 0) {
      const int error_number = errno;
      end_workers();
      return error(std::string("cannot start a worker: ") + std::strerror(error_number));
    }
    if (process == 0) {
      become_worker(i, supervisor);
      return {};
    }
    shared_->workers[i].process = process;
  }
  supervised = shared_;
  // Only here, not in ranks: await_worker() waits for the signal.
  sigset_t child;
  sigemptyset(&child);
  sigaddset(&child, SIGCHLD);
  sigprocmask(SIG_BLOCK, &child, &signals_);
  return {};
}

void ParallelRun::become_worker(int number, pid_t supervisor) {
  // A worker whose ranks are processes ends what these have started (main.cc). Copies of a program
  // may have blocked the signal.
  prctl(PR_SET_PDEATHSIG, memory_->state().has_outside ? SIGTERM : SIGKILL);
  if (getppid() != supervisor) _exit(2);
  number_ = number;
  if (hosts_ != nullptr) hosts_->close_connections();
  loader::continue_in_this_process();
}

SimTime ParallelRun::look_ahead() const { return look_ahead_of(world_); }

void ParallelRun::join(const Scenario& scenario) {
  worker_ = std::make_unique<pdes::Worker>(*memory_, number_);
  left_ = std::ranges::count(worker_of_, number_);
  if (scenario.shuffle)
    worker_->delay_at_random(*scenario.shuffle + static_cast<uint64_t>(number_));
  const auto take_any = [this](std::span<const char> frame) { take(frame); };
  messages_ = std::make_unique<mpi::WorkerMessages>(
      world_, *worker_, worker_of_,
      [this](const std::string& why, const std::string& hint) { refuse(why, hint); },
      [this](const std::string& why, const std::string& hint) {
        fail({why, hint, {}, 0});
      },
      take_any);
  protocol_ = make_protocol(scenario, look_ahead(), *worker_, world_.executive, take_any,
                            [this] { return messages_->next_send(); });
  if (has_null_messages(scenario)) messages_->announce_sends();
  if (scenario.sources == Sources::kMembers) world_.executive.fire_independent_events();
  if (scenario.sources == Sources::kTags || scenario.sources == Sources::kExpected) {
    messages_->refuse_threads();
    if (auto read = expect_sources(scenario, *messages_, world_); !read) fail(read.error());
  }
  world_.executive.set_confirms_receives(scenario.confirm_receives);
  world_.remote = messages_.get();
  world_.remote_windows = mpi::make_remote_windows(world_);
  mpi::collectives::take_part_with_workers(world_);
  if (world_.mounts != nullptr) connect_file_systems();
  world_.executive.set_synchronizer(protocol_.get());
  // Ranks that take turns on a processor evict each other from its caches, which makes what they
  // compute longer than on processors of their own.
  if (scenario.compute != mpi::ComputeMode::kMeasured) world_.executive.use_time_slices();
  if (world_.recorder == nullptr) return;
  recorder_ = std::make_unique<WorkerRecorder>(records_[static_cast<size_t>(number_)],
                                               world_.size(), memory_->state().round);
  world_.recorder = recorder_.get();
}

// A child that a rank has forked tells nothing: it would be taken for the worker.
void ParallelRun::connect_file_systems() {
  world_.replicas->connect(
      *world_.mounts,
      [this](int rank) { return &world_.ranks[static_cast<size_t>(rank)]->interface.free(); },
      [this](std::span<const char> frame) {
        if (loader::is_forked()) return;
        CHECK(world_.executive.has_turn());
        worker_->broadcast(pdes::FrameSubject::kFileSystems, frame);
      });
}

void ParallelRun::take(std::span<const char> frame) {
  switch (static_cast<pdes::FrameSubject>(frame[0])) {
    case pdes::FrameSubject::kFileSystems:
      return world_.replicas->take(frame.subspan(1));
    case pdes::FrameSubject::kOpenFiles:
      return mpi::shared_files(world_).take(frame.subspan(1));
    default:
      return messages_->take(frame);
  }
}

void ParallelRun::end_job(int status, const std::string& why) {
  if (shared_->decide(status, why, false, "")) memory_->stop();
}

loader::BinaryInterface ParallelRun::agree_on(loader::BinaryInterface interface) {
  int agreed = 0;
  if (shared_->interface.compare_exchange_strong(agreed, 1 + static_cast<int>(interface)))
    return interface;
  return static_cast<loader::BinaryInterface>(agreed - 1);
}

std::optional<loader::BinaryInterface> ParallelRun::used_interface() const {
  const int used = shared_->interface;
  if (used == 0) return {};
  return static_cast<loader::BinaryInterface>(used - 1);
}

// The supervisor sees it when it learns of this worker's end. Output that is kept here would be
// seen twice.
void ParallelRun::begin_again() {
  if (shared_->begin_again()) _exit(0);
  worker_->wait_until([this] { return is_stopped(); });
  world_.executive.stop();
}

bool ParallelRun::decide_to_fail(const Error& error) {
  const Error without_hint{error.message, {}, error.path, error.line};
  if (!shared_->decide(2, without_hint.to_string(), true, error.hint)) return false;
  memory_->stop();
  return true;
}

void ParallelRun::refuse(const std::string& why, const std::string& hint) {
  decide_to_fail({why, hint.empty() ? std::string("use ") + one_worker() : hint, {}, 0});
  world_.executive.stop();
}

void ParallelRun::fail(const Error& error) {
  if (!decide_to_fail(error) && !shared_->is_failure())  // a rank has ended the job before
    std::fprintf(stderr, "error: %s\n", error.to_string().c_str());
  std::fflush(nullptr);
  _exit(2);
}

void ParallelRun::end_rank() {
  if (--left_ == 0) worker_->set_done();
}

void ParallelRun::set_progress(const RunProgress& progress) {
  SharedRun::OfWorker& shown = shared_->workers[number_];
  shown.latest_ps = progress.latest.ps();
  shown.messages = progress.messages;
  shown.ended_ranks = progress.ended_ranks;
}

void ParallelRun::leave() {
  if (recorder_ != nullptr) {
    recorder_->flush();
    shared_->workers[number_].record_error = recorder_->error_number();
  }
  const std::string state = worker_state(world_, recorder_.get());
  std::FILE* file = states_[static_cast<size_t>(number_)];
  if (std::fwrite(state.data(), 1, state.size(), file) != state.size() || std::fflush(file) != 0) {
    const std::string why = std::strerror(errno);
    fail({"cannot write the state of " + name_of(number_) + ": " + why, {}, {}, 0});
  }
  std::fflush(nullptr);
  shared_->workers[number_].has_left = true;
  _exit(0);
}

std::string ParallelRun::name_of(int worker) const {
  const auto first = std::ranges::find(worker_of_, worker);
  const auto last = std::find(worker_of_.rbegin(), worker_of_.rend(), worker);
  return "worker " + std::to_string(worker) + " (ranks " +
         std::to_string(first - worker_of_.begin()) + " to " +
         std::to_string(worker_of_.rend() - last - 1) + ")" +
         (hosts_ != nullptr ? hosts_->place_of(worker) : "");
}

void ParallelRun::end_workers() {
  for (int i = 0; i < workers(); ++i) {
    const pid_t process = shared_->workers[i].process;
    if (process == 0) continue;
    kill(process, SIGKILL);
    while (waitpid(process, nullptr, 0) < 0 && errno == EINTR) {
    }
    forget(i);
  }
}

// A worker that has ended.
void ParallelRun::forget(int worker) {
  shared_->workers[worker].process = 0;
  end_ranks(shared_->workers[worker]);
}

RunProgress ParallelRun::progress() const {
  RunProgress all;
  for (int i = 0; i < workers(); ++i) {
    const SharedRun::OfWorker& one = shared_->workers[i];
    all.latest = later(all.latest, SimTime::from_ps(one.latest_ps));
    all.messages += one.messages;
    all.ended_ranks += one.ended_ranks;
  }
  return all;
}

// One that has ended, with its status; waits for it for the interval of progress.
std::optional<pid_t> ParallelRun::await_worker(int* status) const {
  sigset_t child;
  sigemptyset(&child);
  sigaddset(&child, SIGCHLD);
  for (const bool waits : {true, false}) {
    const pid_t ended = waitpid(-1, status, WNOHANG);
    if (ended > 0) return ended;
    if (waits) sigtimedwait(&child, nullptr, &kProgressInterval);
  }
  return {};
}

Result<std::optional<ParallelRun::EndOfJob>> ParallelRun::supervise(
    const std::function<void(const RunProgress&)>& on_progress) {
  // The ticks include what passes between two readings of clocks on a busy machine: otherwise
  // workers would have waited longer than the run took.
  const uint64_t begin_ticks = read_time_stamp();
  const int64_t begin_ns = monotonic_ns();
  const auto ended = hosts_ != nullptr ? await_hosts(on_progress) : await_ends(on_progress);
  if (!ended) end_workers();
  const int64_t elapsed_ns = monotonic_ns() - begin_ns;
  seconds_per_tick_ =
      1e-9 * static_cast<double>(elapsed_ns) / static_cast<double>(read_time_stamp() - begin_ticks);
  if (hosts_ != nullptr && !hosts_->is_first()) end_further_host(ended);
  if (!ended) return std::unexpected(ended.error());
  if (shared_->verdict == Verdict::kNone) return std::optional<EndOfJob>();
  return EndOfJob{shared_->status, shared_->text};
}

Result<> ParallelRun::await_ends(const std::function<void(const RunProgress&)>& on_progress) {
  for (int left = workers(); left > 0;) {
    int status = 0;
    const auto ended = await_worker(&status);
    on_progress(progress());
    if (!ended) continue;
    --left;
    if (begins_again()) {
      end_workers();
      sigprocmask(SIG_SETMASK, &signals_, nullptr);
      return {};
    }
    if (auto checked = check_end(*ended, status); !checked) return checked;
  }
  return {};
}

// The same where workers are on several hosts.
Result<> ParallelRun::await_hosts(const std::function<void(const RunProgress&)>& on_progress) {
  constexpr int64_t kCheckNs = 1'000'000;
  int64_t checked_ns = 0, shown_ns = monotonic_ns();
  int left = memory_->state().count_here;
  while (left > 0 || (hosts_->is_first() && !hosts_->is_complete())) {
    const auto moved = hosts_->step();
    if (!moved) return std::unexpected(moved.error());
    if (!*moved) hosts_->pause();
    const int64_t now_ns = monotonic_ns();
    if (now_ns - checked_ns < kCheckNs) continue;
    checked_ns = now_ns;
    if (now_ns - shown_ns > kProgressInterval.tv_nsec) {
      shown_ns = now_ns;
      hosts_->is_first() ? on_progress(progress()) : hosts_->tell_progress();
    }
    int status = 0;
    if (const pid_t ended = waitpid(-1, &status, WNOHANG); ended > 0) {
      --left;
      if (auto checked = check_end(ended, status); !checked) return checked;
    }
    if (memory_->state().stopped && shared_->is_failure())
      return error(shared_->text, shared_->hint);
  }
  return {};
}

// Says nothing: the first host does.
void ParallelRun::end_further_host(const Result<>& ended) {
  const auto sent = ended ? hosts_->send_results(seconds_per_tick_) : ended;
  if (!ended) hosts_->fail(ended.error());
  std::fflush(nullptr);
  _exit(sent ? 0 : 2);
}

Result<> ParallelRun::check_end(pid_t process, int status) {
  const auto* const place = std::ranges::find_if(
      shared_->workers, [&](const auto& worker) { return worker.process == process; });
  const auto number = static_cast<int>(place - shared_->workers);
  CHECK(number < workers());
  forget(number);
  if (memory_->state().stopped && shared_->is_failure()) return error(shared_->text, shared_->hint);
  if (shared_->workers[number].has_left) return {};
  const std::string others = ": the other workers were stopped, and no result is written";
  if (WIFSIGNALED(status)) {
    const int signal = WTERMSIG(status);
    return error(name_of(number) + " was ended by signal " + std::to_string(signal) + " (" +
                     strsignal(signal) + ")" + others,
                 signal == SIGKILL ? "check that there is enough memory" : "");
  }
  const bool has_said_why = memory_->state().stopped;
  if (has_said_why || WEXITSTATUS(status) == kInterrupted) {
    end_workers();
    _exit(WEXITSTATUS(status));
  }
  return error(name_of(number) + " ended with status " + std::to_string(WEXITSTATUS(status)) +
                   " before its ranks did" + others,
               "a rank must end with exit() or a return from main, not with the system call "
               "exit_group");
}

Result<> ParallelRun::take_in(Recording* recording) {
  for (std::FILE* state : states_)
    if (auto taken = take_in_state(contents(state), world_, &totals_); !taken) return taken;
  describe_together(&totals_);
  std::ranges::stable_sort(totals_.storage_table, {}, [](const nlohmann::json& system) {
    return system.at("node").get<int>();
  });
  return recording == nullptr ? Result<>() : take_in_records(*recording);
}

Result<> ParallelRun::take_in_records(Recording& recording) {
  // Numbers of files are in the order of their first uses.
  std::ranges::stable_sort(totals_.first_uses, {},
                           [](const FirstUse& use) { return std::pair(use.round, use.end_ps); });
  for (const FirstUse& use : totals_.first_uses) recording.give_numbers(use.path, use.call.c_str());
  for (size_t i = 0; i < records_.size(); ++i) {
    const auto number = static_cast<int>(i);
    if (const int failed = shared_->workers[number].record_error; failed != 0)
      return error("cannot write the records of " + name_of(number) + ": " + std::strerror(failed));
    if (auto replayed = replay_records(records_[i], recording); !replayed) return replayed;
  }
  return {};
}

double ParallelRun::startup_seconds() const {
  double longest = 0;
  for (int i = 0; i < workers(); ++i)
    longest = std::max(longest, shared_->workers[i].startup_seconds);
  return longest;
}

std::optional<double> ParallelRun::begin_seconds() const {
  std::optional<double> first;
  for (int i = 0; i < workers(); ++i) {
    const double begin = shared_->workers[i].begin_seconds;
    if (begin > 0) first = std::min(first.value_or(begin), begin);
  }
  return first;
}

double ParallelRun::waited_seconds(int worker) const {
  if (!memory_->is_here(worker)) return hosts_->waited_seconds(worker);
  return static_cast<double>(counts(worker).waited_ticks) * seconds_per_tick_;
}

uint64_t ParallelRun::frames() const {
  uint64_t frames = 0;
  for (int i = 0; i < workers(); ++i) frames += memory_->state().workers[i].frames;
  return frames;
}

void end_all_workers() {
  if (supervised == nullptr) return;
  for (SharedRun::OfWorker& worker : supervised->workers) {
    if (const pid_t process = worker.process; process > 0) kill(process, SIGKILL);
    end_ranks(worker);
  }
}

}  // namespace sesame::sim
