// The functions of Matching for receives that name their source and that the program may cancel:
// these match when their message arrives.
#include <span>

#include "core/mpi/messages/matching.h"
#include "core/mpi/messages/rank.h"
#include "core/mpi/messages/request.h"
#include "core/mpi/messages/settling.h"
#include "core/mpi/messages/world.h"

namespace sesame::mpi {

// Whether the program can no longer cancel the receive before this time. Its next call is not
// before the rank's clock; that of another thread may be.
bool Matching::has_arrived_for(const RequestObject& receive, const SimTime& arrival) const {
  if (arrival <= receive.posted || arrival <= known_until_) return true;
  const Rank& rank = *world_->ranks[static_cast<size_t>(rank_)];
  return rank.thread_level != MPI_THREAD_MULTIPLE && arrival <= rank.main.now;
}

// A message that arrives then cannot match yet. Another one of the channel may be awaited already:
// a later one, where its receive was posted first.
void Matching::await_arrival(Channel& channel, const SimTime& arrival) {
  channel.is_awaited = 1;
  if (awaited_->await(channel.key, arrival)) schedule_event();
}

// Whether the event is for a receive that may be cancelled. At equal times such receives come
// first: what receives from any source that were posted later may match depends on them. A message
// for one that was posted earlier is not awaited, but held.
bool Matching::is_arrival_next() const { return is_arrival_due(event_.time()); }

bool Matching::is_arrival_due(const SimTime& time) const {
  return awaited_ != nullptr && awaited_->first_arrival() <= time;
}

// Fires when nothing earlier can happen any more: no other message can arrive before, and the
// program cannot cancel a receive before.
void Matching::fire_match() {
  const SimTime now = event_.time();  // matching schedules the event again
  known_until_ = later(known_until_, now);
  if (!is_arrival_due(now)) return match_earliest();
  while (is_arrival_due(now)) {
    const uint64_t key = awaited_->first_channel();
    match_channel(table(ChannelTable::context_of(key)).at(key));
  }
  finish_matches();
}

// Matches the channel's messages, as far as that is certain, with receives that name their source.
void Matching::match_channel(Channel& channel) {
  if (channel.is_awaited) {
    channel.is_awaited = 0;
    awaited_->remove(channel.key);
  }
  for (QueuedMessage *m = channel.first_message, *next; m != nullptr; m = next) {
    next = m->next;
    RequestObject* receive = match_posted_receive(channel, m->tag, m);
    if (receive == nullptr) continue;
    unlink(m);
    if (expects(m->context)) [[unlikely]]
      released_.emplace_back(m->context, m->tag);
    deliver_(*world_, rank_, *receive, m);
  }
}

void Matching::settle(RequestObject& receive) {
  receive.is_cancellable = false;
  if (receive.peer < 0 || awaited_->empty()) return;
  Channel& from = channel(receive.context, receive.peer);
  if (!from.is_awaited) return;
  match_channel(from);
  finish_matches();
}

void settle_receives(Strand& strand, std::span<RequestObject* const> requests) {
  Rank& rank = *strand.rank;
  if (rank.thread_level == MPI_THREAD_MULTIPLE) return;
  for (RequestObject* request : requests) {
    if (request == nullptr || request->complete || !request->active) continue;
    if (request->is_cancellable) rank.matching.settle(*request);
  }
}

}  // namespace sesame::mpi
