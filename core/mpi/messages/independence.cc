// Whether the match of a receive from any source, or the end of a blocking probe, is independent of
// all other workers of a parallel simulation (docs/models/parallel.md): it may then fire without
// the protocol.
//
// Such an event at a time depends on the messages that its possible sources send before: the
// members of the communicator, or the rank that a probe names. It is independent if all of them are
// ranks of this worker and none can act before that time because of another worker: their clocks
// are later, they have ended, or they wait for ranks of which the same is true. The source of the
// message that is found does not count, since its later messages do not overtake this one.
//
// Events ask this with ConditionalEvent::is_independent(), whose functions are here, above the unit
// of Matching, since they look at other ranks. They may say no although the answer is yes; then the
// event waits for the protocol.
#include <algorithm>
#include <vector>

#include "core/mpi/messages/matching.h"
#include "core/mpi/messages/rank.h"
#include "core/mpi/messages/request.h"
#include "core/mpi/messages/world.h"

namespace sesame::mpi {
namespace {

// A choice: visiting so many ranks takes about as long as a round of the protocol, some tens of
// microseconds, since each one is a few cache misses. With more the protocol is asked.
constexpr size_t kMostVisited = 256;

// The other workers reach ranks here by messages alone: no message is on a card or link, where it
// would be an event of its own, and no memory is in a window, where ranks see changes without a
// message.
bool only_messages_arrive(const World& world) {
  return world.traffic == nullptr && !world.has_windows;
}

// The ranks on which an event at `time` depends.
class Sources {
 public:
  // A rank that waits for `receive`, or whose program is blocked as `prober`, waits for the event.
  Sources(const World& world, const SimTime& time, const RequestObject* receive,
          const Strand* prober)
      : world_(world), time_(time), receive_(receive), prober_(prober) {}

  // Adds possible sources: ranks of the run. False: one of them is of another worker, or they are
  // too many.
  bool add(int rank);
  bool add_members(const CommObject& comm, int source, int without);
  // Whether none of them, nor of those for which they wait, can act before the event.
  bool are_independent();

 private:
  bool cannot_act(const Rank& rank);

  const World& world_;
  const SimTime time_;
  const RequestObject* receive_;
  const Strand* prober_;
  std::vector<int> ranks_;  // so few that they are searched
};

bool Sources::add(int rank) {
  if (!world_.is_here(rank)) return false;
  if (std::ranges::find(ranks_, rank) != ranks_.end()) return true;
  if (ranks_.size() >= kMostVisited) return false;
  ranks_.push_back(rank);
  return true;
}

// `source`: in the communicator, or MPI_ANY_SOURCE. `without`: a rank of the run that does not
// count.
bool Sources::add_members(const CommObject& comm, int source, int without) {
  if (comm.is_inter) return false;
  const std::vector<int>& members = comm.local->world_ranks();
  if (source != MPI_ANY_SOURCE) {
    const int rank = members[static_cast<size_t>(source)];
    return rank == without || add(rank);
  }
  return members.size() <= kMostVisited &&
         std::ranges::all_of(members, [&](int rank) { return rank == without || add(rank); });
}

bool Sources::are_independent() {
  for (size_t visited = 0; visited < ranks_.size(); ++visited)  // cannot_act() adds further ones
    if (!cannot_act(*world_.ranks[static_cast<size_t>(ranks_[visited])])) return false;
  return true;
}

// Announced messages, helper strands and accesses to files may send before the program does. A rank
// that waits for all of several requests waits for this one, too.
bool Sources::cannot_act(const Rank& rank) {
  if (rank.interface.has_contenders()) return false;
  const Strand& strand = rank.main;
  if (strand.ended || strand.now > time_ || &strand == prober_) return true;
  const RequestObject* request = strand.waiting_request;
  if (request == nullptr || request->complete || strand.awaits_any) return false;
  if (request == receive_) return true;
  const bool is_message =
      request->kind == RequestObject::Kind::kReceive || request->kind == RequestObject::Kind::kSend;
  return is_message && add_members(*request->comm, request->peer, MPI_UNDEFINED);
}

}  // namespace

// The program of the rank itself counts: it may cancel the receive.
bool Matching::is_next_match_independent() {
  if (is_arrival_next()) {  // the message is known to be the first of its source
    Sources sources(*world_, event_.time(), nullptr, nullptr);
    return only_messages_arrive(*world_) && sources.add(rank_) && sources.are_independent();
  }
  const QueuedMessage* message = next_match();
  if (message == nullptr || !only_messages_arrive(*world_)) return false;
  const RequestObject* receive = claim_on(*message);
  Sources sources(*world_, message->arrival, receive, nullptr);
  return sources.add(rank_) &&
         sources.add_members(*receive->comm, MPI_ANY_SOURCE, message->source_world) &&
         sources.are_independent();
}

// Not of a poll, which ends at `latest` without a message: programs poll for anything.
bool Matching::Probe::is_independent() {
  Rank& rank = *strand->rank;
  if (latest != SimTime::never() || strand != &rank.main || !only_messages_arrive(rank.world))
    return false;
  const QueuedMessage* message = rank.matching.find(selector, SimTime::never());
  if (message == nullptr) return false;
  Sources sources(rank.world, time(), nullptr, strand);
  return sources.add_members(*selector.comm, selector.source, message->source_world) &&
         sources.are_independent();
}

}  // namespace sesame::mpi
