#include "core/mpi/collectives/barrier.h"

#include <bit>

#include "core/mpi/api.h"
#include "core/mpi/collectives/bcast.h"
#include "core/mpi/collectives/hardware.h"
#include "core/mpi/collectives/levels.h"
#include "core/mpi/collectives/open_mpi_rules.h"
#include "core/mpi/collectives/table_rules.h"
#include "core/mpi/collectives/validate.h"
#include "core/mpi/collectives/workspace.h"

namespace sesame::mpi {
namespace collectives {

void barrier_dissemination(Transfer& transfer) {
  const int size = transfer.size();
  const int rank = transfer.rank();
  for (int distance = 1; distance < size; distance *= 2) {
    transfer.begin_step(distance);
    transfer.send_receive(nullptr, 0, byte_type(), (rank + distance) % size, nullptr, 0,
                          byte_type(), (rank - distance + size) % size);
  }
}

namespace {

void send_signal(Transfer& transfer, int to) { transfer.send(nullptr, 0, byte_type(), to); }
void await_signal(Transfer& transfer, int from) { transfer.receive(nullptr, 0, byte_type(), from); }

}  // namespace

void barrier_linear(Transfer& transfer) {
  if (transfer.rank() != 0) {
    send_signal(transfer, 0);
    await_signal(transfer, 0);
    return;
  }
  RequestBatch signals(static_cast<size_t>(transfer.size()));
  for (int rank = 1; rank < transfer.size(); ++rank)
    transfer.start_receive(signals.next(), nullptr, 0, byte_type(), rank);
  transfer.wait_all(signals.started());
  for (int rank = 1; rank < transfer.size(); ++rank) send_signal(transfer, rank);
}

void barrier_doubling(Transfer& transfer) {
  const int rank = transfer.rank();
  const int core = static_cast<int>(std::bit_floor(static_cast<unsigned>(transfer.size())));
  const int extra = transfer.size() - core;
  if (rank >= core) {
    send_signal(transfer, rank - core);
    await_signal(transfer, rank - core);
    return;
  }
  if (rank < extra) await_signal(transfer, rank + core);
  for (int mask = 1; mask < core; mask *= 2) {
    transfer.begin_step(mask);
    transfer.send_receive(nullptr, 0, byte_type(), rank ^ mask, nullptr, 0, byte_type(),
                          rank ^ mask);
  }
  if (rank < extra) send_signal(transfer, rank + core);
}

void barrier_tree(Transfer& transfer) {
  const int size = transfer.size();
  const int rank = transfer.rank();
  int mask = 1;
  for (; mask < size && (rank & mask) == 0; mask *= 2) {
    if (rank + mask < size) await_signal(transfer, rank + mask);
  }
  if (rank != 0) {
    send_signal(transfer, rank - mask);
    await_signal(transfer, rank - mask);
  }
  for (mask /= 2; mask > 0; mask /= 2) {
    if (rank + mask < size) send_signal(transfer, rank + mask);
  }
}

namespace {

void barrier_two_level(Transfer& transfer) {
  Levels levels(transfer);
  levels.in_node([](Transfer& part) { barrier(part); });
  levels.between_nodes([](Transfer& part) { barrier(part); });
  levels.in_node([](Transfer& part) {
    char signal = 0;
    bcast(part, Target{&signal, 1, DatatypeRef(&byte_type())}, 0);
  });
}

void barrier_as_open_mpi(Transfer& transfer, std::optional<open_mpi::Barrier> given) {
  using enum open_mpi::Barrier;
  if (!given && !transfer.is_blocking()) return barrier_dissemination(transfer);
  switch (given ? *given : open_mpi::choose_barrier(transfer.size())) {
    case kLinear:
      return barrier_linear(transfer);
    case kDoubling:
      return barrier_doubling(transfer);
    case kDissemination:
      return barrier_dissemination(transfer);
    case kTree:
      return barrier_tree(transfer);
    case kHardware:
      return barrier_hardware(transfer);
    case kTwoLevel:
      return barrier_two_level(transfer);
  }
}

void barrier_intra(Transfer& transfer) {
  transfer.begin_together();
  const auto given = table_choice<open_mpi::Barrier>(machine::Collective::kBarrier, transfer, 0);
  if (given || open_mpi::is_followed()) {
    barrier_as_open_mpi(transfer, given);
  } else {
    barrier_dissemination(transfer);
  }
}

// A barrier inside each group, then a signal from each rank 0 to all ranks of the other group,
// first from that of the low group.
int barrier_inter(Transfer& transfer) {
  Transfer local = transfer.local();
  barrier_intra(local);
  char signal = 0;
  const Target target{&signal, 1, DatatypeRef(&byte_type())};
  const int my_root = transfer.rank() == 0 ? MPI_ROOT : MPI_PROC_NULL;
  const bool low = transfer.comm().low_group;
  MPI_TRY(bcast(transfer, target, low ? my_root : 0));
  return bcast(transfer, target, low ? 0 : my_root);
}

int launch_barrier(const Launch& launch, Comm comm) {
  CommObject* object = nullptr;
  MPI_TRY(check_comm(comm, &object));
  record_call(*object, 0);
  return launch(*object, {}, [](Transfer& transfer) { return barrier(transfer); });
}

}  // namespace

int barrier(Transfer& transfer) {
  if (transfer.comm().is_inter) return barrier_inter(transfer);
  barrier_intra(transfer);
  return transfer.error();
}

}  // namespace collectives

using collectives::Launch;

int Barrier(Comm comm) { return collectives::launch_barrier(Launch::now(), comm); }
int Ibarrier(Comm comm, Request* request) {
  return collectives::launch_barrier(Launch::start(request), comm);
}
int Barrier_init(Comm comm, Info, Request* request) {
  return collectives::launch_barrier(Launch::prepare(request), comm);
}

}  // namespace sesame::mpi
