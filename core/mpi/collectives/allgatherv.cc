#include <algorithm>
#include <bit>
#include <limits>
#include <optional>
#include <vector>

#include "core/mpi/api.h"
#include "core/mpi/collectives/allgather.h"
#include "core/mpi/collectives/bcast.h"
#include "core/mpi/collectives/exchange.h"
#include "core/mpi/collectives/gather.h"
#include "core/mpi/collectives/neighbor_steps.h"
#include "core/mpi/collectives/open_mpi_rules.h"
#include "core/mpi/collectives/thresholds.h"
#include "core/mpi/collectives/validate.h"
#include "core/mpi/collectives/workspace.h"

namespace sesame::mpi {
namespace collectives {
namespace {

// All blocks packed contiguously, starting with that of rank `first`.
class PackedBlocks {
 public:
  PackedBlocks(const RankBlocks& parts, int ranks, int first)
      : parts_(parts), ranks_(ranks), first_(first), begins_(static_cast<size_t>(ranks) + 1) {
    const Count size = parts.all.type->size();
    for (int i = 0; i < ranks; ++i) {
      begins_[static_cast<size_t>(i) + 1] = begin(i) + parts.counts[rank_of(i)] * size;
    }
    data_.emplace(begin(ranks));
  }

  // The i-th block, and the bytes of `count` consecutive ones from it on.
  Count begin(int i) const { return begins_[static_cast<size_t>(i)]; }
  Count bytes(int i, int count) const { return begin(i + count) - begin(i); }
  char* at(int i) { return data_->at(begin(i)); }

  void load(int i) {
    const int rank = rank_of(i);
    pack(parts_.at(rank), parts_.counts[rank], *parts_.all.type, at(i));
  }
  void store_all_but(int own_rank) {
    for (int i = 0; i < ranks_; ++i) {
      const int rank = rank_of(i);
      if (rank == own_rank) continue;
      unpack(at(i), parts_.at(rank), parts_.counts[rank], *parts_.all.type);
    }
  }

 private:
  int rank_of(int i) const { return (first_ + i) % ranks_; }

  const RankBlocks& parts_;
  int ranks_;
  int first_;
  std::vector<Count> begins_;
  std::optional<Workspace> data_;
};

Count total_bytes(const RankBlocks& parts, int ranks) {
  Count elements = 0;
  for (int i = 0; i < ranks; ++i) elements += parts.counts[i];
  return elements * parts.all.type->size();
}

}  // namespace

void allgatherv_doubling(Transfer& transfer, const RankBlocks& parts) {
  const int size = transfer.size();
  const int rank = transfer.rank();
  PackedBlocks packed(parts, size, 0);
  packed.load(rank);
  for (int mask = 1; mask < size; mask *= 2) {
    const int mine = rank & ~(mask - 1);
    const int theirs = mine ^ mask;
    transfer.send_receive(packed.at(mine), packed.bytes(mine, mask), byte_type(), rank ^ mask,
                          packed.at(theirs), packed.bytes(theirs, mask), byte_type(), rank ^ mask);
  }
  packed.store_all_but(rank);
}

void allgatherv_bruck(Transfer& transfer, const RankBlocks& parts) {
  const int size = transfer.size();
  const int rank = transfer.rank();
  PackedBlocks packed(parts, size, rank);
  packed.load(0);
  for (int have = 1; have < size; have *= 2) {
    const int count = std::min(have, size - have);
    transfer.send_receive(packed.at(0), packed.bytes(0, count), byte_type(),
                          (rank - have + size) % size, packed.at(have), packed.bytes(have, count),
                          byte_type(), (rank + have) % size);
  }
  packed.store_all_but(rank);
}

namespace {

// One direction of the ring: iterates backwards over the blocks of all ranks but one, in segments
// of a limited number of elements.
class RingWalk {
 public:
  RingWalk(const RankBlocks& parts, int ranks, int first, int left_out, Count segment)
      : parts_(parts), ranks_(ranks), rank_(first), segment_(segment) {
    for (int i = 0; i < ranks; ++i) remaining_ += i == left_out ? 0 : parts.counts[i];
  }

  bool done() const { return remaining_ == 0; }
  Count count() const { return done() ? 0 : std::min(segment_, parts_.counts[rank_] - offset_); }
  void* address() const { return parts_.all.at(parts_.displacements[rank_] + offset_); }
  void advance() {
    const Count step = count();
    remaining_ -= step;
    offset_ += step;
    if (offset_ < parts_.counts[rank_]) return;
    offset_ = 0;
    rank_ = (rank_ - 1 + ranks_) % ranks_;
  }

