#include "core/remote/threads.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <optional>
#include <sstream>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/mpi/messages/remote_ranks.h"
#include "core/mpi/messages/world.h"
#include "core/remote/request_checks.h"

namespace sesame::remote {
namespace {

struct Threads {
  explicit Threads(const ThreadsStart& start_in)
      : start(start_in), known(start_in.file.head().slots.load()) {}

  ThreadsStart start;
  int known;                     // slots that have been mapped here
  uint32_t seen = 0;             // of SlotsHead::threads_created
  std::vector<Slot*> unclaimed;  // whose threads have not called yet
  std::vector<Channel*> vacant;  // whose threads have ended
};
std::optional<Threads> threads;

bool has_request(const Slot* slot) { return slot->turn.load() == Turn::kSimulator; }

// Whose threads or memory it is cannot be known.
[[noreturn]] void fail_shared() {
  threads->start.world.hooks.abort_job(
      128 + SIGSEGV, "a rank has damaged the memory that all ranks share with the simulator");
  __builtin_unreachable();
}

// The process has written its rank.
Process& process_of(const Slot& slot) {
  Process* const process = threads->start.processes.find(slot.rank);
  if (process == nullptr) fail_shared();
  return *process;
}

// A process may have ended while threads of it made their calls.
bool waits_to_start(const Slot* slot) {
  return has_request(slot) && !process_of(*slot).has_ended.load();
}

// A thread that finds no slot counts, too, and ends its process.
int slots_taken() {
  const SlotsHead& head = threads->start.file.head();
  return std::min(head.slots.load(std::memory_order_relaxed), head.most_slots.load());
}

void map_new_slots() {
  const ThreadsStart& start = threads->start;
  const int taken = slots_taken();
  if (taken > threads->known && taken > start.file.slots()) fail_shared();
  for (; threads->known < taken; ++threads->known) {
    Slot* const slot = start.file.map(threads->known, 1);
    if (slot == nullptr) start.world.hooks.abort_job(2, "cannot map a thread's slot");
    if (slot->is_first != 0) {
      SlotsFile::unmap(slot);  // of a rank that was spawned: Launch has mapped it
    } else {
      threads->unclaimed.push_back(slot);
    }
  }
}

void exchange(Channel& left, Channel& resumed, mpi::Rank& rank) {
  left.call = {rank.compute_before_call, rank.call_bytes,
               rank.call_peer,           rank.call_tag,
               rank.call_context,        std::move(rank.file_record),
               rank.failed_file};
  CallState& call = resumed.call;
  rank.compute_before_call = call.compute_before_call;
  rank.call_bytes = call.bytes;
  rank.call_peer = call.peer;
  rank.call_tag = call.tag;
  rank.call_context = call.context;
  rank.file_record = std::move(call.file_record);
  rank.failed_file = call.failed_file;
}

// A rank has fields for one call.
void on_switch(pdes::Fiber* next) {
  if (next == nullptr) return;
  const auto& strand = *static_cast<mpi::Strand*>(next);
  Process& process = *threads->start.processes.find(static_cast<int>(strand.rank_number));
  if (!process.has_threads()) return;
  Channel* const channel = channel_of(process, strand);
  if (channel == nullptr || channel == process.running) return;
  exchange(*process.running, *channel, *strand.rank);
  process.running = channel;
}

Channel& add_channel(Slot& slot) {
  threads->start.world.executive.set_switch_hook(on_switch);
  Process& process = process_of(slot);
  process.memory.share();
  return *process.threads.emplace_back(std::make_unique<Channel>(process, slot));
}

void start_strand(Channel& channel) {
  mpi::World& world = threads->start.world;
  mpi::Rank& rank = *world.ranks[static_cast<size_t>(channel.process.rank)];
  // What is out of range ends the job when the strand serves the request.
  const int64_t clock_ps = channel.slot.header.clock_ps;
  const int64_t begin_ps = is_time(clock_ps) ? clock_ps : 0;
  world.start_strand(rank, SimTime::from_ps(begin_ps), [&channel] {
    mpi::Strand& strand = mpi::self();
    const mpi::RemoteRanks* const remote = strand.rank->world.remote;
    if (remote != nullptr) remote->check_thread();
    strand.call_depth = 0;
    strand.call = 0;
    strand.clock_reads = 0;
    threads->start.serve(channel);
    channel.strand = nullptr;
    threads->vacant.push_back(&channel);
  });
  channel.strand = world.busy_strands().back().get();
}

// What the kernel says of a thread that is outside MPI.
struct Observation {
  int thread;
  bool is_in_mpi;
  bool sleeps;
  uint64_t suspensions;  // so far; those of a thread in MPI do not matter
  bool operator==(const Observation&) const = default;
};

bool does_nothing(const Observation& thread) { return thread.is_in_mpi || thread.sleeps; }

std::string contents(const std::string& path) {
  std::string text;
  const int file = open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (file < 0) return text;
  char part[4096];
  for (ssize_t size; (size = read(file, part, sizeof part)) > 0;)
    text.append(part, static_cast<size_t>(size));
  close(file);
  return text;
}

// The number after each occurrence of the name, also as the end of another one, added.
uint64_t sum_of(const std::string& text, std::string_view name) {
  uint64_t sum = 0;
  for (size_t at = 0; (at = text.find(name, at)) != std::string::npos;) {
    at += name.size();
    sum += strtoull(text.c_str() + at, nullptr, 10);
  }
  return sum;
}

bool is_in_mpi(const Process& process, int thread) {
  if (thread == process.main.slot.thread) return has_request(&process.main.slot);
  return std::ranges::any_of(process.threads, [thread](const auto& channel) {
    return channel->strand != nullptr && thread == channel->slot.thread &&
           has_request(&channel->slot);
  });
}

std::string tasks_of(const Process& process) {
  return "/proc/" + std::to_string(process.caller) + "/task";
}

// Whether a thread of this status has ended. The first thread of a process stays until the others
// have ended, too.
bool is_gone(const std::string& status) {
  return status.empty() || status.contains("\nState:\tZ") || status.contains("\nState:\tX");
}

// Whether the kernel is asked about threads in MPI, too.
enum class Look { kOutsideMpi, kAll };

// All threads of the process that have not ended. None if it has not called MPI yet or has ended.
std::vector<Observation> observe(const Process& process, Look look = Look::kOutsideMpi) {
  std::vector<Observation> threads;
  std::error_code ended;
  if (process.has_ended.load() || process.caller == 0) return threads;
  for (const auto& task : std::filesystem::directory_iterator(tasks_of(process), ended)) {
    const int thread = atoi(task.path().filename().c_str());
    if (look == Look::kOutsideMpi && is_in_mpi(process, thread)) {
      threads.push_back({thread, true, false, 0});
      continue;
    }
    const std::string status = contents(task.path() / "status");
    if (is_gone(status)) continue;
    // A thread whose suspensions the kernel does not tell may have run between two looks.
    const bool sleeps =
        status.contains("\nState:\tS") && status.contains("\nnonvoluntary_ctxt_switches:");
    threads.push_back({thread, false, sleeps, sum_of(status, "voluntary_ctxt_switches:")});
  }
  return threads;
}

// Whether the address is in memory that the process may share with others.
bool is_in_shared_memory(const Process& process, unsigned long address) {
  std::istringstream maps(contents(tasks_of(process) + "/../maps"));
  for (std::string mapping; std::getline(maps, mapping);) {
    unsigned long begin = 0, end = 0;
    char access[5] = "";
    if (sscanf(mapping.c_str(), "%lx-%lx %4s", &begin, &end, access) != 3) return true;
    if (address >= begin && address < end) return access[3] == 's';
  }
  return true;
}

// Whether only another thread of the process can wake it: it waits by futex(2), has set no time
// limit, and no other process has the futex. Where the kernel does not tell, it may wake.
bool sleeps_for_ever(const Process& process, int thread) {
  long call = -1;
  unsigned long address = 0, operation = 0, value = 0, limit = 1;
  const std::string text = contents(tasks_of(process) + "/" + std::to_string(thread) + "/syscall");
  const int read =
      sscanf(text.c_str(), "%ld %lx %lx %lx %lx", &call, &address, &operation, &value, &limit);
  if (read != 5 || call != SYS_futex || limit != 0) return false;
  // pthread_join() waits in private memory without saying so.
  return (operation & FUTEX_PRIVATE_FLAG) != 0 || !is_in_shared_memory(process, address);
}

// Whether the process that called MPI has ended, and the rank has not yet: it soon will.
bool is_ending(const Process& process) {
  const bool has_called = process.caller != 0;
  if (process.has_ended.load()) return has_called && has_request(&process.main.slot);
  return has_called && observe(process, Look::kAll).empty();
}

// A thread that has run between the two looks has been suspended once more. So threads that both
// find asleep have slept at the same time.
bool is_quiet(const Process& process, const std::vector<Observation>& first) {
  return std::ranges::all_of(first, does_nothing) && observe(process) == first;
}

}  // namespace

void start_threads(const ThreadsStart& start) { threads.emplace(start); }

bool has_arrived() {
  return slots_taken() > threads->known ||
         std::ranges::any_of(threads->unclaimed, waits_to_start) ||
         std::ranges::any_of(threads->vacant, waits_to_start,
                             [](const Channel* channel) { return &channel->slot; });
}

bool start_arrived() {
  if (!has_arrived()) return false;
  map_new_slots();
  std::vector<Channel*> arrived;
  std::erase_if(threads->unclaimed, [&](Slot* slot) {
    if (!waits_to_start(slot)) return false;
    arrived.push_back(&add_channel(*slot));
    return true;
  });
  std::erase_if(threads->vacant, [&](Channel* channel) {
    if (!waits_to_start(&channel->slot)) return false;
    arrived.push_back(channel);
    return true;
  });
  for (Channel* channel : arrived) start_strand(*channel);
  return !arrived.empty();
}

bool all_wait(const Process& process) {
  const std::vector<Observation> first = observe(process);
  return std::ranges::any_of(first, &Observation::is_in_mpi) && is_quiet(process, first);
}

bool any_new_thread_runs() {
  const uint32_t created = threads->start.file.head().threads_created.load();
  if (created == threads->seen) return false;
  bool are_levels_known = true;
  for (const auto& process : threads->start.processes) {
    const Slot& slot = process->main.slot;
    const uint32_t of_process = slot.threads_created.load();
    if (of_process == process->seen_threads) continue;
    const int level = slot.thread_level.load();
    if (level == kNotInitialized) {
      are_levels_known = false;
      continue;
    }
    const bool may_call = level >= mpi::MPI_THREAD_SERIALIZED;
    if (may_call && !is_quiet(*process, observe(*process))) return true;
    process->seen_threads = of_process;
  }
  if (are_levels_known) threads->seen = created;
  return false;
}

void forget_new_threads() {
  threads->seen = threads->start.file.head().threads_created.load();
  for (const auto& process : threads->start.processes)
    process->seen_threads = process->main.slot.threads_created.load();
}

bool any_runs(const Process& process) {
  return !std::ranges::all_of(observe(process, Look::kAll), does_nothing);
}

bool any_thread_runs() {
  // A process that a thread of it or a signal ends kills threads in MPI.
  std::vector<std::vector<Observation>> first;
  for (const auto& process : threads->start.processes) {
    first.push_back(observe(*process, Look::kAll));
    if (!std::ranges::all_of(first.back(), does_nothing)) return true;
  }
  return !std::ranges::equal(first, threads->start.processes, {}, {},
                             [](const auto& process) { return observe(*process, Look::kAll); });
}

bool any_thread_may_wake() {
  return std::ranges::any_of(threads->start.processes, [](const auto& process) {
    const auto may_wake = [&process](const Observation& thread) {
      return !thread.is_in_mpi && !sleeps_for_ever(*process, thread.thread);
    };
    return is_ending(*process) || std::ranges::any_of(observe(*process), may_wake);
  });
}

const Process* ended_in_call() {
  const auto& processes = threads->start.processes;
  const auto found = std::ranges::find_if(processes, [](const auto& process) {
    return process->has_ended.load() && has_request(&process->main.slot);
  });
  return found == processes.end() ? nullptr : found->get();
}

Channel* channel_of(Process& process, const mpi::Strand& strand) {
  if (&strand == &strand.rank->main) return &process.main;
  const auto found = std::ranges::find(process.threads, &strand,
                                       [](const auto& channel) { return channel->strand; });
  return found == process.threads.end() ? nullptr : found->get();
}

}  // namespace sesame::remote
