#include "core/mpi/messages/world.h"

#include <algorithm>
#include <new>
#include <numeric>
#include <span>
#include <utility>

#include "core/base/check.h"
#include "core/mpi/objects/info.h"
#include "core/network/traffic.h"

namespace sesame::mpi {
namespace {

// The stack of a helper strand, for algorithms of collectives (their large buffers are on the heap)
// and the program's reduction functions. Its pages are allocated at their first use.
constexpr size_t kHelperStackBytes = 256 * 1024;

// Address space is reserved for this many spawned ranks, some kilobytes each.
constexpr int kMostSpawned = 1 << 16;

uint64_t content_hash(const std::vector<int>& values) {
  uint64_t hash = 0xcbf29ce484222325ull ^ values.size();
  for (int value : values) {
    hash = (hash ^ static_cast<uint32_t>(value)) * 0x100000001b3ull;
    hash ^= hash >> 29;
  }
  return hash;
}

void run_helper(pdes::Fiber* fiber) {
  auto* strand = static_cast<Strand*>(fiber);
  for (;;) {
    strand->body();
    strand->body = nullptr;
    strand->rank->world.park(*strand);
  }
}

}  // namespace

Rank::Rank(World& owner, Job& job_in, int id_in)
    : ObjectOwner(id_in), world(owner), interface(main, owner.interfaces), job(job_in) {
  main.rank = this;
  main.owner = &tables;
  main.rank_number = static_cast<uint32_t>(id);
  main.executive = &owner.executive;
  matching.set_owner(owner, owner.executive, id);
  // Contexts 0 to 3 belong to MPI_COMM_WORLD and MPI_COMM_SELF.
  next_context = 4;
}

Rank::~Rank() = default;

std::string Rank::name() const {
  std::string name = "rank " + std::to_string(id);
  if (job.number == 0) return name;
  return name + " (rank " + std::to_string(id - job.first_rank) + " of those spawned as " +
         program + ")";
}

MembersRef Rank::intern(std::vector<int> world_ranks) {
  return world.intern(std::move(world_ranks));
}

void Rank::describe_environment(InfoObject& info) const {
  info.set("maxprocs", std::to_string(job.size));
  if (world.hooks.node_name != nullptr) {
    info.set("host", world.hooks.node_name(world.network.node_of(id)));
  }
}

void Rank::abort_job(const std::string& why) {
  world.hooks.abort_job(1, why);
  __builtin_unreachable();
}

ObjectOwner& this_owner() { return this_rank(); }

World::World(network::Network network_in, int rank_count)
    : network(std::move(network_in)),
      rank_block(sizeof(Rank) * static_cast<size_t>(rank_count + kMostSpawned)),
      helper_stacks(kHelperStackBytes, 16) {
  executive.set_prefetch_hook([](const pdes::Fiber& next) {
    static_cast<const Strand&>(next).rank->matching.prefetch_messages();
  });
  sent.kind = RequestObject::Kind::kSend;
  sent.complete = true;
  CHECK(add_ranks(rank_count, SimTime::zero()) != nullptr);
  universe_size = rank_count;
  const Rank& first = *ranks.front();
  const auto begin = reinterpret_cast<uintptr_t>(&first.objects.world) & ~uintptr_t{63};
  const auto bytes_until = [begin](const void* end) {
    return static_cast<size_t>(reinterpret_cast<uintptr_t>(end) - begin);
  };
  executive.set_hot_range(bytes_until(static_cast<const pdes::Fiber*>(&first.main)),
                          bytes_until(first.matching.end_of_hot()));
}

World::~World() = default;

static bool computes(void* world, int rank, SimTime now) {
  return static_cast<World*>(world)->ranks[static_cast<size_t>(rank)]->computing->covers(now);
}

void World::share_network(const machine::Machine& machine) {
  if (machine.sharing.mode == machine::SharingMode::kNone) return;
  traffic = std::make_unique<network::Traffic>(machine, network, executive.events());
  traffic->set_busy_cores(computes, this);
  interfaces.traffic = traffic.get();
  watch_computing(0);
}

// Of this rank and those behind it.
void World::watch_computing(int first) {
  if (traffic == nullptr || !traffic->cards().depends_on_cores()) return;
  for (const auto& rank : std::span(ranks).subspan(static_cast<size_t>(first)))
    rank->computing = std::make_unique<ComputingTimes>();
}

Job* World::add_ranks(int count, SimTime begin) {
  const auto total = static_cast<size_t>(size() + count);
  if (!rank_block.extend_to(sizeof(Rank) * total)) return nullptr;
  Job& job = jobs.emplace_back();
  job.number = static_cast<int>(jobs.size()) - 1;
  job.first_rank = size();
  job.size = count;
  job.begin = begin;
  ranks.reserve(total);
  auto* block = static_cast<Rank*>(rank_block.data());
  for (int id = job.first_rank; id < job.first_rank + count; ++id) {
    ranks.emplace_back(new (block + id) Rank(*this, job, id))->main.now = begin;
  }
  return &job;
}

Job* World::add_job(const std::vector<int>& nodes, SimTime begin, int parent_port) {
  Job* job = add_ranks(static_cast<int>(nodes.size()), begin);
  if (job == nullptr) return nullptr;
  network.add_ranks(nodes);
  if (traffic != nullptr) traffic->add_ranks(nodes);
  watch_computing(job->first_rank);
  job->parent_port = parent_port;
  return job;
}

const MembersRef& World::all_ranks() {
  if (all_ranks_ == nullptr || all_ranks_->size() != size()) {
    std::vector<int> all(ranks.size());
    std::iota(all.begin(), all.end(), 0);
    all_ranks_ = intern(std::move(all));
  }
  return all_ranks_;
}

MembersRef World::intern(std::vector<int> world_ranks) {
  const uint64_t hash = content_hash(world_ranks);
  auto [begin, end] = interned_.equal_range(hash);
  for (auto entry = begin; entry != end;) {
    MembersRef members = entry->second.lock();
    if (members == nullptr) {
      entry = interned_.erase(entry);
    } else if (members->world_ranks() == world_ranks) {
      return members;
    } else {
      ++entry;
    }
  }
  auto members = std::make_shared<const Members>(std::move(world_ranks));
  interned_.emplace(hash, members);
  return members;
}

void World::start_strand(Rank& rank, SimTime now, std::function<void()> body) {
  std::unique_ptr<Strand> strand;
  if (idle_strands_.empty()) {
    strand = std::make_unique<Strand>();
    Result<pdes::Stack> stack = helper_stacks.take();
    if (!stack) hooks.abort_job(1, stack.error().to_string());
    strand->prepare(*stack, run_helper);
    strand->executive = &executive;
  } else {
    strand = std::move(idle_strands_.back());
    idle_strands_.pop_back();
  }
  strand->rank = &rank;
  strand->owner = &rank.tables;
  strand->rank_number = rank.main.rank_number;
  strand->number = ++rank.helpers;
  strand->now = now;
  strand->idle_polls = 0;
  strand->waited = SimTime::zero();
  strand->call_depth = 1;  // functions of the program that it calls are inside the collective
  strand->body = std::move(body);
  Strand* started = strand.get();
  rank.interface.add_helper(*started);
  started->busy_index = static_cast<uint32_t>(busy_strands_.size());
  busy_strands_.push_back(std::move(strand));
  executive.make_ready(*started);
}

void World::park(Strand& strand) {
  strand.rank->interface.remove_helper(strand);
  std::unique_ptr<Strand>& slot = busy_strands_[strand.busy_index];
  CHECK(slot.get() == &strand);
  idle_strands_.push_back(std::move(slot));
  if (&slot != &busy_strands_.back()) {
    slot = std::move(busy_strands_.back());
    slot->busy_index = strand.busy_index;
  }
  busy_strands_.pop_back();
  executive.block();
}

}  // namespace sesame::mpi
