// Message matching of one rank (MPI 4.1, section 3.5): its queue of unexpected messages and its
// posted receives. Messages of one sender on one communicator match in the order sent, receives in
// the order posted.
//
// Use: for a message that reaches the rank, set an arrival that is not before last_arrival of its
// channel(), store it there, and call match_posted_receive(). (arrive() in delivery.h does all of
// that, and counts messages and bytes of the channel.) If that finds nothing, call enqueue(). For a
// receive, call match_message_or_queue(). The caller moves the data (delivery.h) of the match that
// it gets. Matches that are certain only later, of receives from any source and of messages that
// they held back, go to the function that was passed with the receive. A probe calls find(),
// wait_for() or sleep_until_arrival().
//
// A receive that names its source matches its message as soon as the simulator has it, whatever the
// simulated time: messages of a channel arrive in the order sent, so no other one can match first.
// A receive from any source must match the message that arrives first in simulated time. The
// simulator knows that message only when no earlier one can be sent any more. Matching therefore
// schedules a conditional event for the earliest arrival; it fires when no rank can run and no
// earlier event is pending. Until then the receive claims every queued message that it could match:
// receives posted later do not get it. Messages behind a claimed one must not overtake it, so its
// channel is marked as held. When the receive is matched or cancelled, Matching matches the held
// channels again, in the order of their keys, which does not depend on the order in which the ranks
// ran.
//
// With allow_cancels() the program may cancel receives. One that it may cancel
// (RequestObject::is_cancellable) and that names its source must not match a message that arrives
// after the cancel. So it matches when its message arrives, by the same event, unless the rank's
// clock is past the arrival already; until then it claims the message, and its channel is marked as
// awaited. settle() ends that: the program waits for the receive and cannot cancel it any more.
//
// With expect() a receive from any source with a tag also matches at once if its message is the one
// that is expected, and no receive posted before may take messages of its tag. A message that
// contradicts such a match ends the run.
//
// Ownership: queued messages belong to the queue until they are unlinked. Posted receives belong to
// the caller and must not move until they are matched or withdrawn. Nothing here fails. Times are
// simulated. One thread; the functions of a probe block the strand that calls them.
#pragma once

#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "core/base/units.h"
#include "core/mpi/messages/any_source.h"
#include "core/mpi/messages/awaited_arrivals.h"
#include "core/mpi/messages/channel_table.h"
#include "core/mpi/messages/expected_sources.h"
#include "core/mpi/messages/message.h"
#include "core/pdes/event_queue.h"
#include "core/pdes/executive.h"

namespace sesame::mpi {

struct RequestObject;
struct Strand;
struct World;

// Delivers a message to its receive, of the rank `receiver`. Both are unlinked; the message is the
// function's.
using DeliverFunction = void (*)(World& world, int receiver, RequestObject& receive,
                                 QueuedMessage* message);

class Matching {
 public:
  Matching() : event_(*this) {}
  // To be called before anything else. `world` is for DeliverFunction.
  void set_owner(World& world, pdes::Executive& executive, int rank) {
    world_ = &world;
    executive_ = &executive;
    rank_ = rank;
  }

  // From now on receives that are posted with RequestObject::is_cancellable may be cancelled.
  void allow_cancels() {
    if (awaited_ == nullptr) awaited_ = std::make_unique<AwaitedArrivals>();
  }
  bool allows_cancels() const { return awaited_ != nullptr; }
  // The program waits for the receive and does not cancel it before it is complete: from now on it
  // matches at once, perhaps in this call. REQUIRES: the rank has no other thread that calls MPI.
  void settle(RequestObject& receive);

  // Before any message arrives, where other workers take part.
  void expect(ExpectedSources sources) {
    expected_ = std::make_unique<ExpectedSources>(std::move(sources));
  }
  bool has_expected() const { return expected_ != nullptr; }

  // Makes the channel if it is new, which invalidates all references to channels.
  Channel& channel(uint32_t context, int source) {
    return table(context).at(ChannelTable::key_of(context, source));
  }
  // Null before the first message or receive of the channel.
  const Channel* find_channel(uint32_t context, int source) {
    return table(context).find(ChannelTable::key_of(context, source));
  }
  // ChannelTable::last_in_transit() of the channel, which is made if it is new.
  OrderedTransit*& last_in_transit(uint32_t context, int source) {
    return table(context).last_in_transit(ChannelTable::key_of(context, source));
  }
  // Starts loading the channel into the cache.
  void prefetch(uint32_t context, int source) {
    table(context).prefetch(ChannelTable::key_of(context, source));
  }
  // The same for last_in_transit().
  void prefetch_in_transit(uint32_t context, int source) {
    table(context).prefetch_in_transit(ChannelTable::key_of(context, source));
  }

  // Starts loading queued messages of the program, which it may receive next.
  void prefetch_messages() const { program_channels_.prefetch_messages(); }

  // A message has arrived. Returns the posted receive that it matches, unlinked, or null: then the
  // message must be queued. `queued`: the message itself, if it is in the queue already.
  RequestObject* match_posted_receive(Channel& channel, int tag,
                                      const QueuedMessage* queued = nullptr);
  // To be called then if has_expected(), with its result: a receive that expects the message.
  RequestObject* match_expected(const MessageEnvelope& message, RequestObject* receive);
  // Queues a message and takes ownership. REQUIRES: match_posted_receive() and match_expected()
  // returned null for it, and this is its channel.
  void enqueue(Channel& channel, QueuedMessage* message);

