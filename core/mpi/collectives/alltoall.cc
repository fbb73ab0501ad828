#include "core/mpi/collectives/alltoall.h"

#include "core/mpi/api.h"
#include "core/mpi/collectives/exchange.h"
#include "core/mpi/collectives/open_mpi_rules.h"
#include "core/mpi/collectives/table_rules.h"
#include "core/mpi/collectives/thresholds.h"
#include "core/mpi/collectives/validate.h"
#include "core/mpi/collectives/workspace.h"

namespace sesame::mpi {
namespace collectives {
namespace {

// Calls `run(first, count)` for each run of consecutive block numbers below `size` that have the
// bit `mask`.
template <typename Run>
void for_runs_with_bit(int size, int mask, const Run& run) {
  for (int first = mask; first < size; first += 2 * mask) run(first, std::min(mask, size - first));
}

// Unpacks the blocks, which are staged by distance: the one at distance i came from rank - i.
void store_by_distance(const char* staged, Count block, int size, int rank, const Target& in) {
  for (int distance = 0; distance < size; ++distance) {
    const int from = (rank - distance + size) % size;
    unpack(staged + distance * block, in.at(from * in.count), in.count, *in.type);
  }
}

}  // namespace

void alltoall_bruck(Transfer& transfer, const Source& out, const Target& in) {
  const int size = transfer.size();
  const int rank = transfer.rank();
  const Count block = out.bytes();
  // staged[i] is the block for rank + i. In the round of `mask` each rank sends all blocks i that
  // have this bit to rank + mask.
  Workspace staged(size * block);
  const int before_wrap = size - rank;
  pack(out.at(rank * out.count), before_wrap * out.count, *out.type, staged.data());
  pack(out.data, rank * out.count, *out.type, staged.at(before_wrap * block));
  const Count most = (size + 1) / 2 * block;
  Workspace outgoing(most);
  Workspace incoming(most);
  for (int mask = 1; mask < size; mask *= 2) {
    Count bytes = 0;
    int blocks = 0;
    for_runs_with_bit(size, mask, [&](int first, int count) {
      blocks += count;
      std::memcpy(outgoing.at(bytes), staged.at(first * block), static_cast<size_t>(count * block));
      bytes += count * block;
    });
    transfer.charge_packing_time(blocks);
    transfer.send_receive(outgoing.data(), bytes, byte_type(), (rank + mask) % size,
                          incoming.data(), bytes, byte_type(), (rank - mask + size) % size);
    bytes = 0;
    for_runs_with_bit(size, mask, [&](int first, int count) {
      std::memcpy(staged.at(first * block), incoming.at(bytes), static_cast<size_t>(count * block));
      bytes += count * block;
    });
  }
  store_by_distance(staged.data(), block, size, rank, in);
}

namespace {

template <typename OutBlocks, typename InBlocks>
void alltoall_as_open_mpi(Transfer& transfer, const Source& out, const Target& in,
                          const OutBlocks& out_block, const InBlocks& in_block,
                          std::optional<open_mpi::Alltoall> given) {
  using enum open_mpi::Alltoall;
  if (!given && !transfer.is_blocking()) return exchange_as_open_mpi(transfer, out_block, in_block);
  switch (given ? *given : open_mpi::choose_alltoall(transfer.size(), in.bytes())) {
    case kScattered:
      return exchange_as_open_mpi(transfer, out_block, in_block);
    case kPairwise:
      return exchange_pairwise(transfer, out_block, in_block);
    case kBruck:
      return alltoall_bruck(transfer, out, in);
  }
}

int alltoall_intra(Transfer& transfer, const Source& out, const Target& in) {
  const Count block = in.bytes();
  if (block == 0) return MPI_SUCCESS;
  transfer.begin_together();
  const auto in_block = [&in](int rank) {
    return InBlock{in.at(rank * in.count), in.count, in.type.get()};
  };
  const auto out_block = [&out](int rank) {
    return OutBlock{out.at(rank * out.count), out.count, out.type.get()};
  };
  const auto given =
      table_choice<open_mpi::Alltoall>(machine::Collective::kAlltoall, transfer, block);
  if (out.is_in_place()) {
    exchange_in_place(transfer, in_block);
  } else if (given || open_mpi::is_followed()) {
    alltoall_as_open_mpi(transfer, out, in, out_block, in_block, given);
  } else if (block <= kThresholds.alltoall_short &&
             transfer.size() >= kThresholds.alltoall_min_ranks) {
    alltoall_bruck(transfer, out, in);
  } else if (block <= kThresholds.alltoall_medium) {
    exchange_as_mpich(transfer, out_block, in_block);
  } else {
    exchange_pairwise(transfer, out_block, in_block);
  }
  return transfer.error();
}

int alltoall_inter(Transfer& transfer, const Source& out, const Target& in) {
  exchange_between_groups(
      transfer,
      [&out](int rank) {
        return OutBlock{out.at(rank * out.count), out.count, out.type.get()};
      },
      [&in](int rank) {
        return InBlock{in.at(rank * in.count), in.count, in.type.get()};
      });
  return transfer.error();
}

int launch_alltoall(const Launch& launch, const void* sendbuf, Count sendcount, Datatype sendtype,
                    void* recvbuf, Count recvcount, Datatype recvtype, Comm comm) {
  CommObject* object = nullptr;
  Source out;
  Target in;
  MPI_TRY(check_comm(comm, &object));
  MPI_TRY(check_source_or_in_place(*object, sendbuf, sendcount, sendtype, &out));
  MPI_TRY(check_target(recvbuf, recvcount, recvtype, &in));
  if (recvcount > 0) MPI_TRY(check_distinct(sendbuf, recvbuf));
  record_call(*object, (out.type ? out.bytes() : in.bytes()) * object->remote_size());
  MPI_TRY(check_blocks_match(*object, out, in));
  const CollectiveSignature signature = collective_signature(in);
  return launch(*object, signature, [out = std::move(out), in = std::move(in)](Transfer& transfer) {
    return alltoall(transfer, out, in);
  });
}

}  // namespace

int alltoall(Transfer& transfer, const Source& out, const Target& in) {
  return transfer.comm().is_inter ? alltoall_inter(transfer, out, in)
                                  : alltoall_intra(transfer, out, in);
}

}  // namespace collectives

using collectives::Launch;
using collectives::launch_alltoall;

int Alltoall(const void* sendbuf, Count sendcount, Datatype sendtype, void* recvbuf,
             Count recvcount, Datatype recvtype, Comm comm) {
  return launch_alltoall(Launch::now(), sendbuf, sendcount, sendtype, recvbuf, recvcount, recvtype,
                         comm);
}
int Ialltoall(const void* sendbuf, Count sendcount, Datatype sendtype, void* recvbuf,
              Count recvcount, Datatype recvtype, Comm comm, Request* request) {
  return launch_alltoall(Launch::start(request), sendbuf, sendcount, sendtype, recvbuf, recvcount,
                         recvtype, comm);
}
int Alltoall_init(const void* sendbuf, Count sendcount, Datatype sendtype, void* recvbuf,
                  Count recvcount, Datatype recvtype, Comm comm, Info, Request* request) {
  return launch_alltoall(Launch::prepare(request), sendbuf, sendcount, sendtype, recvbuf, recvcount,
                         recvtype, comm);
}

}  // namespace sesame::mpi
