// A pending operation: what an MPI_Request names, and what a blocking call waits for (then it
// lives on the caller's stack). Completion has two parts: the operation is `complete` as soon as
// its outcome is known to the simulator, and it takes effect at the simulated time `ready`, which
// may lie ahead of the rank that asks. Who completes it charges `overhead` of CPU time then.
//
// A request of the program belongs to the rank's table, one of a blocking call to the call. Between
// posting and completion queues point to it, so that it must not move. MPI_Request_free marks it
// `freed`, and complete() deletes it. Errors (truncation) are left in `error` for who waits.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>

#include "core/base/pool.h"
#include "core/base/units.h"
#include "core/mpi/objects/callbacks.h"
#include "core/mpi/objects/comm.h"
#include "core/mpi/objects/constants.h"
#include "core/mpi/objects/handle_table.h"

namespace sesame::mpi {

class DatatypeObject;
struct Strand;
struct AttachedBuffer;
struct QueuedMessage;
struct RequestObject;

// The rarer parts of a request.
struct RequestExtra {
  // Persistent collectives start again by calling this.
  std::function<void(RequestObject&)> start_collective;
  // Generalised requests: the program's functions.
  Function query = nullptr;
  Function free = nullptr;
  Function cancel = nullptr;
  CallbackKind callback_kind = CallbackKind::kC;
  void* extra_state = nullptr;
  // Calls on files: whose error handler is asked.
  File file = nullptr;
  // Buffered sends: whose space they use.
  AttachedBuffer* attached = nullptr;
};

// Two cache lines: programs with thousands of ranks have tens of thousands of these in flight.
struct alignas(64) RequestObject : Pooled<RequestObject> {
  enum class Kind : uint8_t { kSend, kReceive, kCollective, kGeneralized, kRemote };
  enum class Mode : uint8_t { kStandard, kSynchronous, kBuffered, kReady };

  // What is to be moved. Persistent requests keep it from start to start.
  void* buffer = nullptr;
  Count count = 0;
  const DatatypeObject* type = nullptr;
  CommObject* comm = nullptr;
  int peer = MPI_PROC_NULL;  // rank in the communicator, or MPI_ANY_SOURCE
  int tag = 0;
  uint32_t context = 0;

  Kind kind = Kind::kSend;
  Mode mode = Mode::kStandard;
  // Single bits: the overhead below needs 64 of them for every duration of a machine file.
  bool complete : 1 = false;
  bool persistent : 1 = false;
  bool active : 1 = true;            // false: a persistent request that is not started
  bool wildcard_queued : 1 = false;  // receive: waits in the list of any-source receives
  bool freed : 1 = false;            // MPI_Request_free: to be deleted on completion
  bool holds_objects : 1 = false;    // owns references to its type and communicator
  bool carries_data : 1 = true;      // false: only the message's length matters, not its buffer

  SimTime receive_overhead;  // CPU time to be charged by whoever completes it
  SimTime ready;
  SimTime posted;
  Strand* waiter = nullptr;       // the fiber to wake on completion
  RequestObject* next = nullptr;  // in the queue that holds it
  union {  // by `kind`; describe_operation() and Start() make the right one active
    QueuedMessage* queued = nullptr;  // send: its message in the receiver's queue while unmatched
    uint64_t order;                   // receive: position in the rank's order of posting
  };
  Status status{};
  int error = MPI_SUCCESS;
  std::unique_ptr<RequestExtra> extra;

  RequestObject() = default;
  ~RequestObject() {
    if (holds_objects) release_objects();
  }
  RequestObject(const RequestObject&) = delete;
  RequestObject& operator=(const RequestObject&) = delete;

  SimTime overhead() const { return receive_overhead; }
  // Neither queued nor posted.
  void clear_position() {
    if (kind == Kind::kReceive) {
      order = 0;
    } else {
      queued = nullptr;
    }
  }

  // Requests that outlive the call which made them keep their type and communicator alive.
  void hold_objects();

 private:
  void release_objects();
};
static_assert(sizeof(RequestObject) == 128);

// Starts loading a request into the cache, for use a few steps later.
inline void prefetch_whole(const RequestObject& request) {
  __builtin_prefetch(&request, 1);
  __builtin_prefetch(reinterpret_cast<const char*>(&request) + 64, 1);
}

// The handle of all non-blocking sends whose data left at once: there is nothing to keep of them.
// What it means is World::sent, complete since the beginning of time.
inline constexpr Request kSentRequest = 0x6c000001;

// For tables of requests, which own them alone.
inline void release(RequestObject* request) { delete request; }

// Fills in what is to be moved; the caller has checked the arguments.
void describe_operation(RequestObject& request, RequestObject::Kind kind, void* buffer, Count count,
                        const DatatypeObject& type, int peer, int tag, CommObject& comm);

}  // namespace sesame::mpi
