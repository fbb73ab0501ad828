// One-sided operations under way. Each is an event at the moment when it reaches the target's
// memory, so that what all ranks do to a window happens in order of simulated time, and per
// operation as a whole. The target's processor takes no part (docs/models/one-sided.md).
#pragma once

#include <memory>

#include "core/base/pool.h"
#include "core/mpi/objects/datatype.h"
#include "core/mpi/objects/op.h"
#include "core/mpi/rma/window.h"
#include "core/pdes/event_queue.h"

namespace sesame::mpi {

struct Strand;

// `count` elements of a type at an address.
struct TypedBuffer {
  void* address = nullptr;
  Count count = 0;
  DatatypeRef type;

  Count bytes() const { return type ? count * type->size() : 0; }
};

// The order of the rank's next operation or message about locks among those of equal time.
pdes::EventOrder next_remote_order(Rank& rank);

class RemoteOperation final : public pdes::ConditionalEvent, public Pooled<RemoteOperation> {
 public:
  enum class Kind : uint8_t { kPut, kGet, kAccumulate, kFetch, kCompareAndSwap };

  RemoteOperation(WindowObject& window, Kind kind, int target);
  ~RemoteOperation() override;

  // What is read or changed at the target, and where what was there goes (kGet, kFetch,
  // kCompareAndSwap).
  TypedBuffer there;
  TypedBuffer result;
  OpRef op;  // kAccumulate, kFetch

  // Copies the data that goes along: the program may use its buffer again.
  void carry(const void* address, Count count, const DatatypeObject& type);

  // Sends it off: charges the overhead and schedules the event, which deletes the operation.
  // `request`, of the request-based forms, is completed when the program may use its buffers.
  static void issue(Strand& strand, std::unique_ptr<RemoteOperation> operation,
                    RequestObject* request);

  void fire() override;

 private:
  bool answers() const { return kind_ != Kind::kPut && kind_ != Kind::kAccumulate; }
  void take_effect();
  void wake_target();
  void finish();
  void answer();
  void record(SimTime sent, SimTime arrived, int from, int to, Count bytes) const;

  WindowObject& window_;
  const Kind kind_;
  const int target_;
  std::unique_ptr<char[]> data_;
  Count data_bytes_ = 0;
  SimTime sent_;
  SimTime acknowledgement_;  // how long it takes back to the origin
  RequestObject* request_ = nullptr;
};

// The one predefined type that the type consists of, as accumulating operations need; null when
// there is none or more than one.
const DatatypeObject* element_of(const DatatypeObject& type);

// there = data op there, where `data` holds packed elements. The types must fit (element_of).
void accumulate(const char* data, Count bytes, const TypedBuffer& there, const OpObject& op);

}  // namespace sesame::mpi
