#include "core/remote/deferred.h"

#include <cstring>
#include <string>
#include <utility>

#include "core/base/check.h"
#include "core/mpi/calls/call.h"
#include "core/mpi/messages/world.h"
#include "core/remote/incoming.h"
#include "core/remote/messages.h"
#include "core/remote/progress.h"
#include "core/remote/request_checks.h"

namespace sesame::remote {
namespace {

// A send that was complete at once has no request of its own (kSentRequest), but the program has
// the reserved handle.
Request add_completed_send(Rank& rank) {
  auto* const request = new RequestObject;
  request->kind = RequestObject::Kind::kSend;
  request->complete = true;
  return rank.requests.add(request);
}

// The error handler has returned, but so has the call.
[[noreturn]] void fail_late(const Header& header) {
  const Rank& rank = this_rank();
  rank.world.hooks.abort_job(
      1, rank.name() + " called " + call_name(static_cast<CallId>(header.scope)) +
             " with a wrong argument, which was found after the call had returned");
  __builtin_unreachable();
}

// Handles that calls of Slot::deferred have taken.
class TakenRequests {
 public:
  explicit TakenRequests(Channel& channel) : channel_(channel) {}

  // Lets the request that is made next have the handle.
  void free_next() {
    expect(channel_.reserved_taken < kReservedRequests,
           "a call takes a handle that is not reserved");
    this_rank().requests.remove(channel_.reserved[channel_.reserved_taken]);
  }
  // REQUIRES: free_next() was called before the request was made.
  void take_next(Request made) {
    if (made == kSentRequest) made = add_completed_send(this_rank());
    CHECK(made == channel_.reserved[channel_.reserved_taken++]);  // the index that was freed last
  }

 private:
  Channel& channel_;
};

// Those that the process defers (DEFERRED in generate_remote.py).
bool is_deferrable(uint16_t function) {
  const auto id = static_cast<CallId>(function);
  return id == CallId::Send || id == CallId::Isend || id == CallId::Irecv;
}

void serve_one(Channel& channel, const Header& header, const char* values, TakenRequests& taken) {
  expect(is_deferrable(header.function), "a call that cannot be deferred was");
  const bool takes_request = (header.flags & kTakesRequest) != 0;
  const bool makes_request = static_cast<CallId>(header.function) != CallId::Send;
  expect(takes_request == makes_request, "a deferred call has the wrong number of requests");
  if (takes_request) taken.free_next();
  char answer[64];
  Writer reply(answer, sizeof answer);
  ProcessMemory& memory = channel.process.memory;
  const size_t windows = memory.windows();
  CallScope scope(static_cast<CallId>(header.scope), reinterpret_cast<const void*>(header.caller));
  Incoming call(channel.process, Reader(values, header.bytes), reply, &scope);
  serve_function(static_cast<CallId>(header.function))(call);
  memory.leave_windows(windows);
  Reader result(answer, reply.bytes());
  if (result.get<int64_t>() != MPI_SUCCESS)
    fail_late(header);  // a guard: the process defers only calls whose arguments it has checked
  if (takes_request) taken.take_next(*reinterpret_cast<const Request*>(result.get_bytes(8)));
}

}  // namespace

void reserve_requests(Channel& channel) {
  Rank& rank = this_rank();
  Slot& slot = channel.slot;
  expect(slot.reserved_taken == channel.reserved_taken,
         "not all requests of deferred calls were made");
  // Without an object: no call finds them, also not by a copy of a handle that was freed.
  for (uint32_t i = 0; i < channel.reserved_taken; ++i)
    slot.reserved[i] = channel.reserved[i] = rank.requests.add(nullptr);
  slot.reserved_taken = channel.reserved_taken = 0;
}

void serve_deferred(Channel& channel) {
  Slot& slot = channel.slot;
  const uint32_t bytes = slot.deferred_bytes.load();
  if (bytes == 0) return;
  expect(bytes <= kDeferredBytes, "the deferred calls are too long");
  // An error handler that one of them calls may call MPI, too: the list is empty by then, and stays
  // so.
  const std::string calls(slot.deferred, bytes);
  slot.deferred_bytes = 0;
  const uint32_t may_defer = slot.may_defer.exchange(0);
  TakenRequests taken(channel);
  const char* const end = calls.data() + bytes;
  for (const char* at = calls.data(); at < end;) {
    const Header header = checked_deferred_header(at, static_cast<size_t>(end - at));
    const char* const values = at + sizeof header;
    at = values + header.bytes;
    this_rank().world.meter.give(end_progress(
        channel,
        std::exchange(channel.uncharged, SimTime::zero()) + SimTime::from_ps(header.computed_ps)));
    if (static_cast<RequestKind>(header.kind) == RequestKind::kCall) {
      serve_one(channel, header, values, taken);
    } else {
      const CallScope scope(static_cast<CallId>(header.scope),
                            reinterpret_cast<const void*>(header.caller));
    }
  }
  slot.may_defer = may_defer;
}

}  // namespace sesame::remote
