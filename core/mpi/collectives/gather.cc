#include "core/mpi/collectives/gather.h"

#include "core/mpi/api.h"
#include "core/mpi/collectives/open_mpi_rules.h"
#include "core/mpi/collectives/table_rules.h"
#include "core/mpi/collectives/thresholds.h"
#include "core/mpi/collectives/validate.h"
#include "core/mpi/collectives/workspace.h"

namespace sesame::mpi {
namespace collectives {
namespace {

// The root receives the blocks of `blocks` ranks from `first` on, counted from the root. They are
// in two ranges of its buffer if the last rank is among them.
void receive_subtree(Transfer& transfer, const Target& all, int root, int first, int blocks) {
  const int size = transfer.size();
  const int begin = (first + root) % size;
  if (begin + blocks <= size) {
    transfer.receive(all.at(begin * all.count), blocks * all.count, *all.type, begin);
    return;
  }
  Workspace staged(blocks * all.bytes());
  transfer.receive(staged.data(), blocks * all.bytes(), byte_type(), begin);
  const int before_wrap = size - begin;
  unpack(staged.data(), all.at(begin * all.count), before_wrap * all.count, *all.type);
  unpack(staged.at(before_wrap * all.bytes()), all.data, (blocks - before_wrap) * all.count,
         *all.type);
}

void gather_own(Transfer& transfer, const Source& mine, const Target& all, int root) {
  if (mine.is_in_place()) return;
  copy_own(transfer, mine.data, mine.count, *mine.type, all.at(root * all.count), all.count,
           *all.type);
}

void gather_at_root(Transfer& transfer, const Source& mine, const Target& all, int root) {
  gather_own(transfer, mine, all, root);
  const int size = transfer.size();
  for (int child = 1; child < size; child *= 2) {
    receive_subtree(transfer, all, root, child, std::min(child, size - child));
  }
}

}  // namespace

void gather_binomial(Transfer& transfer, const Source& mine, const Target& all, int root) {
  const int size = transfer.size();
  const int relative = (transfer.rank() - root + size) % size;
  if (relative == 0) {
    if (all.bytes() > 0) gather_at_root(transfer, mine, all, root);
    return;
  }
  const Count block = mine.bytes();
  if (block == 0) return;
  const int lowest_bit = relative & -relative;
  const int parent = (relative - lowest_bit + root) % size;
  const int subtree = std::min(lowest_bit, size - relative);
  if (subtree == 1) {
    transfer.send(mine.data, mine.count, *mine.type, parent);
    return;
  }
  Workspace staged(subtree * block);
  pack(mine.data, mine.count, *mine.type, staged.data());
  for (int child = 1; child < subtree; child *= 2) {
    const int blocks = std::min(child, subtree - child);
    transfer.receive(staged.at(child * block), blocks * block, byte_type(),
                     (relative + child + root) % size);
  }
  transfer.send(staged.data(), subtree * block, byte_type(), parent);
}

void gather_linear(Transfer& transfer, const Source& mine, const Target& all, int root) {
  if (transfer.rank() != root) {
    if (mine.bytes() > 0) transfer.send(mine.data, mine.count, *mine.type, root);
    return;
  }
  if (all.bytes() == 0) return;
  gather_own(transfer, mine, all, root);
  for (int from = 0; from < transfer.size(); ++from) {
    if (from != root) transfer.receive(all.at(from * all.count), all.count, *all.type, from);
  }
}

void gather_at_once(Transfer& transfer, const Source& mine, const Target& all, int root) {
  if (transfer.rank() != root) {
    if (mine.bytes() > 0) transfer.send(mine.data, mine.count, *mine.type, root);
    return;
  }
  if (all.bytes() == 0) return;
  RequestBatch receives(static_cast<size_t>(transfer.size()));
  for (int from = 0; from < transfer.size(); ++from) {
    if (from == root) {
      gather_own(transfer, mine, all, root);
    } else {
      transfer.start_receive(receives.next(), all.at(from * all.count), all.count, *all.type, from);
    }
  }
  transfer.wait_all(receives.started());
}

void gather_linear_sync(Transfer& transfer, const Source& mine, const Target& all, int root) {
  if (transfer.rank() != root) {
    if (mine.bytes() == 0) return;
    transfer.receive(nullptr, 0, byte_type(), root);
    transfer.send(mine.data, mine.count, *mine.type, root);
    transfer.send(nullptr, 0, byte_type(), root);
    return;
  }
  if (all.bytes() == 0) return;
  RequestBatch seconds(static_cast<size_t>(transfer.size()));
  for (int from = 0; from < transfer.size(); ++from) {
    if (from == root) continue;
    RequestObject first;
    transfer.start_receive(first, all.at(from * all.count), all.count, *all.type, from);
    transfer.send(nullptr, 0, byte_type(), from);
    transfer.start_receive(seconds.next(), nullptr, 0, byte_type(), from);
    transfer.wait_all({&first, 1});
  }
  gather_own(transfer, mine, all, root);
  transfer.wait_all(seconds.started());
}

namespace {

void gather_as_open_mpi(Transfer& transfer, const Source& mine, const Target& all, int root,
                        std::optional<open_mpi::Gather> given) {
  using enum open_mpi::Gather;
  const Count block = transfer.rank() == root ? all.bytes() : mine.bytes();
  if (!given && !transfer.is_blocking()) return gather_at_once(transfer, mine, all, root);
  switch (given ? *given : open_mpi::choose_gather(transfer.size(), block)) {
    case kLinear:
      return gather_linear(transfer, mine, all, root);
    case kBinomial:
      return gather_binomial(transfer, mine, all, root);
    case kLinearSync:
      return gather_linear_sync(transfer, mine, all, root);
  }
}

int gather_intra(Transfer& transfer, const Source& mine, const Target& all, int root) {
  const Count block = transfer.rank() == root ? all.bytes() : mine.bytes();
  const auto given = table_choice<open_mpi::Gather>(machine::Collective::kGather, transfer, block);
  if (given || open_mpi::is_followed()) {
    gather_as_open_mpi(transfer, mine, all, root, given);
  } else {
    gather_binomial(transfer, mine, all, root);
  }
  return transfer.error();
}

// Short: the other group gathers at its rank 0, which sends everything to the root. Long: each rank
// sends to the root.
int gather_inter(Transfer& transfer, const Source& mine, const Target& all, int root) {
  if (root == MPI_PROC_NULL) return MPI_SUCCESS;
  if (root == MPI_ROOT) {
    const int senders = transfer.remote_size();
    if (all.bytes() * senders < kThresholds.gather_inter_short) {
      transfer.receive(all.data, senders * all.count, *all.type, 0);
    } else {
      for (int i = 0; i < senders; ++i) {
        transfer.receive(all.at(i * all.count), all.count, *all.type, i);
      }
    }
    return transfer.error();
  }
  const Count total = mine.bytes() * transfer.size();
  if (total >= kThresholds.gather_inter_short) {
    transfer.send(mine.data, mine.count, *mine.type, root);
    return transfer.error();
  }
  Transfer local = transfer.local();
  Workspace staged(transfer.rank() == 0 ? total : 0);
  const Target together{staged.data(), mine.bytes(), DatatypeRef(&byte_type())};
  gather_binomial(local, mine, together, 0);
  if (transfer.rank() == 0) transfer.send(staged.data(), total, byte_type(), root);
  return first_error(transfer.error(), local.error());
}

// Checks only the arguments that MPI uses on this rank.
int check_gather_buffers(const CommObject& comm, int root, const void* sendbuf, Count sendcount,
                         Datatype sendtype, void* recvbuf, Count recvcount, Datatype recvtype,
                         Source* mine, Target* all) {
  if (is_idle(comm, root)) return MPI_SUCCESS;
  const bool root_here = is_root(comm, root);
  if (!root_here) return check_source(sendbuf, sendcount, sendtype, mine);
  MPI_TRY(check_target(recvbuf, recvcount, recvtype, all));
  if (comm.is_inter) return MPI_SUCCESS;
  MPI_TRY(check_source_or_in_place(comm, sendbuf, sendcount, sendtype, mine));
  return sendcount == 0 ? MPI_SUCCESS : check_distinct(mine->data, all->at(root * all->count));
}

int launch_gather(const Launch& launch, const void* sendbuf, Count sendcount, Datatype sendtype,
                  void* recvbuf, Count recvcount, Datatype recvtype, int root, Comm comm) {
  CommObject* object = nullptr;
  Source mine;
  Target all;
  MPI_TRY(check_comm(comm, &object));
  MPI_TRY(check_root(*object, root));
  MPI_TRY(check_gather_buffers(*object, root, sendbuf, sendcount, sendtype, recvbuf, recvcount,
                               recvtype, &mine, &all));
  record_call(*object, mine.type ? mine.bytes() : 0, root);
  const CollectiveSignature signature =
      is_root(*object, root) ? collective_signature(all, root) : collective_signature(mine, root);
  return launch(*object, signature,
                [mine = std::move(mine), all = std::move(all), root](Transfer& transfer) {
                  return gather(transfer, mine, all, root);
                });
}

}  // namespace

int gather(Transfer& transfer, const Source& mine, const Target& all, int root) {
  return transfer.comm().is_inter ? gather_inter(transfer, mine, all, root)
                                  : gather_intra(transfer, mine, all, root);
}

}  // namespace collectives

using collectives::Launch;
using collectives::launch_gather;

int Gather(const void* sendbuf, Count sendcount, Datatype sendtype, void* recvbuf, Count recvcount,
           Datatype recvtype, int root, Comm comm) {
  return launch_gather(Launch::now(), sendbuf, sendcount, sendtype, recvbuf, recvcount, recvtype,
                       root, comm);
}
int Igather(const void* sendbuf, Count sendcount, Datatype sendtype, void* recvbuf, Count recvcount,
            Datatype recvtype, int root, Comm comm, Request* request) {
  return launch_gather(Launch::start(request), sendbuf, sendcount, sendtype, recvbuf, recvcount,
                       recvtype, root, comm);
}
int Gather_init(const void* sendbuf, Count sendcount, Datatype sendtype, void* recvbuf,
                Count recvcount, Datatype recvtype, int root, Comm comm, Info, Request* request) {
  return launch_gather(Launch::prepare(request), sendbuf, sendcount, sendtype, recvbuf, recvcount,
                       recvtype, root, comm);
}

}  // namespace sesame::mpi
