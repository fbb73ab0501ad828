#include "core/mpi/collectives/hardware.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <map>
#include <memory>
#include <set>
#include <span>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "core/mpi/collectives/workspace.h"
#include "core/mpi/messages/waiting.h"
#include "core/mpi/messages/world.h"
#include "core/mpi/objects/pack.h"

namespace sesame::mpi {

// Those that some ranks have entered, and others not yet.
class SwitchOperations {
 public:
  struct Waiting {
    int rank;  // in the communicator
    void* vector;
    RequestObject* request;  // null: of another worker, whose vector is packed
    Count bytes;             // of the vector
  };
  struct Entered {
    const CommObject* comm = nullptr;                   // null: no rank of this worker has entered
    const collectives::Reduction* reduction = nullptr;  // null: a barrier
    int expected_here = 0;                              // ranks of this worker that enter
    std::vector<Waiting> ranks;
    std::vector<std::unique_ptr<char[]>> vectors;  // of other workers
    SimTime last;
  };

  // By context, first rank of the communicator, since groups without a common rank may use the same
  // context, and number of the collective.
  using Key = std::tuple<uint32_t, int, int>;
  static Key key_of(const Transfer& transfer) {
    const CommObject& comm = transfer.comm();
    return {comm.context, (*comm.local)[0], transfer.tag()};
  }
  std::map<Key, Entered> entered;
};

namespace collectives {
namespace {

SwitchOperations& operations(World& world) {
  auto& shared = world.switch_operations;
  if (!shared) shared = std::make_shared<SwitchOperations>();
  return *shared;
}

SimTime time_of(const World& world, Count bytes) {
  const machine::CollectiveTables& tables = world.collective_tables;
  if (tables.hardware_bandwidth <= 0) return tables.hardware_latency;
  static const Parameter bandwidth = Parameter::of("collectives.hardware.bandwidth");
  const double ps = static_cast<double>(bytes) / tables.hardware_bandwidth * 1e12;
  return tables.hardware_latency +
         SimTime::from_ps(static_cast<int64_t>(std::llround(ps))).due_to(bandwidth);
}

// reduces the vectors of `ranks`, which are in order, into all of them that are here. Each rank is
// the left operand of the next one's.
void reduce_all(std::vector<SwitchOperations::Waiting>& ranks, const Reduction& reduction) {
  TypedWorkspace result(reduction.count, *reduction.type);
  TypedWorkspace operand(reduction.count, *reduction.type);
  const auto elements = [&](const SwitchOperations::Waiting& waiting) -> const void* {
    if (waiting.request != nullptr) return waiting.vector;
    unpack_all(waiting.vector, operand.data(), reduction.count, *reduction.type);
    return operand.data();
  };
  reduction.copy_elements(elements(ranks.back()), result.data(), reduction.count);
  for (size_t i = ranks.size() - 1; i-- > 0;)
    reduction.apply(elements(ranks[i]), result.data(), reduction.count);
  for (const auto& waiting : ranks) {
    if (waiting.request != nullptr)
      reduction.copy_elements(result.data(), waiting.vector, reduction.count);
  }
}

// Ranks of one worker have been compared when they entered (collective_log.h). One of another
// worker may have a vector of another length.
void check_lengths(const World& world, const SwitchOperations::Entered& all) {
  const auto& first = all.ranks.front();
  const auto other = std::ranges::find_if(
      all.ranks, [&](const auto& waiting) { return waiting.bytes != first.bytes; });
  if (other == all.ranks.end()) return;
  const auto describe = [&](const auto& waiting) {
    return "rank " + std::to_string((*all.comm->local)[waiting.rank]) + " " +
           std::to_string(waiting.bytes) + " bytes";
  };
  world.hooks.abort_job(MPI_ERR_TRUNCATE,
                        "the ranks pass different amounts of data to a barrier or "
                        "reduction of the network: " +
                            describe(first) + ", " + describe(*other));
}

// Ends the collective if all ranks have entered it.
void end_if_complete(World& world, const SwitchOperations::Key& key) {
  auto& entered = operations(world).entered;
  const auto found = entered.find(key);
  const CommObject* comm = found->second.comm;
  if (comm == nullptr || static_cast<int>(found->second.ranks.size()) < comm->size()) return;
  SwitchOperations::Entered all = std::move(found->second);
  entered.erase(found);
  std::ranges::sort(all.ranks, {}, &SwitchOperations::Waiting::rank);
  if (world.remote != nullptr) check_lengths(world, all);
  const Reduction* reduction = all.reduction;
  if (reduction != nullptr) reduce_all(all.ranks, *reduction);
  const SimTime end = all.last + time_of(world, reduction == nullptr ? 0 : reduction->bytes());
  for (const auto& waiting : all.ranks)
    if (waiting.request != nullptr) complete(*waiting.request, end);
}

// What a worker tells the others when all its ranks have entered. Their numbers and packed vectors
// follow.
struct EntryFrame {
  uint32_t context;
  int first;
  int tag;
  uint32_t ranks;
  uint64_t vector_bytes;
  FrameTime last;
};

// Of each other worker that has ranks of the communicator, one.
std::vector<int> ranks_of_other_workers(const World& world, const CommObject& comm) {
  std::vector<int> ranks;
  std::set<int> workers;
  for (const int rank : comm.local->world_ranks())
    if (!world.is_here(rank) && workers.insert(world.remote->worker_of(rank)).second)
      ranks.push_back(rank);
  return ranks;
}

// REQUIRES: all ranks of this worker have entered.
void tell_other_workers(World& world, const SwitchOperations::Key& key,
                        const SwitchOperations::Entered& mine) {
  const std::vector<int> others = ranks_of_other_workers(world, *mine.comm);
  if (others.empty()) return;
  EntryFrame frame{};
  std::tie(frame.context, frame.first, frame.tag) = key;
  if (mine.reduction != nullptr) {
    frame.vector_bytes = static_cast<uint64_t>(mine.reduction->bytes());
    if (!mine.reduction->op->is_predefined())
      world.remote->refuse("a reduction with an operation of the program by the network itself");
  }
  frame.last = mine.last;
  std::string content;
  for (const auto& waiting : mine.ranks) {
    if (waiting.request == nullptr) continue;
    ++frame.ranks;
    content.append(reinterpret_cast<const char*>(&waiting.rank), sizeof waiting.rank);
    if (frame.vector_bytes == 0) continue;
    content.resize(content.size() + frame.vector_bytes);
    pack_all(waiting.vector, mine.reduction->count, *mine.reduction->type,
             content.data() + content.size() - frame.vector_bytes);
  }
  for (const int rank : others)
    world.remote->post(RemoteRanks::Module::kHardwareCollectives, rank,
                       {reinterpret_cast<const char*>(&frame), sizeof frame}, content);
}

void take(World& world, std::span<const char> bytes) {
  EntryFrame frame;
  std::memcpy(static_cast<void*>(&frame), bytes.data(), sizeof frame);
  const char* at = bytes.data() + sizeof frame;
  const SwitchOperations::Key key(frame.context, frame.first, frame.tag);
  SwitchOperations::Entered& entered = operations(world).entered[key];
  for (uint32_t i = 0; i < frame.ranks; ++i) {
    int rank = 0;
    std::memcpy(&rank, at, sizeof rank);
    auto& vector = entered.vectors.emplace_back(new char[frame.vector_bytes]);
    std::memcpy(vector.get(), at + sizeof rank, frame.vector_bytes);
    entered.ranks.push_back({rank, vector.get(), nullptr, static_cast<Count>(frame.vector_bytes)});
    at += sizeof rank + frame.vector_bytes;
  }
  entered.last = later(entered.last, frame.last);
  end_if_complete(world, key);
}

void enter(Transfer& transfer, void* vector, const Reduction* reduction) {
  Strand& strand = self();
  World& world = strand.rank->world;
  RequestObject request;
  request.kind = Operation::Kind::kCollective;
  const auto key = SwitchOperations::key_of(transfer);
  SwitchOperations::Entered& mine = operations(world).entered[key];
  if (mine.comm == nullptr) {
    mine.comm = &transfer.comm();
    const auto& ranks = mine.comm->local->world_ranks();
    if (world.remote != nullptr)
      mine.expected_here = static_cast<int>(
          std::ranges::count_if(ranks, [&](int rank) { return world.is_here(rank); }));
  }
  mine.reduction = reduction;  // of the last one, which calls operations of the program
  mine.ranks.push_back(
      {transfer.rank(), vector, &request, reduction == nullptr ? 0 : reduction->bytes()});
  mine.last = later(mine.last, strand.departure());
  if (world.remote != nullptr && --mine.expected_here == 0) tell_other_workers(world, key, mine);
  end_if_complete(world, key);
  await(strand, request);
}

}  // namespace

void take_part_with_workers(World& world) {
  world.remote->take_with(RemoteRanks::Module::kHardwareCollectives,
                          [&world](std::span<const char> frame) { take(world, frame); });
}

void barrier_hardware(Transfer& transfer) { enter(transfer, nullptr, nullptr); }

void allreduce_hardware(Transfer& transfer, void* vector, const Reduction& reduction) {
  enter(transfer, vector, &reduction);
}

}  // namespace collectives
}  // namespace sesame::mpi
