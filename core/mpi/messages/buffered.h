// Buffered sends: how much of the space that a program attached for them is in use (MPI 4.1,
// section 3.6); and copies of send buffers that a receive overwrites. A buffered message takes its
// packed size plus MPI_BSEND_OVERHEAD from the attached buffer until its sender knows that it has
// been received: a control message after that, or, for a rendezvous, when its data has been
// injected. Nothing is written to the attached memory.
//
// Use: reserve_buffer() on the sender's strand, before the send is posted; it yields if the space
// is only sufficient with what comes back until now. The code that delivers the message calls
// release_buffer() with the buffer that the message names (MessageEnvelope::attached()). The
// communicator or the rank owns the buffer, which outlives its messages. Sizes are bytes, times are
// simulated. One thread.
#pragma once

#include <memory>
#include <vector>

#include "core/base/units.h"
#include "core/mpi/objects/attached_buffer.h"
#include "core/mpi/objects/constants.h"

namespace sesame::mpi {

class DatatypeObject;
struct RequestObject;

// Reserves space for the message in the communicator's buffer or, without one, in `of_rank` (null:
// the rank has none), and stores the buffer in the request. MPI_ERR_BUFFER when there is no buffer
// or too little space. Does nothing if the peer is MPI_PROC_NULL.
int reserve_buffer(RequestObject& request, AttachedBuffer* of_rank);
// The space of a message of `bytes` bytes is free again at this time; resumes a strand that waits
// for the buffer to be unused.
void release_buffer(AttachedBuffer& buffer, Count bytes, SimTime time);

// A packed copy of a buffer, for the send of MPI_Sendrecv_replace.
class ReplacedBuffer {
 public:
  ReplacedBuffer(const void* buffer, Count count, const DatatypeObject& type);
  const void* data() const { return bytes_.get(); }
  Count size() const { return size_; }

 private:
  Count size_;
  std::unique_ptr<char[]> bytes_;
};

}  // namespace sesame::mpi
