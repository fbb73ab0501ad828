#include "core/mpi/messages/any_source.h"

#include <algorithm>

#include "core/base/check.h"
#include "core/mpi/messages/message.h"
#include "core/mpi/messages/request.h"

namespace sesame::mpi {

AnySource::TagQueue& AnySource::queue_of(ContextQueues& context, int tag) {
  if (tag == MPI_ANY_TAG) return context.all_tags;
  if (auto found = context.by_tag.find(tag); found != context.by_tag.end()) return found->second;
  if (context.by_tag.size() >= context.sweep_at) {
    std::erase_if(context.by_tag, [](const auto& entry) { return entry.second.is_unused(); });
    context.sweep_at = std::max(context.sweep_at, 2 * context.by_tag.size());
  }
  return context.by_tag.emplace(tag, ArrivalHeap::Kind::kOneTag).first->second;
}

void AnySource::watch(const Selector& selector, const ChannelTable& channels) {
  ContextQueues& context = contexts_[selector.context];
  const bool all_tags = selector.tag == MPI_ANY_TAG && !context.watches_all;
  const bool one_tag = selector.tag != MPI_ANY_TAG && !context.watches_tags;
  if (!all_tags && !one_tag) return;
  context.watches_all |= all_tags;
  context.watches_tags |= one_tag;
  channels.visit([&](const Channel& channel) {
    if (ChannelTable::context_of(channel.key) != selector.context) return;
    const QueuedMessage* previous = nullptr;
    for (QueuedMessage* m = channel.first_message; m != nullptr; previous = m, m = m->next) {
      add_to(context, *m, previous, all_tags, one_tag);
    }
  });
}

void AnySource::post(RequestObject& receive) {
  TagQueue& queue = queue_of(contexts_.at(receive.context), receive.tag);
  CHECK(receive.order > (queue.last_receive == nullptr ? 0 : queue.last_receive->order));
  if (queue.first_receive == nullptr) with_receives_.push_back(&queue);
  (queue.last_receive == nullptr ? queue.first_receive : queue.last_receive->next) = &receive;
  queue.last_receive = &receive;
}

void AnySource::remove(RequestObject& receive) {
  TagQueue& queue = queue_of(contexts_.at(receive.context), receive.tag);
  RequestObject* previous = nullptr;
  for (RequestObject* r = queue.first_receive; r != &receive; r = r->next) previous = r;
  (previous == nullptr ? queue.first_receive : previous->next) = receive.next;
  if (queue.last_receive == &receive) queue.last_receive = previous;
  receive.next = nullptr;
  if (queue.first_receive == nullptr) std::erase(with_receives_, &queue);
}

RequestObject* AnySource::first_for(uint32_t context, int tag) const {
  if (with_receives_.empty()) return nullptr;
  const auto found = contexts_.find(context);
  if (found == contexts_.end()) return nullptr;
  RequestObject* any = found->second.all_tags.first_receive;
  const auto queue = found->second.by_tag.find(tag);
  if (queue == found->second.by_tag.end()) return any;
  RequestObject* exact = queue->second.first_receive;
  if (any == nullptr || exact == nullptr) return any == nullptr ? exact : any;
  return any->order < exact->order ? any : exact;
}

void AnySource::add_to(ContextQueues& context, QueuedMessage& message,
                       const QueuedMessage* previous, bool all_tags, bool one_tag) {
  if (all_tags && previous == nullptr) context.all_tags.messages.push(message);
  if (one_tag && (previous == nullptr || previous->tag != message.tag)) {
    queue_of(context, message.tag).messages.push(message);
  }
}

void AnySource::add(QueuedMessage& message, const QueuedMessage* previous) {
  const auto found = contexts_.find(message.context);
  if (found == contexts_.end()) return;
  ContextQueues& context = found->second;
  add_to(context, message, previous, context.watches_all, context.watches_tags);
}

void AnySource::remove(QueuedMessage& message) {
  const auto found = contexts_.find(message.context);
  if (found == contexts_.end()) return;
  QueuedMessage* next = message.next;
  ArrivalHeap& all_tags = found->second.all_tags.messages;
  if (all_tags.has(message)) {
    next != nullptr ? all_tags.replace(message, *next) : all_tags.remove(message);
  }
  if (!found->second.watches_tags) return;
  ArrivalHeap& one_tag = queue_of(found->second, message.tag).messages;
  if (one_tag.has(message)) {
    const bool next_has_tag = next != nullptr && next->tag == message.tag && !one_tag.has(*next);
    next_has_tag ? one_tag.replace(message, *next) : one_tag.remove(message);
  }
}

QueuedMessage* AnySource::next_for_receives() const {
  QueuedMessage* best = nullptr;
  for (const TagQueue* queue : with_receives_) {
    QueuedMessage* top = queue->messages.top();
    if (top != nullptr && (best == nullptr || arrives_before(*top, *best))) best = top;
  }
  return best;
}

QueuedMessage* AnySource::first_with_tag(uint32_t context, int tag) const {
  return contexts_.at(context).by_tag.at(tag).messages.top();
}

QueuedMessage* AnySource::next_unclaimed(const Selector& selector) const {
  const ContextQueues& context = contexts_.at(selector.context);
  if (context.all_tags.first_receive != nullptr) return nullptr;
  if (selector.tag != MPI_ANY_TAG) {
    const auto queue = context.by_tag.find(selector.tag);
    if (queue == context.by_tag.end() || queue->second.first_receive != nullptr) return nullptr;
    return queue->second.messages.top();
  }
  QueuedMessage* top = context.all_tags.messages.top();
  if (top == nullptr || first_for(selector.context, top->tag) == nullptr) return top;
  // Messages of some tags are claimed, so tags are watched: the earliest of the others.
  QueuedMessage* best = nullptr;
  for (const auto& [tag, queue] : context.by_tag) {
    if (queue.first_receive != nullptr || queue.messages.empty()) continue;
    top = queue.messages.top();
    if (best == nullptr || arrives_before(*top, *best)) best = top;
  }
  return best;
}

}  // namespace sesame::mpi
