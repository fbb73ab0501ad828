// RemoteOperation: a one-sided operation in flight. It is an event at the time at which it reaches
// the target's memory. The operations of all ranks on a window therefore take effect in the order
// of simulated time, each atomically. The target's CPU takes no part (docs/models/one-sided.md).
#pragma once

#include <memory>
#include <span>

#include "core/base/pool.h"
#include "core/mpi/messages/recorder.h"
#include "core/mpi/objects/datatype.h"
#include "core/mpi/objects/op.h"
#include "core/mpi/rma/operation_kind.h"
#include "core/mpi/rma/window.h"
#include "core/pdes/event_queue.h"

namespace sesame::network {
struct Passage;
}

namespace sesame::mpi {

struct ReplyFrame;
struct Strand;
struct World;

// `count` elements of a type at an address.
struct TypedBuffer {
  void* address = nullptr;
  Count count = 0;
  DatatypeRef type;

  Count bytes() const { return type ? count * type->size() : 0; }
};

// The order of the rank's next operation or lock message among events of the same time.
pdes::EventOrder next_remote_order(Rank& rank);

class RemoteOperation final : public pdes::ConditionalEvent, public Pooled<RemoteOperation> {
 public:
  using Kind = OperationKind;

  RemoteOperation(WindowObject& window, Kind kind, int target);
  ~RemoteOperation() override;

  // The memory that is read or changed at the target, and the origin's buffer for its previous
  // contents (kGet, kFetch, kCompareAndSwap). Both belong to the program. `result` is written when
  // the operation takes effect: it must live until the program completes the operation.
  TypedBuffer target_buffer;
  TypedBuffer result;
  OpRef op;  // kAccumulate, kFetch

  // Copies the operation's data, packed, so that the program may reuse its buffer. The data of
  // kCompareAndSwap is two elements: the value to compare with, then the new value.
  void copy_data(const void* address, Count count, const DatatypeObject& type);

  // Issues the operation: charges the send overhead and schedules the event, which deletes the
  // operation. `request` (null in the forms without request) is completed when the program may use
  // its buffers.
  static void issue(Strand& strand, std::unique_ptr<RemoteOperation> operation,
                    RequestObject* request);

  void fire() override;
  // The answer of a target of another worker (remote_windows.h).
  void take_reply(const ReplyFrame& frame, std::span<const char> data);

 private:
  class RequestTransit;
  class ReplyTransit;

  void check_that_target_has_element() const;
  void send_away(uint32_t order, SimTime arrival, const network::Passage* passage) const;
  void take_effect();
  void send_reply();
  void receive_reply(SimTime effect, SimTime sent, SimTime back);
  void end(SimTime complete);
  void record(Protocol protocol, SimTime sent, SimTime arrived, Count bytes) const;

  WindowObject& window_;
  const Kind kind_;
  const int target_;
  std::unique_ptr<char[]> data_;
  Count data_bytes_ = 0;
  SimTime sent_;
  SimTime acknowledgement_;  // latency of the acknowledgement to the origin
  RequestObject* request_ = nullptr;
};

// What happens at the target of an operation, of this worker or another one:

// Counts and records a message. `from`: its source in the window's group.
void record_access(World& world, int from, const MessageRecord& record);
// `values` has the value to compare with, then the new value, of `bytes` bytes each.
void compare_and_swap(void* target, const char* values, size_t bytes);
// Wakes a rank that polls its memory, which has changed at `time`.
void wake_poller(World& world, int rank, SimTime time);
// The order of the target's next answer among messages that share its card.
uint32_t next_reply_number(Rank& target);

// Accumulate operations require that a type consists of elements of one predefined type. Returns
// this type; null if there is none or more than one.
const DatatypeObject* element_of(const DatatypeObject& type);

// Computes target_buffer = data op target_buffer. `data` holds packed elements. REQUIRES:
// element_of(*target_buffer.type) is the type of the elements.
void accumulate(const char* data, Count bytes, const TypedBuffer& target_buffer,
                const OpObject& op);
// packed = data op packed, for `count` packed elements.
void combine_packed(const char* data, char* packed, Count count, const DatatypeObject& element,
                    const OpObject& op);

}  // namespace sesame::mpi
