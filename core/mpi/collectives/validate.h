// The checks of arguments that collectives share. Each returns MPI_SUCCESS and sets what the
// checked arguments stand for, or returns an MPI error class with a detail for the user (fail() in
// errors.h).
#pragma once

#include "core/mpi/collectives/blocks.h"
#include "core/mpi/collectives/launch.h"
#include "core/mpi/messages/arguments.h"
#include "core/mpi/objects/errors.h"

namespace sesame::mpi::collectives {

// The communicator of a collective that MPI does not offer for inter-communicators. (For others use
// check_comm.)
int check_intra_comm(Comm handle, CommObject** comm);

int check_root(const CommObject& comm, int root);
// Whether the running rank is the root (of an inter-communicator: whether it passes MPI_ROOT).
bool is_root(const CommObject& comm, int root);
// Whether the rank does nothing in a rooted collective: in the root's group of an
// inter-communicator, but not the root.
inline bool is_idle(const CommObject& comm, int root) {
  return comm.is_inter && root == MPI_PROC_NULL;
}

int check_source(const void* buffer, Count count, Datatype datatype, Source* source);
int check_target(void* buffer, Count count, Datatype datatype, Target* target);
// The same where MPI_IN_PLACE is allowed, in intra-communicators only.
int check_source_or_in_place(const CommObject& comm, const void* buffer, Count count,
                             Datatype datatype, Source* source);

// A buffer of `ranks` blocks of one type. The count of the result is 0.
int check_source_blocks(const void* buffer, IntArray counts, int ranks, Datatype datatype,
                        Source* source);
int check_target_blocks(void* buffer, IntArray counts, int ranks, Datatype datatype,
                        Target* target);
int check_counts(IntArray counts, int ranks);

int check_reduction(Count count, Datatype datatype, Op op, Reduction* reduction);
// The buffers of a reduction: the receive buffer must not be null, nor be the send buffer.
int check_reduction_buffers(const CommObject& comm, const void* send, const void* receive,
                            const Reduction& reduction);

// The arguments that must agree on all ranks (collective_log.h): the root, and the size and type of
// the whole data or of one rank's block. The type is null on a rank that has no data to compare.
template <typename Data>
CollectiveSignature collective_signature(const Data& data,
                                         int root = CollectiveSignature::kNoRoot) {
  if (!data.type) return {.root = root};
  return {root, MPI_OP_NULL, data.bytes(), data.type->signature()};
}
inline CollectiveSignature collective_signature(const Reduction& reduction,
                                                int root = CollectiveSignature::kNoRoot) {
  if (!reduction.type) return {.root = root};
  return {root, reduction.op->handle(), reduction.bytes(), reduction.type->signature()};
}
inline CollectiveSignature root_signature(int root) { return {.root = root}; }

// The block that a rank sends must be as long as those it receives, except with MPI_IN_PLACE and in
// inter-communicators.
int check_blocks_match(const CommObject& comm, const Source& sent, const Target& received);

// Two buffers must not start at the same address.
int check_distinct(const void* send, const void* receive);
int check_not_in_place(const void* buffer);

// Sets the bytes, the root and the context of the current call's record.
void record_call(const CommObject& comm, Count bytes, int root = MPI_PROC_NULL);

}  // namespace sesame::mpi::collectives
