#include "core/mpi/messages/buffered.h"

#include "core/mpi/api.h"
#include "core/mpi/messages/arguments.h"
#include "core/mpi/messages/messaging.h"
#include "core/mpi/messages/world.h"
#include "core/mpi/objects/errors.h"
#include "core/mpi/objects/pack.h"

namespace sesame::mpi {
namespace {

int attach(std::unique_ptr<AttachedBuffer>& place, void* buffer, Count size) {
  if (place != nullptr) return fail(MPI_ERR_BUFFER, "a buffer is attached already");
  if (size < 0) return fail(MPI_ERR_ARG, "the size of the buffer is negative");
  place = std::make_unique<AttachedBuffer>();
  place->address = buffer;
  place->size = size;
  place->automatic = buffer == MPI_BUFFER_AUTOMATIC;
  return MPI_SUCCESS;
}

void wait_until_unused(AttachedBuffer& buffer) {
  Strand& strand = self();
  if (buffer.in_use > 0) {
    buffer.waiter = &strand;
    strand.rank->world.executive.block();
    buffer.waiter = nullptr;
  }
  strand.now = later(strand.now, buffer.last_release);
}

int flush(std::unique_ptr<AttachedBuffer>& place) {
  if (place != nullptr) wait_until_unused(*place);
  return MPI_SUCCESS;
}

int detach(std::unique_ptr<AttachedBuffer>& place, void* address, Count* size) {
  if (place == nullptr) return fail(MPI_ERR_BUFFER, "no buffer is attached");
  wait_until_unused(*place);
  *static_cast<void**>(address) = place->address;
  *size = place->size;
  place.reset();
  return MPI_SUCCESS;
}

// The flush is over at once or not at all for the simulator: the call waits, the request is done.
int flushed_request(Request* handle) {
  auto* request = new RequestObject;
  request->kind = RequestObject::Kind::kCollective;
  complete(*request, self().now);
  *handle = this_rank().requests.add(request);
  return MPI_SUCCESS;
}

}  // namespace

int reserve_buffer(RequestObject& request) {
  if (request.peer == MPI_PROC_NULL) return MPI_SUCCESS;
  AttachedBuffer* buffer = request.comm->attached_buffer != nullptr
                               ? request.comm->attached_buffer.get()
                               : this_rank().attached_buffer.get();
  if (buffer == nullptr) {
    return fail(MPI_ERR_BUFFER, "no buffer is attached for buffered sends (MPI_Buffer_attach)");
  }
  const Count needed = request.count * request.type->size() + MPI_BSEND_OVERHEAD;
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
  if (buffer.in_use == 0 && buffer.waiter != nullptr) {
    buffer.waiter->rank->world.executive.make_ready(*buffer.waiter);
  }
}

ReplacedBuffer::ReplacedBuffer(const void* buffer, Count count, const DatatypeObject& type)
    : size_(count * type.size()), bytes_(new char[static_cast<size_t>(size_) + 1]) {
  pack_all(buffer, count, type, bytes_.get());
}

int Buffer_attach(void* buffer, Count size) {
  return attach(this_rank().attached_buffer, buffer, size);
}
int Buffer_detach(void* buffer_addr, Count* size) {
  return detach(this_rank().attached_buffer, buffer_addr, size);
}
int Buffer_flush() { return flush(this_rank().attached_buffer); }
int Buffer_iflush(Request* request) {
  MPI_TRY(Buffer_flush());
  return flushed_request(request);
}

int Comm_attach_buffer(Comm handle, void* buffer, Count size) {
  CommObject* comm = nullptr;
  MPI_TRY(check_comm(handle, &comm));
  return attach(comm->attached_buffer, buffer, size);
}
int Comm_detach_buffer(Comm handle, void* buffer_addr, Count* size) {
  CommObject* comm = nullptr;
  MPI_TRY(check_comm(handle, &comm));
  return detach(comm->attached_buffer, buffer_addr, size);
}
int Comm_flush_buffer(Comm handle) {
  CommObject* comm = nullptr;
  MPI_TRY(check_comm(handle, &comm));
  return flush(comm->attached_buffer);
}
int Comm_iflush_buffer(Comm handle, Request* request) {
  MPI_TRY(Comm_flush_buffer(handle));
  return flushed_request(request);
}

// A session's buffer serves the communicators made from it; they fall back on the rank's here.
int Session_attach_buffer(Session, void* buffer, Count size) { return Buffer_attach(buffer, size); }
int Session_detach_buffer(Session, void* buffer_addr, Count* size) {
  return Buffer_detach(buffer_addr, size);
}
int Session_flush_buffer(Session) { return Buffer_flush(); }
int Session_iflush_buffer(Session, Request* request) { return Buffer_iflush(request); }

}  // namespace sesame::mpi
