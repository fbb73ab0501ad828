// The posted receives from any source of one rank, and its queued messages in order of arrival.
// Matching (matching.h) makes one at the rank's first receive or probe from any source.
//
// Use: watch() a selector, then post() receives for it; report every message that enters or leaves
// the rank's queues with add() and remove(); next_for_receives() gives the message to match next.
// Updating the order takes O(log n) for n sources.
//
// Why it is correct to keep only some messages: messages of a channel (one source on one context)
// do not overtake each other, so only the first one that a selector accepts can be matched next.
// For one tag that is the first of a run of consecutive messages with this tag; for all tags it is
// the first of the channel. A heap therefore has one message per channel and run, and a message
// that leaves is replaced by the next one of its run.
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

  // Receives from any source. REQUIRES: their selector is watched.
  void post(RequestObject& receive);
  void remove(RequestObject& receive);
  // Of the posted receives that accept such a message the one posted first; null if there is none.
  RequestObject* first_for(uint32_t context, int tag) const;

  // A message has been queued behind `previous` (null: the channel was empty).
  void add(QueuedMessage& message, const QueuedMessage* previous);
  // A message is about to leave its channel.
  void remove(QueuedMessage& message);

  // A message of the channel that has the earliest message that a posted receive accepts; null when
  // there is none. It is of the right channel, but not always the channel's first such message.
  QueuedMessage* next_for_receives() const;
  // The same among messages that the selector (from any source) accepts and no posted receive does.
  // REQUIRES: the selector is watched.
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
