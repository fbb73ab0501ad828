// Whether an event of a worker is independent of all other workers of a parallel simulation
// (docs/models/parallel.md): it may then fire without synchronisation.
//
// A message can affect a receive, a probe or a test only if it comes from one of its possible
// sources: the rank that it names, or the members of its communicator. If these are ranks of this
// worker, only they decide, and each of them may be blocked on further ranks. An event is
// independent if no rank from which it can be reached in this way waits for another worker: all of
// them have clocks at the time of the event or later, have ended, or wait for each other.
//
// Events ask it with ConditionalEvent::is_independent(), whose functions for receives, probes and
// strands are here, above the units of these, since they look at other ranks. They may say no
// although the answer is yes; then the event waits for the protocol. They are called when no strand
// runs and no event of this worker is earlier.
#include <algorithm>
#include <ranges>
#include <vector>

#include "core/mpi/messages/awaited.h"
#include "core/mpi/messages/matching.h"
#include "core/mpi/messages/rank.h"
#include "core/mpi/messages/request.h"
#include "core/mpi/messages/world.h"

namespace sesame::mpi {
namespace {

// A choice: visiting so many ranks takes about as long as a round of the protocol, some tens of
// microseconds, since each one is a few cache misses. With more the protocol is asked.
constexpr int kMostVisited = 256;

bool is_pending(const RequestObject* request) {
  return request != nullptr && request->active && !request->complete;
}

// The ranks from which an event at `time` can be reached.
class Sources {
 public:
  // `decided`: the receive that the event completes, if it does; a rank that waits for it waits for
  // the event.
  Sources(const World& world, const SimTime& time, const RequestObject* decided = nullptr)
      : world_(world), time_(time), decided_(decided), seen_(static_cast<size_t>(world.size())) {}

  // Adds ranks that may cause it. False: one of them is of another worker, or they are too many.
  bool add(int rank);
  bool add(const Members& members, int without = MPI_UNDEFINED);
  bool add(const CommObject* comm, int source, int without = MPI_UNDEFINED);
  bool add(const RequestObject& request);
  // Whether none of them, nor of those for which they wait, can act before the event because of
  // another worker.
  bool are_independent();

 private:
  bool cannot_act(const Rank& rank);
  bool add_awaited(const Strand& strand);

  const World& world_;
  const SimTime time_;
  const RequestObject* decided_;
  std::vector<bool> seen_;  // by rank
  std::vector<int> ranks_;
  size_t visited_ = 0;
};

bool Sources::add(int rank) {
  if (!world_.is_here(rank)) return false;
  if (seen_[static_cast<size_t>(rank)]) return true;
  if (ranks_.size() >= kMostVisited) return false;
  seen_[static_cast<size_t>(rank)] = true;
  ranks_.push_back(rank);
  return true;
}

bool Sources::add(const Members& members, int without) {
  if (members.size() > kMostVisited) return false;
  return std::ranges::all_of(members.world_ranks(),
                             [&](int rank) { return rank == without || add(rank); });
}

bool Sources::add(const CommObject* comm, int source, int without) {
  if (comm == nullptr) return false;
  if (source == MPI_ANY_SOURCE) return add(*comm->remote, without);
  const int rank = (*comm->remote)[source];
  return rank == without || add(rank);
}

// A send that is not complete waits for its receiver; its data, if announced, for the interface,
// which cannot_act() looks at.
bool Sources::add(const RequestObject& request) {
  const bool is_message =
      request.kind == RequestObject::Kind::kReceive || request.kind == RequestObject::Kind::kSend;
  return is_message && add(request.comm, request.peer);
}

bool Sources::are_independent() {
  for (; visited_ < ranks_.size(); ++visited_)
    if (!cannot_act(*world_.ranks[static_cast<size_t>(ranks_[visited_])])) return false;
  return true;
}

// Messages that it has announced, helper strands and accesses to files may send before its program
// does. A strand that is ready resumes after the event (Executive::make_ready_at()).
bool Sources::cannot_act(const Rank& rank) {
  if (rank.interface.has_contenders()) return false;
  const Strand& strand = rank.main;
  return strand.ended || strand.now >= time_ || strand.is_ready() || add_awaited(strand);
}

// If it waits for all of several requests, one that waits for ranks of this worker is enough.
bool Sources::add_awaited(const Strand& strand) {
  const Awaited* awaited = strand.awaited;
  if (awaited == nullptr) return false;
  if (awaited->probed != nullptr) return add(awaited->probed->comm, awaited->probed->source);
  const auto is_added = [&](const RequestObject* request) {
    return request == decided_ || add(*request);
  };
  auto pending = std::views::filter(awaited->requests, is_pending);
  return strand.awaits_any ? std::ranges::all_of(pending, is_added)
                           : std::ranges::any_of(pending, is_added);
}

// The end of a probe at `time`. `message`: the one that it will find; null if there is none yet.
// Later messages of the same source do not overtake the message.
bool is_probe_independent(const Rank& rank, const Selector& selector, const QueuedMessage* message,
                          const SimTime& time) {
  const int without = message != nullptr ? message->source_world : MPI_UNDEFINED;
  Sources sources(rank.world, time);
  return sources.add(selector.comm, selector.source, without) && sources.are_independent();
}

}  // namespace

// The program of the rank itself may cancel the receive.
bool Matching::is_next_match_independent() const {
  const QueuedMessage* message = any_source_->next_for_receives();
  if (message == nullptr) return false;
  const RequestObject* receive = claim_on(*message);
  Sources sources(*world_, message->arrival, receive);
  return sources.add(rank_) && sources.add(receive->comm, MPI_ANY_SOURCE, message->source_world) &&
         sources.are_independent();
}

bool Matching::Probe::is_independent() const {
  Rank& rank = *strand->rank;
  const QueuedMessage* message = rank.matching.find(selector, SimTime::never());
  return is_probe_independent(rank, selector, message, time());
}

// The strand resumes, since it has yielded until now or one of its requests is complete.
bool Strand::Wake::is_independent() const {
  const Awaited* awaited = strand->awaited;
  const Rank& rank = *strand->rank;
  if (awaited == nullptr || rank.interface.has_contenders()) return false;
  if (awaited->probed != nullptr)
    return is_probe_independent(rank, *awaited->probed, nullptr, time());
  Sources sources(rank.world, time());
  const auto is_added = [&](const RequestObject* request) {
    return !is_pending(request) || sources.add(*request);
  };
  return std::ranges::all_of(awaited->requests, is_added) && sources.are_independent();
}

}  // namespace sesame::mpi
