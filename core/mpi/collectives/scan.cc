#include "core/mpi/collectives/scan.h"

#include <utility>

#include "core/mpi/api.h"
#include "core/mpi/collectives/open_mpi_rules.h"
#include "core/mpi/collectives/validate.h"
#include "core/mpi/collectives/workspace.h"

namespace sesame::mpi {
namespace collectives {

// Partners at doubling distance exchange the reduction of their trees' vectors. A rank also
// combines what it receives from a lower rank into its own result.
void scan_doubling(Transfer& transfer, ScanKind kind, const void* send, void* receive,
                   const Reduction& reduction) {
  const int size = transfer.size();
  const int rank = transfer.rank();
  const Count count = reduction.count;
  const DatatypeObject& type = *reduction.type;
  TypedWorkspace tree_space(count, type);
  TypedWorkspace incoming_space(count, type);
  void* tree = tree_space.data();
  void* incoming = incoming_space.data();
  reduction.copy_elements(send == MPI_IN_PLACE ? receive : send, tree, count);
  bool has_result = kind == ScanKind::kInclusive;
  if (has_result && send != MPI_IN_PLACE) reduction.copy_elements(send, receive, count);
  for (int mask = 1; mask < size; mask *= 2) {
    const int peer = rank ^ mask;
    if (peer >= size) continue;
    transfer.send_receive(tree, count, type, peer, incoming, count, type, peer);
    if (peer < rank) {
      if (has_result) {
        reduction.combine(incoming, receive, count);
      } else {
        reduction.copy_elements(incoming, receive, count);
        has_result = true;
      }
      reduction.combine(incoming, tree, count);
    } else if (reduction.is_commutative()) {
      reduction.combine(incoming, tree, count);
    } else {
      reduction.combine(tree, incoming, count);
      std::swap(tree, incoming);
    }
  }
}

// Each rank sends the next one the reduction up to itself.
void scan_linear(Transfer& transfer, ScanKind kind, const void* send, void* receive,
                 const Reduction& reduction) {
  const int rank = transfer.rank();
  const Count count = reduction.count;
  const DatatypeObject& type = *reduction.type;
  TypedWorkspace inclusive(count, type);
  TypedWorkspace before(rank > 0 ? count : 0, type);
  reduction.copy_elements(send == MPI_IN_PLACE ? receive : send, inclusive.data(), count);
  if (rank > 0) {
    transfer.receive(before.data(), count, type, rank - 1);
    reduction.combine(before.data(), inclusive.data(), count);
  }
  if (rank + 1 < transfer.size()) transfer.send(inclusive.data(), count, type, rank + 1);
  if (kind == ScanKind::kInclusive) {
    reduction.copy_elements(inclusive.data(), receive, count);
  } else if (rank > 0) {
    reduction.copy_elements(before.data(), receive, count);
  }
}

namespace {

void scan(Transfer& transfer, ScanKind kind, const void* send, void* receive,
          const Reduction& reduction) {
  if (open_mpi::is_followed()) {
    scan_linear(transfer, kind, send, receive, reduction);
  } else {
    scan_doubling(transfer, kind, send, receive, reduction);
  }
}

int launch_scan(const Launch& launch, ScanKind kind, const void* sendbuf, void* recvbuf,
                Count count, Datatype datatype, Op op, Comm comm) {
  CommObject* object = nullptr;
  Reduction reduction;
  MPI_TRY(check_intra_comm(comm, &object));
  MPI_TRY(check_reduction(count, datatype, op, &reduction));
  MPI_TRY(check_reduction_buffers(*object, sendbuf, recvbuf, reduction));
  record_call(*object, reduction.bytes());
  const CollectiveSignature signature = collective_signature(reduction);
  return launch(*object, signature,
                [kind, sendbuf, recvbuf, reduction = std::move(reduction)](Transfer& transfer) {
                  if (reduction.count > 0) scan(transfer, kind, sendbuf, recvbuf, reduction);
                  return transfer.error();
                });
}

}  // namespace
}  // namespace collectives

using collectives::Launch;
using collectives::launch_scan;
using collectives::ScanKind;

int Scan(const void* sendbuf, void* recvbuf, Count count, Datatype datatype, Op op, Comm comm) {
  return launch_scan(Launch::now(), ScanKind::kInclusive, sendbuf, recvbuf, count, datatype, op,
                     comm);
}
int Iscan(const void* sendbuf, void* recvbuf, Count count, Datatype datatype, Op op, Comm comm,
          Request* request) {
  return launch_scan(Launch::start(request), ScanKind::kInclusive, sendbuf, recvbuf, count,
                     datatype, op, comm);
}
int Scan_init(const void* sendbuf, void* recvbuf, Count count, Datatype datatype, Op op, Comm comm,
              Info, Request* request) {
  return launch_scan(Launch::prepare(request), ScanKind::kInclusive, sendbuf, recvbuf, count,
                     datatype, op, comm);
}

int Exscan(const void* sendbuf, void* recvbuf, Count count, Datatype datatype, Op op, Comm comm) {
  return launch_scan(Launch::now(), ScanKind::kExclusive, sendbuf, recvbuf, count, datatype, op,
                     comm);
}
int Iexscan(const void* sendbuf, void* recvbuf, Count count, Datatype datatype, Op op, Comm comm,
            Request* request) {
  return launch_scan(Launch::start(request), ScanKind::kExclusive, sendbuf, recvbuf, count,
                     datatype, op, comm);
}
int Exscan_init(const void* sendbuf, void* recvbuf, Count count, Datatype datatype, Op op,
                Comm comm, Info, Request* request) {
  return launch_scan(Launch::prepare(request), ScanKind::kExclusive, sendbuf, recvbuf, count,
                     datatype, op, comm);
}

}  // namespace sesame::mpi
