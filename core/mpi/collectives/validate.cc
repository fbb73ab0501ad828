#include "core/mpi/collectives/validate.h"

#include "core/mpi/messages/rank.h"
#include "core/mpi/objects/comm.h"

namespace sesame::mpi::collectives {
namespace {

[[gnu::cold]] int negative_count(Count count, int rank) {
  return fail(MPI_ERR_COUNT, "the count for rank " + std::to_string(rank) +
                                 " is negative: " + std::to_string(count));
}

[[gnu::cold]] int bad_root(const CommObject& comm, int root) {
  if (comm.is_inter) {
    return fail(MPI_ERR_ROOT, "the root " + std::to_string(root) +
                                  " is neither MPI_ROOT, MPI_PROC_NULL nor a rank of the remote "
                                  "group, which has " +
                                  std::to_string(comm.remote_size()) + " ranks");
  }
  return fail(MPI_ERR_ROOT, "the root " + std::to_string(root) +
                                " is not in the communicator, which has " +
                                std::to_string(comm.size()) + " ranks");
}

}  // namespace

int check_intra_comm(Comm handle, CommObject** comm) {
  MPI_TRY(check_comm(handle, comm));
  if (!(*comm)->is_inter) return MPI_SUCCESS;
  return fail(MPI_ERR_COMM, "this collective is not for inter-communicators");
}

int check_root(const CommObject& comm, int root) {
  if (root >= 0 && root < comm.remote_size()) return MPI_SUCCESS;
  if (comm.is_inter && (root == MPI_ROOT || root == MPI_PROC_NULL)) return MPI_SUCCESS;
  return bad_root(comm, root);
}

bool is_root(const CommObject& comm, int root) {
  return comm.is_inter ? root == MPI_ROOT : root == comm.rank;
}

int check_source(const void* buffer, Count count, Datatype datatype, Source* source) {
  MPI_TRY(check_not_in_place(buffer));
  const DatatypeObject* type = nullptr;
  MPI_TRY(check_buffer(buffer, count, datatype, &type));
  *source = Source{buffer, count, DatatypeRef(type)};
  return MPI_SUCCESS;
}

int check_target(void* buffer, Count count, Datatype datatype, Target* target) {
  MPI_TRY(check_not_in_place(buffer));
  const DatatypeObject* type = nullptr;
  MPI_TRY(check_buffer(buffer, count, datatype, &type));
  *target = Target{buffer, count, DatatypeRef(type)};
  return MPI_SUCCESS;
}

int check_source_or_in_place(const CommObject& comm, const void* buffer, Count count,
                             Datatype datatype, Source* source) {
  if (buffer != MPI_IN_PLACE || comm.is_inter) {
    return check_source(buffer, count, datatype, source);
  }
  *source = Source{buffer, 0, DatatypeRef()};
  return MPI_SUCCESS;
}

int check_counts(IntArray counts, int ranks) {
  if (counts.is_null() && ranks > 0) return fail(MPI_ERR_ARG, "the array of counts is null");
  for (int i = 0; i < ranks; ++i) {
    const Count count = counts[static_cast<size_t>(i)];
    if (count < 0) [[unlikely]]
      return negative_count(count, i);
  }
  return MPI_SUCCESS;
}

namespace {

// Checks a buffer of `ranks` blocks. A null buffer is an error if any block is not empty.
int check_blocks(const void* buffer, IntArray counts, int ranks, Datatype datatype,
                 const DatatypeObject** type) {
  MPI_TRY(check_not_in_place(buffer));
  MPI_TRY(check_counts(counts, ranks));
  Count some = 0;
  for (int i = 0; i < ranks && some == 0; ++i) some = counts[static_cast<size_t>(i)];
  return check_buffer(buffer, some, datatype, type);
}

}  // namespace

int check_source_blocks(const void* buffer, IntArray counts, int ranks, Datatype datatype,
                        Source* source) {
  const DatatypeObject* type = nullptr;
  MPI_TRY(check_blocks(buffer, counts, ranks, datatype, &type));
  *source = Source{buffer, 0, DatatypeRef(type)};
  return MPI_SUCCESS;
}

int check_target_blocks(void* buffer, IntArray counts, int ranks, Datatype datatype,
                        Target* target) {
  const DatatypeObject* type = nullptr;
  MPI_TRY(check_blocks(buffer, counts, ranks, datatype, &type));
  *target = Target{buffer, 0, DatatypeRef(type)};
  return MPI_SUCCESS;
}

int check_reduction(Count count, Datatype datatype, Op op, Reduction* reduction) {
  const DatatypeObject* type = nullptr;
  MPI_TRY(check_buffer(MPI_IN_PLACE, count, datatype, &type));  // buffers are checked elsewhere
  if (op == MPI_OP_NULL) return fail(MPI_ERR_OP, "the operation is MPI_OP_NULL");
  const OpObject* operation = this_rank().ops.find(op);
  if (operation == nullptr) return fail(MPI_ERR_OP, "no such operation, or it was freed");
  if (op_is_valid(*operation, *type) != MPI_SUCCESS) {
    return fail(MPI_ERR_OP, "the operation is not defined for this datatype");
  }
  *reduction = Reduction{count, DatatypeRef(type), OpRef(operation)};
  return MPI_SUCCESS;
}

int check_reduction_buffers(const CommObject& comm, const void* send, const void* receive,
                            const Reduction& reduction) {
  MPI_TRY(check_not_in_place(receive));
  if (comm.is_inter) MPI_TRY(check_not_in_place(send));
  if (reduction.count == 0) return MPI_SUCCESS;
  const DatatypeObject* type = nullptr;
  const Datatype datatype = reduction.type->handle();
  MPI_TRY(check_buffer(send, reduction.count, datatype, &type));
  MPI_TRY(check_buffer(receive, reduction.count, datatype, &type));
  return check_distinct(send, receive);
}

int check_blocks_match(const CommObject& comm, const Source& sent, const Target& received) {
  if (comm.is_inter || sent.is_in_place() || sent.bytes() == received.bytes()) return MPI_SUCCESS;
  return fail(MPI_ERR_TRUNCATE, "the rank sends blocks of " + std::to_string(sent.bytes()) +
                                    " bytes and receives blocks of " +
                                    std::to_string(received.bytes()));
}

int check_distinct(const void* send, const void* receive) {
  if (send != receive || send == MPI_BOTTOM) return MPI_SUCCESS;
  return fail(MPI_ERR_BUFFER,
              "the send buffer and the receive buffer are the same (MPI_IN_PLACE is for that)");
}

int check_not_in_place(const void* buffer) {
  if (buffer != MPI_IN_PLACE) return MPI_SUCCESS;
  return fail(MPI_ERR_BUFFER, "MPI_IN_PLACE is not allowed here");
}

void record_call(const CommObject& comm, Count bytes, int root) {
  Rank& rank = this_rank();
  rank.call_bytes += static_cast<uint64_t>(bytes);
  if (root >= 0) rank.call_peer = (*comm.remote)[root];
  rank.call_context = comm.context;
}

}  // namespace sesame::mpi::collectives
