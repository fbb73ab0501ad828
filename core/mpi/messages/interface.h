// A rank's network interface: it injects one message after the other, in the order of simulated
// time in which they are ready, whichever of the rank's strands asks and whichever rank runs first
// (docs/decisions/0015-order-of-service.md). Equal times: the data of announced messages first, by
// the time of the send, then what strands send, by strand.
//
// A message may be injected when no request that is ready earlier can be made any more. Mostly that
// is certain: only the strand that sends can ask. Otherwise a strand yields until its time has
// come, and announced data waits for an event.
#pragma once

#include <memory>
#include <vector>

#include "core/base/pool.h"
#include "core/mpi/messages/recorder.h"
#include "core/mpi/messages/request.h"
#include "core/network/network.h"
#include "core/pdes/event_queue.h"

namespace sesame::mpi {

struct Rank;
struct Strand;

// The data of an announced message, whose receive is known.
struct Injection : Pooled<Injection> {
  SimTime ready;  // when the clear to send is back
  network::MessageCost cost;
  RequestObject* send = nullptr;  // null: complete already
  RequestObject* receive = nullptr;
  AttachedBuffer* attached = nullptr;  // buffered send: space to give back
  MessageRecord record{};              // lacks `arrived` and `received`
};

class Interface {
 public:
  explicit Interface(Rank& rank);
  ~Interface();
  Interface(const Interface&) = delete;
  Interface& operator=(const Interface&) = delete;

  // Injects a message of the running strand, which is ready now. May yield. Gives when it starts.
  SimTime inject(Strand& strand, SimTime injection);
  // Yields until nothing that the rank sends can be ready before the strand's time.
  void await_turn(Strand& strand) {
    if (contenders_ != 0) [[unlikely]]
      yield_until_next(strand);
  }
  // The next message starts at `ready` or later; only for one whose turn has come.
  SimTime reserve(SimTime ready, SimTime injection) {
    const SimTime start = later(ready, free_);
    free_ = start + injection;
    return start;
  }
  // Whether inject() may have to yield.
  bool has_contenders() const { return contenders_ != 0; }

  // A message was announced; its data cannot be ready before `ready`.
  void announce(SimTime ready);
  // It will not be sent after all, or request() follows.
  void forget_announcement();
  // The receive of an announced message is known. Takes the injection over.
  void request(Injection* injection);
  // Injects what can be injected.
  void settle();

  // Helper strands of the rank, and accesses to files that may send messages, while they last.
  void add_helper(Strand& strand);
  void remove_helper(Strand& strand);
  void begin_file_access();
  void end_file_access();

  SimTime& free() { return free_; }

 private:
  struct Contention;  // rarely there
  Contention& contention();
  void yield_until_next(Strand& strand);
  bool is_next(const Strand& strand) const;
  bool is_next(const Injection& injection) const;
  bool may_send_before(const Strand& strand, SimTime time) const;
  void inject_first();

  SimTime free_;        // when it can inject again
  int contenders_ = 0;  // besides the rank's main strand
  Rank& rank_;
  std::unique_ptr<Contention> contention_;
};

}  // namespace sesame::mpi
