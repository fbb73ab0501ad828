#include "core/remote/threads.h"

#include <sys/mman.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/mpi/messages/world.h"

namespace sesame::remote {
namespace {

struct Threads {
  explicit Threads(const ThreadsStart& start_in)
      : start(start_in), known(start_in.bell.slots.load()) {}

  ThreadsStart start;
  int known;                     // slots that have been mapped here
  std::vector<Slot*> unclaimed;  // whose threads have not called yet
  std::vector<Channel*> vacant;  // whose threads have ended
};
std::optional<Threads> threads;

bool has_request(const Slot* slot) { return slot->turn.load() == Turn::kSimulator; }

void map_new_slots() {
  const ThreadsStart& start = threads->start;
  const int taken = std::min(start.bell.slots.load(), start.bell.most_slots);
  for (; threads->known < taken; ++threads->known) {
    void* const slot = mmap(nullptr, sizeof(Slot), PROT_READ | PROT_WRITE, MAP_SHARED, start.file,
                            slot_offset(threads->known));
    if (slot == MAP_FAILED) start.world.hooks.abort_job(2, "cannot map a thread's slot");
    threads->unclaimed.push_back(static_cast<Slot*>(slot));
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
  Process& process = *threads->start.processes[strand.rank_number];
  if (!process.has_threads()) return;
  Channel* const channel = channel_of(process, strand);
  if (channel == nullptr || channel == process.running) return;
  exchange(*process.running, *channel, *strand.rank);
  process.running = channel;
}

Channel& add_channel(Slot& slot) {
  threads->start.world.executive.set_switch_hook(on_switch);
  Process& process = *threads->start.processes[static_cast<size_t>(slot.rank)];
  process.memory.share();
  return *process.threads.emplace_back(std::make_unique<Channel>(process, slot));
}

void start_strand(Channel& channel) {
  mpi::World& world = threads->start.world;
  mpi::Rank& rank = *world.ranks[static_cast<size_t>(channel.process.rank)];
  world.start_strand(rank, SimTime::from_ps(channel.slot.header.clock_ps), [&channel] {
    mpi::Strand& strand = mpi::self();
    strand.call_depth = 0;
    strand.call = 0;
    strand.clock_reads = 0;
    threads->start.serve(channel);
    channel.strand = nullptr;
    threads->vacant.push_back(&channel);
  });
  channel.strand = world.busy_strands().back().get();
}

bool is_asleep(const std::filesystem::path& task) {
  std::string text;
  std::getline(std::ifstream(task / "stat"), text);
  const size_t name_end = text.rfind(") ");
  return name_end == std::string::npos || text[name_end + 2] == 'S';  // none: it has ended
}

}  // namespace

void start_threads(const ThreadsStart& start) { threads.emplace(start); }

bool has_arrived() {
  return threads->start.bell.slots.load(std::memory_order_relaxed) > threads->known ||
         std::ranges::any_of(threads->unclaimed, has_request) ||
         std::ranges::any_of(threads->vacant, has_request,
                             [](const Channel* channel) { return &channel->slot; });
}

bool start_arrived() {
  if (!has_arrived()) return false;
  map_new_slots();
  std::vector<Channel*> arrived;
  std::erase_if(threads->unclaimed, [&](Slot* slot) {
    if (!has_request(slot)) return false;
    arrived.push_back(&add_channel(*slot));
    return true;
  });
  std::erase_if(threads->vacant, [&](Channel* channel) {
    if (!has_request(&channel->slot)) return false;
    arrived.push_back(channel);
    return true;
  });
  for (Channel* channel : arrived) start_strand(*channel);
  return !arrived.empty();
}

struct Activity {
  bool any_in_mpi = false;
  bool any_runs = false;  // outside MPI
};

static Activity activity_of(const Process& process) {
  const auto is_in_mpi = [&process](const std::string& thread) {
    if (thread == std::to_string(process.main.slot.owner.load()))
      return has_request(&process.main.slot);
    return std::ranges::any_of(process.threads, [&](const auto& channel) {
      return channel->strand != nullptr && thread == std::to_string(channel->slot.thread) &&
             has_request(&channel->slot);
    });
  };
  Activity activity;
  std::error_code ended;
  const auto tasks = "/proc/" + std::to_string(process.main.slot.owner.load()) + "/task";
  for (const auto& task : std::filesystem::directory_iterator(tasks, ended)) {
    if (is_in_mpi(task.path().filename())) {
      activity.any_in_mpi = true;
    } else if (!is_asleep(task.path())) {
      activity.any_runs = true;
    }
  }
  return activity;
}

bool all_wait(const Process& process) {
  const Activity activity = activity_of(process);
  return activity.any_in_mpi && !activity.any_runs;
}

bool any_thread_runs() {
  return std::ranges::any_of(threads->start.processes, [](const auto& process) {
    return !process->has_ended.load() && activity_of(*process).any_runs;
  });
}

Channel* channel_of(Process& process, const mpi::Strand& strand) {
  if (&strand == &strand.rank->main) return &process.main;
  const auto found = std::ranges::find(process.threads, &strand,
                                       [](const auto& channel) { return channel->strand; });
  return found == process.threads.end() ? nullptr : found->get();
}

}  // namespace sesame::remote
