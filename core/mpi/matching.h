// The receiving side of one rank: messages that no receive has taken yet and receives that no
// message has met yet, matched by MPI's rules (MPI 4.1, section 3.5): messages of one sender on one
// communicator in the order sent, receives in the order posted.
//
// A receive that names its source takes its message as soon as it is there. One from any source
// must take the message that arrives first in simulated time, which is known only when nothing
// earlier can come: it waits for a conditional event at the earliest arrival, and messages that it
// might take are held back from receives posted after it.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "core/base/units.h"
#include "core/mpi/constants.h"
#include "core/mpi/request.h"
#include "core/pdes/event_queue.h"

namespace sesame::mpi {

struct Rank;

// A message in a receiver's queue: it is eager and brings its data, or it announces data that its
// sender holds until a receive has met it.
struct alignas(64) QueuedMessage {
  static constexpr size_t kInlineBytes = 40;

  QueuedMessage* next = nullptr;  // same context and source, in the order sent
  uint32_t context = 0;
  int source = 0;  // rank in the sender's group
  int tag = 0;
  int source_world = 0;
  uint64_t bytes = 0;
  SimTime sent;                     // when the send call had the message ready
  SimTime arrival;                  // of the data, or of the request to send
  RequestObject* sender = nullptr;  // to be completed on matching; null when it is complete already
  char* payload = nullptr;          // the packed data; null while the sender holds it
  AttachedBuffer* attached = nullptr;  // buffered send: space to give back
  bool rendezvous = false;
  char inline_payload[kInlineBytes];
};
static_assert(sizeof(QueuedMessage) == 128);

// The messages of one job that are in no queue, for use again. One thread.
class MessagePool {
 public:
  ~MessagePool();
  QueuedMessage* take();
  void give_back(QueuedMessage* message);

 private:
  QueuedMessage* free_ = nullptr;
  std::vector<std::unique_ptr<QueuedMessage[]>> blocks_;
};

// What a receive or a probe asks for.
struct Selector {
  uint32_t context;
  int source;  // or MPI_ANY_SOURCE
  int tag;     // or MPI_ANY_TAG

  bool accepts_tag(int message_tag) const { return tag == MPI_ANY_TAG || tag == message_tag; }
  bool accepts(const QueuedMessage& message) const {
    return message.context == context && (source == MPI_ANY_SOURCE || source == message.source) &&
           accepts_tag(message.tag);
  }
};

class Matching {
 public:
  // Traffic from one source on one context: a cache line.
  struct alignas(64) Channel {
    uint64_t key = kEmpty;
    QueuedMessage* first_message = nullptr;
    QueuedMessage* last_message = nullptr;
    RequestObject* first_receive = nullptr;
    RequestObject* last_receive = nullptr;
    SimTime last_arrival;  // messages of one channel do not overtake each other
    uint64_t bytes = 0;
    uint32_t messages = 0;
    int32_t source_world : 31 = 0;
    uint32_t is_listed : 1 = 0;  // in the list of channels that may have messages queued
  };
  static constexpr uint64_t kEmpty = UINT64_MAX;

  Matching() : event_(*this) {}
  // Before anything else.
  void set_rank(Rank& rank) { rank_ = &rank; }

  Channel& channel(uint32_t context, int source);
  // Starts loading the channel into the cache.
  void prefetch(uint32_t context, int source) const {
    if (channels_.empty()) return;
    __builtin_prefetch(&channels_[slot_of(key_of(context, source), channels_.size() - 1)], 1);
  }

  // A message arrives: the receive that it meets (unlinked), or null when it has to be queued.
  RequestObject* meet_receive(Channel& channel, uint32_t context, int tag);
  void enqueue(Channel& channel, QueuedMessage* message);

  // A receive is posted: the message that it meets (unlinked), or null, and it is queued.
  QueuedMessage* meet_message_or_queue(RequestObject& receive);

  // Takes back a queued receive; false when it is not queued any more.
  bool withdraw(RequestObject& receive);
  // Takes a queued message out (matched probe).
  void unlink(QueuedMessage* message);
  // Takes back the queued message of a cancelled send; false when a receive is going to have it.
  bool take_back(QueuedMessage* message);

  // The message that a probe would see at `by` at the latest (by arrival for any source), or null.
  QueuedMessage* find(const Selector& selector, SimTime by);
  // Blocks the running strand until a message fits (for any source: until the first is known).
  QueuedMessage* wait_for(const Selector& selector);

  bool has_wildcards() const { return first_wildcard_ != nullptr; }
  const std::vector<Channel>& channels() const { return channels_; }

 private:
  static uint64_t key_of(uint32_t context, int source) {
    return (static_cast<uint64_t>(context) << 32) | static_cast<uint32_t>(source);
  }
  // Fibonacci hashing: the high bits of the product depend on all bits of the key.
  static size_t slot_of(uint64_t key, size_t mask) {
    return static_cast<size_t>((key * 0x9e3779b97f4a7c15ull) >> 32) & mask;
  }
  struct WildcardEvent : pdes::ConditionalEvent {
    explicit WildcardEvent(Matching& owner) : matching(owner) {}
    void fire() override { matching.settle_earliest(); }
    Matching& matching;
  };
  struct Probe : pdes::ConditionalEvent {
    void fire() override;
    Selector selector{};
    Strand* strand = nullptr;
  };

  static Selector selector_of(const RequestObject& receive) {
    return Selector{receive.context, receive.peer, receive.tag};
  }
  void grow();
  // Calls `visit` for the first queued messages of the channels, and goes on in a channel for as
  // long as it returns true.
  template <typename Visit>
  void visit_queued(Visit visit) const;
  void remove_receive(Channel& channel, RequestObject* previous, RequestObject* receive);
  void remove_wildcard(RequestObject* receive);
  RequestObject* first_wildcard_for(const QueuedMessage& message) const;
  bool is_held(const QueuedMessage& message, uint64_t before_order) const;
  QueuedMessage* earliest_for_wildcards() const;
  void schedule_event();
  void settle_earliest();
  void match_released();
  void notify_probe(const QueuedMessage& message);

  Rank* rank_ = nullptr;
  std::vector<Channel> channels_;  // open addressing, a power of two
  size_t used_channels_ = 0;
  // Slots of the channels with messages queued, and of some whose messages are gone.
  mutable std::vector<uint32_t> listed_;
  RequestObject* first_wildcard_ = nullptr;
  RequestObject* last_wildcard_ = nullptr;
  WildcardEvent event_;
  std::unique_ptr<Probe> probe_;
  uint64_t next_order_ = 1;
};

}  // namespace sesame::mpi
