#include "core/remote/program/callers.h"

#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <mutex>
#include <vector>

#include "core/remote/program/team.h"

namespace sesame::remote {
namespace {

thread_local Caller* current = nullptr;
thread_local int64_t started_ps = 0;

struct Callers {
  std::mutex mutex;
  std::vector<Caller*> all;
  int64_t ended_ps = 0;        // the latest clock of those that have ended
  std::atomic<int> count = 0;  // also of those that have ended, which others may have waited for
};

// Threads may outlive static objects.
Callers& callers() {
  static auto* const instance = new Callers;
  return *instance;
}

// How often the kernel has suspended the thread because it waited.
long suspensions() {
  rusage usage{};
  syscall(SYS_getrusage, RUSAGE_THREAD, &usage);  // not the one that asks for simulated time
  return usage.ru_nvcsw;
}

int64_t target_ps(const Caller& caller, SimTime computed) {
  return static_cast<int64_t>(static_cast<double>(computed.ps()) * caller.slot.target_time);
}

int64_t clock_now(const Caller& caller) {
  const int64_t clock_ps = caller.clock_ps;
  if (caller.is_in_call || caller.slot.target_time == 0) return clock_ps;
  const int64_t computed_ns = processor_ns(caller.processor_clock) - caller.processor_ns;
  return clock_ps + target_ps(caller, SimTime::from_ns(std::max<int64_t>(computed_ns, 0)));
}

int64_t latest_of_others(const Caller& caller) {
  const std::lock_guard lock(callers().mutex);
  int64_t latest_ps = callers().ended_ps;
  for (const Caller* other : callers().all)
    if (other != &caller) latest_ps = std::max(latest_ps, clock_now(*other));
  return latest_ps;
}

}  // namespace

Caller::Caller(Slot& slot_in)
    : slot(slot_in), meter(slot_in.meter), processor_clock(clock_of_this_thread()) {
  meter.resume();
  processor_ns = remote::processor_ns(processor_clock);
}

Caller* this_caller() { return current; }

void add_caller(Caller& caller) {
  current = &caller;
  const std::lock_guard lock(callers().mutex);
  callers().all.push_back(&caller);
  ++callers().count;
}

void remove_caller() {
  Caller* const caller = std::exchange(current, nullptr);
  {
    const std::lock_guard lock(callers().mutex);
    std::erase(callers().all, caller);
    callers().ended_ps = std::max(callers().ended_ps, caller->clock_ps.load());
  }
  delete caller;
}

int64_t clock_for_new_thread() {
  if (current == nullptr) return started_ps;
  if (current->depth > 0) return current->clock_ps;
  mpi::ComputeMeter meter = current->meter;  // a copy: its own continues
  const SimTime computed = meter.measure();
  current->processor_ns = processor_ns(current->processor_clock) - computed.ps() / 1000;
  return current->clock_ps + target_ps(*current, computed);
}

void start_clock(int64_t clock_ps) { started_ps = clock_ps; }
int64_t first_clock() { return started_ps; }

int64_t begin_call(Caller& caller, SimTime computed, bool is_multiple) {
  if (callers().count.load(std::memory_order_relaxed) < 2) return 0;
  const int64_t own_ps = target_ps(caller, computed);
  int64_t begin_ps = caller.clock_ps + own_ps;
  const bool has_waited = !is_multiple || caller.has_joined || suspensions() != caller.suspensions;
  if (has_waited) begin_ps = std::max(begin_ps, latest_of_others(caller));
  caller.has_joined = false;
  const std::lock_guard lock(callers().mutex);  // others read both
  caller.clock_ps = begin_ps;
  caller.is_in_call = true;
  return begin_ps - own_ps;
}

void end_call(Caller& caller, int64_t clock_ps) {
  const bool is_alone = callers().count.load(std::memory_order_relaxed) < 2;
  if (is_alone && !has_team()) {
    caller.clock_ps = clock_ps;
    return;
  }
  const std::lock_guard lock(callers().mutex);  // others read all three
  caller.clock_ps = clock_ps;
  caller.processor_ns = processor_ns(caller.processor_clock);
  caller.is_in_call = false;
  caller.suspensions = suspensions();  // also those by the lock, which are no waits of the program
}

}  // namespace sesame::remote
