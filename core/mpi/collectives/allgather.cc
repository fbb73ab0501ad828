#include "core/mpi/collectives/allgather.h"

#include <bit>

#include "core/mpi/api.h"
#include "core/mpi/collectives/bcast.h"
#include "core/mpi/collectives/exchange.h"
#include "core/mpi/collectives/gather.h"
#include "core/mpi/collectives/neighbor_steps.h"
#include "core/mpi/collectives/open_mpi_rules.h"
#include "core/mpi/collectives/table_rules.h"
#include "core/mpi/collectives/thresholds.h"
#include "core/mpi/collectives/validate.h"
#include "core/mpi/collectives/workspace.h"

namespace sesame::mpi {
namespace collectives {

void allgather_doubling(Transfer& transfer, const Target& all) {
  const int size = transfer.size();
  const int rank = transfer.rank();
  for (int mask = 1; mask < size; mask *= 2) {
    const int mine = rank & ~(mask - 1);
    const int theirs = mine ^ mask;
    transfer.send_receive(all.at(mine * all.count), mask * all.count, *all.type, rank ^ mask,
                          all.at(theirs * all.count), mask * all.count, *all.type, rank ^ mask);
  }
}

// Collects the blocks in the order of ranks from the own rank on, and rotates them at the end.
void allgather_bruck(Transfer& transfer, const Target& all) {
  const int size = transfer.size();
  const int rank = transfer.rank();
  const Count block = all.bytes();
  Workspace staged(size * block);
  pack(all.at(rank * all.count), all.count, *all.type, staged.data());
  for (int have = 1; have < size; have *= 2) {
    const Count bytes = std::min(have, size - have) * block;
    transfer.send_receive(staged.data(), bytes, byte_type(), (rank - have + size) % size,
                          staged.at(have * block), bytes, byte_type(), (rank + have) % size);
  }
  const int before_wrap = size - rank;
  unpack(staged.data(), all.at(rank * all.count), before_wrap * all.count, *all.type);
  unpack(staged.at(before_wrap * block), all.data, rank * all.count, *all.type);
}

void allgather_ring(Transfer& transfer, const Target& all) {
  const int size = transfer.size();
  const int rank = transfer.rank();
  const int left = (rank - 1 + size) % size;
  const int right = (rank + 1) % size;
  int have = rank;
  for (int step = 1; step < size; ++step) {
    const int coming = (have - 1 + size) % size;
    transfer.send_receive(all.at(have * all.count), all.count, *all.type, right,
                          all.at(coming * all.count), all.count, *all.type, left);
    have = coming;
  }
}

void allgather_neighbor(Transfer& transfer, const Target& all) {
  const int rank = transfer.rank();
  const auto exchange = [&](int peer, int sent, int received, int blocks) {
    transfer.send_receive(all.at(sent * all.count), blocks * all.count, *all.type, peer,
                          all.at(received * all.count), blocks * all.count, *all.type, peer);
  };
  exchange(rank ^ 1, rank, rank ^ 1, 1);
  for_neighbor_steps(rank, transfer.size(),
                     [&](int peer, int sent, int received) { exchange(peer, sent, received, 2); });
}

void allgather_at_once(Transfer& transfer, const Target& all) {
  const auto block = [&all](int rank) {
    return InBlock{all.at(rank * all.count), all.count, all.type.get()};
  };
  send_to_all(transfer, block(transfer.rank()), block);
}

namespace {

// An algorithm that does not serve this number of ranks is replaced as in Open MPI.
void allgather_as_open_mpi(Transfer& transfer, const Target& all,
                           std::optional<open_mpi::Allgather> given) {
  using enum open_mpi::Allgather;
  const int size = transfer.size();
  if (!given && !transfer.is_blocking()) return allgather_at_once(transfer, all);
  switch (given ? *given : open_mpi::choose_allgather(size, all.bytes())) {
    case kDoubling:
      if (std::has_single_bit(static_cast<unsigned>(size)))
        return allgather_doubling(transfer, all);
      return allgather_bruck(transfer, all);
    case kBruck:
      return allgather_bruck(transfer, all);
    case kNeighbor:
      if (size % 2 == 0) return allgather_neighbor(transfer, all);
      return allgather_ring(transfer, all);
    case kRing:
      return allgather_ring(transfer, all);
  }
}

int allgather_intra(Transfer& transfer, const Source& mine, const Target& all) {
  const int size = transfer.size();
  const Count total = all.bytes() * size;
  if (total == 0) return MPI_SUCCESS;
  transfer.begin_together();
  if (!mine.is_in_place()) {
    copy_own(transfer, mine.data, mine.count, *mine.type, all.at(transfer.rank() * all.count),
             all.count, *all.type);
  }
  const bool power_of_two = std::has_single_bit(static_cast<unsigned>(size));
  const auto given =
      table_choice<open_mpi::Allgather>(machine::Collective::kAllgather, transfer, all.bytes());
  if (given || open_mpi::is_followed()) {
    allgather_as_open_mpi(transfer, all, given);
  } else if (power_of_two && total < kThresholds.allgather_long) {
    allgather_doubling(transfer, all);
  } else if (!power_of_two && total < kThresholds.allgather_short) {
    allgather_bruck(transfer, all);
  } else {
    allgather_ring(transfer, all);
  }
  return transfer.error();
}

// Each group gathers at its rank 0, which broadcasts to the other group; the low group's first.
int allgather_inter(Transfer& transfer, const Source& mine, const Target& all) {
  const bool sends = mine.bytes() > 0;
  const Count total = mine.bytes() * transfer.size();
  Workspace staged(transfer.rank() == 0 ? total : 0);
  Transfer local = transfer.local();
  if (sends) {
    const Target together{staged.data(), mine.bytes(), DatatypeRef(&byte_type())};
    gather_binomial(local, mine, together, 0);
  }
  const Target out{staged.data(), total, DatatypeRef(&byte_type())};
  const Target in{all.data, all.count * transfer.remote_size(), all.type};
  const int my_root = transfer.rank() == 0 ? MPI_ROOT : MPI_PROC_NULL;
  const bool low = transfer.comm().low_group;
  int error = local.error();
  if (low) error = first_error(error, bcast(transfer, out, my_root));
  error = first_error(error, bcast(transfer, in, 0));
  if (!low) error = first_error(error, bcast(transfer, out, my_root));
  return error;
}

int launch_allgather(const Launch& launch, const void* sendbuf, Count sendcount, Datatype sendtype,
                     void* recvbuf, Count recvcount, Datatype recvtype, Comm comm) {
  CommObject* object = nullptr;
  Source mine;
  Target all;
  MPI_TRY(check_comm(comm, &object));
  MPI_TRY(check_source_or_in_place(*object, sendbuf, sendcount, sendtype, &mine));
  MPI_TRY(check_target(recvbuf, recvcount, recvtype, &all));
  if (!object->is_inter && recvcount > 0) {
    MPI_TRY(check_distinct(mine.data, all.at(object->rank * all.count)));
  }
  record_call(*object, mine.type ? mine.bytes() : all.bytes());
  MPI_TRY(check_blocks_match(*object, mine, all));
  const CollectiveSignature signature = collective_signature(all);
  return launch(*object, signature,
                [mine = std::move(mine), all = std::move(all)](Transfer& transfer) {
                  return allgather(transfer, mine, all);
                });
}

}  // namespace

int allgather(Transfer& transfer, const Source& mine, const Target& all) {
  return transfer.comm().is_inter ? allgather_inter(transfer, mine, all)
                                  : allgather_intra(transfer, mine, all);
}

}  // namespace collectives

using collectives::Launch;
using collectives::launch_allgather;

int Allgather(const void* sendbuf, Count sendcount, Datatype sendtype, void* recvbuf,
              Count recvcount, Datatype recvtype, Comm comm) {
  return launch_allgather(Launch::now(), sendbuf, sendcount, sendtype, recvbuf, recvcount, recvtype,
                          comm);
}
int Iallgather(const void* sendbuf, Count sendcount, Datatype sendtype, void* recvbuf,
               Count recvcount, Datatype recvtype, Comm comm, Request* request) {
  return launch_allgather(Launch::start(request), sendbuf, sendcount, sendtype, recvbuf, recvcount,
                          recvtype, comm);
}
int Allgather_init(const void* sendbuf, Count sendcount, Datatype sendtype, void* recvbuf,
                   Count recvcount, Datatype recvtype, Comm comm, Info, Request* request) {
  return launch_allgather(Launch::prepare(request), sendbuf, sendcount, sendtype, recvbuf,
                          recvcount, recvtype, comm);
}

}  // namespace sesame::mpi
