// The algorithms that MPI_Alltoall, MPI_Alltoallv and MPI_Alltoallw share: each rank has a block
// for each rank. `out(i)` returns the block for rank i (OutBlock), `in(i)` the buffer for the block
// from rank i (InBlock). A rank's block for itself is copied, but for exchange_as_mpich(). Counts
// are elements.
#pragma once

#include <algorithm>
#include <bit>

#include "core/mpi/collectives/blocks.h"
#include "core/mpi/collectives/thresholds.h"
#include "core/mpi/collectives/workspace.h"
#include "core/mpi/messages/transfer.h"

namespace sesame::mpi::collectives {

struct OutBlock {
  const void* data;
  Count count;
  const DatatypeObject* type;
  bool is_empty() const { return count == 0 || type->size() == 0; }
};

struct InBlock {
  void* data;
  Count count;
  const DatatypeObject* type;
  Count bytes() const { return count * type->size(); }
  bool is_empty() const { return count == 0 || type->size() == 0; }
};

template <typename Out, typename In>
void copy_own_block(Transfer& transfer, const Out& out, const In& in) {
  const OutBlock from = out(transfer.rank());
  const InBlock to = in(transfer.rank());
  copy_own(transfer, from.data, from.count, *from.type, to.data, to.count, *to.type);
}

// The same block to all ranks, a block from each, all at once; empty blocks are not sent.
template <typename In>
void send_to_all(Transfer& transfer, const InBlock& own, const In& in) {
  const int size = transfer.size();
  const int rank = transfer.rank();
  RequestBatch requests(2 * static_cast<size_t>(size));
  for (int i = 1; i < size; ++i) {
    const int peer = (rank + i) % size;
    const InBlock to = in(peer);
    if (!to.is_empty()) {
      transfer.start_receive(requests.next(), to.data, to.count, *to.type, peer);
    }
  }
  for (int i = 1; !own.is_empty() && i < size; ++i) {
    transfer.start_send(requests.next(), own.data, own.count, *own.type, (rank - i + size) % size);
  }
  transfer.wait_all(requests.started());
}

enum class OwnBlock { kSent, kCopied };

// Non-blocking messages to and from all ranks, of `most` ranks at a time; empty blocks are not
// sent. The rank's own block is a message like the others (if there are others), or copied first.
template <typename Out, typename In>
void exchange_scattered(Transfer& transfer, const Out& out, const In& in, int most, OwnBlock own) {
  const int size = transfer.size();
  const int rank = transfer.rank();
  const int batch = std::min(most, size);
  const bool is_copied = own == OwnBlock::kCopied || size == 1;
  if (is_copied) copy_own_block(transfer, out, in);
  RequestBatch requests(2 * static_cast<size_t>(batch));
  for (int begin = 0; begin < size; begin += batch) {
    const int end = std::min(begin + batch, size);
    for (int i = begin; i < end; ++i) {
      const int peer = (rank + i) % size;
      const InBlock to = in(peer);
      if ((peer == rank && is_copied) || to.is_empty()) continue;
      transfer.start_receive(requests.next(), to.data, to.count, *to.type, peer);
    }
    for (int i = begin; i < end; ++i) {
      const int peer = (rank - i + size) % size;
      const OutBlock from = out(peer);
      if ((peer == rank && is_copied) || from.is_empty()) continue;
      transfer.start_send(requests.next(), from.data, from.count, *from.type, peer);
    }
    transfer.wait_all(requests.started());
    requests.clear();
  }
}

// p - 1 steps. In each step every rank sends to one rank and receives from one, the same one if the
// number of ranks is a power of two.
template <typename Out, typename In>
void exchange_pairwise(Transfer& transfer, const Out& out, const In& in) {
  const int size = transfer.size();
  const int rank = transfer.rank();
  const bool power_of_two = std::has_single_bit(static_cast<unsigned>(size));
  copy_own_block(transfer, out, in);
  for (int step = 1; step < size; ++step) {
    const int to_rank = power_of_two ? rank ^ step : (rank + step) % size;
    const int from_rank = power_of_two ? to_rank : (rank - step + size) % size;
    const OutBlock from = out(to_rank);
    const InBlock to = in(from_rank);
    transfer.send_receive(from.data, from.count, *from.type, to_rank, to.data, to.count, *to.type,
                          from_rank);
  }
}

// MPI_IN_PLACE: each pair of ranks swaps its blocks. A rank swaps with its peers in ascending
// order, so that no cycle of ranks waits for each other.
template <typename In>
void exchange_in_place(Transfer& transfer, const In& in) {
  for (int peer = 0; peer < transfer.size(); ++peer) {
    if (peer == transfer.rank()) continue;
    const InBlock block = in(peer);
    Workspace staged(block.bytes());
    pack(block.data, block.count, *block.type, staged.data());
    transfer.send_receive(staged.data(), block.bytes(), byte_type(), peer, block.data, block.count,
                          *block.type, peer);
  }
}

// Inter-communicators: as many steps as the larger group has ranks.
template <typename Out, typename In>
void exchange_between_groups(Transfer& transfer, const Out& out, const In& in) {
  const int peers = transfer.remote_size();
  const int steps = std::max(transfer.size(), peers);
  const int rank = transfer.rank();
  for (int step = 0; step < steps; ++step) {
    const int to_rank = (rank + step) % steps;
    const int from_rank = (rank - step + steps) % steps;
    const OutBlock nothing{nullptr, 0, &byte_type()};
    const InBlock nowhere{nullptr, 0, &byte_type()};
    const OutBlock from = to_rank < peers ? out(to_rank) : nothing;
    const InBlock to = from_rank < peers ? in(from_rank) : nowhere;
    transfer.send_receive(from.data, from.count, *from.type,
                          to_rank < peers ? to_rank : MPI_PROC_NULL, to.data, to.count, *to.type,
                          from_rank < peers ? from_rank : MPI_PROC_NULL);
  }
}

// MPICH, alltoall_intra_scattered.c and alltoallv_intra_scattered.c: batches, which contain the
// rank itself.
template <typename Out, typename In>
void exchange_as_mpich(Transfer& transfer, const Out& out, const In& in) {
  exchange_scattered(transfer, out, in, kThresholds.alltoall_batch, OwnBlock::kSent);
}
// Open MPI, coll_base_alltoallv.c and coll_basic_alltoallw.c: all at once, after a local copy.
template <typename Out, typename In>
void exchange_as_open_mpi(Transfer& transfer, const Out& out, const In& in) {
  exchange_scattered(transfer, out, in, transfer.size(), OwnBlock::kCopied);
}

}  // namespace sesame::mpi::collectives
