// The functions of Matching that match receives from any source early, by what is expected.
#include <string>
#include <utility>

#include "core/base/spelling.h"
#include "core/mpi/messages/matching.h"
#include "core/mpi/messages/rank.h"
#include "core/mpi/messages/request.h"
#include "core/mpi/messages/world.h"

namespace sesame::mpi {

// The receive from any source with this tag that may match a message of it early; null if there is
// none. Not where a message is on a card or link when it becomes known, nor where memory changes
// without a message, nor while receives that name their source wait behind others or before it.
RequestObject* Matching::find_early_receive(uint32_t context, int tag) const {
  if (any_source_ == nullptr || !held_.empty()) return nullptr;
  if (world_->traffic != nullptr || world_->has_windows) return nullptr;
  RequestObject* const receive = any_source_->first_for(context, tag);
  const bool may_match = receive != nullptr && receive->tag == tag &&
                         expected_->is_first(context, tag, receive->order);
  return may_match ? receive : nullptr;
}

RequestObject* Matching::match_expected(const MessageEnvelope& message, RequestObject* receive) {
  if (!expects(message.context)) return receive;
  if (expected_->contradicts(message)) end_contradicted(message.tag, message.source_world);
  expected_->arrive(message);
  if (receive != nullptr) {
    match_all_expected(message.context, message.tag);  // its message may be what others waited for
    return receive;
  }
  RequestObject* const waiting = find_early_receive(message.context, message.tag);
  if (waiting == nullptr) return nullptr;
  const QueuedMessage* first = any_source_->first_with_tag(message.context, message.tag);
  if (first != nullptr && !arrives_before(message, *first)) return nullptr;
  if (expected_->early_arrivals(message) > 0) return nullptr;
  match_early(message, *waiting);
  match_all_expected(message.context, message.tag);
  return waiting;
}

void Matching::end_contradicted(int tag, int source_world) {
  world_->remote->end_run(world_->ranks[static_cast<size_t>(rank_)]->name() +
                              ": a message of rank " + std::to_string(source_world) + " with tag " +
                              std::to_string(tag) +
                              " comes before another one that was expected to be the first",
                          std::string("leave out ") + spelled("--sources", "sources") +
                              ": here it matters which message comes first");
}

// The earliest queued message with this tag, if it is the expected one; else null. REQUIRES: there
// is a receive from any source for it.
QueuedMessage* Matching::find_expected(uint32_t context, int tag) {
  QueuedMessage* first = any_source_->first_with_tag(context, tag);
  if (first == nullptr) return nullptr;
  // If several messages of the channel arrive at this time, the one sent first is matched.
  first = channel(context, first->source).first_message;
  while (first->tag != tag) first = first->next;
  uint64_t early = expected_->early_arrivals(*first);
  for (const QueuedMessage* m = first->next; m != nullptr && early > 0; m = m->next)
    early -= m->tag == tag;
  return early == 0 ? first : nullptr;
}

QueuedMessage* Matching::take_expected(RequestObject& receive) {
  if (receive.tag == MPI_ANY_TAG || find_early_receive(receive.context, receive.tag) != &receive)
    return nullptr;
  QueuedMessage* message = find_expected(receive.context, receive.tag);
  if (message == nullptr) return nullptr;
  unlink(message);
  match_early(*message, receive);
  return message;
}

void Matching::match_all_expected(uint32_t context, int tag) {
  while (RequestObject* const receive = find_early_receive(context, tag)) {
    QueuedMessage* message = find_expected(context, tag);
    if (message == nullptr) return;
    unlink(message);
    match_early(*message, *receive);
    deliver_(*world_, rank_, *receive, message);
  }
}

// When all channels have been matched that were held: a receive from any source may be behind the
// receives that took these messages.
void Matching::match_behind_released() {
  for (const auto& [context, tag] : std::exchange(released_, {})) match_all_expected(context, tag);
}

void Matching::match_early(const MessageEnvelope& message, RequestObject& receive) {
  remove_any_source(receive);
  receive.matched_early = true;
  expected_->match(message);
  schedule_event();
  for (Probe* probe = probes_; probe != nullptr; probe = probe->next) schedule_probe(*probe);
}

}  // namespace sesame::mpi
