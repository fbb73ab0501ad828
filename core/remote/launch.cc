#include "core/remote/launch.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/eventfd.h>
#include <sys/prctl.h>
#include <sys/wait.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <span>

#include "core/base/check.h"
#include "core/base/process_group.h"

namespace sesame::remote {
namespace {

// Slots for threads that call MPI at once, beside that which started the program: in the whole run
// at least, and for each rank of a large run on average.
constexpr int kSlotsOfThreads = 1024;
constexpr int kThreadsOfRank = 16;

// The process group of all ranks; 0: none.
std::atomic<pid_t> own_group = 0;
std::atomic<pid_t>* group = &own_group;

std::string system_error(const char* what) { return std::string(what) + ": " + strerror(errno); }

void set(std::vector<std::string>& environment, const std::string& name, const std::string& value) {
  std::erase_if(environment,
                [&](const std::string& entry) { return entry.starts_with(name + "="); });
  environment.push_back(name + "=" + value);
}

bool has(const std::vector<std::string>& environment, const std::string& name) {
  return std::ranges::any_of(environment, [&](const auto& e) { return e.starts_with(name + "="); });
}

// Puts a path in front of the list of paths that the variable has.
void prepend(std::vector<std::string>& environment, const std::string& name,
             const std::string& path) {
  std::string list = path;
  for (const std::string& entry : environment)
    if (entry.starts_with(name + "=")) list += ":" + entry.substr(name.size() + 1);
  set(environment, name, list);
}

std::vector<char*> pointers_to(std::vector<std::string>& texts) {
  std::vector<char*> pointers;
  for (std::string& text : texts) pointers.push_back(text.data());
  pointers.push_back(nullptr);
  return pointers;
}

}  // namespace

void end_processes() { end_process_group(*group); }

namespace {

std::unexpected<Error> too_many(int ranks) {
  return error(std::to_string(ranks) + " ranks are too many for processes, expected at most " +
               std::to_string(mpi::kMostRemoteRanks));
}

std::unexpected<Error> no_descriptor() {
  return error(system_error("cannot start the ranks' processes"), "raise ulimit -n");
}

std::unexpected<Error> cannot_map_memory() {
  return error(system_error("cannot map memory for the ranks' processes"));
}

void prepare_slot(Slot& slot, int rank) {
  slot.rank = rank;
  slot.thread_level = kNotInitialized;
  slot.is_first = 1;
}

}  // namespace

Result<std::unique_ptr<Launch>> Launch::create(LaunchOptions options) {
  const std::vector<int> ranks = std::move(options.ranks);
  const auto count = static_cast<int>(ranks.size());
  if (ranks.back() >= mpi::kMostRemoteRanks) return too_many(ranks.back() + 1);
  signal(SIGCHLD, SIG_DFL);  // ends of processes would be lost where it is ignored
  const int wake = eventfd(0, EFD_CLOEXEC);
  if (wake < 0) return no_descriptor();
  if (options.group != nullptr) group = options.group;
  std::unique_ptr<Launch> launch(new Launch(std::move(options), wake));
  const SlotsFile& file = launch->slots();
  const int most = count + std::max(kSlotsOfThreads, count * kThreadsOfRank);
  if (auto grown = launch->slots().grow(most); !grown) return std::unexpected(grown.error());
  Slot* const slots = file.map(0, count);
  if (slots == nullptr) return cannot_map_memory();
  file.head().slots = count;
  file.head().most_slots = launch->most_slots_ = most;
  for (int number = 0; number < count; ++number) {
    const int rank = ranks[static_cast<size_t>(number)];
    prepare_slot(slots[number], rank);
    launch->processes_.add(std::make_unique<Process>(rank, slots[number], number));
  }
  launch->watcher_ = std::thread([&launch = *launch] { launch.watch(); });
  return launch;
}

Launch::~Launch() { finish(); }

// The file grows, and the number of slots that may be taken; threads may have all up to there.
Result<Process*> Launch::add_rank() {
  const int rank = static_cast<int>(processes_.size());
  if (rank >= mpi::kMostRemoteRanks) return too_many(rank + 1);
  SlotsHead& head = slots_->head();
  const int most = most_slots_ + 1 + kThreadsOfRank;
  if (auto grown = slots_->grow(most); !grown) return std::unexpected(grown.error());
  head.most_slots = most_slots_ = most;
  const int number = head.slots.fetch_add(1);
  if (number >= most) return error("threads of ranks have taken all slots of shared memory");
  Slot* const slot = slots_->map(number, 1);
  if (slot == nullptr) return cannot_map_memory();
  prepare_slot(*slot, rank);
  const std::lock_guard lock(mutex_);
  return &processes_.add(std::make_unique<Process>(rank, *slot, number));
}

// The program with what the libraries of its rank need.
RankProgram Launch::prepared(const Process& process, RankProgram program) const {
  std::vector<std::string>& environment = program.environment;
  // Threads of a team that wait must not compute: that would be taken for work (program/team.h).
  if (!has(environment, "OMP_WAIT_POLICY")) set(environment, "OMP_WAIT_POLICY", "passive");
  // Logarithm of the ticks that threads of OpenBLAS look for work; 4 is the least that it takes.
  if (!has(environment, "OPENBLAS_THREAD_TIMEOUT"))
    set(environment, "OPENBLAS_THREAD_TIMEOUT", "4");
  prepend(environment, "LD_PRELOAD", libraries_ + "/libsesame-rank.so");
  prepend(environment, "LD_AUDIT", libraries_ + "/libsesame-find-mpi.so");
  set(environment, kLibrariesVariable, libraries_);
  set(environment, kSlotVariable,
      std::to_string(getpid()) + ":" + std::to_string(slots_->descriptor()) + ":" +
          std::to_string(process.slot_number));
  if (program.is_static) {
    set(environment, kStaticProgramVariable, program.path);
    program.path = libraries_ + "/sesame-static-rank";
  }
  return program;
}

namespace {

// Makes the process one of the group, or the first one of a new group: that of ranks which have all
// left it cannot be joined.
void join_group(pid_t process) {
  if (setpgid(process, group->load()) != 0) setpgid(process, process);
}

// In the new process. Returns if the program cannot be executed; errno says why.
void run_program(pid_t simulator, const RankProgram& program, bool has_input, const int* outputs,
                 char** arguments, char** environment) {
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (getppid() != simulator) _exit(127);  // it had ended before
  for (int number : {SIGINT, SIGTERM, SIGPIPE}) signal(number, SIG_DFL);
  if (!has_input) {
    const int nothing = open("/dev/null", O_RDONLY);
    dup2(nothing, 0);
    close(nothing);
  }
  dup2(outputs[0], 1);
  dup2(outputs[1], 2);
  if (!program.directory.empty() && chdir(program.directory.c_str()) != 0) return;
  execve(program.path.c_str(), arguments, environment);
}

}  // namespace

// Sets Process::started, before the watcher can see the process end. That is -1 if there is none.
void Launch::fork_rank(Process& process, const RankProgram& program, const int* outputs,
                       int failure) {
  std::vector<std::string> arguments = program.arguments, environment = program.environment;
  const std::vector<char*> argv = pointers_to(arguments), envp = pointers_to(environment);
  const pid_t simulator = getpid();
  const std::lock_guard lock(mutex_);
  const pid_t child = fork();
  if (child == 0) {
    join_group(0);
    // Before it can start a process: this simulator may be ended before it has stored the number.
    if (getpgrp() == getpid()) *group = getpid();
    run_program(simulator, program, process.rank == 0, outputs, const_cast<char**>(argv.data()),
                const_cast<char**>(envp.data()));
    const int number = errno;
    (void)!write(failure, &number, sizeof number);
    _exit(127);
  }
  process.started = child;
  if (child < 0) return;
  children_.push_back(child);
  join_group(child);
  if (getpgid(child) == child) *group = child;
}

namespace {

// The ends to read from and to write to.
using Pipe = int[2];

void close_both(const Pipe& pipe) {
  for (int end : pipe) close(end);
}

// All of them or none; errno says why.
bool make_pipes(std::span<Pipe> pipes) {
  for (size_t made = 0; made < pipes.size(); ++made) {
    if (pipe2(pipes[made], O_CLOEXEC) == 0) continue;
    const int number = errno;
    for (const Pipe& pipe : pipes.first(made)) close_both(pipe);
    errno = number;
    return false;
  }
  return true;
}

}  // namespace

Result<> Launch::start(Process& process, const RankProgram& program) {
  Pipe pipes[3];
  if (!make_pipes(pipes)) return no_descriptor();
  auto& [out, err, failure] = pipes;
  const int outputs[] = {out[1], err[1]};
  fork_rank(process, prepared(process, program), outputs, failure[1]);
  const int fork_error = errno;
  changed_.notify_one();
  for (int end : {out[1], err[1], failure[1]}) close(end);
  outputs_.add(process.rank, 1, out[0]);
  outputs_.add(process.rank, 2, err[0]);
  int number = 0;
  const bool failed = read(failure[0], &number, sizeof number) == sizeof number;
  close(failure[0]);
  if (process.started < 0)
    return error(
        "cannot make a process for '" + program.path + "': " + strerror(fork_error),
        "use fewer ranks, or raise ulimit -u or the limit of the control group (pids.max)");
  if (!failed) return {};
  return error("cannot execute '" + program.path + "': " + strerror(number));
}

namespace {

// REQUIRES: the watcher does not take its status meanwhile, or the number may be another one's.
void end(const Process& process) {
  if (process.started > 0 && !process.has_ended.load()) kill(process.started, SIGKILL);
}

}  // namespace

void Launch::remove_from(size_t rank) {
  const std::lock_guard lock(mutex_);
  while (processes_.size() > rank) {
    const Process& last = processes_.last();
    end(last);
    if (killed_ == &last) killed_ = nullptr;
    Slot* const slot = &last.main.slot;
    processes_.remove_last();
    SlotsFile::unmap(slot);
  }
}

// Records which processes have ended, and wakes the simulator if it waits for one.
void Launch::note_end(pid_t ended, int status) {
  for (auto& process : processes_) {
    // A number is used again for a later process.
    if (process->has_ended || process->started != ended) continue;
    process->status = status;
    process->has_ended = true;
    if (WIFSIGNALED(status)) killed_ = process.get();
    Turn expected = Turn::kProgram;
    process->main.slot.turn.compare_exchange_strong(expected, Turn::kEnded);
    ring(slots_->head().bell);
  }
}

void Launch::watch() {
  std::unique_lock lock(mutex_);
  for (;;) {
    // Not wait(): that of a new libstdc++ is not in the one that comes with glibc 2.34.
    while (children_.empty() && !is_ending_) changed_.wait_for(lock, std::chrono::hours(1));
    if (children_.empty()) return;
    lock.unlock();
    siginfo_t ended{};
    const bool is_one = waitid(P_ALL, 0, &ended, WEXITED | WNOWAIT) == 0;
    const bool is_none = !is_one && errno == ECHILD;
    lock.lock();
    if (is_none) children_.clear();
    if (!is_one) continue;
    if (std::erase(children_, ended.si_pid) == 0) {
      // Another child of the simulator, whose status another thread will take.
      changed_.wait_for(lock, std::chrono::milliseconds(1));
      continue;
    }
    // With the lock: remove_from() must not end another process that has got the number.
    int status = 0;
    waitpid(ended.si_pid, &status, 0);
    note_end(ended.si_pid, status);
  }
}

void Launch::finish() {
  if (!watcher_.joinable()) return;
  end_processes();
  {
    const std::lock_guard lock(mutex_);
    for (const auto& process : processes_) end(*process);  // those that have left the group, too
    is_ending_ = true;
  }
  changed_.notify_one();
  watcher_.join();
  outputs_.finish();
}

}  // namespace sesame::remote
