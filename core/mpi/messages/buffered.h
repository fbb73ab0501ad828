// Buffered sends: the space that a program attaches for them (MPI 4.1, section 3.6), and copies of
// buffers that are replaced by what is received. A buffered message needs its packed size and
// MPI_BSEND_OVERHEAD; the space is in use until a receive has met the message.
#pragma once

#include <memory>
#include <vector>

#include "core/base/units.h"
#include "core/mpi/objects/attached_buffer.h"
#include "core/mpi/objects/constants.h"

namespace sesame::mpi {

class DatatypeObject;
struct RequestObject;

// Takes space for the message from the communicator's buffer or the rank's, or fails with
// MPI_ERR_BUFFER.
int reserve_buffer(RequestObject& request);
// The message has been received at this time.
void release_buffer(AttachedBuffer& buffer, Count bytes, SimTime received);

// The packed copy of a buffer.
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
