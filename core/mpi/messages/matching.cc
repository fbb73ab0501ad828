#include "core/mpi/messages/matching.h"

#include <algorithm>
#include <utility>

#include "core/base/check.h"
#include "core/mpi/messages/request.h"
#include "core/mpi/messages/strand.h"

namespace sesame::mpi {

namespace {

Selector selector_of(const RequestObject& receive) {
  return {receive.context, receive.peer, receive.tag};
}

// Whether the receive accepts one of the channel's messages before `end` (null: any of them).
bool accepts_earlier(const Channel& channel, const RequestObject& receive,
                     const QueuedMessage* end) {
  const QueuedMessage* m = channel.first_message;
  while (m != end && receive.tag != MPI_ANY_TAG && receive.tag != m->tag) m = m->next;
  return m != end;
}

bool has_receive_for(const Channel& channel, int tag) {
  const RequestObject* receive = channel.first_receive;
  while (receive != nullptr && receive->tag != tag && receive->tag != MPI_ANY_TAG) {
    receive = receive->next;
  }
  return receive != nullptr;
}

}  // namespace

RequestObject* Matching::match_posted_receive(Channel& channel, int tag,
                                              const QueuedMessage* queued) {
  RequestObject* previous = nullptr;
  RequestObject* receive = channel.first_receive;
  if (receive != nullptr) prefetch_whole(*receive);
  while (receive != nullptr && receive->tag != tag && receive->tag != MPI_ANY_TAG) {
    previous = receive;
    receive = receive->next;
  }
  if (receive == nullptr) return nullptr;
  if (holds_back() && is_held_back(channel, *receive, tag, queued)) [[unlikely]]
    return nullptr;
  remove_receive(channel, previous, receive);
  return receive;
}

// Whether the receive, the first one posted of its channel that accepts the message, may not match
// it yet. Then the channel is matched again when it may.
bool Matching::is_held_back(Channel& channel, const RequestObject& receive, int tag,
                            const QueuedMessage* queued) {
  const RequestObject* claim =
      any_source_ == nullptr ? nullptr : any_source_->first_for(receive.context, tag);
  if (claim != nullptr && claim->order < receive.order) {
    hold(channel);
    return true;
  }
  if ((channel.is_held || channel.is_awaited) && accepts_earlier(channel, receive, queued))
    return true;
  if (!receive.is_cancellable) return false;
  const SimTime& arrival = queued == nullptr ? channel.last_arrival : queued->arrival;
  if (has_arrived_for(receive, arrival)) return false;
  await_arrival(channel, arrival);
  return true;
}

void Matching::remove_receive(Channel& channel, RequestObject* previous, RequestObject* receive) {
  (previous == nullptr ? channel.first_receive : previous->next) = receive->next;
  if (channel.last_receive == receive) channel.last_receive = previous;
  receive->next = nullptr;
  if (expects(receive->context)) [[unlikely]]
    expected_->remove(receive->context, receive->tag, receive->order);
}

void Matching::enqueue(Channel& channel, QueuedMessage* message) {
  QueuedMessage* previous = channel.last_message;
  message->next = nullptr;
  (previous == nullptr ? channel.first_message : previous->next) = message;
  channel.last_message = message;
  if (any_source_ != nullptr) {
    any_source_->add(*message, previous);
    if (claim_on(*message) != nullptr) schedule_event();
  }
  for (Probe* probe = probes_; probe != nullptr; probe = probe->next)
    if (probe->selector.accepts(*message)) schedule_probe(*probe);
  if (expects(message->context)) [[unlikely]]
    match_all_expected(message->context, message->tag);
}

void Matching::unlink(QueuedMessage* message) {
  if (any_source_ != nullptr) any_source_->remove(*message);
  Channel& from = channel(message->context, message->source);
  QueuedMessage* previous = nullptr;
  for (QueuedMessage* m = from.first_message; m != message; m = m->next) previous = m;
  (previous == nullptr ? from.first_message : previous->next) = message->next;
  if (from.last_message == message) from.last_message = previous;
  message->next = nullptr;
}

bool Matching::withdraw_message(QueuedMessage* message) {
  if (is_claimed(*message)) return false;
  unlink(message);
  return true;
}

// Whether a posted receive will match the queued message, or may match it if another does not.
bool Matching::is_claimed(const QueuedMessage& message) {
  if (!holds_back()) return false;
  if (any_source_ != nullptr && claim_on(message) != nullptr) return true;
  const Channel& from = channel(message.context, message.source);
  return (from.is_held || from.is_awaited) && has_receive_for(from, message.tag);
}

// The channel's messages are matched again when a receive from any source is matched or cancelled.
void Matching::hold(Channel& channel) {
  if (channel.is_held) return;
  channel.is_held = 1;
  held_.push_back(channel.key);
}

void Matching::watch(const Selector& selector) {
  if (any_source_ == nullptr) any_source_ = std::make_unique<AnySource>();
  any_source_->watch(selector, table(selector.context));
}

QueuedMessage* Matching::match_message_or_queue(RequestObject& receive, DeliverFunction deliver) {
  receive.order = next_order_++;
  receive.next = nullptr;
  deliver_ = deliver;
  if (receive.peer == MPI_ANY_SOURCE) {
    receive.wildcard_queued = true;
    watch(selector_of(receive));
    any_source_->post(receive);
    schedule_event();
    return expected_ == nullptr ? nullptr : take_expected(receive);
  }
  Channel& from = channel(receive.context, receive.peer);
  for (QueuedMessage* message = from.first_message; message != nullptr; message = message->next) {
    if (receive.tag != MPI_ANY_TAG && receive.tag != message->tag) continue;
    if (is_claimed(*message)) {  // by a receive posted earlier
      if (any_source_ != nullptr && claim_on(*message) != nullptr) hold(from);
      break;
    }
    if (receive.is_cancellable && !has_arrived_for(receive, message->arrival)) {
      await_arrival(from, message->arrival);
      break;
    }
    unlink(message);
    return message;
  }
  (from.last_receive == nullptr ? from.first_receive : from.last_receive->next) = &receive;
  from.last_receive = &receive;
  if (expects(receive.context)) [[unlikely]]
    expected_->post(receive.context, receive.tag, receive.order);
  return nullptr;
}

void Matching::schedule_event() {
  const QueuedMessage* earliest =
      any_source_ == nullptr ? nullptr : any_source_->next_for_receives();
  SimTime time = earliest == nullptr ? SimTime::never() : earliest->arrival;
  if (awaited_ != nullptr) time = std::min(time, awaited_->first_arrival());
  if (time != SimTime::never()) {
    executive_->events().schedule(event_, time,
                                  {pdes::EventClass::kMatch, static_cast<uint32_t>(rank_), 0});
  } else {
    executive_->events().withdraw(event_);
  }
}

// The message that the event will match with a receive from any source; null if there is none. If
// several messages of the channel arrive at this time, it is the one sent first.
QueuedMessage* Matching::next_match() {
  QueuedMessage* message = any_source_->next_for_receives();
  if (message == nullptr) return nullptr;
  message = channel(message->context, message->source).first_message;
  while (claim_on(*message) == nullptr) message = message->next;
  return message;
}

// Fires when nothing can arrive before the earliest message any more, so its match is certain.
void Matching::match_earliest() {
  QueuedMessage* message = next_match();
  CHECK(message != nullptr);
  RequestObject* receive = claim_on(*message);
  remove_any_source(*receive);
  unlink(message);
  const uint32_t context = message->context;
  const int tag = message->tag;
  deliver_(*world_, rank_, *receive, message);
  match_released();
  if (expected_ != nullptr) match_all_expected(context, tag);
}

void Matching::remove_any_source(RequestObject& receive) {
  any_source_->remove(receive);
  receive.wildcard_queued = false;
}

// Matches held messages with receives that name their source, after a receive from any source was
// matched or cancelled. Takes the channels in the order of their keys, because the order of `held_`
// depends on which ranks ran first.
void Matching::match_released() {
  std::vector<uint64_t> held = std::exchange(held_, {});
  std::sort(held.begin(), held.end());
  for (uint64_t key : held) {
    Channel& from = *table(ChannelTable::context_of(key)).find(key);
    from.is_held = 0;
    match_channel(from);
  }
  finish_matches();
}

void Matching::finish_matches() {
  if (!released_.empty()) [[unlikely]]
    match_behind_released();
  schedule_event();
  for (Probe* probe = probes_; probe != nullptr; probe = probe->next) schedule_probe(*probe);
}

bool Matching::withdraw(RequestObject& receive) {
  if (receive.complete) return false;
  if (receive.wildcard_queued) {
    remove_any_source(receive);
    match_released();
    return true;
  }
  if (receive.peer == MPI_ANY_SOURCE) return false;  // matched: it waits for its data
  Channel& from = channel(receive.context, receive.peer);
  RequestObject* previous = nullptr;
  for (RequestObject* r = from.first_receive; r != nullptr; previous = r, r = r->next) {
    if (r != &receive) continue;
    remove_receive(from, previous, r);
    if (from.is_held) {
      match_released();  // receives posted after it may match now
    } else if (from.is_awaited) {
      match_channel(from);
      finish_matches();
    }
    return true;
  }
  return false;
}

QueuedMessage* Matching::find(const Selector& selector, SimTime by) {
  QueuedMessage* m = nullptr;
  if (selector.source == MPI_ANY_SOURCE) {
    m = find_from_any(selector);
  } else {
    m = channel(selector.context, selector.source).first_message;
    while (m != nullptr && !selector.accepts_tag(m->tag)) m = m->next;
    // If the message is claimed, later ones are not visible either: the receive that claims it may
    // still be cancelled or match another message.
    if (m != nullptr && is_claimed(*m)) m = nullptr;
  }
  return m != nullptr && m->arrival <= by ? m : nullptr;
}

QueuedMessage* Matching::find_from_any(const Selector& selector) {
  watch(selector);
  const bool awaits = awaited_ != nullptr && !awaited_->empty();
  if (!held_.empty() || awaits) return find_among_held(selector);
  QueuedMessage* m = any_source_->next_unclaimed(selector);
  if (m == nullptr) return nullptr;
  m = channel(m->context, m->source).first_message;
  while (!selector.accepts_tag(m->tag) || is_claimed(*m)) m = m->next;
  return m;
}

// Searches all channels: the heaps do not show claims of receives that name their source.
QueuedMessage* Matching::find_among_held(const Selector& selector) {
  QueuedMessage* best = nullptr;
  table(selector.context).visit([&](const Channel& from) {
    if (ChannelTable::context_of(from.key) != selector.context) return;
    QueuedMessage* m = from.first_message;
    while (m != nullptr && (!selector.accepts_tag(m->tag) || is_claimed(*m))) m = m->next;
    if (m != nullptr && (best == nullptr || arrives_before(*m, *best))) best = m;
  });
  return best;
}

void Matching::Probe::fire() {
  Strand* const waiting = std::exchange(strand, nullptr);
  waiting->executive->make_ready(*waiting);
}

// Schedules a waiting probe for the arrival of the first message that it matches, or its limit.
void Matching::schedule_probe(Probe& probe) {
  if (probe.strand == nullptr) return;
  SimTime time = probe.latest;
  const QueuedMessage* message = find(probe.selector, SimTime::never());
  if (message != nullptr) time = std::min(time, message->arrival);
  pdes::EventQueue& events = executive_->events();
  if (time == SimTime::never()) {
    events.withdraw(probe);
  } else {
    events.schedule(probe, time, probe.strand->wake_order());
  }
}

SimTime Matching::sleep_until_arrival(const Selector& selector, SimTime latest) {
  Probe probe;
  probe.selector = selector;
  probe.latest = latest;
  probe.strand = &self();
  probe.next = std::exchange(probes_, &probe);
  schedule_probe(probe);
  executive_->block();
  Probe** link = &probes_;
  while (*link != &probe) link = &(*link)->next;
  *link = probe.next;
  return probe.time();
}

QueuedMessage* Matching::wait_for(const Selector& selector) {
  if (selector.source != MPI_ANY_SOURCE) {
    if (QueuedMessage* message = find(selector, SimTime::never())) return message;
  }
  for (;;) {
    const SimTime known = sleep_until_arrival(selector, SimTime::never());
    if (QueuedMessage* message = find(selector, known)) return message;
  }
}

}  // namespace sesame::mpi
