// A rank's network interface (docs/models/network.md). It injects one message after the other, in
// the order of simulated time in which they are ready. This order does not depend on which strand
// of the rank sends them, nor on the order in which the simulator runs the ranks. If messages are
// ready at the same time, the data of announced (rendezvous) messages goes first, by the time of
// the send. Messages of strands follow, by the number of the strand.
//
// Use: a strand that sends calls inject(), or await_turn() and then reserve(). A rendezvous message
// is announced with announce(); when its receive is posted, withdraw_announcement() and request()
// follow, and the interface completes both requests when it injects the data.
//
// Why the order is right although ranks run ahead of each other: a message is injected only when no
// message that is ready earlier can still be requested. Earlier requests can come from announced
// messages with an unknown receive (not before the clear to send could be back), from other strands
// of the rank if their clocks are behind, and from accesses to files. A strand that waits for this
// very message, or for a helper strand of its rank, sends nothing meanwhile. Mostly there are
// no such senders (`contenders_` is 0), and the strand's message is injected at once. Otherwise
// a strand yields until all earlier events have happened, and announced data waits for a
// conditional event at the time at which it is ready. See docs/decisions/0015-order-of-service.md.
//
// The rank owns its interface; an injection belongs to the interface from request() until it has
// been injected. Nothing here fails. Times are simulated. One thread.
#pragma once

#include <memory>
#include <utility>
#include <vector>

#include "core/base/pool.h"
#include "core/mpi/messages/recorder.h"
#include "core/mpi/messages/remote_ranks.h"
#include "core/mpi/messages/request.h"
#include "core/mpi/messages/strand.h"
#include "core/network/network.h"
#include "core/pdes/event_queue.h"

namespace sesame::network {
class Traffic;
}

namespace sesame::mpi {

class Interface;

// What the interfaces of a run share. World owns it.
struct SharedInterfaces {
  Recorder* const& recorder;   // World::recorder: null while nothing is recorded
  RemoteRanks* const& remote;  // World::remote: null if all ranks are here
  // That of the running rank, if it has requested messages: inject_due() is called when the rank
  // yields (finish_sends() in in_flight.h).
  Interface* deferred = nullptr;
  network::Traffic* traffic = nullptr;  // null: messages of different ranks share nothing
};

// The data of an announced message whose receive is posted.
struct Injection : Pooled<Injection> {
  SimTime ready;  // when the clear to send has reached the sender
  network::MessageCost cost;
  RequestObject* send = nullptr;       // null: the send is complete already
  RequestObject* receive = nullptr;    // null: of another worker, which knows it as
  uint64_t remote_receive = 0;         // this number (remote_ranks.h)
  AttachedBuffer* attached = nullptr;  // buffered send: the buffer whose space to return
  MessageRecord record{};              // lacks `arrived` and `received`
};

class Interface {
 public:
  // Of the rank whose program runs on `main`. Set main.executive, main.rank and main.rank_number
  // before the first request().
  Interface(Strand& main, SharedInterfaces& shared);
  ~Interface();
  Interface(const Interface&) = delete;
  Interface& operator=(const Interface&) = delete;

  // Injects a message of the running strand, ready at the strand's time, which keeps the interface
  // busy for `injection`. May yield. Returns the time at which the injection starts. The caller
  // charges the send overhead before and advances strand.now afterwards; this does neither.
  SimTime inject(Strand& strand, SimTime injection);
  // Yields until no message of the rank can be ready before the strand's time any more.
  void await_turn(Strand& strand) {
    if (contenders_ != 0) [[unlikely]]
      yield_until_next(strand);
  }
  // Starts the next injection at `ready` or when the interface is free, and returns that time.
  // REQUIRES: await_turn() has returned at this time.
  SimTime reserve(SimTime ready, SimTime injection) {
    SimTime start = later(std::move(ready), free_);
    free_ = start + injection;
    ++injections_;
    if (copied_accesses_ != 0) [[unlikely]]
      tell_reserved();
    return start;
  }
  // How many have been reserved: a number for each, in the order of time.
  uint32_t injections() const { return injections_; }
  // Whether inject() might yield.
  bool has_contenders() const { return contenders_ != 0; }

  // A message was announced (request to send); its data cannot be ready before `ready`. Until all
  // announcements have ended, the earliest `ready` of them bounds all injections.
  void announce(SimTime ready);
  // Ends one announcement, whichever: the message was cancelled, or its receive is known and
  // request() follows.
  void withdraw_announcement();
  // Requests the injection of an announced message whose receive is known. Takes ownership. Injects
  // it at once if possible, otherwise when the running strand yields or when its time has come.
  void request(Injection* injection);
  // Injects all requested messages whose turn has come and schedules an event for the next one.
  void inject_due();

  // Call these at the beginning and at the end of each helper strand of the rank and of each access
  // to a file. Both may send messages.
  void add_helper(Strand& strand);
  void remove_helper(Strand& strand);
  void begin_file_access();
  void end_file_access();
  // Between these calls each reservation is reported to the other workers: they have copies of a
  // file system that uses this interface (docs/models/parallel.md).
  void begin_copied_access() { ++copied_accesses_; }
  void end_copied_access() { --copied_accesses_; }

  // When the interface can inject again; models of file systems advance it for their own messages.
  SimTime& free() { return free_; }

 private:
  struct Contention;  // made at its first use; most ranks have none
  Contention& contention();
  void yield_until_next(Strand& strand);
  bool is_next(const Strand& strand) const;
  bool is_next(const Injection& injection) const;
  bool may_send_before(const Strand& strand, SimTime time) const;
  void inject_earliest();
  void tell_reserved() const;
  bool is_shared(const Injection& injection) const;

  SimTime free_;        // when it can inject again
  int contenders_ = 0;  // how many others than the main strand may send
  uint32_t injections_ = 0;
  int copied_accesses_ = 0;
  Strand& main_;
  SharedInterfaces& shared_;
  std::unique_ptr<Contention> contention_;
};

}  // namespace sesame::mpi
