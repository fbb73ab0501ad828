#include "core/mpi/messages/arguments.h"

#include "core/mpi/messages/world.h"
#include "core/mpi/objects/datatype_table.h"
#include "core/mpi/objects/errors.h"
#include "core/mpi/objects/memory.h"
#include "core/mpi/objects/object_tables.h"

namespace sesame::mpi {
namespace {

// Reports of wrong arguments, apart from the checks, which are inlined.

[[gnu::cold, gnu::noinline]] int bad_comm(Comm handle) {
  const Rank& rank = this_rank();
  if (!rank.initialized) return fail(MPI_ERR_COMM, "MPI_Init has not been called");
  if (rank.finalized) return fail(MPI_ERR_COMM, "MPI_Finalize has been called already");
  return fail(MPI_ERR_COMM, handle == MPI_COMM_NULL ? "the communicator is MPI_COMM_NULL"
                                                    : "no such communicator, or it was freed");
}

[[gnu::cold, gnu::noinline]] int bad_type(Datatype datatype, const DatatypeObject* type) {
  if (datatype == MPI_DATATYPE_NULL) return fail(MPI_ERR_TYPE, "the datatype is MPI_DATATYPE_NULL");
  return fail(MPI_ERR_TYPE, type == nullptr ? "no such datatype, or it was freed"
                                            : "the datatype is not committed");
}

[[gnu::cold, gnu::noinline]] int bad_rank(const CommObject& comm, int peer) {
  return fail(MPI_ERR_RANK, "rank " + std::to_string(peer) +
                                " is not in the communicator, which has " +
                                std::to_string(comm.remote_size()) + " ranks");
}

[[gnu::cold, gnu::noinline]] int bad_tag(int tag) {
  return fail(MPI_ERR_TAG, "the tag is negative: " + std::to_string(tag));
}

[[gnu::cold, gnu::noinline]] int bad_count(Count count) {
  return fail(MPI_ERR_COUNT, "the count is negative: " + std::to_string(count));
}

[[gnu::cold, gnu::noinline]] int null_buffer() {
  return fail(MPI_ERR_BUFFER, "the buffer is a null pointer");
}

}  // namespace

CommObject* find_comm(Rank& rank, Comm handle) {
  if (handle == MPI_COMM_WORLD) [[likely]]
    return rank.objects.world;
  if (handle == MPI_COMM_SELF) return rank.objects.self;
  return rank.objects.comms.find(handle);
}

int check_comm(Comm handle, CommObject** comm) {
  *comm = find_comm(this_rank(), handle);
  return *comm != nullptr ? MPI_SUCCESS : bad_comm(handle);
}

int check_buffer(const void* buffer, Count count, Datatype datatype, const DatatypeObject** type) {
  if (count < 0) [[unlikely]]
    return bad_count(count);
  *type = this_rank().datatypes.find(datatype);
  if (*type == nullptr || !(*type)->is_committed()) [[unlikely]]
    return bad_type(datatype, *type);
  if (address_there(buffer) == 0 && count > 0 && (*type)->is_contiguous() && (*type)->size() > 0 &&
      (*type)->is_predefined()) [[unlikely]]
    return null_buffer();
  return MPI_SUCCESS;
}

int check_message_buffer(const void* buffer, Count count, Datatype datatype,
                         const DatatypeObject** type) {
  if (count != 0) [[likely]]
    return check_buffer(buffer, count, datatype, type);
  const DatatypeTable& types = this_rank().datatypes;
  *type = types.find(datatype);
  if (*type == nullptr) *type = types.find(MPI_BYTE);
  return MPI_SUCCESS;
}

int check_peer(const CommObject& comm, int peer, int tag, Direction direction) {
  const bool receive = direction == Direction::kReceive;
  if (peer < 0 || peer >= comm.remote_size()) {
    if (peer != MPI_PROC_NULL && !(receive && peer == MPI_ANY_SOURCE)) return bad_rank(comm, peer);
  }
  if (tag < 0 && !(receive && tag == MPI_ANY_TAG)) return bad_tag(tag);
  return MPI_SUCCESS;
}

int check_request(Request handle, RequestObject** request) {
  Rank& rank = this_rank();
  if (handle == kSentRequest) {
    *request = &rank.world.sent;
    return MPI_SUCCESS;
  }
  *request = rank.requests.find(handle);
  if (*request != nullptr) return MPI_SUCCESS;
  return fail(MPI_ERR_REQUEST, "no such request, or it was freed");
}

}  // namespace sesame::mpi
