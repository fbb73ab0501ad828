#include "core/remote/launch.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstring>

#include "core/base/check.h"

namespace sesame::remote {
namespace {

// For threads that call MPI at once, beside that which started the program: in the whole run at
// least, and for each rank of a large run on average.
constexpr int kSlotsOfThreads = 1024;
constexpr int kThreadsOfRank = 16;

// The process group of all ranks; 0: none.
std::atomic<pid_t> group = 0;

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

void end_processes() {
  if (const pid_t all = group.exchange(0); all > 0) kill(-all, SIGKILL);
}

Result<std::unique_ptr<Launch>> Launch::create(int ranks) {
  if (ranks > mpi::kMostRemoteRanks)
    return error(std::to_string(ranks) + " ranks are too many for processes, expected at most " +
                 std::to_string(mpi::kMostRemoteRanks));
  std::unique_ptr<Launch> launch(new Launch);
  // Those of threads take memory once they are used.
  const int slots = ranks + std::max(kSlotsOfThreads, ranks * kThreadsOfRank);
  const auto bytes = static_cast<size_t>(slot_offset(ranks));
  launch->memory_ = memfd_create("sesame-ranks", MFD_CLOEXEC);
  if (launch->memory_ < 0 || ftruncate(launch->memory_, slot_offset(slots)) != 0)
    return error(system_error("cannot make memory for the ranks' processes"));
  void* const shared = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, launch->memory_, 0);
  if (shared == MAP_FAILED)
    return error(system_error("cannot map memory for the ranks' processes"));
  launch->bell_ = static_cast<Doorbell*>(shared);
  launch->bell_->slots = ranks;
  launch->bell_->most_slots = slots;
  for (int rank = 0; rank < ranks; ++rank) {
    Slot& slot = *reinterpret_cast<Slot*>(static_cast<char*>(shared) + slot_offset(rank));
    slot.rank = rank;
    slot.thread_level = kNotInitialized;
    launch->processes_.push_back(std::make_unique<Process>(rank, slot));
  }
  return launch;
}

Launch::~Launch() { finish(); }

// In the new process.
void Launch::run_program(const Process& process, const LaunchOptions& options, const int* outputs,
                         int failure) {
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  for (int number : {SIGINT, SIGTERM, SIGPIPE}) signal(number, SIG_DFL);
  if (process.rank > 0) {
    const int nothing = open("/dev/null", O_RDONLY);
    dup2(nothing, 0);
    close(nothing);
  }
  dup2(outputs[0], 1);
  dup2(outputs[1], 2);
  std::vector<std::string> arguments = options.arguments;
  std::vector<std::string> environment = options.environment;
  for (const std::string& variable : options.own_environment[static_cast<size_t>(process.rank)])
    environment.push_back(variable);
  // Threads of a team that wait must not compute: that would be taken for work (program/team.h).
  if (!has(environment, "OMP_WAIT_POLICY")) set(environment, "OMP_WAIT_POLICY", "passive");
  // Logarithm of the ticks that threads of OpenBLAS look for work; 4 is the least that it takes.
  if (!has(environment, "OPENBLAS_THREAD_TIMEOUT"))
    set(environment, "OPENBLAS_THREAD_TIMEOUT", "4");
  prepend(environment, "LD_PRELOAD", options.libraries + "/libsesame-rank.so");
  prepend(environment, "LD_AUDIT", options.libraries + "/libsesame-find-mpi.so");
  set(environment, kLibrariesVariable, options.libraries);
  set(environment, kSlotVariable,
      std::to_string(getppid()) + ":" + std::to_string(memory_) + ":" +
          std::to_string(process.rank));
  execve(options.program.c_str(), pointers_to(arguments).data(), pointers_to(environment).data());
  const int number = errno;
  (void)!write(failure, &number, sizeof number);
  _exit(127);
}

Result<> Launch::start_rank(Process& process, const LaunchOptions& options) {
  int out[2], err[2], failure[2];
  if (pipe2(out, O_CLOEXEC) != 0 || pipe2(err, O_CLOEXEC) != 0 || pipe2(failure, O_CLOEXEC) != 0)
    return error(system_error("cannot start the ranks' processes"), "raise ulimit -n");
  const pid_t child = fork();
  if (child < 0) return error(system_error("cannot start the ranks' processes"));
  if (child == 0) {
    setpgid(0, group.load());
    const int outputs[] = {out[1], err[1]};
    run_program(process, options, outputs, failure[1]);
  }
  setpgid(child, group.load());
  if (group.load() == 0) group = child;
  process.started = child;
  for (int end : {out[1], err[1], failure[1]}) close(end);
  outputs_.push_back({process.rank, 1, out[0]});
  outputs_.push_back({process.rank, 2, err[0]});
  int number = 0;
  const bool failed = read(failure[0], &number, sizeof number) == sizeof number;
  close(failure[0]);
  if (!failed) return {};
  return error("cannot execute '" + options.program + "': " + strerror(number));
}

Result<> Launch::start(const LaunchOptions& options) {
  stop_ = eventfd(0, EFD_CLOEXEC);
  for (auto& process : processes_) {
    if (auto started = start_rank(*process, options); !started) {
      end_processes();
      return started;
    }
  }
  watcher_ = std::thread([this] { watch(); });
  forwarder_ = std::thread(&Launch::forward_output, this, options.write_output);
  return {};
}

// Records which processes have ended, and wakes the simulator if it waits for one.
void Launch::watch() {
  int status = 0;
  for (pid_t ended; (ended = waitpid(-1, &status, 0)) > 0 || errno == EINTR;) {
    for (auto& process : processes_) {
      if (process->started != ended) continue;
      process->status = status;
      process->has_ended = true;
      Turn expected = Turn::kProgram;
      process->main.slot.turn.compare_exchange_strong(expected, Turn::kEnded);
      ring(*bell_);
    }
  }
}

void Launch::forward_output(void (*write_output)(int, int, const char*, size_t)) {
  std::vector<pollfd> polled;
  for (const Output& output : outputs_) polled.push_back({output.pipe, POLLIN, 0});
  polled.push_back({stop_, POLLIN, 0});
  size_t open_pipes = outputs_.size();
  std::vector<char> data(64 << 10);
  while (open_pipes > 0) {
    // After the end of the ranks, what their pipes still have, without waiting for children.
    const bool is_last = (polled.back().revents & POLLIN) != 0;
    if (poll(polled.data(), polled.size(), is_last ? 0 : -1) < 0 && errno != EINTR) return;
    bool any = false;
    for (size_t i = 0; i < outputs_.size(); ++i) {
      if (polled[i].fd < 0 || polled[i].revents == 0) continue;
      const ssize_t size = read(outputs_[i].pipe, data.data(), data.size());
      if (size > 0) {
        write_output(outputs_[i].rank, outputs_[i].descriptor, data.data(),
                     static_cast<size_t>(size));
        any = true;
      } else {
        polled[i].fd = -1;
        --open_pipes;
      }
    }
    if (is_last && !any) return;
  }
}

void Launch::finish() {
  end_processes();
  if (watcher_.joinable()) watcher_.join();
  if (forwarder_.joinable()) {
    const uint64_t one = 1;
    (void)!write(stop_, &one, sizeof one);
    forwarder_.join();
  }
  for (const Output& output : outputs_) close(output.pipe);
  outputs_.clear();
}

}  // namespace sesame::remote
