// Checks of the arguments that most calls share. Each returns an MPI error class, with a detail
// for people, and the objects that the handles mean.
#pragma once

#include "core/mpi/objects/constants.h"

namespace sesame::mpi {

struct CommObject;
struct Rank;
struct RequestObject;
class DatatypeObject;

enum class Direction { kSend, kReceive };

// Null when the handle is not that of a communicator which the rank holds.
CommObject* find_comm(Rank& rank, Comm handle);
int check_comm(Comm handle, CommObject** comm);
// The type must be committed, the count not negative, a buffer there if there is data.
int check_buffer(const void* buffer, Count count, Datatype datatype, const DatatypeObject** type);
// The same for point-to-point calls, which like MPICH's do not look at the type of nothing: some
// programs give MPI_DATATYPE_NULL.
int check_message_buffer(const void* buffer, Count count, Datatype datatype,
                         const DatatypeObject** type);
// `peer` must be a rank of the communicator (or MPI_PROC_NULL; MPI_ANY_SOURCE to receive).
int check_peer(const CommObject& comm, int peer, int tag, Direction direction);
int check_request(Request handle, RequestObject** request);

}  // namespace sesame::mpi
