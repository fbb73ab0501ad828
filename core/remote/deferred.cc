#include "core/remote/deferred.h"

#include <cstring>
#include <utility>

#include "core/base/check.h"
#include "core/mpi/calls/call.h"
#include "core/mpi/messages/world.h"
#include "core/remote/incoming.h"
#include "core/remote/messages.h"

namespace sesame::remote {
namespace {

// A request of the table keeps its handle from other calls until the deferred call is served.
Request reserve_request(Rank& rank) { return rank.requests.add(new RequestObject); }

// A send that was complete at once has no request of its own (kSentRequest), but the program has
// the reserved handle.
Request complete_request(Rank& rank) {
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
  explicit TakenRequests(Channel& channel) : slot_(channel.slot) {}

  // Lets the request that is made next have the handle.
  void free_next() { delete this_rank().requests.remove(slot_.reserved[next_]); }
  void check(Request made) {
    if (made == kSentRequest) made = complete_request(this_rank());
    CHECK(made == slot_.reserved[next_++]);  // the index that was freed last
  }

 private:
  const Slot& slot_;
  size_t next_ = 0;
};

void serve_one(Channel& channel, const Header& header, const char* values, TakenRequests& taken) {
  const bool takes_request = (header.flags & kTakesRequest) != 0;
  if (takes_request) taken.free_next();
  char answer[64];
  Writer reply(answer, sizeof answer);
  ProcessMemory& memory = channel.process.memory;
  const size_t windows = memory.windows();
  CallScope scope(static_cast<CallId>(header.scope), reinterpret_cast<const void*>(header.caller));
  Incoming call(channel.process, values, reply, &scope);
  serve_function(static_cast<CallId>(header.function))(call);
  memory.leave_windows(windows);
  Reader result(answer);
  if (result.get<int64_t>() != MPI_SUCCESS)
    fail_late(header);  // the process has checked most arguments, but not which types there are
  if (takes_request) taken.check(*reinterpret_cast<const Request*>(result.get_bytes(8)));
}

}  // namespace

void reserve_requests(Slot& slot) {
  Rank& rank = this_rank();
  for (uint32_t i = 0; i < slot.reserved_taken; ++i) slot.reserved[i] = reserve_request(rank);
  slot.reserved_taken = 0;
}

void serve_deferred(Channel& channel) {
  const Slot& slot = channel.slot;
  const uint32_t bytes = slot.deferred_bytes.load();
  if (bytes == 0) return;
  TakenRequests taken(channel);
  for (const char* at = slot.deferred; at < slot.deferred + bytes;) {
    const Header& header = *reinterpret_cast<const Header*>(at);
    const char* const values = at + sizeof header;
    at = values + header.bytes;
    this_rank().world.meter.give(std::exchange(channel.uncharged, SimTime::zero()) +
                                 SimTime::from_ps(header.computed_ps));
    if (static_cast<RequestKind>(header.kind) == RequestKind::kCall) {
      serve_one(channel, header, values, taken);
    } else {
      const CallScope scope(static_cast<CallId>(header.scope),
                            reinterpret_cast<const void*>(header.caller));
    }
  }
  channel.slot.deferred_bytes = 0;
}

}  // namespace sesame::remote