  // Posts a receive. REQUIRES: RequestObject::posted is set. Returns the message that it matches,
  // unlinked and now the caller's, or null: then the receive is queued. `deliver` is called for
  // matches that are found later; all receives of the rank must pass the same function.
  QueuedMessage* match_message_or_queue(RequestObject& receive, DeliverFunction deliver);

  // Removes a posted receive (MPI_Cancel), so that receives posted after it may match; false when
  // it is complete.
  bool withdraw(RequestObject& receive);
  // Removes a queued message (matched probe) and gives it to the caller.
  void unlink(QueuedMessage* message);
  // Removes the queued message of a cancelled send and gives it to the caller; false when a posted
  // receive has a claim on it.
  bool withdraw_message(QueuedMessage* message);

  // The message that a probe matches, of those that have arrived by `by`; null if there is none.
  QueuedMessage* find(const Selector& selector, SimTime by);
  // Blocks the running strand until a message that the selector accepts may have arrived, but until
  // `latest` at most. Returns the time: all messages that arrived by then are queued.
  SimTime sleep_until_arrival(const Selector& selector, SimTime latest);
  // Blocks the running strand until the selector accepts a message, and returns it. From any
  // source: the one that arrives first.
  QueuedMessage* wait_for(const Selector& selector);

  // The end of the members that most messages of the program use.
  const void* end_of_hot() const { return &collective_channels_; }

  // Whether there has been a receive or probe from any source.
  bool has_any_source() const { return any_source_ != nullptr; }

  template <typename Visit>
  void visit_channels(Visit visit) const {
    program_channels_.visit(visit);
    collective_channels_.visit(visit);
  }

 private:
  // Contexts of the program are even, those of collectives odd (CommObject::context).
  ChannelTable& table(uint32_t context) {
    return is_of_program(context) ? program_channels_ : collective_channels_;
  }
  static bool is_of_program(uint32_t context) { return (context & 1) == 0; }
  // Receives of collectives all name their source.
  bool expects(uint32_t context) const { return expected_ != nullptr && is_of_program(context); }
  struct MatchEvent : pdes::ConditionalEvent {
    explicit MatchEvent(Matching& owner) : matching(owner) {}
    void fire() override { matching.fire_match(); }
    bool is_independent() override { return matching.is_next_match_independent(); }
    Matching& matching;
  };
  struct Probe : pdes::ConditionalEvent {
    void fire() override;
    bool is_independent() override;
    Selector selector{};
    SimTime latest;            // when to resume if no message arrives
    Strand* strand = nullptr;  // null: it is about to resume
    Probe* next = nullptr;     // of another thread of the rank
  };

  void watch(const Selector& selector);
  bool holds_back() const { return any_source_ != nullptr || awaited_ != nullptr; }
  bool is_held_back(Channel& channel, const RequestObject& receive, int tag,
                    const QueuedMessage* queued);
  bool has_arrived_for(const RequestObject& receive, const SimTime& arrival) const;
  void await_arrival(Channel& channel, const SimTime& arrival);
  bool is_arrival_next() const;
  bool is_arrival_due(const SimTime& time) const;
  void fire_match();
  void match_channel(Channel& channel);
  void finish_matches();
  // The receive from any source that matches the message unless another message arrives before it.
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
  QueuedMessage* next_match();
  void match_earliest();
  bool is_next_match_independent();
  void match_released();
  RequestObject* find_early_receive(uint32_t context, int tag) const;
  QueuedMessage* find_expected(uint32_t context, int tag);
  QueuedMessage* take_expected(RequestObject& receive);
  void match_all_expected(uint32_t context, int tag);
  void match_behind_released();
  void match_early(const MessageEnvelope& message, RequestObject& receive);
  [[noreturn]] void end_contradicted(int tag, int source_world);
  void schedule_probe(Probe& probe);

  // Members that every message reads come first, in the cache line before the channels.
  std::unique_ptr<AnySource> any_source_;  // null before the first receive or probe of that kind
  uint64_t next_order_ = 1;
  Probe* probes_ = nullptr;  // those that wait, on the stacks of their strands
  World* world_ = nullptr;
  pdes::Executive* executive_ = nullptr;
  DeliverFunction deliver_ = nullptr;         // of receives that may match later
  std::unique_ptr<AwaitedArrivals> awaited_;  // null before allow_cancels()
  int rank_ = 0;
  ChannelTable program_channels_;

  ChannelTable collective_channels_;
  // Keys of the channels that were marked as held; some may have nothing to match any more.
  std::vector<uint64_t> held_;
  MatchEvent event_;
  SimTime known_until_;                        // all messages that arrive by then are known
  std::unique_ptr<ExpectedSources> expected_;  // null: nothing is expected
  // Context and tag of messages that match_channel() matched: others may now match as expected.
  std::vector<std::pair<uint32_t, int>> released_;
};

}  // namespace sesame::mpi
