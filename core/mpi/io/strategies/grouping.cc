#include <algorithm>

#include "core/mpi/collectives/blocks.h"
#include "core/mpi/io/strategies/strategies.h"

namespace sesame::mpi {
namespace {

void signal(Transfer& transfer, int to) { transfer.send(nullptr, 0, collectives::byte_type(), to); }

void await_signal(Transfer& transfer, int from) {
  transfer.receive(nullptr, 0, collectives::byte_type(), from);
}

}  // namespace

// The first rank of a group waits for the signal that the previous group has finished, and signals
// its own group to start. When all ranks of its group have finished, it signals the next group.
int access_in_groups(Strand& strand, Transfer& transfer, FileObject& file, FileRequest& request) {
  const int group_size = std::max(file.collective.group_size, 1);
  const int rank = transfer.rank();
  const int first = rank / group_size * group_size;
  const int end = std::min(first + group_size, transfer.size());
  if (rank != first) {
    if (first > 0) await_signal(transfer, first);
    const int error = access_by_element(strand, file, request);
    signal(transfer, first);
    return error;
  }
  if (first > 0) {
    await_signal(transfer, first - group_size);
    for (int member = first + 1; member < end; ++member) signal(transfer, member);
  }
  const int error = access_by_element(strand, file, request);
  for (int member = first + 1; member < end; ++member) await_signal(transfer, member);
  if (end < transfer.size()) signal(transfer, end);
  return error;
}

}  // namespace sesame::mpi
