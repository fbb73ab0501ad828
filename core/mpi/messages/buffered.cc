#include "core/mpi/messages/buffered.h"

#include <string>
#include <utility>

#include "core/mpi/messages/waiting.h"
#include "core/mpi/objects/datatype.h"
#include "core/mpi/objects/errors.h"
#include "core/mpi/objects/pack.h"

namespace sesame::mpi {

namespace {

bool has_space(AttachedBuffer& buffer, Count bytes, const SimTime& now) {
  if (buffer.automatic || buffer.in_use + bytes <= buffer.size) return true;
  std::erase_if(buffer.releases, [&](const AttachedBuffer::Release& release) {
    if (release.time > now) return false;
    buffer.in_use -= release.bytes;
    return true;
  });
  return buffer.in_use + bytes <= buffer.size;
}

}  // namespace

int reserve_buffer(RequestObject& request, AttachedBuffer* of_rank) {
  if (request.peer == MPI_PROC_NULL) return MPI_SUCCESS;
  AttachedBuffer* buffer =
      request.comm->attached_buffer != nullptr ? request.comm->attached_buffer.get() : of_rank;
  if (buffer == nullptr) {
    return fail(MPI_ERR_BUFFER, "no buffer is attached for buffered sends (MPI_Buffer_attach)");
  }
  const Count needed = request.bytes() + MPI_BSEND_OVERHEAD;
  if (!has_space(*buffer, needed, self().now)) {
    yield_until_now(self());
    if (!has_space(*buffer, needed, self().now)) {
      return fail(MPI_ERR_BUFFER,
                  "the attached buffer has " + std::to_string(buffer->size - buffer->in_use) +
                      " bytes left and the message needs " + std::to_string(needed));
    }
  }
  buffer->in_use += needed;
  buffer->unreleased += needed;
  request.extra = std::make_unique<RequestExtra>();
  request.extra->attached = buffer;
  return MPI_SUCCESS;
}

void release_buffer(AttachedBuffer& buffer, Count bytes, SimTime time) {
  const Count space = bytes + MPI_BSEND_OVERHEAD;
  buffer.unreleased -= space;
  if (!buffer.automatic) buffer.releases.push_back({plain(time), space});
  buffer.last_release = later(buffer.last_release, time);
  if (buffer.unreleased > 0) return;
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
