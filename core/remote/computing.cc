#include "core/remote/computing.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "core/mpi/messages/world.h"
#include "core/remote/progress.h"
#include "core/remote/silence.h"
#include "core/remote/threads.h"

namespace sesame::remote {
namespace {

// How long the simulator sleeps before it looks whether all threads of a process wait: at first,
// and at most.
constexpr int64_t kFirstLookNs = 50'000;
constexpr int64_t kLongestLookNs = 10'000'000;
// How long threads may wait for something outside of the simulation (a time, a file) before the run
// counts as a deadlock, and how long new ones may compute before they count as ones that never call
// MPI. Chosen: more than a program waits for its start or its files, and less than a user waits for
// the report. Threads that wait for each other only are not waited for.
constexpr int64_t kLongestWaitNs = 10'000'000'000;
// How much of the wait each time counts off in which a thread was seen to do something. So threads
// that compute more than a fifth of the time are waited for, and not one that looks for something
// in short intervals.
constexpr int64_t kCountedOff = 4;

struct Computing {
  SlotsHead* head = nullptr;
  uint32_t spins = 0;
  size_t at_once = 1;
  pdes::Executive* executive = nullptr;
  void (*ended_in_call)(const Process& process) = nullptr;
  const std::atomic<const Process*>* killed = nullptr;
  void (*was_killed)(const Process& process) = nullptr;
  Silence silence{0};
  std::vector<Channel*> channels;  // those whose fibers are blocked
};
Computing computing;

bool has_called(const Channel* channel) {
  const Process& process = channel->process;
  return channel->slot.turn.load() != Turn::kProgram || channel->has_left ||
         (channel != &process.main && process.has_ended.load());
}

// Whether a thread that has the turn waits for this processor, the simulator's, as far as is known:
// it was woken there, or the simulator was, in its place.
bool is_behind(const Channel& channel, int here) {
  return channel.slot.processor.load(std::memory_order_relaxed) == here && !has_called(&channel);
}

// How often to look for the calls of threads that compute before the simulator sleeps. `latest`:
// one that has just been given the turn, or null.
uint32_t spins(const Channel* latest = nullptr) {
  const int here = sched_getcpu();
  const auto any_is_behind = [here](const Channel* channel) { return is_behind(*channel, here); };
  const bool leaves = (latest != nullptr && is_behind(*latest, here)) ||
                      std::ranges::any_of(computing.channels, any_is_behind);
  return leaves ? 0 : computing.spins;
}

bool any_has_called() {
  return has_arrived() || std::ranges::any_of(computing.channels, has_called);
}

// A process that was killed outside of MPI's calls; null: none. (One that is in a call may end as
// others have its messages.)
const Process* killed() {
  const Process* const last = computing.killed->load();
  if (last == nullptr) return nullptr;
  const mpi::Strand* const strand = last->main.strand;
  return strand == nullptr || strand->call_depth == 0 ? last : nullptr;
}

// Whether no rank may continue: another worker has ended the run, or a process was killed.
bool is_over() { return computing.executive->is_stopped() || killed() != nullptr; }

// Whether there is anything to do: a call, or what another worker of the run does.
bool has_news() { return any_has_called() || computing.executive->has_arrivals() || is_over(); }

bool has_threads(const Channel* channel) { return channel->process.has_threads(); }

bool is_crowded() {
  const auto threaded = std::ranges::count_if(computing.channels, has_threads);
  return computing.channels.size() - static_cast<size_t>(threaded) >= computing.at_once;
}

void leave_if_stopped() {
  if (computing.executive->is_stopped()) computing.executive->stop();
}

// Of a process whose rank's fiber cannot say so itself, since others compute.
void report_killed() {
  if (const Process* const process = killed()) computing.was_killed(*process);
}

// Makes ready the fibers of all that have called; whether there are any.
bool resume_called() {
  bool any = start_arrived();
  std::erase_if(computing.channels, [&any](Channel* channel) {
    if (!has_called(channel)) return false;
    computing.executive->make_ready(*channel->computing);
    return any = true;
  });
  if (any) computing.silence.end();
  return any;
}

// The same, and takes what other workers have sent; whether anything has changed.
bool take_news() {
  leave_if_stopped();
  const bool any = resume_called();
  if (!any) report_killed();
  return computing.executive->take_arrivals() || any;
}

// At most as long, if there is a limit.
void sleep_until_news(std::optional<int64_t> longest_ns) {
  const int64_t quiet_ns = computing.silence.look(computing.channels);
  computing.head->is_crowded.store(is_crowded(), std::memory_order_relaxed);
  sleep_until(computing.head->bell, has_news, std::min(longest_ns.value_or(quiet_ns), quiet_ns));
  computing.head->is_crowded.store(0, std::memory_order_relaxed);
}

// Waits until `is_there()`, of which the thread is a reason. Other workers wait meanwhile if they
// have sent more than their rings hold.
template <typename Condition>
void wait_for_one(Channel& channel, Condition&& is_there) {
  Channel* const awaited[] = {&channel};
  const auto has_ended = [&] { return is_there() || is_over(); };
  if (look_for(spins(&channel), has_ended)) return;
  computing.silence.end();
  while (!sleep_until(computing.head->bell, has_ended, computing.silence.look(awaited))) {
  }
}

// Looks which threads wait for others of their process. Whether that is so for all that compute.
bool all_are_idle() {
  std::vector<Channel*>& channels = computing.channels;
  for (Channel* channel : channels) {
    if (channel->is_idle || !has_threads(channel) || !all_wait(channel->process)) continue;
    for (Channel* other : channels) other->is_idle |= &other->process == &channel->process;
  }
  return std::ranges::all_of(channels, &Channel::is_idle);
}

// Whether threads that may call are waited for, `waited_ns` long so far.
bool await_new_threads(int64_t waited_ns) {
  if (!any_new_thread_runs()) return false;
  if (waited_ns < kLongestWaitNs) return true;
  forget_new_threads();
  return false;
}

// Whether an event at `time` may fire while the channels' threads compute, as far as is known.
// Not where processes have several threads: one may wait for another one, whose clock is earlier.
bool are_past(SimTime time) {
  return time != SimTime::never() && !has_arrived() && !any_new_thread_runs() &&
         std::ranges::all_of(computing.channels, [time](const Channel* channel) {
           return !has_threads(channel) && reached(*channel) > time;
         });
}

// For how long they have to compute at least until are_past(time), read from their clocks; 0: they
// are, but it may not fire yet. Nothing: that will not be known.
std::optional<int64_t> missing_ns(SimTime time) {
  if (time == SimTime::never()) return {};
  SimTime longest;
  for (Channel* channel : computing.channels)
    longest = std::max(longest, read_progress(*channel, time));
  if (longest == SimTime::never()) return {};
  return longest.ps() / 1000;
}

// Waits until some have called, and makes their fibers ready, until another worker has sent
// something, which it takes, or until the event at `next` may fire. False: nothing has changed.
bool resume_some(SimTime next) {
  std::vector<Channel*>& channels = computing.channels;
  if (are_past(next)) return take_news();
  look_for(is_crowded() || channels.empty() ? 0 : spins(), has_news);
  int64_t waited_ns = 0;  // for new threads only
  for (int64_t look_ns = kFirstLookNs; !take_news();
       look_ns = std::min(2 * look_ns, kLongestLookNs)) {
    const bool are_idle = all_are_idle();
    if (are_idle && !await_new_threads(waited_ns))
      return take_news();  // one may have called meanwhile
    waited_ns += are_idle ? look_ns : 0;
    const std::optional<int64_t> missing = missing_ns(next);
    if (are_past(next)) return take_news();
    // Where a new thread runs, all others may have reached that time: it is waited for.
    const bool has_to_look = are_idle || missing == 0 || std::ranges::any_of(channels, has_threads);
    sleep_until_news(has_to_look ? look_ns : missing);
  }
  return true;
}

// Waits for calls of threads that nothing in the simulation waits for: those that have not called
// yet, and those that wait for something outside. False: a deadlock, found by two looks: threads
// are not seen at one time, and one that kills its process may be gone while the others do not know
// yet.
bool resume_late() {
  int64_t waited_ns = 0;
  bool was_stuck = false;
  for (int64_t look_ns = kFirstLookNs; !take_news();
       look_ns = std::min(2 * look_ns, kLongestLookNs)) {
    if (const Process* const ended = ended_in_call()) computing.ended_in_call(*ended);
    const bool any_runs = any_thread_runs();
    const bool is_stuck = !any_runs && (waited_ns >= kLongestWaitNs || !any_thread_may_wake());
    if (is_stuck && was_stuck) return take_news();
    was_stuck = is_stuck;
    waited_ns = std::max<int64_t>(waited_ns + (any_runs ? -kCountedOff : 1) * look_ns, 0);
    sleep_until_news(look_ns);
  }
  return true;
}

bool resume_if_any(void*, SimTime next) {
  const bool any_computes = !computing.channels.empty() || has_arrived() || any_new_thread_runs();
  if (any_computes && resume_some(next)) return true;
  return computing.executive->is_stuck() && resume_late();
}

bool look(void*) { return any_has_called(); }

}  // namespace

void start_computing(const ComputingStart& start) {
  computing.head = &start.head;
  computing.spins = start.spins;
  computing.at_once = start.at_once;
  computing.executive = &start.executive;
  computing.ended_in_call = start.ended_in_call;
  computing.killed = &start.killed;
  computing.was_killed = start.was_killed;
  computing.silence = Silence(start.silence_ns);
  computing.channels.clear();  // of a run that was aborted
  start.executive.set_outside_hook(resume_if_any, look, nullptr);
}

void await_alone(Channel& channel) {
  wait_for_one(channel, [&] { return has_called(&channel); });
  if (has_called(&channel)) return;
  leave_if_stopped();
  report_killed();
}

void await(Channel& channel) {
  const bool is_alone = computing.at_once == 1 && !has_threads(&channel);
  if (is_alone) {
    wait_for_one(channel, [&] { return has_called(&channel) || has_arrived(); });
  } else {
    look_for(spins(&channel), [&] { return has_called(&channel); });
  }
  if (has_called(&channel)) return;
  leave_if_stopped();
  channel.computing = pdes::current_fiber;
  computing.channels.push_back(&channel);
  begin_progress(channel);
  if (is_crowded()) resume_some(SimTime::never());
  computing.executive->block();
  channel.computing = nullptr;
  channel.is_idle = false;
  // They run when this fiber blocks, so it has read the request by then.
  for (pdes::Fiber* fiber : std::exchange(channel.awaiting, {}))
    computing.executive->make_ready(*fiber);
}

void await_idle(Channel& channel) {
  while (channel.computing != nullptr) {
    channel.awaiting.push_back(pdes::current_fiber);
    computing.executive->block();
  }
}

}  // namespace sesame::remote
