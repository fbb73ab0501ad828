#include "core/mpi/collectives/reduce.h"

#include <bit>
#include <utility>

#include "core/mpi/api.h"
#include "core/mpi/collectives/halving.h"
#include "core/mpi/collectives/levels.h"
#include "core/mpi/collectives/open_mpi_rules.h"
#include "core/mpi/collectives/table_rules.h"
#include "core/mpi/collectives/thresholds.h"
#include "core/mpi/collectives/tree.h"
#include "core/mpi/collectives/validate.h"
#include "core/mpi/collectives/workspace.h"

namespace sesame::mpi {
namespace collectives {

// If the operation does not commute, the root of the tree is rank 0, because then the subtrees are
// in rank order.
void reduce_binomial(Transfer& transfer, const void* send, void* receive,
                     const Reduction& reduction, int root) {
  const int size = transfer.size();
  const int rank = transfer.rank();
  const int tree_root = reduction.is_commutative() ? root : 0;
  const int relative = (rank - tree_root + size) % size;
  const DatatypeObject& type = *reduction.type;
  const Count count = reduction.count;
  const bool is_leaf = relative % 2 != 0 || relative + 1 >= size;
  const bool own_receive = rank == root;
  if (is_leaf && relative != 0) {
    const void* mine = send == MPI_IN_PLACE ? receive : send;
    transfer.send(mine, count, type, (relative - (relative & -relative) + tree_root) % size);
  } else {
    TypedWorkspace incoming(count, type);
    TypedWorkspace own_result(own_receive ? 0 : count, type);
    void* result = own_receive ? receive : own_result.data();
    void* other = incoming.data();
    if (send != MPI_IN_PLACE) reduction.copy_elements(send, result, count);
    int mask = 1;
    for (; mask < size && (relative & mask) == 0; mask *= 2) {
      if (relative + mask >= size) continue;
      transfer.receive(other, count, type, (relative + mask + tree_root) % size);
      if (reduction.is_commutative()) {
        reduction.combine(other, result, count);
      } else {
        reduction.combine(result, other, count);
        std::swap(result, other);
      }
    }
    if (relative != 0) {
      transfer.send(result, count, type, (relative - mask + tree_root) % size);
    } else if (tree_root != root) {
      transfer.send(result, count, type, root);
    } else {
      reduction.copy_elements(result, receive, count);
    }
  }
  if (own_receive && tree_root != root) transfer.receive(receive, count, type, tree_root);
}

namespace {

// Gathers the reduced blocks by a binomial tree of core ranks to the root's. A root that is not a
// core rank replaces core rank 0.
void gather_blocks(Transfer& transfer, const Reduction& reduction, const CoreRanks& ranks,
                   const EvenBlocks& blocks, int core, BlockRange range, char* vector, int root) {
  const DatatypeObject& type = *reduction.type;
  const bool root_replaces = !ranks.is_core(root);
  const int root_core = root_replaces ? 0 : ranks.core_of(root);
  const auto at = [&](BlockRange w) { return vector + reduction.offset(blocks.begin(w.first)); };
  const auto length = [&](BlockRange w) { return blocks.length(w.first, w.end); };
  if (root_replaces && transfer.rank() == root) {
    core = 0;
    range = {0, 1};
    transfer.receive(at(range), length(range), type, ranks.rank_of(0));
  } else if (root_replaces && core == 0) {
    transfer.send(at(range), length(range), type, root);
    return;
  } else if (core < 0) {
    return;
  }
  for (int mask = ranks.count / 2; mask > 0; mask /= 2) {
    const int peer_core = core ^ mask;
    const int peer = root_replaces && peer_core == 0 ? root : ranks.rank_of(peer_core);
    if (peer_core / mask == root_core / mask) {
      transfer.send(at(range), length(range), type, peer);
      return;
    }
    const BlockRange theirs = sibling(range, core, mask);
    transfer.receive(at(theirs), length(theirs), type, peer);
    range = joined(range, theirs);
  }
}

}  // namespace

void reduce_scatter_gather(Transfer& transfer, const void* send, void* receive,
                           const Reduction& reduction, int root) {
  const int rank = transfer.rank();
  const Count count = reduction.count;
  const CoreRanks ranks(transfer.size(), CoreRanks::Kept::kEven);
  const EvenBlocks blocks(count, ranks.count);
  TypedWorkspace scratch(count, *reduction.type);
  TypedWorkspace own_result(rank == root ? 0 : count, *reduction.type);
  char* const vector = static_cast<char*>(rank == root ? receive : own_result.data());
  if (send != MPI_IN_PLACE) reduction.copy_elements(send, vector, count);
  int core = -1;
  BlockRange range{0, 0};
  if (!ranks.is_core(rank)) {
    transfer.send(vector, count, *reduction.type, rank - 1);
  } else {
    if (ranks.is_paired(rank)) {
      transfer.receive(scratch.data(), count, *reduction.type, rank + 1);
      reduction.combine(scratch.data(), vector, count);
    }
    core = ranks.core_of(rank);
    range = halve_vector(transfer, reduction, ranks, blocks, core, vector,
                         static_cast<char*>(scratch.data()));
  }
  gather_blocks(transfer, reduction, ranks, blocks, core, range, vector, root);
}

// From the last rank to the first, so that each operand is combined from the left.
void reduce_linear(Transfer& transfer, const void* send, void* receive, const Reduction& reduction,
                   int root) {
  const int rank = transfer.rank();
  const DatatypeObject& type = *reduction.type;
  if (rank != root) {
    transfer.send(send, reduction.count, type, root);
    return;
  }
  TypedWorkspace own(reduction.count, type);
  TypedWorkspace incoming(reduction.count, type);
  reduction.copy_elements(send == MPI_IN_PLACE ? receive : send, own.data(), reduction.count);
  for (int from = transfer.size() - 1; from >= 0; --from) {
    const bool is_first = from == transfer.size() - 1;
    void* const operand = is_first ? receive : incoming.data();
    if (from == root) {
      reduction.copy_elements(own.data(), operand, reduction.count);
    } else {
      transfer.receive(operand, reduction.count, type, from);
    }
    if (!is_first) reduction.combine(operand, receive, reduction.count);
  }
}

namespace {

// Along a tree that is rooted at `tree_root`, which sends the result to the root. The vector is
// divided into `segments`, which follow each other.
void reduce_along(Transfer& transfer, const void* send, void* receive, const Reduction& reduction,
                  int root, const TreePlace& place, int tree_root, Count segments = 1) {
  const int rank = transfer.rank();
  TypedWorkspace own_vector(rank == root ? 0 : reduction.count, *reduction.type);
  void* const vector = rank == root ? receive : own_vector.data();
  if (send != MPI_IN_PLACE) reduction.copy_elements(send, vector, reduction.count);
  Reduction segment = reduction;
  segment.count = reduction.count / segments;
  for (Count i = 0; i < segments; ++i) {
    const Count begin = i * segment.count;
    if (i == segments - 1) segment.count = reduction.count - begin;
    reduce_tree(transfer, shift(vector, reduction.offset(begin)), segment, place);
  }
  if (tree_root == root) return;
  if (rank == tree_root) transfer.send(vector, reduction.count, *reduction.type, root);
  if (rank == root) transfer.receive(receive, reduction.count, *reduction.type, tree_root);
}

// Reduces the vectors of a part's ranks into that of its rank `root`.
void reduce_vectors(Transfer& part, void* vector, const Reduction& reduction, int root) {
  reduce_intra(part, part.rank() == root ? MPI_IN_PLACE : vector, vector, reduction, root);
}

void reduce_two_level(Transfer& transfer, const void* send, void* receive,
                      const Reduction& reduction, int root) {
  Levels levels(transfer);
  const bool is_root = transfer.rank() == root;
  TypedWorkspace own(is_root ? 0 : reduction.count, *reduction.type);
  void* const vector = is_root ? receive : own.data();
  if (send != MPI_IN_PLACE) reduction.copy_elements(send, vector, reduction.count);
  levels.in_node([&](Transfer& part) { reduce_vectors(part, vector, reduction, 0); });
  levels.between_nodes(
      [&](Transfer& part) { reduce_vectors(part, vector, reduction, levels.node_of(root)); });
  const int leader = levels.leader_of(root);
  if (root == leader) return;
  if (transfer.rank() == leader) transfer.send(vector, reduction.count, *reduction.type, root);
  if (is_root) transfer.receive(receive, reduction.count, *reduction.type, leader);
}

void reduce_as_open_mpi(Transfer& transfer, const void* send, void* receive,
                        const Reduction& reduction, int root,
                        std::optional<open_mpi::Reduce> given) {
  using enum open_mpi::Reduce;
  const int rank = transfer.rank();
  const int size = transfer.size();
  const Count core_ranks = std::bit_floor(static_cast<unsigned>(size));
  const Count bytes = reduction.bytes();
  const bool commutes = reduction.is_commutative();
  if (!given) {
    given = transfer.is_blocking()
                ? open_mpi::choose_reduce(size, bytes, commutes)
                : open_mpi::choose_ireduce(size, bytes, reduction.count, commutes);
  }
  switch (*given) {
    case kLinear:
      return reduce_linear(transfer, send, receive, reduction, root);
    case kChain:
      return reduce_along(transfer, send, receive, reduction, root, chain_place(rank, size, root),
                          root);
    case kPipeline:
      return reduce_along(transfer, send, receive, reduction, root, chain_place(rank, size, root),
                          root, segment_count(reduction.count, bytes, open_mpi::kReduceSegment));
    case kBinary:
      return reduce_along(transfer, send, receive, reduction, root, binary_place(rank, size, root),
                          root);
    case kBinomial:
      return reduce_binomial(transfer, send, receive, reduction, root);
    case kOrderedBinary:
      return reduce_along(transfer, send, receive, reduction, root, ordered_place(rank, size),
                          size - 1);
    case kScatterGather:
      if (reduction.count < core_ranks)
        return reduce_linear(transfer, send, receive, reduction, root);
      return reduce_scatter_gather(transfer, send, receive, reduction, root);
    case kTwoLevel:
      return reduce_two_level(transfer, send, receive, reduction, root);
  }
}

}  // namespace

int reduce_intra(Transfer& transfer, const void* send, void* receive, const Reduction& reduction,
                 int root) {
  if (reduction.count == 0) return MPI_SUCCESS;
  const Count core_ranks = std::bit_floor(static_cast<unsigned>(transfer.size()));
  const auto given = reduction.is_commutative()
                         ? table_choice<open_mpi::Reduce>(machine::Collective::kReduce, transfer,
                                                          reduction.bytes())
                         : std::nullopt;
  if (given || open_mpi::is_followed()) {
    reduce_as_open_mpi(transfer, send, receive, reduction, root, given);
  } else if (reduction.bytes() > kThresholds.reduce_short && reduction.op->is_predefined() &&
             reduction.count >= core_ranks) {
    reduce_scatter_gather(transfer, send, receive, reduction, root);
  } else {
    reduce_binomial(transfer, send, receive, reduction, root);
  }
  return transfer.error();
}

namespace {

// The other group reduces at its rank 0, which sends the result to the root.
int reduce_inter(Transfer& transfer, const void* send, void* receive, const Reduction& reduction,
                 int root) {
  if (root == MPI_PROC_NULL || reduction.count == 0) return MPI_SUCCESS;
  if (root == MPI_ROOT) {
    transfer.receive(receive, reduction.count, *reduction.type, 0);
    return transfer.error();
  }
  const bool first = transfer.rank() == 0;
  TypedWorkspace result(first ? reduction.count : 0, *reduction.type);
  Transfer local = transfer.local();
  const int error = reduce_intra(local, send, result.data(), reduction, 0);
  if (first) transfer.send(result.data(), reduction.count, *reduction.type, root);
  return first_error(error, transfer.error());
}

// Checks only the buffers that MPI uses on this rank.
int check_reduce_buffers(const CommObject& comm, const void* sendbuf, void* recvbuf,
                         const Reduction& reduction, int root) {
  const Datatype datatype = reduction.type->handle();
  const DatatypeObject* type = nullptr;
  if (is_idle(comm, root)) return MPI_SUCCESS;
  if (!is_root(comm, root)) {
    MPI_TRY(check_not_in_place(sendbuf));
    return check_buffer(sendbuf, reduction.count, datatype, &type);
  }
  if (!comm.is_inter) return check_reduction_buffers(comm, sendbuf, recvbuf, reduction);
  MPI_TRY(check_not_in_place(recvbuf));
  return check_buffer(recvbuf, reduction.count, datatype, &type);
}

int launch_reduce(const Launch& launch, const void* sendbuf, void* recvbuf, Count count,
                  Datatype datatype, Op op, int root, Comm comm) {
  CommObject* object = nullptr;
  Reduction reduction;
  MPI_TRY(check_comm(comm, &object));
  MPI_TRY(check_root(*object, root));
  if (!is_idle(*object, root)) {
    MPI_TRY(check_reduction(count, datatype, op, &reduction));
    MPI_TRY(check_reduce_buffers(*object, sendbuf, recvbuf, reduction, root));
    record_call(*object, reduction.bytes(), root);
  }
  const CollectiveSignature signature = collective_signature(reduction, root);
  return launch(*object, signature,
                [sendbuf, recvbuf, reduction = std::move(reduction), root](Transfer& transfer) {
                  return reduce(transfer, sendbuf, recvbuf, reduction, root);
                });
}

}  // namespace

int reduce(Transfer& transfer, const void* send, void* receive, const Reduction& reduction,
           int root) {
  return transfer.comm().is_inter ? reduce_inter(transfer, send, receive, reduction, root)
                                  : reduce_intra(transfer, send, receive, reduction, root);
}

}  // namespace collectives

using collectives::Launch;
using collectives::launch_reduce;

int Reduce(const void* sendbuf, void* recvbuf, Count count, Datatype datatype, Op op, int root,
           Comm comm) {
  return launch_reduce(Launch::now(), sendbuf, recvbuf, count, datatype, op, root, comm);
}
int Ireduce(const void* sendbuf, void* recvbuf, Count count, Datatype datatype, Op op, int root,
            Comm comm, Request* request) {
  return launch_reduce(Launch::start(request), sendbuf, recvbuf, count, datatype, op, root, comm);
}
int Reduce_init(const void* sendbuf, void* recvbuf, Count count, Datatype datatype, Op op, int root,
                Comm comm, Info, Request* request) {
  return launch_reduce(Launch::prepare(request), sendbuf, recvbuf, count, datatype, op, root, comm);
}

}  // namespace sesame::mpi
