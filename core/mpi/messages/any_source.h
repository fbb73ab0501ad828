// The posted receives from any source of one rank, and its queued messages in order of arrival.
// Matching (matching.h) makes one at the rank's first receive or probe from any source.
//
// Use: watch() a selector, then post() receives for it; report every message that enters or leaves
// the rank's queues with add() and remove(); next_for_receives() gives the message to match next.
// Updating the order takes O(log n) for n sources.
//
// A heap orders only some of the messages. Messages of a channel (one source on one context) do not
// overtake each other, so a selector can match only the first one that it accepts. For all tags
// that is the first message of the channel. For one tag it is the first of a run, that is, of
// consecutive messages with this tag. The heap for all tags therefore has one message of each
// channel, the heap for one tag has the first of each run. A message that leaves is replaced by the
// next one of its channel or run.
//
// Owns neither messages nor receives. Times are simulated. One thread.
#pragma once

#include <cstdint>
#include <unordered_map>
#include <vector>

#include "core/mpi/messages/arrival_heap.h"
#include "core/mpi/messages/channel_table.h"

namespace sesame::mpi {

struct QueuedMessage;
struct RequestObject;
struct Selector;

class AnySource {
 public:
  // Starts to order the messages that the selector accepts by arrival. `channels` holds those that
  // are queued already. Does nothing if the selector's tags are watched already.
  void watch(const Selector& selector, const ChannelTable& channels);

  // Receives from any source. REQUIRES: their selector is watched. Set RequestObject::order before
  // post(): above 0, and above that of all receives posted before. first_for() compares it.
  void post(RequestObject& receive);
  void remove(RequestObject& receive);
  // The receive from any source that was posted first among those that accept a message with this
  // context and tag; null if there is none.
  RequestObject* first_for(uint32_t context, int tag) const;

  // A message has been queued behind `previous` (null: the channel was empty).
  void add(QueuedMessage& message, const QueuedMessage* previous);
  // A message is about to leave its channel.
  void remove(QueuedMessage& message);

  // Finds the earliest message that a posted receive accepts, and returns a message of its channel;
  // null if there is none. If several messages of the channel arrive at this time, the one returned
  // is not always the first.
  QueuedMessage* next_for_receives() const;
  // The earliest message of this context and tag; null if there is none. It may be any of those of
  // its channel that arrive at the same time. REQUIRES: there is a receive from any source for it.
  QueuedMessage* first_with_tag(uint32_t context, int tag) const;
  // The same as next_for_receives() among the messages that the selector (from any source) accepts,
  // but no posted receive from any source. REQUIRES: the selector is watched.
  QueuedMessage* next_unclaimed(const Selector& selector) const;

 private:
  // Messages and receives of one selector: a context with one tag or with any tag.
  struct TagQueue {
    explicit TagQueue(ArrivalHeap::Kind kind) : messages(kind) {}
    bool is_unused() const { return messages.empty() && first_receive == nullptr; }

    ArrivalHeap messages;
    RequestObject* first_receive = nullptr;  // a list in the order posted
    RequestObject* last_receive = nullptr;
  };
  struct ContextQueues {
    TagQueue all_tags{ArrivalHeap::Kind::kAllTags};
    std::unordered_map<int, TagQueue> by_tag;
    size_t sweep_at = 64;  // size of by_tag at which unused queues are deleted; then doubled
    bool watches_all = false;
    bool watches_tags = false;
  };

  static TagQueue& queue_of(ContextQueues& context, int tag);
  static void add_to(ContextQueues& context, QueuedMessage& message, const QueuedMessage* previous,
                     bool all_tags, bool one_tag);

  std::unordered_map<uint32_t, ContextQueues> contexts_;
  std::vector<TagQueue*> with_receives_;
};

}  // namespace sesame::mpi
