// What a rank keeps from its first receive or probe from any source on: the receives from any
// source that are posted, and the queued messages by arrival, as far as these receives and probes
// ask for them. Finding the first message takes O(log n) for n sources.
//
// A heap has, of each channel (source), only messages that may be the channel's first for its
// selector: of consecutive messages with the same tag the first. The others follow in their order,
// since messages of a channel do not overtake each other.
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
  // From now on messages for the selector's tags on its context are kept by arrival; `channels` has
  // those that are queued already.
  void watch(const Selector& selector, const ChannelTable& channels);

  // Receives from any source. REQUIRES: their selector is watched.
  void post(RequestObject& receive);
  void remove(RequestObject& receive);
  // The receive from any source that was posted first of those that accept such a message.
  RequestObject* first_for(uint32_t context, int tag) const;

  // A message has been queued behind `previous` (null: the channel was empty).
  void add(QueuedMessage& message, const QueuedMessage* previous);
  // A message is about to leave its channel.
  void remove(QueuedMessage& message);

  // A message from the channel whose turn is next: of the earliest that a posted receive accepts;
  // null when there is none.
  QueuedMessage* next_for_receives() const;
  // The same of the messages that the selector, from any source, accepts and no posted receive
  // does. REQUIRES: the selector is watched.
  QueuedMessage* next_unclaimed(const Selector& selector) const;

 private:
  // What one selector (context and tag, or any tag) is about.
  struct Lane {
    explicit Lane(ArrivalHeap::Kind kind) : messages(kind) {}
    bool is_unused() const { return messages.empty() && first_receive == nullptr; }

    ArrivalHeap messages;
    RequestObject* first_receive = nullptr;  // in the order posted
    RequestObject* last_receive = nullptr;
  };
  struct Context {
    Lane all_tags{ArrivalHeap::Kind::kAllTags};
    std::unordered_map<int, Lane> by_tag;
    size_t sweep_at = 64;  // lanes: then the unused ones are forgotten
    bool watches_all = false;
    bool watches_tags = false;
  };

  static Lane& lane_of(Context& context, int tag);
  static void add_to(Context& context, QueuedMessage& message, const QueuedMessage* previous,
                     bool all_tags, bool one_tag);

  std::unordered_map<uint32_t, Context> contexts_;
  std::vector<Lane*> waiting_;  // those with receives
};

}  // namespace sesame::mpi
