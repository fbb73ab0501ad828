// MPI_Buffer_attach and its relatives (MPI 4.1, section 3.6).
#include "core/mpi/api.h"
#include "core/mpi/messages/arguments.h"
#include "core/mpi/messages/waiting.h"
#include "core/mpi/messages/world.h"
#include "core/mpi/objects/errors.h"

namespace sesame::mpi {
namespace {

int attach(std::unique_ptr<AttachedBuffer>& attached, void* buffer, Count size) {
  if (attached != nullptr) return fail(MPI_ERR_BUFFER, "a buffer is attached already");
  if (size < 0) return fail(MPI_ERR_ARG, "the size of the buffer is negative");
  attached = std::make_unique<AttachedBuffer>();
  attached->address = buffer;
  attached->size = size;
  attached->automatic = buffer == MPI_BUFFER_AUTOMATIC;
  return MPI_SUCCESS;
}

void wait_until_unused(AttachedBuffer& buffer) {
  Strand& strand = self();
  if (buffer.unreleased > 0) {
    buffer.waiter = &strand;
    strand.rank->world.executive.block();
    buffer.waiter = nullptr;
  }
  strand.wait_until(buffer.last_release);
}

int flush(std::unique_ptr<AttachedBuffer>& attached) {
  if (attached != nullptr) wait_until_unused(*attached);
  return MPI_SUCCESS;
}

int detach(std::unique_ptr<AttachedBuffer>& attached, void* address, Count* size) {
  if (attached == nullptr) return fail(MPI_ERR_BUFFER, "no buffer is attached");
  wait_until_unused(*attached);
  *static_cast<void**>(address) = attached->address;
  *size = attached->size;
  attached.reset();
  return MPI_SUCCESS;
}

// The request completes when the buffer is unused.
int start_flush(const std::unique_ptr<AttachedBuffer>& attached, Request* handle) {
  auto* request = new RequestObject;
  request->kind = RequestObject::Kind::kCollective;
  *handle = this_rank().requests.add(request);
  if (attached != nullptr && attached->unreleased > 0) {
    attached->flushes.push_back(request);
  } else {
    complete(*request, attached != nullptr ? attached->last_release : self().now);
  }
  return MPI_SUCCESS;
}

}  // namespace

int Buffer_attach(void* buffer, Count size) {
  return attach(this_rank().attached_buffer, buffer, size);
}
int Buffer_detach(void* buffer_addr, Count* size) {
  return detach(this_rank().attached_buffer, buffer_addr, size);
}
int Buffer_flush() { return flush(this_rank().attached_buffer); }
int Buffer_iflush(Request* request) { return start_flush(this_rank().attached_buffer, request); }

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
  CommObject* comm = nullptr;
  MPI_TRY(check_comm(handle, &comm));
  return start_flush(comm->attached_buffer, request);
}

// MPI gives a session a buffer for the communicators made from it. Here they use the rank's buffer.
int Session_attach_buffer(Session, void* buffer, Count size) { return Buffer_attach(buffer, size); }
int Session_detach_buffer(Session, void* buffer_addr, Count* size) {
  return Buffer_detach(buffer_addr, size);
}
int Session_flush_buffer(Session) { return Buffer_flush(); }
int Session_iflush_buffer(Session, Request* request) { return Buffer_iflush(request); }

}  // namespace sesame::mpi
