// Checks of the arguments that most calls share. Each returns MPI_SUCCESS and the object that a
// handle stands for, or an MPI error class with a detail for the user (fail() in errors.h); what
// the result points to is undefined then. All work on the running rank, which owns the objects:
// keep one longer than the call only with a reference (retain() in handle_table.h). One thread.
#pragma once

#include "core/mpi/objects/constants.h"

namespace sesame::mpi {

struct CommObject;
struct Rank;
struct RequestObject;
class DatatypeObject;

enum class Direction { kSend, kReceive };

// Null when the handle is not that of a communicator of the rank.
CommObject* find_comm(Rank& rank, Comm handle);
int check_comm(Comm handle, CommObject** comm);
// The type must be committed, the count not negative, and the buffer not null if there is data.
int check_buffer(const void* buffer, Count count, Datatype datatype, const DatatypeObject** type);
// The same for point-to-point calls. Like MPICH's they accept any type when the count is 0, since
// some programs pass MPI_DATATYPE_NULL; *type is MPI_BYTE then.
int check_message_buffer(const void* buffer, Count count, Datatype datatype,
                         const DatatypeObject** type);
// `peer` must be a rank of the communicator (or MPI_PROC_NULL; MPI_ANY_SOURCE to receive).
int check_peer(const CommObject& comm, int peer, int tag, Direction direction);
int check_request(Request handle, RequestObject** request);

}  // namespace sesame::mpi
