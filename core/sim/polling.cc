#include "core/sim/polling.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <utility>

#include "core/base/check.h"
#include "core/loader/loader.h"
#include "core/mpi/calls/charge.h"
#include "core/mpi/messages/in_flight.h"
#include "core/mpi/messages/waiting.h"
#include "core/sim/deadlock.h"

namespace sesame::sim {
namespace {

// All of these are choices, not measurements. They decide when the watch acts, not what is
// predicted for a program whose loops make calls: a wrong guess costs a yield, which takes no
// simulated time.
constexpr int64_t kTickNs = 50'000'000;  // of processor time: short for a user, long for a sample
// A loop polls if, after 8 samples, 4 were equal to an earlier one. Some samples of a polling loop
// with several instructions differ. A loop that computes changes its registers between samples.
constexpr size_t kSamples = 8;
constexpr int kRepeats = 4;
// When a rank without a call is reported, 10 s and 60 s: sooner where computation takes no
// simulated time, since a long computation is then unlikely.
constexpr int kLongRunTicks = 10 * (1'000'000'000 / kTickNs);
constexpr int kLongMeasuredRunTicks = 6 * kLongRunTicks;

PollingWatch* watch = nullptr;

int signal_number() { return SIGRTMAX - 2; }

// Whether the program has started threads: a rank may wait for them.
bool has_other_threads() {
  struct stat tasks;  // has a link for each thread, and two more
  return syscall(SYS_newfstatat, AT_FDCWD, "/proc/self/task", &tasks, 0) != 0 || tasks.st_nlink > 3;
}

void say(const std::string& text) {
  const loader::HostScope host;
  std::fputs(text.c_str(), stderr);
}

}  // namespace

PollingWatch::PollingWatch(mpi::World& world) : world_(world) {
  CHECK(watch == nullptr);
  watch = this;
  struct sigaction action = {};
  action.sa_sigaction = on_tick;
  // On the rank's own stack, and not blocked while another rank runs: the handler yields.
  action.sa_flags = SA_SIGINFO | SA_RESTART | SA_NODEFER;
  CHECK(sigaction(signal_number(), &action, nullptr) == 0);
  sigevent event = {};
  event.sigev_notify = SIGEV_THREAD_ID;
  event.sigev_signo = signal_number();
  event._sigev_un._tid = static_cast<pid_t>(syscall(SYS_gettid));
  CHECK(timer_create(CLOCK_THREAD_CPUTIME_ID, &event, &timer_) == 0);
  const itimerspec every = {{0, kTickNs}, {0, kTickNs}};
  CHECK(timer_settime(timer_, 0, &every, nullptr) == 0);
}

PollingWatch::~PollingWatch() {
  timer_delete(timer_);
  signal(signal_number(), SIG_IGN);
  watch = nullptr;
}

void PollingWatch::on_tick(int, siginfo_t*, void* context) {
  const int saved_errno = errno;
  if (watch != nullptr && pdes::current_fiber != nullptr) {
    watch->look(*static_cast<mpi::Strand*>(pdes::current_fiber),
                *static_cast<const ucontext_t*>(context));
  }
  errno = saved_errno;
}

PollingWatch::Sample PollingWatch::sample_of(const ucontext_t& context) {
  const greg_t* registers = context.uc_mcontext.gregs;
  Sample sample{reinterpret_cast<const void*>(registers[REG_RIP]), {}};
  static_assert(REG_R8 == 0 && REG_RIP == kGeneralRegisters, "the general registers come first");
  std::copy_n(registers, kGeneralRegisters, sample.registers.begin());
  return sample;
}

bool PollingWatch::is_same_stretch(const mpi::Strand& strand) {
  const uint64_t switches = world_.executive.switches();
  if (strand_ == &strand && switches_ == switches && now_ == strand.now) return true;
  if (strand_ != &strand) count_ = 0, repeats_ = 0;
  strand_ = &strand;
  switches_ = switches;
  now_ = strand.now;
  ticks_ = 0;
  return false;
}

void PollingWatch::look(mpi::Strand& strand, const ucontext_t& context) {
  if (!is_same_stretch(strand)) return;
  ++ticks_;
  if (strand.call_depth > 0) return;
  const Sample sample = sample_of(context);
  add(sample);
  // Outside its own copy, the program may hold a lock of the C library.
  if (!loader::is_in_own_copy(sample.instruction)) return;
  if (polls() && !has_other_threads()) {
    yield(strand, sample.instruction);
  } else {
    mention_long_run(strand, sample.instruction);
  }
}

// A loop that changes something executes an instruction with other registers sooner or later. Then
// all earlier samples are discarded.
void PollingWatch::add(const Sample& sample) {
  bool repeats = false;
  for (size_t i = 0; i < std::min(count_, samples_.size()); ++i) {
    if (samples_[i].instruction != sample.instruction) continue;
    repeats = samples_[i] == sample;
    if (repeats) continue;
    count_ = 0;
    repeats_ = 0;
    break;
  }
  repeats_ += repeats ? 1 : 0;
  samples_[count_++ % samples_.size()] = sample;
}

bool PollingWatch::polls() const { return repeats_ >= kRepeats && count_ >= kSamples; }

void PollingWatch::yield(mpi::Strand& strand, const void* instruction) {
  if (world_.remote != nullptr) world_.remote->refuse("a loop that waits for memory to change");
  mpi::charge_before_polling(strand, SimTime::from_ns(kTickNs) * (ticks_ + 1));
  mpi::finish_sends(world_);  // schedules announced data that nothing else would inject
  pdes::Executive& executive = world_.executive;
  if (!executive.has_ready()) {
    const SimTime next = executive.events().earliest();
    if (next == SimTime::never()) abort_polling(strand, instruction);
    strand.waited += strand.wait_until(next);
  }
  mention_polling(strand, instruction);
  mpi::schedule_wake(strand, strand.now);
  executive.block();
  is_same_stretch(strand);  // a new one begins
  mpi::resume_compute(strand);
}

void PollingWatch::mention_polling(const mpi::Strand& strand, const void* instruction) {
  if (std::exchange(mentioned_polling_, true)) return;
  say("sesame: " + strand.rank->name() +
      " waits in a loop without a call for memory to change, at " +
      loader::describe_address(instruction) +
      ": its clock follows the other ranks' events\n"
      "hint: for exact times and a faster simulation call MPI_Win_sync, MPI_Iprobe or MPI_Wtime in "
      "the loop\n");
}

void PollingWatch::mention_long_run(const mpi::Strand& strand, const void* instruction) {
  const bool measured = world_.meter.options().mode == mpi::ComputeMode::kMeasured;
  if (ticks_ < (measured ? kLongMeasuredRunTicks : kLongRunTicks)) return;
  const bool is_alone = std::ranges::all_of(world_.ranks, [&](const auto& rank) {
    return rank.get() == strand.rank || rank->main.ended;
  });
  if (is_alone || std::exchange(mentioned_long_run_, true)) return;
  say("sesame: " + strand.rank->name() + " has run for " +
      std::to_string(ticks_ * (kTickNs / 1'000'000) / 1000) +
      " s of processor time without a call, now at " + loader::describe_address(instruction) +
      ", while the other ranks wait\n"
      "hint: if it waits there for another rank, call MPI_Win_sync, MPI_Iprobe or MPI_Wtime in the "
      "loop; if it computes, do nothing\n");
}

void PollingWatch::abort_polling(const mpi::Strand& strand, const void* instruction) {
  std::string text = strand.rank->name() +
                     " waits in a loop without a call for memory to change, at " +
                     loader::describe_address(instruction) + ", but no other rank can run";
  world_.hooks.abort_job(1, text + "\n" + explain_deadlock(world_, find_blocked(world_)));
  __builtin_unreachable();
}

}  // namespace sesame::sim
