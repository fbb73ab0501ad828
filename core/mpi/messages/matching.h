// The receiving side of one rank: messages that no receive has taken yet, and receives that no
// message has matched yet (MPI 4.1, section 3.5). Messages of one sender on one communicator match
// in the order sent, receives in the order posted.
//
// Use: a message that reaches the rank goes to match_posted_receive() and, when that finds nothing,
// to enqueue(); a receive goes to match_message_or_queue(). The caller moves the data
// (messaging.h). Matching calls deliver() itself only for receives from any source and what they
// held back.
//
// A receive that names its source takes its message as soon as the simulator has it, whatever the
// simulated time: no other message can come before it on that channel. A receive from any source
// must take the message that arrives first in simulated time. That is known only when nothing
// earlier can be sent any more, so a conditional event waits for the earliest arrival. Until it
// fires, every queued message that the receive might take is claimed: receives posted later do not
// get it, and its channel is marked as held, since the messages behind it must not overtake it.
// When the receive is matched or cancelled, the held channels are matched again in the order of
// their keys.
//
// Ownership: queued messages belong to the queue until they are unlinked; posted receives belong to
// their poster and stay where they are until matched or withdrawn. Times are simulated. One thread.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "core/base/pool.h"
#include "core/base/units.h"
#include "core/mpi/messages/any_source.h"
#include "core/mpi/messages/channel_table.h"
#include "core/mpi/messages/request.h"
#include "core/mpi/objects/constants.h"
#include "core/mpi/objects/type_signature.h"
#include "core/pdes/event_queue.h"

namespace sesame::mpi {

struct World;

// What the receiver knows of a message, whether its receive is posted when it arrives or it has to
// wait in the queue.
struct MessageEnvelope {
  uint32_t context = 0;
  int source = 0;  // rank in the sender's group
  int tag = 0;
  int source_world = 0;
  uint64_t bytes : 62 = 0;
  uint64_t rendezvous : 1 = 0;   // announces data that the sender holds until the receive is known
  uint64_t is_buffered : 1 = 0;  // which of the two `origin` is
  SimTime sent;                  // when the send call had the message ready
  SimTime arrival;               // of the data, or of the request to send
  void* origin = nullptr;        // sender() or attached(): a buffered send is complete at once
  SimTime receive_overhead;      // CPU time of the receiver
  SignatureId signature = 0;     // of the type that was sent

  // The send to be completed on matching; null when it is complete already.
  RequestObject* sender() const {
    return is_buffered ? nullptr : static_cast<RequestObject*>(origin);
  }
  // Of a buffered send: the space to give back.
  AttachedBuffer* attached() const {
    return is_buffered ? static_cast<AttachedBuffer*>(origin) : nullptr;
  }
  void set_sender(RequestObject& send) { origin = &send; }
  void set_attached(AttachedBuffer* buffer) {
    is_buffered = buffer != nullptr;
    origin = buffer;
  }
};

// The first member of what stands in a channel's list, so that it shares a cache line with the
// envelope.
struct QueuedMessage;
struct QueueLink {
  QueuedMessage* next = nullptr;  // same context and source, in the order sent
};

// A message in a receiver's queue, which owns it. It carries its data, packed, unless the sender
// holds them until the message is matched.
struct alignas(64) QueuedMessage : Pooled<QueuedMessage>, QueueLink, MessageEnvelope {
  static constexpr size_t kInlineBytes = 40;

  char* payload = nullptr;  // the packed data; null while the sender holds it
  uint32_t places[2] = {};  // in heaps of the receiver, counted from 1; 0: in none (ArrivalHeap)
  char inline_payload[kInlineBytes];

  QueuedMessage() = default;
  explicit QueuedMessage(const MessageEnvelope& envelope) : MessageEnvelope(envelope) {}
  ~QueuedMessage() {
    if (payload != inline_payload) delete[] payload;
  }
  QueuedMessage(const QueuedMessage&) = delete;
  QueuedMessage& operator=(const QueuedMessage&) = delete;
};
static_assert(sizeof(QueuedMessage) == 128);

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

// Of one rank, which owns it.
class Matching {
 public:
  Matching() : event_(*this) {}
  // Before anything else.
  void set_owner(World& world, int rank) {
    world_ = &world;
    rank_ = rank;
  }

