#include "core/mpi/collectives/allreduce.h"

#include <bit>
#include <utility>

#include "core/mpi/api.h"
#include "core/mpi/collectives/bcast.h"
#include "core/mpi/collectives/halving.h"
#include "core/mpi/collectives/hardware.h"
#include "core/mpi/collectives/levels.h"
#include "core/mpi/collectives/open_mpi_rules.h"
#include "core/mpi/collectives/reduce.h"
#include "core/mpi/collectives/table_rules.h"
#include "core/mpi/collectives/thresholds.h"
#include "core/mpi/collectives/validate.h"
#include "core/mpi/collectives/workspace.h"

namespace sesame::mpi {
namespace collectives {
namespace {

// In each of the first pairs the even rank sends its vector to the odd one, which later sends it
// the result. False: this rank only waits for the result.
bool fold_in(Transfer& transfer, const CoreRanks& ranks, void* vector, void* scratch,
             const Reduction& reduction) {
  const int rank = transfer.rank();
  if (!ranks.is_paired(rank)) return true;
  if (!ranks.is_core(rank)) {
    transfer.send(vector, reduction.count, *reduction.type, rank + 1);
    return false;
  }
  transfer.receive(scratch, reduction.count, *reduction.type, rank - 1);
  reduction.combine(scratch, vector, reduction.count);
  return true;
}

void fold_out(Transfer& transfer, const CoreRanks& ranks, void* vector,
              const Reduction& reduction) {
  const int rank = transfer.rank();
  if (!ranks.is_paired(rank)) return;
  if (ranks.is_core(rank)) {
    transfer.send(vector, reduction.count, *reduction.type, rank - 1);
  } else {
    transfer.receive(vector, reduction.count, *reduction.type, rank + 1);
  }
}

}  // namespace

void allreduce_doubling(Transfer& transfer, void* vector, const Reduction& reduction) {
  const CoreRanks ranks(transfer.size(), CoreRanks::Kept::kOdd);
  const Count count = reduction.count;
  const DatatypeObject& type = *reduction.type;
  TypedWorkspace scratch(count, type);
  void* result = vector;
  void* other = scratch.data();
  if (fold_in(transfer, ranks, vector, other, reduction)) {
    const int core = ranks.core_of(transfer.rank());
    for (int mask = 1; mask < ranks.count; mask *= 2) {
      const int peer = ranks.rank_of(core ^ mask);
      transfer.begin_step(mask);
      transfer.send_receive(result, count, type, peer, other, count, type, peer);
      if (reduction.is_commutative() || peer < transfer.rank()) {
        reduction.combine(other, result, count);
      } else {
        reduction.combine(result, other, count);
        std::swap(result, other);
      }
    }
    reduction.copy_elements(result, vector, count);
  }
  fold_out(transfer, ranks, vector, reduction);
}

void allreduce_halving_doubling(Transfer& transfer, void* vector, const Reduction& reduction) {
  const CoreRanks ranks(transfer.size(), CoreRanks::Kept::kOdd);
  const EvenBlocks blocks(reduction.count, ranks.count);
  const DatatypeObject& type = *reduction.type;
  TypedWorkspace scratch(reduction.count, type);
  char* const data = static_cast<char*>(vector);
  if (fold_in(transfer, ranks, vector, scratch.data(), reduction)) {
    const int core = ranks.core_of(transfer.rank());
    BlockRange range = halve_vector(transfer, reduction, ranks, blocks, core, data,
                                    static_cast<char*>(scratch.data()));
    const auto at = [&](BlockRange w) {
      return shift(data, reduction.offset(blocks.begin(w.first)));
    };
    const auto length = [&](BlockRange w) { return blocks.length(w.first, w.end); };
    for (int mask = ranks.count / 2; mask > 0; mask /= 2) {
      const int peer = ranks.rank_of(core ^ mask);
      const BlockRange theirs = sibling(range, core, mask);
      transfer.send_receive(at(range), length(range), type, peer, at(theirs), length(theirs), type,
                            peer);
      range = joined(range, theirs);
    }
  }
  fold_out(transfer, ranks, vector, reduction);
}

// In step i a rank sends the block that is i before its own number, and receives the one before
// that. After p - 1 steps it has the whole of the block after its number; then the results are
// passed on.
void allreduce_ring(Transfer& transfer, void* vector, const Reduction& reduction) {
  const int size = transfer.size();
  const int rank = transfer.rank();
  const int left = (rank - 1 + size) % size;
  const int right = (rank + 1) % size;
  const EvenBlocks blocks(reduction.count, size);
  const DatatypeObject& type = *reduction.type;
  TypedWorkspace scratch(blocks.length(0, 1), type);
  const auto at = [&](int block) { return shift(vector, reduction.offset(blocks.begin(block))); };
  const auto length = [&](int block) { return blocks.length(block, block + 1); };
  int sent = rank;
  for (int step = 1; step < 2 * size - 1; ++step) {
    const int received = (sent - 1 + size) % size;
    const bool is_reducing = step < size;
    transfer.send_receive(at(sent), length(sent), type, right,
                          is_reducing ? scratch.data() : at(received), length(received), type,
                          left);
    if (is_reducing) reduction.combine(scratch.data(), at(received), length(received));
    sent = received;
  }
}

namespace {

// Reduce at rank 0 and Bcast from there, each as Open MPI chooses.
void allreduce_by_root(Transfer& transfer, void* vector, const Reduction& reduction) {
  const void* const send = transfer.rank() == 0 ? MPI_IN_PLACE : vector;
  reduce_intra(transfer, send, vector, reduction, 0);
  bcast(transfer, Target{vector, reduction.count, reduction.type}, 0);
}

void allreduce_binomial(Transfer& transfer, void* vector, const Reduction& reduction) {
  const void* const send = transfer.rank() == 0 ? MPI_IN_PLACE : vector;
  reduce_binomial(transfer, send, vector, reduction, 0);
  bcast_binomial(transfer, Target{vector, reduction.count, reduction.type}, 0);
}

void allreduce_linear(Transfer& transfer, void* vector, const Reduction& reduction) {
  const void* const send = transfer.rank() == 0 ? MPI_IN_PLACE : vector;
  reduce_linear(transfer, send, vector, reduction, 0);
  bcast_linear(transfer, Target{vector, reduction.count, reduction.type}, 0);
}

void allreduce_two_level(Transfer& transfer, void* vector, const Reduction& reduction) {
  Levels levels(transfer);
  levels.in_node([&](Transfer& part) {
    reduce_intra(part, part.rank() == 0 ? MPI_IN_PLACE : vector, vector, reduction, 0);
  });
  levels.between_nodes([&](Transfer& part) { allreduce(part, MPI_IN_PLACE, vector, reduction); });
  levels.in_node([&](Transfer& part) {
    bcast(part, Target{vector, reduction.count, reduction.type}, 0);
  });
}

// Where an algorithm needs more elements than there are, Open MPI uses another. The ring of its
// non-blocking form needs none: it passes empty blocks on.
void allreduce_as_open_mpi(Transfer& transfer, void* vector, const Reduction& reduction,
                           bool in_place, std::optional<open_mpi::Allreduce> given) {
  using enum open_mpi::Allreduce;
  const int size = transfer.size();
  const Count core_ranks = std::bit_floor(static_cast<unsigned>(size));
  const Count bytes = reduction.bytes();
  const bool commutes = reduction.is_commutative();
  if (!given) {
    given = transfer.is_blocking()
                ? open_mpi::choose_allreduce(size, bytes, commutes)
                : open_mpi::choose_iallreduce(size, bytes, reduction.count, commutes, in_place);
  }
  switch (*given) {
    case kLinear:
      return allreduce_linear(transfer, vector, reduction);
    case kReduceBcast:
      return allreduce_by_root(transfer, vector, reduction);
    case kDoubling:
      return allreduce_doubling(transfer, vector, reduction);
    case kRing:
      if (transfer.is_blocking() && reduction.count < size)
        return allreduce_doubling(transfer, vector, reduction);
      return allreduce_ring(transfer, vector, reduction);
    case kHalvingDoubling:
      if (reduction.count < core_ranks) return allreduce_linear(transfer, vector, reduction);
      return allreduce_halving_doubling(transfer, vector, reduction);
    case kBinomial:
      return allreduce_binomial(transfer, vector, reduction);
    case kHardware:
      return allreduce_hardware(transfer, vector, reduction);
    case kTwoLevel:
      return allreduce_two_level(transfer, vector, reduction);
  }
}

int allreduce_intra(Transfer& transfer, const void* send, void* receive,
                    const Reduction& reduction) {
  if (reduction.count == 0) return MPI_SUCCESS;
  transfer.begin_together();
  if (send != MPI_IN_PLACE) reduction.copy_elements(send, receive, reduction.count);
  const Count core_ranks = std::bit_floor(static_cast<unsigned>(transfer.size()));
  const auto given = reduction.is_commutative()
                         ? table_choice<open_mpi::Allreduce>(machine::Collective::kAllreduce,
                                                             transfer, reduction.bytes())
                         : std::nullopt;
  if (given || open_mpi::is_followed()) {
    allreduce_as_open_mpi(transfer, receive, reduction, send == MPI_IN_PLACE, given);
  } else if (reduction.bytes() > kThresholds.allreduce_short && reduction.op->is_predefined() &&
             reduction.count >= core_ranks) {
    allreduce_halving_doubling(transfer, receive, reduction);
  } else {
    allreduce_doubling(transfer, receive, reduction);
  }
  return transfer.error();
}

// Each group reduces at its rank 0; the two exchange the results and broadcast them.
int allreduce_inter(Transfer& transfer, const void* send, void* receive,
                    const Reduction& reduction) {
  if (reduction.count == 0) return MPI_SUCCESS;
  const Count count = reduction.count;
  const bool first = transfer.rank() == 0;
  TypedWorkspace result(first ? count : 0, *reduction.type);
  Transfer local = transfer.local();
  int error = reduce_intra(local, send, result.data(), reduction, 0);
  if (first) {
    transfer.send_receive(result.data(), count, *reduction.type, 0, receive, count, *reduction.type,
                          0);
  }
  error = first_error(error, bcast(local, Target{receive, count, reduction.type}, 0));
  return first_error(error, transfer.error());
}

int launch_allreduce(const Launch& launch, const void* sendbuf, void* recvbuf, Count count,
                     Datatype datatype, Op op, Comm comm) {
  CommObject* object = nullptr;
  Reduction reduction;
  MPI_TRY(check_comm(comm, &object));
  MPI_TRY(check_reduction(count, datatype, op, &reduction));
  MPI_TRY(check_reduction_buffers(*object, sendbuf, recvbuf, reduction));
  record_call(*object, reduction.bytes());
  const CollectiveSignature signature = collective_signature(reduction);
  return launch(*object, signature,
                [sendbuf, recvbuf, reduction = std::move(reduction)](Transfer& transfer) {
                  return allreduce(transfer, sendbuf, recvbuf, reduction);
                });
}

}  // namespace

int allreduce(Transfer& transfer, const void* send, void* receive, const Reduction& reduction) {
  return transfer.comm().is_inter ? allreduce_inter(transfer, send, receive, reduction)
                                  : allreduce_intra(transfer, send, receive, reduction);
}

}  // namespace collectives

using collectives::Launch;
using collectives::launch_allreduce;

int Allreduce(const void* sendbuf, void* recvbuf, Count count, Datatype datatype, Op op,
              Comm comm) {
  return launch_allreduce(Launch::now(), sendbuf, recvbuf, count, datatype, op, comm);
}
int Iallreduce(const void* sendbuf, void* recvbuf, Count count, Datatype datatype, Op op, Comm comm,
               Request* request) {
  return launch_allreduce(Launch::start(request), sendbuf, recvbuf, count, datatype, op, comm);
}
int Allreduce_init(const void* sendbuf, void* recvbuf, Count count, Datatype datatype, Op op,
                   Comm comm, Info, Request* request) {
  return launch_allreduce(Launch::prepare(request), sendbuf, recvbuf, count, datatype, op, comm);
}

}  // namespace sesame::mpi
