// A message as its receiver knows it (MessageEnvelope), in its queue (QueuedMessage), and what a
// receive or a probe asks for (Selector). Matching (matching.h) owns the queues.
//
// Use: fill in the envelope, then either give it to the posted receive that it matches or make a
// QueuedMessage of it. Sizes are bytes, times are simulated. One thread.
#pragma once

#include <cstddef>
#include <cstdint>

#include "core/base/pool.h"
#include "core/base/units.h"
#include "core/mpi/objects/constants.h"
#include "core/mpi/objects/type_signature.h"

namespace sesame::mpi {

struct AttachedBuffer;
struct CommObject;
struct RequestObject;

// What the receiver knows of a message, whether it matches a posted receive or has to be queued.
struct MessageEnvelope {
  uint32_t context = 0;
  int source = 0;  // rank in the sender's group
  int tag = 0;
  int source_world = 0;
  uint64_t bytes : 59 = 0;
  uint64_t rendezvous : 1 = 0;   // a request to send: the sender keeps the data until the match
  uint64_t is_buffered : 1 = 0;  // `origin` is the attached buffer, not the send
  uint64_t in_transit : 1 = 0;   // not in the receiver's queue yet (transit.h)
  uint64_t withdrawn : 1 = 0;    // in transit: its send was cancelled
  uint64_t is_remote : 1 = 0;    // of another worker, to which `origin` means something
  SimTime sent;                  // when the send call had the message ready
  SimTime arrival;               // of the data, or of the request to send
  void* origin = nullptr;        // see sender() and attached()
  SimTime receive_overhead;      // CPU time of the receiver
  SignatureId signature = 0;     // of the type that was sent

  // Whether its send is to be completed on matching; otherwise it is complete already.
  bool completes_send() const { return !is_buffered && origin != nullptr; }
  // This send if it is of this process, else null.
  RequestObject* sender() const {
    return is_buffered || is_remote ? nullptr : static_cast<RequestObject*>(origin);
  }
  // The attached buffer to which a buffered send's space is returned; null for other sends.
  AttachedBuffer* attached() const {
    return is_buffered ? static_cast<AttachedBuffer*>(origin) : nullptr;
  }
  void set_sender(RequestObject& send) { origin = &send; }
  void set_attached(AttachedBuffer* buffer) {
    is_buffered = buffer != nullptr;
    origin = buffer;
  }
};

// The link of a channel's list. A base class, so that it shares a cache line with the envelope.
struct QueuedMessage;
struct QueueLink {
  QueuedMessage* next = nullptr;  // same context and source, in the order sent
};

// A message in a receiver's queue, which owns it. It has a packed copy of the data, unless the
// sender keeps the data until the match (synchronous and rendezvous sends).
struct alignas(64) QueuedMessage : Pooled<QueuedMessage>, QueueLink, MessageEnvelope {
  static constexpr size_t kInlineBytes = 40;  // what two cache lines leave (static_assert below)

  char* payload = nullptr;          // the packed data; null while the sender holds it
  uint32_t heap_positions[2] = {};  // by ArrivalHeap::Kind, counted from 1; 0: not in the heap
  char inline_payload[kInlineBytes];

  QueuedMessage() = default;
  explicit QueuedMessage(const MessageEnvelope& envelope) : MessageEnvelope(envelope) {}
  ~QueuedMessage() {
    if (payload != inline_payload) delete[] payload;
  }
  QueuedMessage(const QueuedMessage&) = delete;
  QueuedMessage& operator=(const QueuedMessage&) = delete;
};
static_assert(sizeof(QueuedMessage) == 128 || sizeof(SimTime) > sizeof(int64_t));

// What a receive or a probe asks for.
struct Selector {
  uint32_t context;
  int source;                        // or MPI_ANY_SOURCE
  int tag;                           // or MPI_ANY_TAG
  const CommObject* comm = nullptr;  // of a probe: the communicator, which has the context

  bool accepts_tag(int message_tag) const { return tag == MPI_ANY_TAG || tag == message_tag; }
  bool accepts(const QueuedMessage& message) const {
    return message.context == context && (source == MPI_ANY_SOURCE || source == message.source) &&
           accepts_tag(message.tag);
  }
};

}  // namespace sesame::mpi
