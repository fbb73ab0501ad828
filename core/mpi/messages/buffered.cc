#include "core/mpi/messages/buffered.h"

#include <string>
#include <utility>

#include "core/mpi/messages/waiting.h"
#include "core/mpi/objects/datatype.h"
#include "core/mpi/objects/errors.h"
#include "core/mpi/objects/pack.h"

namespace sesame::mpi {

int reserve_buffer(RequestObject& request, AttachedBuffer* of_rank) {
  if (request.peer == MPI_PROC_NULL) return MPI_SUCCESS;
  AttachedBuffer* buffer =
      request.comm->attached_buffer != nullptr ? request.comm->attached_buffer.get() : of_rank;
  if (buffer == nullptr) {
    return fail(MPI_ERR_BUFFER, "no buffer is attached for buffered sends (MPI_Buffer_attach)");
  }
  const Count needed = request.bytes() + MPI_BSEND_OVERHEAD;
  if (!buffer->automatic && buffer->in_use + needed > buffer->size) {
    return fail(MPI_ERR_BUFFER, "the attached buffer has " +
                                    std::to_string(buffer->size - buffer->in_use) +
                                    " bytes left and the message needs " + std::to_string(needed));
  }
  buffer->in_use += needed;
  request.extra = std::make_unique<RequestExtra>();
  request.extra->attached = buffer;
  return MPI_SUCCESS;
}

void release_buffer(AttachedBuffer& buffer, Count bytes, SimTime received) {
  buffer.in_use -= bytes + MPI_BSEND_OVERHEAD;
  buffer.last_release = later(buffer.last_release, received);
  if (buffer.in_use > 0) return;
  if (buffer.waiter != nullptr) buffer.waiter->executive->make_ready(*buffer.waiter);
  for (RequestObject* flush : std::exchange(buffer.flushes, {})) {
    complete(*flush, buffer.last_release);
  }
}

ReplacedBuffer::ReplacedBuffer(const void* buffer, Count count, const DatatypeObject& type)
    : size_(count * type.size()), bytes_(new char[static_cast<size_t>(size_) + 1]) {
  pack_all(buffer, count, type, bytes_.get());
}

}  // namespace sesame::mpi
