#include "core/mpi/matching.h"

#include "core/base/check.h"
#include "core/mpi/messaging.h"
#include "core/mpi/world.h"

namespace sesame::mpi {
namespace {

// The order in which messages of different channels reach a receive from any source.
bool arrives_before(const QueuedMessage& a, const QueuedMessage& b) {
  return a.arrival != b.arrival ? a.arrival < b.arrival : a.source < b.source;
}

}  // namespace

template <typename Visit>
void Matching::visit_queued(Visit visit) {
  for (size_t i = 0; i < listed_.size();) {
    Channel& channel = *table(static_cast<uint32_t>(listed_[i] >> 32)).find(listed_[i]);
    if (channel.first_message == nullptr) {  // a good time to forget it
      channel.is_listed = 0;
      listed_[i] = listed_.back();
      listed_.pop_back();
      continue;
    }
    for (QueuedMessage* m = channel.first_message; m != nullptr;) {
      QueuedMessage* next = m->next;  // the visitor may unlink m
      if (!visit(m)) break;
      m = next;
    }
    ++i;
  }
}

RequestObject* Matching::meet_receive(Channel& channel, uint32_t context, int tag) {
  RequestObject* previous = nullptr;
  RequestObject* receive = channel.first_receive;
  if (receive != nullptr) prefetch_whole(*receive);
  while (receive != nullptr && receive->tag != tag && receive->tag != MPI_ANY_TAG) {
    previous = receive;
    receive = receive->next;
  }
  if (first_wildcard_ != nullptr) [[unlikely]] {
    for (RequestObject* wildcard = first_wildcard_; wildcard != nullptr;
         wildcard = wildcard->next) {
      if (receive != nullptr && receive->order < wildcard->order) break;
      if (wildcard->context == context && (wildcard->tag == tag || wildcard->tag == MPI_ANY_TAG)) {
        return nullptr;
      }
    }
  }
  if (receive != nullptr) remove_receive(channel, previous, receive);
  return receive;
}

void Matching::remove_receive(Channel& channel, RequestObject* previous, RequestObject* receive) {
  (previous == nullptr ? channel.first_receive : previous->next) = receive->next;
  if (channel.last_receive == receive) channel.last_receive = previous;
  receive->next = nullptr;
}

void Matching::enqueue(Channel& channel, QueuedMessage* message) {
  message->next = nullptr;
  (channel.last_message == nullptr ? channel.first_message : channel.last_message->next) = message;
  channel.last_message = message;
  if (!channel.is_listed) {
    channel.is_listed = 1;
    listed_.push_back(channel.key);
  }
  if (first_wildcard_ != nullptr && first_wildcard_for(*message) != nullptr) schedule_event();
  if (probe_ != nullptr) notify_probe(*message);
}

void Matching::unlink(QueuedMessage* message) {
  Channel& from = channel(message->context, message->source);
  QueuedMessage* previous = nullptr;
  for (QueuedMessage* m = from.first_message; m != message; m = m->next) previous = m;
  (previous == nullptr ? from.first_message : previous->next) = message->next;
  if (from.last_message == message) from.last_message = previous;
  message->next = nullptr;
}

bool Matching::take_back(QueuedMessage* message) {
  if (first_wildcard_for(*message) != nullptr) return false;
  unlink(message);
  return true;
}

QueuedMessage* Matching::meet_message_or_queue(RequestObject& receive) {
  receive.order = next_order_++;
  receive.next = nullptr;
  if (receive.peer == MPI_ANY_SOURCE) {
    receive.wildcard_queued = true;
    (last_wildcard_ == nullptr ? first_wildcard_ : last_wildcard_->next) = &receive;
    last_wildcard_ = &receive;
    if (!listed_.empty()) schedule_event();
    return nullptr;
  }
  Channel& from = channel(receive.context, receive.peer);
  for (QueuedMessage* message = from.first_message; message != nullptr; message = message->next) {
    if (receive.tag != MPI_ANY_TAG && receive.tag != message->tag) continue;
    if (first_wildcard_ != nullptr && is_held(*message, receive.order)) break;
    unlink(message);
    return message;
  }
  (from.last_receive == nullptr ? from.first_receive : from.last_receive->next) = &receive;
  from.last_receive = &receive;
  return nullptr;
}

RequestObject* Matching::first_wildcard_for(const QueuedMessage& message) const {
  for (RequestObject* wildcard = first_wildcard_; wildcard != nullptr; wildcard = wildcard->next) {
    if (selector_of(*wildcard).accepts(message)) return wildcard;
  }
  return nullptr;
}

bool Matching::is_held(const QueuedMessage& message, uint64_t before_order) const {
  const RequestObject* wildcard = first_wildcard_for(message);
  return wildcard != nullptr && wildcard->order < before_order;
}

// The queue's earliest arrival that some any-source receive accepts. Channels deliver in order, so
// the earliest of all is also the first of its channel that the receive accepts.
QueuedMessage* Matching::earliest_for_wildcards() {
  QueuedMessage* best = nullptr;
  visit_queued([&](QueuedMessage* m) {
    if (best != nullptr && !arrives_before(*m, *best)) return false;
    if (first_wildcard_for(*m) == nullptr) return true;
    best = m;
    return false;
  });
  return best;
}

void Matching::schedule_event() {
  pdes::EventQueue& events = world_->executive.events();
  if (const QueuedMessage* earliest = earliest_for_wildcards()) {
    events.schedule(event_, earliest->arrival,
                    {pdes::EventClass::kMatch, static_cast<uint32_t>(rank_), 0});
  } else {
    events.withdraw(event_);
  }
}

// Nothing can arrive before the earliest message any more, so its match is certain.
void Matching::settle_earliest() {
  QueuedMessage* message = earliest_for_wildcards();
  CHECK(message != nullptr);
  RequestObject* wildcard = first_wildcard_for(*message);
  Channel& from = channel(message->context, message->source);
  RequestObject* previous = nullptr;
  RequestObject* receive = from.first_receive;
  while (receive != nullptr && receive->tag != message->tag && receive->tag != MPI_ANY_TAG) {
    previous = receive;
    receive = receive->next;
  }
  if (receive != nullptr && receive->order < wildcard->order) {
    remove_receive(from, previous, receive);
  } else {
    receive = wildcard;
    remove_wildcard(wildcard);
  }
  unlink(message);
  deliver(*world_, rank_, *receive, message);
  match_released();
}

void Matching::remove_wildcard(RequestObject* receive) {
  RequestObject* previous = nullptr;
  for (RequestObject* w = first_wildcard_; w != receive; w = w->next) previous = w;
  (previous == nullptr ? first_wildcard_ : previous->next) = receive->next;
  if (last_wildcard_ == receive) last_wildcard_ = previous;
  receive->next = nullptr;
  receive->wildcard_queued = false;
}

// Once an any-source receive is gone, messages that it held back may fit receives that name their
// source.
void Matching::match_released() {
  visit_queued([&](QueuedMessage* m) {
    Channel& from = channel(m->context, m->source);
    if (from.first_receive == nullptr) return false;
    if (RequestObject* receive = meet_receive(from, m->context, m->tag)) {
      unlink(m);
      deliver(*world_, rank_, *receive, m);
    }
    return true;
  });
  schedule_event();
  if (probe_ == nullptr || probe_->strand == nullptr) return;
  visit_queued([&](const QueuedMessage* m) {
    notify_probe(*m);
    return !probe_->selector.accepts(*m);
  });
}

bool Matching::withdraw(RequestObject& receive) {
  if (receive.complete) return false;
  if (receive.wildcard_queued) {
    remove_wildcard(&receive);
    match_released();
    return true;
  }
  Channel& from = channel(receive.context, receive.peer);
  RequestObject* previous = nullptr;
  for (RequestObject* r = from.first_receive; r != nullptr; previous = r, r = r->next) {
    if (r != &receive) continue;
    remove_receive(from, previous, r);
    return true;
  }
  return false;
}

QueuedMessage* Matching::find(const Selector& selector, SimTime by) {
  if (selector.source != MPI_ANY_SOURCE) {
    for (QueuedMessage* m = channel(selector.context, selector.source).first_message; m != nullptr;
         m = m->next) {
      if (!selector.accepts_tag(m->tag)) continue;
      return m->arrival <= by && first_wildcard_for(*m) == nullptr ? m : nullptr;
    }
    return nullptr;
  }
  QueuedMessage* best = nullptr;
  visit_queued([&](QueuedMessage* m) {
    if (m->arrival > by || (best != nullptr && !arrives_before(*m, *best))) return false;
    if (!selector.accepts(*m) || first_wildcard_for(*m) != nullptr) return true;
    best = m;
    return false;
  });
  return best;
}

void Matching::Probe::fire() { strand->rank->world.executive.make_ready(*strand); }

void Matching::schedule_probe(SimTime time) {
  if (probe_->is_scheduled() && probe_->time() <= time) return;
  const Strand& strand = *probe_->strand;
  world_->executive.events().schedule(
      *probe_, time, {pdes::EventClass::kWake, static_cast<uint32_t>(rank_), strand.number});
}

void Matching::notify_probe(const QueuedMessage& message) {
  if (probe_->strand == nullptr || !probe_->selector.accepts(message)) return;
  schedule_probe(message.arrival);
}

SimTime Matching::sleep_until_arrival(const Selector& selector, SimTime latest) {
  Strand& strand = self();
  if (probe_ == nullptr) probe_ = std::make_unique<Probe>();
  probe_->selector = selector;
  probe_->strand = &strand;
  if (latest != SimTime::never()) schedule_probe(latest);
  visit_queued([&](const QueuedMessage* m) {
    notify_probe(*m);
    return !selector.accepts(*m);
  });
  world_->executive.block();
  probe_->strand = nullptr;
  return probe_->time();
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
