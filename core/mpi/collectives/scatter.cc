#include "core/mpi/collectives/scatter.h"

#include <bit>

#include "core/mpi/api.h"
#include "core/mpi/collectives/open_mpi_rules.h"
#include "core/mpi/collectives/table_rules.h"
#include "core/mpi/collectives/thresholds.h"
#include "core/mpi/collectives/validate.h"
#include "core/mpi/collectives/workspace.h"

namespace sesame::mpi {
namespace collectives {
namespace {

// The root sends the blocks of `blocks` ranks from `first` on, counted from the root. It packs them
// first if they are in two ranges of its buffer, because the last rank is among them.
void send_subtree(Transfer& transfer, const Source& all, int root, int first, int blocks) {
  const int size = transfer.size();
  const int begin = (first + root) % size;
  if (begin + blocks <= size) {
    transfer.send(all.at(begin * all.count), blocks * all.count, *all.type, begin);
    return;
  }
  Workspace staged(blocks * all.bytes());
  const int before_wrap = size - begin;
  pack(all.at(begin * all.count), before_wrap * all.count, *all.type, staged.data());
  pack(all.data, (blocks - before_wrap) * all.count, *all.type,
       staged.at(before_wrap * all.bytes()));
  transfer.send(staged.data(), blocks * all.bytes(), byte_type(), begin);
}

void scatter_own(Transfer& transfer, const Source& all, const Target& mine, int root) {
  if (mine.data == MPI_IN_PLACE) return;
  copy_own(transfer, all.at(root * all.count), all.count, *all.type, mine.data, mine.count,
           *mine.type);
}

void scatter_from_root(Transfer& transfer, const Source& all, const Target& mine, int root) {
  const int size = transfer.size();
  for (int child = static_cast<int>(std::bit_ceil(static_cast<unsigned>(size)) / 2); child > 0;
       child /= 2) {
    send_subtree(transfer, all, root, child, std::min(child, size - child));
  }
  scatter_own(transfer, all, mine, root);
}

}  // namespace

void scatter_binomial(Transfer& transfer, const Source& all, const Target& mine, int root) {
  const int size = transfer.size();
  const int relative = (transfer.rank() - root + size) % size;
  if (relative == 0) {
    if (all.bytes() > 0) scatter_from_root(transfer, all, mine, root);
    return;
  }
  const Count block = mine.bytes();
  if (block == 0) return;
  const int lowest_bit = relative & -relative;
  const int parent = (relative - lowest_bit + root) % size;
  const int subtree = std::min(lowest_bit, size - relative);
  if (subtree == 1) {
    transfer.receive(mine.data, mine.count, *mine.type, parent);
    return;
  }
  Workspace staged(subtree * block);
  transfer.receive(staged.data(), subtree * block, byte_type(), parent);
  for (int child = lowest_bit / 2; child > 0; child /= 2) {
    if (child >= subtree) continue;
    const int blocks = std::min(child, subtree - child);
    transfer.send(staged.at(child * block), blocks * block, byte_type(),
                  (relative + child + root) % size);
  }
  unpack(staged.data(), mine.data, mine.count, *mine.type);
}

void scatter_linear(Transfer& transfer, const Source& all, const Target& mine, int root) {
  if (transfer.rank() != root) {
    if (mine.bytes() > 0) transfer.receive(mine.data, mine.count, *mine.type, root);
    return;
  }
  if (all.bytes() == 0) return;
  for (int to = 0; to < transfer.size(); ++to) {
    if (to == root) {
      scatter_own(transfer, all, mine, root);
    } else {
      transfer.send(all.at(to * all.count), all.count, *all.type, to);
    }
  }
}

void scatter_at_once(Transfer& transfer, const Source& all, const Target& mine, int root) {
  if (transfer.rank() != root) {
    if (mine.bytes() > 0) transfer.receive(mine.data, mine.count, *mine.type, root);
    return;
  }
  if (all.bytes() == 0) return;
  RequestBatch sends(static_cast<size_t>(transfer.size()));
  for (int to = 0; to < transfer.size(); ++to) {
    if (to == root) {
      scatter_own(transfer, all, mine, root);
    } else {
      transfer.start_send(sends.next(), all.at(to * all.count), all.count, *all.type, to);
    }
  }
  transfer.wait_all(sends.started());
}

namespace {

void scatter_as_open_mpi(Transfer& transfer, const Source& all, const Target& mine, int root,
                         std::optional<open_mpi::Scatter> given) {
  using enum open_mpi::Scatter;
  const Count block = transfer.rank() == root ? all.bytes() : mine.bytes();
  if (!given && !transfer.is_blocking()) return scatter_at_once(transfer, all, mine, root);
  switch (given ? *given : open_mpi::choose_scatter(transfer.size(), block)) {
    case kLinear:
      return scatter_linear(transfer, all, mine, root);
    case kBinomial:
      return scatter_binomial(transfer, all, mine, root);
    case kAtOnce:
      return scatter_at_once(transfer, all, mine, root);
  }
}

int scatter_intra(Transfer& transfer, const Source& all, const Target& mine, int root) {
  const Count block = transfer.rank() == root ? all.bytes() : mine.bytes();
  const auto given =
      table_choice<open_mpi::Scatter>(machine::Collective::kScatter, transfer, block);
  if (given || open_mpi::is_followed()) {
    scatter_as_open_mpi(transfer, all, mine, root, given);
  } else {
    scatter_binomial(transfer, all, mine, root);
  }
  return transfer.error();
}

// Short: the root sends everything to rank 0 of the other group, which scatters it there. Long:
// the root sends to each rank.
int scatter_inter(Transfer& transfer, const Source& all, const Target& mine, int root) {
  if (root == MPI_PROC_NULL) return MPI_SUCCESS;
  if (root == MPI_ROOT) {
    const int receivers = transfer.remote_size();
    if (all.bytes() * receivers < kThresholds.scatter_inter_short) {
      transfer.send(all.data, receivers * all.count, *all.type, 0);
    } else {
      for (int i = 0; i < receivers; ++i) {
        transfer.send(all.at(i * all.count), all.count, *all.type, i);
      }
    }
    return transfer.error();
  }
  const Count total = mine.bytes() * transfer.size();
  if (total >= kThresholds.scatter_inter_short) {
    transfer.receive(mine.data, mine.count, *mine.type, root);
    return transfer.error();
  }
  Workspace staged(transfer.rank() == 0 ? total : 0);
  if (transfer.rank() == 0) transfer.receive(staged.data(), total, byte_type(), root);
  Transfer local = transfer.local();
  const Source together{staged.data(), mine.bytes(), DatatypeRef(&byte_type())};
  scatter_binomial(local, together, mine, 0);
  return first_error(transfer.error(), local.error());
}

// Checks only the arguments that MPI uses on this rank.
int check_scatter_buffers(const CommObject& comm, int root, const void* sendbuf, Count sendcount,
                          Datatype sendtype, void* recvbuf, Count recvcount, Datatype recvtype,
                          Source* all, Target* mine) {
  if (is_idle(comm, root)) return MPI_SUCCESS;
  const bool root_here = is_root(comm, root);
  if (!root_here) return check_target(recvbuf, recvcount, recvtype, mine);
  MPI_TRY(check_source(sendbuf, sendcount, sendtype, all));
  if (comm.is_inter) return MPI_SUCCESS;
  if (recvbuf == MPI_IN_PLACE) {
    mine->data = recvbuf;
    return MPI_SUCCESS;
  }
  MPI_TRY(check_target(recvbuf, recvcount, recvtype, mine));
  return recvcount == 0 ? MPI_SUCCESS : check_distinct(all->at(root * all->count), mine->data);
}

int launch_scatter(const Launch& launch, const void* sendbuf, Count sendcount, Datatype sendtype,
                   void* recvbuf, Count recvcount, Datatype recvtype, int root, Comm comm) {
  CommObject* object = nullptr;
  Source all;
  Target mine;
  MPI_TRY(check_comm(comm, &object));
  MPI_TRY(check_root(*object, root));
  MPI_TRY(check_scatter_buffers(*object, root, sendbuf, sendcount, sendtype, recvbuf, recvcount,
                                recvtype, &all, &mine));
  record_call(*object, all.type ? all.bytes() * object->remote_size() : 0, root);
  const CollectiveSignature signature =
      is_root(*object, root) ? collective_signature(all, root) : collective_signature(mine, root);
  return launch(*object, signature,
                [all = std::move(all), mine = std::move(mine), root](Transfer& transfer) {
                  return scatter(transfer, all, mine, root);
                });
}

}  // namespace

int scatter(Transfer& transfer, const Source& all, const Target& mine, int root) {
  return transfer.comm().is_inter ? scatter_inter(transfer, all, mine, root)
                                  : scatter_intra(transfer, all, mine, root);
}

}  // namespace collectives

using collectives::Launch;
using collectives::launch_scatter;

int Scatter(const void* sendbuf, Count sendcount, Datatype sendtype, void* recvbuf, Count recvcount,
            Datatype recvtype, int root, Comm comm) {
  return launch_scatter(Launch::now(), sendbuf, sendcount, sendtype, recvbuf, recvcount, recvtype,
                        root, comm);
}
int Iscatter(const void* sendbuf, Count sendcount, Datatype sendtype, void* recvbuf,
             Count recvcount, Datatype recvtype, int root, Comm comm, Request* request) {
  return launch_scatter(Launch::start(request), sendbuf, sendcount, sendtype, recvbuf, recvcount,
                        recvtype, root, comm);
}
int Scatter_init(const void* sendbuf, Count sendcount, Datatype sendtype, void* recvbuf,
                 Count recvcount, Datatype recvtype, int root, Comm comm, Info, Request* request) {
  return launch_scatter(Launch::prepare(request), sendbuf, sendcount, sendtype, recvbuf, recvcount,
                        recvtype, root, comm);
}

}  // namespace sesame::mpi
