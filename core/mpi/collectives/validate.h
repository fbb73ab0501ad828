// The checks of arguments that collectives share. Each returns an MPI error class, with a detail
// for people, and fills in what the checked arguments mean.
#pragma once

#include "core/mpi/collectives/blocks.h"
#include "core/mpi/collectives/launch.h"
#include "core/mpi/messages/arguments.h"
#include "core/mpi/objects/errors.h"

namespace sesame::mpi::collectives {

// The communicator of a collective that both kinds allow, or intra-communicators only.
int take_comm(Comm handle, CommObject** comm);
int take_intra_comm(Comm handle, CommObject** comm);

int check_root(const CommObject& comm, int root);
// Intra-communicator: whether this is the root. Inter-communicator: whether the root is in this
// group and is this rank.
bool is_root(const CommObject& comm, int root);
// Inter-communicator: this rank has no part in a rooted collective.
inline bool is_idle(const CommObject& comm, int root) {
  return comm.is_inter && root == MPI_PROC_NULL;
}

int take_source(const void* buffer, Count count, Datatype datatype, Source* source);
int take_target(void* buffer, Count count, Datatype datatype, Target* target);
// The same where MPI_IN_PLACE may stand, in intra-communicators only.
int take_source_or_in_place(const CommObject& comm, const void* buffer, Count count,
                            Datatype datatype, Source* source);

// A vector of `ranks` blocks of one type. The count of the result is 0.
int take_source_blocks(const void* buffer, IntArray counts, int ranks, Datatype datatype,
                       Source* source);
int take_target_blocks(void* buffer, IntArray counts, int ranks, Datatype datatype, Target* target);
int check_counts(IntArray counts, int ranks);

int take_reduction(Count count, Datatype datatype, Op op, Reduction* reduction);
// The buffers of a reduction: receive buffer where it is significant, no aliases.
int check_reduction_buffers(const CommObject& comm, const void* send, const void* receive,
                            const Reduction& reduction);

// What all ranks must bring alike: data of this signature, or one block of it for each rank; and
// the same with a root, with an operation.
template <typename Part>
CollectiveSignature alike(const Part& part, int root = CollectiveSignature::kNoRoot) {
  if (!part.type) return {.root = root};  // no part of this rank
  return {root, MPI_OP_NULL, part.bytes(), part.type->signature()};
}
inline CollectiveSignature alike(const Reduction& reduction,
                                 int root = CollectiveSignature::kNoRoot) {
  if (!reduction.type) return {.root = root};
  return {root, reduction.op->handle(), reduction.bytes(), reduction.type->signature()};
}
inline CollectiveSignature alike_root(int root) { return {.root = root}; }

// The block that a rank sends must be as long as those it receives; not so with MPI_IN_PLACE and in
// inter-communicators.
int check_blocks_match(const CommObject& comm, const Source& sent, const Target& received);

// Two buffers that MPI wants distinct.
int check_distinct(const void* send, const void* receive);
int check_not_in_place(const void* buffer);

// Tells the profile how much data the rank passes, and to which root.
void note_call(const CommObject& comm, Count bytes, int root = MPI_PROC_NULL);

}  // namespace sesame::mpi::collectives