  Channel& channel(uint32_t context, int source) {
    return table(context).at(ChannelTable::key_of(context, source));
  }
  // Null when there has been no traffic yet.
  const Channel* find_channel(uint32_t context, int source) {
    return table(context).find(ChannelTable::key_of(context, source));
  }
  // Starts loading the channel into the cache.
  void prefetch(uint32_t context, int source) {
    table(context).prefetch(ChannelTable::key_of(context, source));
  }

  // Starts loading messages that the program may be about to receive.
  void prefetch_messages() const { program_channels_.prefetch_messages(); }

  // A message arrives: the receive that it matches (unlinked), or null: it has to be queued. If
  // it is queued already, only messages before it matter.
  RequestObject* match_posted_receive(Channel& channel, uint32_t context, int tag,
                                      const QueuedMessage* queued = nullptr);
  // Takes the message over. REQUIRES: no posted receive takes it, and this is its channel.
  void enqueue(Channel& channel, QueuedMessage* message);

  // A receive is posted. Gives the message that it matches, unlinked and now the caller's; null:
  // the receive is queued, and must stay where it is.
  QueuedMessage* match_message_or_queue(RequestObject& receive);

  // Takes back a queued receive (MPI_Cancel), which may let receives behind it have their messages;
  // false when it is complete.
  bool withdraw(RequestObject& receive);
  // Takes a queued message out (matched probe); it is the caller's then.
  void unlink(QueuedMessage* message);
  // Takes back the queued message of a cancelled send; false when a receive is going to have it.
  bool take_back(QueuedMessage* message);

  // The message that a probe would see at `by` at the latest (by arrival for any source), or null.
  QueuedMessage* find(const Selector& selector, SimTime by);
  // Blocks the running strand until a message that fits may have arrived, or until `latest`: all
  // that have arrived by the time given are known then.
  SimTime sleep_until_arrival(const Selector& selector, SimTime latest);
  // Blocks the running strand until a message fits (for any source: until the first is known).
  QueuedMessage* wait_for(const Selector& selector);

  // Where what the program's messages need ends; only collectives use the rest.
  const void* end_of_hot() const { return &collective_channels_; }

  template <typename Visit>
  void visit_channels(Visit visit) const {
    program_channels_.visit(visit);
    collective_channels_.visit(visit);
  }

 private:
  // The program's own messages and those of collectives, by the parity of the context.
  ChannelTable& table(uint32_t context) {
    return (context & 1) == 0 ? program_channels_ : collective_channels_;
  }
  struct WildcardEvent : pdes::ConditionalEvent {
    explicit WildcardEvent(Matching& owner) : matching(owner) {}
    void fire() override { matching.settle_earliest(); }
    Matching& matching;
  };
  struct Probe : pdes::ConditionalEvent {
    void fire() override;
    Selector selector{};
    SimTime latest;            // when to resume if no message arrives
    Strand* strand = nullptr;  // null: none waits
  };

  static Selector selector_of(const RequestObject& receive) {
    return Selector{receive.context, receive.peer, receive.tag};
  }
  void watch(const Selector& selector);
  // The receive from any source that takes the message unless another message arrives before.
  RequestObject* claim_on(const QueuedMessage& message) const {
    return any_source_->first_for(message.context, message.tag);
  }
  bool is_claimed(const QueuedMessage& message);
  void remove_receive(Channel& channel, RequestObject* previous, RequestObject* receive);
  void remove_any_source(RequestObject& receive);
  void hold(Channel& channel);
  QueuedMessage* find_from_any(const Selector& selector);
  QueuedMessage* find_among_held(const Selector& selector);
  void schedule_event();
  void settle_earliest();
  void match_released();
  void schedule_probe();

  // What every message looks at comes first: the cache line before the channels.
  std::unique_ptr<AnySource> any_source_;  // null before the first receive or probe of that kind
  uint64_t next_order_ = 1;
  std::unique_ptr<Probe> probe_;
  World* world_ = nullptr;
  int rank_ = 0;
  ChannelTable program_channels_;

  // Keys of the channels with receives that would take a queued message, were it not held back, and
  // of some that are no longer so.
  std::vector<uint64_t> held_;
  WildcardEvent event_;
  ChannelTable collective_channels_;
};

}  // namespace sesame::mpi
