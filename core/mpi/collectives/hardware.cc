#include "core/mpi/collectives/hardware.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <memory>
#include <tuple>
#include <vector>

#include "core/mpi/collectives/workspace.h"
#include "core/mpi/messages/waiting.h"
#include "core/mpi/messages/world.h"

namespace sesame::mpi {

// Those that some ranks have entered, and others not yet.
class SwitchOperations {
 public:
  struct Waiting {
    int rank;  // in the communicator
    void* vector;
    RequestObject* request;
  };
  struct Entered {
    std::vector<Waiting> ranks;
    SimTime last;
  };

  // By context, ranks and number of the collective.
  using Key = std::tuple<uint32_t, const Members*, int>;
  static Key key_of(const Transfer& transfer) {
    const CommObject& comm = transfer.comm();
    return {comm.context, comm.local.get(), transfer.tag()};
  }
  std::map<Key, Entered> entered;
};

namespace collectives {
namespace {

SwitchOperations& operations() {
  auto& shared = this_rank().world.switch_operations;
  if (!shared) shared = std::make_shared<SwitchOperations>();
  return *shared;
}

SimTime time_of(Count bytes) {
  const machine::CollectiveTables& tables = this_rank().world.collective_tables;
  if (tables.hardware_bandwidth <= 0) return tables.hardware_latency;
  static const Parameter bandwidth = Parameter::of("collectives.hardware.bandwidth");
  const double ps = static_cast<double>(bytes) / tables.hardware_bandwidth * 1e12;
  return tables.hardware_latency +
         SimTime::from_ps(static_cast<int64_t>(std::llround(ps))).due_to(bandwidth);
}

// reduces the vectors of `ranks`, which are in order, into all of them. Each rank is the left
// operand of the next one's.
void reduce_all(std::vector<SwitchOperations::Waiting>& ranks, const Reduction& reduction) {
  TypedWorkspace result(reduction.count, *reduction.type);
  reduction.copy_elements(ranks.back().vector, result.data(), reduction.count);
  for (size_t i = ranks.size() - 1; i-- > 0;)
    reduction.combine(ranks[i].vector, result.data(), reduction.count);
  for (const auto& waiting : ranks)
    reduction.copy_elements(result.data(), waiting.vector, reduction.count);
}

void enter(Transfer& transfer, void* vector, const Reduction* reduction) {
  Strand& strand = self();
  RequestObject request;
  request.kind = Operation::Kind::kCollective;
  auto& entered = operations().entered;
  const auto key = SwitchOperations::key_of(transfer);
  SwitchOperations::Entered& mine = entered[key];
  mine.ranks.push_back({transfer.rank(), vector, &request});
  mine.last = later(mine.last, strand.departure());
  if (static_cast<int>(mine.ranks.size()) == transfer.size()) {
    SwitchOperations::Entered all = std::move(mine);
    entered.erase(key);
    std::ranges::sort(all.ranks, {}, &SwitchOperations::Waiting::rank);
    if (reduction != nullptr) reduce_all(all.ranks, *reduction);
    const SimTime end = all.last + time_of(reduction == nullptr ? 0 : reduction->bytes());
    for (const auto& waiting : all.ranks) complete(*waiting.request, end);
  }
  await(strand, request);
}

}  // namespace

void barrier_hardware(Transfer& transfer) { enter(transfer, nullptr, nullptr); }

void allreduce_hardware(Transfer& transfer, void* vector, const Reduction& reduction) {
  enter(transfer, vector, &reduction);
}

}  // namespace collectives
}  // namespace sesame::mpi