 private:
  const RankBlocks& parts_;
  int ranks_;
  int rank_;
  Count segment_;
  Count offset_ = 0;
  Count remaining_ = 0;
};

// The largest number of elements in one message: that of the longest block, unless it is too long.
Count ring_segment(const RankBlocks& parts, int ranks, Count segment_bytes) {
  Count longest = 1;
  for (int i = 0; i < ranks; ++i) longest = std::max(longest, parts.counts[i]);
  const Count extent = std::max<Count>(1, parts.all.type->extent());
  if (longest <= segment_bytes / extent) return longest;
  return std::max<Count>(1, segment_bytes / extent);
}

}  // namespace

void allgatherv_ring(Transfer& transfer, const RankBlocks& parts, Count segment_bytes) {
  const int size = transfer.size();
  const int rank = transfer.rank();
  const int left = (rank - 1 + size) % size;
  const int right = (rank + 1) % size;
  const Count segment = ring_segment(parts, size, segment_bytes);
  RingWalk out(parts, size, rank, right, segment);
  RingWalk in(parts, size, left, rank, segment);
  const DatatypeObject& type = *parts.all.type;
  while (!out.done() || !in.done()) {
    const Count sent = out.count();
    const Count received = in.count();
    if (sent > 0 && received > 0) {
      transfer.send_receive(out.address(), sent, type, right, in.address(), received, type, left);
    } else if (sent > 0) {
      transfer.send(out.address(), sent, type, right);
    } else if (received > 0) {
      transfer.receive(in.address(), received, type, left);
    }
    out.advance();
    in.advance();
  }
}

void allgatherv_neighbor(Transfer& transfer, const RankBlocks& parts) {
  const int rank = transfer.rank();
  PackedBlocks packed(parts, transfer.size(), 0);
  packed.load(rank);
  const auto exchange = [&](int peer, int sent, int received, int blocks) {
    transfer.send_receive(packed.at(sent), packed.bytes(sent, blocks), byte_type(), peer,
                          packed.at(received), packed.bytes(received, blocks), byte_type(), peer);
  };
  exchange(rank ^ 1, rank, rank ^ 1, 1);
  for_neighbor_steps(rank, transfer.size(),
                     [&](int peer, int sent, int received) { exchange(peer, sent, received, 2); });
  packed.store_all_but(rank);
}

void allgatherv_at_once(Transfer& transfer, const RankBlocks& parts) {
  const auto block = [&parts](int rank) {
    return InBlock{parts.at(rank), parts.counts[rank], parts.all.type.get()};
  };
  send_to_all(transfer, block(transfer.rank()), block);
}

namespace {

// Gatherv at rank 0, which broadcasts all blocks.
void allgatherv_by_root(Transfer& transfer, const RankBlocks& parts) {
  const int size = transfer.size();
  const int rank = transfer.rank();
  const Source mine{rank == 0 ? MPI_IN_PLACE : parts.at(rank), parts.counts[rank], parts.all.type};
  gatherv(transfer, mine, parts.all, parts.counts, parts.displacements, 0);
  PackedBlocks packed(parts, size, 0);
  for (int i = 0; rank == 0 && i < size; ++i) packed.load(i);
  bcast(transfer, Target{packed.at(0), packed.begin(size), DatatypeRef(&byte_type())}, 0);
  if (rank != 0) packed.store_all_but(rank);
}

void allgatherv_as_open_mpi(Transfer& transfer, const RankBlocks& parts) {
  using enum open_mpi::Allgatherv;
  constexpr Count kWhole = std::numeric_limits<Count>::max();
  const int size = transfer.size();
  if (!transfer.is_blocking()) return allgatherv_at_once(transfer, parts);
  switch (open_mpi::choose_allgatherv(size, total_bytes(parts, size) / size)) {
    case kGatherBcast:
      return allgatherv_by_root(transfer, parts);
    case kBruck:
      return allgatherv_bruck(transfer, parts);
    case kNeighbor:
      if (size % 2 == 0) return allgatherv_neighbor(transfer, parts);
      return allgatherv_ring(transfer, parts, kWhole);
    case kRing:
      return allgatherv_ring(transfer, parts, kWhole);
  }
}

int allgatherv_intra(Transfer& transfer, const Source& mine, const RankBlocks& parts) {
  const int size = transfer.size();
  const int rank = transfer.rank();
  const Count total = total_bytes(parts, size);
  if (total == 0) return MPI_SUCCESS;
  transfer.begin_together();
  if (!mine.is_in_place()) {
    copy_own(transfer, mine.data, mine.count, *mine.type, parts.at(rank), parts.counts[rank],
             *parts.all.type);
  }
  const bool power_of_two = std::has_single_bit(static_cast<unsigned>(size));
  if (open_mpi::is_followed()) {
    allgatherv_as_open_mpi(transfer, parts);
  } else if (power_of_two && total < kThresholds.allgather_long) {
    allgatherv_doubling(transfer, parts);
  } else if (!power_of_two && total < kThresholds.allgather_short) {
    allgatherv_bruck(transfer, parts);
  } else {
    allgatherv_ring(transfer, parts, kThresholds.allgatherv_segment);
  }
  return transfer.error();
}

// Each group sends its data to rank 0 of the other group, which broadcasts it there. The data of
// the high group is sent first.
int allgatherv_inter(Transfer& transfer, const Source& mine, const RankBlocks& parts) {
  const bool low = transfer.comm().low_group;
  const int rank = transfer.rank();
  const int senders = transfer.remote_size();
  for (const bool receiving : {low, !low}) {
    const int root = !receiving ? 0 : rank == 0 ? MPI_ROOT : MPI_PROC_NULL;
    gatherv(transfer, mine, parts.all, parts.counts, parts.displacements, root);
  }
  PackedBlocks packed(parts, senders, 0);
  for (int i = 0; rank == 0 && i < senders; ++i) packed.load(i);
  Transfer local = transfer.local();
  const Target together{packed.at(0), packed.begin(senders), DatatypeRef(&byte_type())};
  const int error = bcast(local, together, 0);
  if (rank != 0) packed.store_all_but(MPI_PROC_NULL);
  return first_error(transfer.error(), error);
}

int launch_allgatherv(const Launch& launch, const void* sendbuf, Count sendcount, Datatype sendtype,
                      void* recvbuf, IntArray recvcounts, IntArray displs, Datatype recvtype,
                      Comm comm) {
  CommObject* object = nullptr;
  Source mine;
  RankBlocks parts;
  MPI_TRY(check_comm(comm, &object));
  const int ranks = object->remote_size();
  MPI_TRY(check_source_or_in_place(*object, sendbuf, sendcount, sendtype, &mine));
  MPI_TRY(check_target_blocks(recvbuf, recvcounts, ranks, recvtype, &parts.all));
  if (!object->is_inter && recvcounts[static_cast<size_t>(object->rank)] > 0) {
    MPI_TRY(check_distinct(mine.data, parts.all.at(displs[static_cast<size_t>(object->rank)])));
  }
  record_call(*object, mine.type ? mine.bytes() : 0);
  parts.counts = RankArray(recvcounts, ranks, launch);
  parts.displacements = RankArray(displs, ranks, launch);
  return launch(*object, {},
                [mine = std::move(mine), parts = std::move(parts)](Transfer& transfer) {
                  return allgatherv(transfer, mine, parts);
                });
}

}  // namespace

int allgatherv(Transfer& transfer, const Source& mine, const RankBlocks& parts) {
  return transfer.comm().is_inter ? allgatherv_inter(transfer, mine, parts)
                                  : allgatherv_intra(transfer, mine, parts);
}

}  // namespace collectives

using collectives::Launch;
using collectives::launch_allgatherv;

int Allgatherv(const void* sendbuf, Count sendcount, Datatype sendtype, void* recvbuf,
               IntArray recvcounts, IntArray displs, Datatype recvtype, Comm comm) {
  return launch_allgatherv(Launch::now(), sendbuf, sendcount, sendtype, recvbuf, recvcounts, displs,
                           recvtype, comm);
}
int Iallgatherv(const void* sendbuf, Count sendcount, Datatype sendtype, void* recvbuf,
                IntArray recvcounts, IntArray displs, Datatype recvtype, Comm comm,
                Request* request) {
  return launch_allgatherv(Launch::start(request), sendbuf, sendcount, sendtype, recvbuf,
                           recvcounts, displs, recvtype, comm);
}
int Allgatherv_init(const void* sendbuf, Count sendcount, Datatype sendtype, void* recvbuf,
                    IntArray recvcounts, IntArray displs, Datatype recvtype, Comm comm, Info,
                    Request* request) {
  return launch_allgatherv(Launch::prepare(request), sendbuf, sendcount, sendtype, recvbuf,
                           recvcounts, displs, recvtype, comm);
}

}  // namespace sesame::mpi
