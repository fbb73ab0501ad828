// A pending operation: what an MPI_Request stands for, and what a blocking call waits for.
//
// Completion has two parts. The operation is `complete` as soon as the simulator knows its outcome.
// It takes effect at the simulated time `ready`, which may be later than the clock of the rank that
// asks. The call that waits for it then charges overhead() of CPU time.
//
// Ownership: a request that the program has a handle to belongs to the rank's table, that of a
// blocking call is on the caller's stack. Queues point to it between posting and completion, so it
// must not move. MPI_Request_free marks a pending request as `freed`; complete() then deletes it.
// Errors of the operation (truncation) are in `error` for the call that waits. One thread.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>

#include "core/base/pool.h"
#include "core/base/units.h"
#include "core/mpi/objects/callbacks.h"
#include "core/mpi/objects/comm.h"
#include "core/mpi/objects/constants.h"
#include "core/mpi/objects/datatype.h"
#include "core/mpi/objects/handle_table.h"

namespace sesame::mpi {

struct Strand;
struct AttachedBuffer;
struct QueuedMessage;
struct RequestObject;

// Members that few requests need.
struct RequestExtra {
  // Persistent collectives start again by calling this.
  std::function<void(RequestObject&)> start_collective;
  // Generalised requests: the program's functions.
  Function query = nullptr;
  Function free = nullptr;
  Function cancel = nullptr;
  CallbackKind callback_kind = CallbackKind::kC;
  void* extra_state = nullptr;
  // Calls on files: the file, since its error handler applies.
  File file = nullptr;
  // Buffered sends: the buffer in which they reserved space.
  AttachedBuffer* attached = nullptr;
};

// What a send or a receive transfers, and with whom. Persistent requests keep it from start to
// start.
struct Operation {
  enum class Kind : uint8_t { kSend, kReceive, kCollective, kGeneralized, kRemote };
  enum class Mode : uint8_t { kStandard, kSynchronous, kBuffered, kReady };

  void* buffer = nullptr;
  Count count = 0;
  const DatatypeObject* type = nullptr;
  CommObject* comm = nullptr;
  int peer = MPI_PROC_NULL;  // rank in the communicator, or MPI_ANY_SOURCE
  int tag = 0;
  uint32_t context = 0;

  Kind kind = Kind::kSend;
  Mode mode = Mode::kStandard;
  bool carries_data = true;  // false: only the message's length matters, not its buffer

  // The size of the message's data, or of a receive's buffer.
  Count bytes() const { return count * type->size(); }
};

// Two cache lines, since runs with thousands of ranks have tens of thousands of pending requests.
struct alignas(64) RequestObject : Pooled<RequestObject>, Operation {
  // Single bits: the overhead below needs 64 of them for every duration of a machine file.
  bool complete : 1 = false;
  bool persistent : 1 = false;
  bool active : 1 = true;            // false: a persistent request that is not started
  bool wildcard_queued : 1 = false;  // receive: is in the list of receives from any source
  bool freed : 1 = false;            // MPI_Request_free: to be deleted on completion
  bool matched_early : 1 = false;    // receive: Matching::expect() says which
  bool is_cancellable : 1 = false;   // receive: the program has a handle to it
  bool holds_objects : 1 = false;    // owns references to its type and communicator

  SimTime receive_overhead;           // CPU time that the waiting call charges
  SimTime ready;                      // when it takes effect, once complete
  SimTime posted;                     // receive: when it was posted
  Strand* waiter = nullptr;           // the strand to resume on completion
  RequestObject* next = nullptr;      // in the queue that holds it
  union {                             // by `kind`
    QueuedMessage* queued = nullptr;  // send: its message in the receiver's queue while unmatched
    uint64_t order;                   // receive: position in the rank's order of posting
  };
  Status status{};
  int error = MPI_SUCCESS;
  std::unique_ptr<RequestExtra> extra;

  RequestObject() = default;
  explicit RequestObject(const Operation& operation) : Operation(operation) {}
  ~RequestObject() {
    if (holds_objects) release_objects();
  }
  RequestObject(const RequestObject&) = delete;
  RequestObject& operator=(const RequestObject&) = delete;

  SimTime overhead() const { return receive_overhead; }
  // Marks the request as neither queued nor posted.
  void clear_position() {
    if (kind == Kind::kReceive) {
      order = 0;
    } else {
      queued = nullptr;
    }
  }

  // Takes references to the type and the communicator: for requests that outlive the call that made
  // them.
  void hold_objects() {
    holds_objects = true;
    if (type != nullptr) type->add_reference();
    retain(comm);
  }

 private:
  void release_objects() {
    if (type != nullptr) type->release();
    release(comm);
  }
};
static_assert(sizeof(RequestObject) == 128 || sizeof(SimTime) > sizeof(int64_t));

// Starts loading a request into the cache, for use a few steps later.
inline void prefetch_whole(const RequestObject& request) {
  __builtin_prefetch(&request, 1);
  __builtin_prefetch(reinterpret_cast<const char*>(&request) + 64, 1);
}

// The handle of all non-blocking sends that were complete at once, which need no request of their
// own. It stands for World::sent, which is always complete.
inline constexpr Request kSentRequest = 0x6c000001;

// For HandleTable: requests are not reference counted.
inline void release(RequestObject* request) { delete request; }

// Fills in an operation of standard mode. The arguments must have been checked (arguments.h).
inline void describe_operation(Operation& operation, Operation::Kind kind, void* buffer,
                               Count count, const DatatypeObject& type, int peer, int tag,
                               CommObject& comm) {
  operation.kind = kind;
  operation.buffer = buffer;
  operation.count = count;
  operation.type = &type;
  operation.peer = peer;
  operation.tag = tag;
  operation.comm = &comm;
  operation.context = comm.context;
}

}  // namespace sesame::mpi
