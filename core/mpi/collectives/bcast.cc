#include "core/mpi/collectives/bcast.h"

#include <bit>

#include "core/mpi/api.h"
#include "core/mpi/collectives/levels.h"
#include "core/mpi/collectives/open_mpi_rules.h"
#include "core/mpi/collectives/table_rules.h"
#include "core/mpi/collectives/thresholds.h"
#include "core/mpi/collectives/tree.h"
#include "core/mpi/collectives/validate.h"
#include "core/mpi/collectives/workspace.h"

namespace sesame::mpi {
namespace collectives {

void bcast_binomial(Transfer& transfer, const Target& buffer, int root) {
  const int size = transfer.size();
  const int relative = (transfer.rank() - root + size) % size;
  int mask = 1;
  for (; mask < size; mask *= 2) {
    if ((relative & mask) == 0) continue;
    transfer.receive(buffer.data, buffer.count, *buffer.type, (relative - mask + root) % size);
    break;
  }
  for (mask /= 2; mask > 0; mask /= 2) {
    if (relative + mask >= size) continue;
    transfer.send(buffer.data, buffer.count, *buffer.type, (relative + mask + root) % size);
  }
}

void bcast_linear(Transfer& transfer, const Target& buffer, int root) {
  TreePlace place;
  if (transfer.rank() != root) place.parent = root;
  for (int rank = 0; transfer.rank() == root && rank < transfer.size(); ++rank) {
    if (rank != root) place.children.push_back(rank);
  }
  bcast_tree(transfer, buffer, place);
}

// While a segment is received the one before it is sent.
void bcast_pipeline(Transfer& transfer, const Target& buffer, int root, Count segment_bytes) {
  const TreePlace place = chain_place(transfer.rank(), transfer.size(), root);
  const int child = place.children.empty() ? MPI_PROC_NULL : place.children.front();
  const Count segments = segment_count(buffer.count, buffer.bytes(), segment_bytes);
  const Count length = buffer.count / segments;
  const auto count = [&](Count i) { return i < segments - 1 ? length : buffer.count - i * length; };
  for (Count i = 0; i <= segments; ++i) {
    const bool has_receive = i < segments;
    const bool has_send = i > 0;
    transfer.send_receive(
        has_send ? buffer.at((i - 1) * length) : nullptr, has_send ? count(i - 1) : 0, *buffer.type,
        has_send ? child : MPI_PROC_NULL, has_receive ? buffer.at(i * length) : nullptr,
        has_receive ? count(i) : 0, *buffer.type, has_receive ? place.parent : MPI_PROC_NULL);
  }
}

// The odd ones of the ranks, counted from the root, are the first child's side. The root and, if
// the number of ranks is even, the last rank are a pair.
void bcast_split_binary(Transfer& transfer, const Target& buffer, int root) {
  const int size = transfer.size();
  const int number = (transfer.rank() - root + size) % size;
  const Count first = (buffer.count + 1) / 2;
  const Target halves[] = {{buffer.data, first, buffer.type},
                           {buffer.at(first), buffer.count - first, buffer.type}};
  const TreePlace place = binary_place(transfer.rank(), size, root);
  if (number == 0) {
    for (size_t side = 0; side < place.children.size(); ++side) {
      const Target& half = halves[side];
      transfer.send(half.data, half.count, *half.type, place.children[side]);
    }
    if (size % 2 == 0) {
      transfer.send(halves[1].data, halves[1].count, *buffer.type, (root + size - 1) % size);
    }
    return;
  }
  const int side = number % 2 == 1 ? 0 : 1;
  const Target& mine = halves[side];
  const Target& other = halves[1 - side];
  bcast_tree(transfer, mine, place);
  if (size % 2 == 0 && number == size - 1) {
    transfer.receive(other.data, other.count, *other.type, root);
    return;
  }
  const int pair = (root + (side == 0 ? number + 1 : number - 1)) % size;
  transfer.send_receive(mine.data, mine.count, *mine.type, pair, other.data, other.count,
                        *other.type, pair);
}

namespace {

// The data divided into one chunk for each rank, the first for the root. Chunk sizes are rounded
// up, so that the last chunks may be short or empty.
struct RankChunks {
  RankChunks(char* data, Count bytes, int ranks)
      : data(data), total(bytes), length((bytes + ranks - 1) / ranks) {}

  Count begin(int chunk) const { return std::min(chunk * length, total); }
  Count bytes(int first, int count) const { return begin(first + count) - begin(first); }
  char* at(int chunk) const { return data + begin(chunk); }

  char* data;
  Count total;
  Count length;
};

void scatter_chunks(Transfer& transfer, const RankChunks& chunks, int root) {
  const int size = transfer.size();
  const int relative = (transfer.rank() - root + size) % size;
  int mask = 1;
  for (; mask < size; mask *= 2) {
    if ((relative & mask) == 0) continue;
    const Count bytes = chunks.bytes(relative, std::min(mask, size - relative));
    if (bytes > 0) {
      transfer.receive(chunks.at(relative), bytes, byte_type(), (relative - mask + root) % size);
    }
    break;
  }
  for (mask /= 2; mask > 0; mask /= 2) {
    const int child = relative + mask;
    if (child >= size) continue;
    const Count bytes = chunks.bytes(child, std::min(mask, size - child));
    if (bytes > 0) transfer.send(chunks.at(child), bytes, byte_type(), (child + root) % size);
  }
}

}  // namespace

void bcast_scatter_doubling(Transfer& transfer, char* data, Count bytes, int root) {
  const int size = transfer.size();
  const RankChunks chunks(data, bytes, size);
  scatter_chunks(transfer, chunks, root);
  const int relative = (transfer.rank() - root + size) % size;
  for (int mask = 1; mask < size; mask *= 2) {
    const int mine = relative & ~(mask - 1);
    const int theirs = mine ^ mask;
    const int peer = ((relative ^ mask) + root) % size;
    transfer.send_receive(chunks.at(mine), chunks.bytes(mine, mask), byte_type(), peer,
                          chunks.at(theirs), chunks.bytes(theirs, mask), byte_type(), peer);
  }
}

void bcast_scatter_ring(Transfer& transfer, char* data, Count bytes, int root) {
  const int size = transfer.size();
  const int rank = transfer.rank();
  const RankChunks chunks(data, bytes, size);
  scatter_chunks(transfer, chunks, root);
  const int left = (rank - 1 + size) % size;
  const int right = (rank + 1) % size;
  int have = (rank - root + size) % size;
  for (int step = 1; step < size; ++step) {
    const int coming = (have - 1 + size) % size;
    transfer.send_receive(chunks.at(have), chunks.bytes(have, 1), byte_type(), right,
                          chunks.at(coming), chunks.bytes(coming, 1), byte_type(), left);
    have = coming;
  }
}

namespace {

// Scatter and allgather, by recursive doubling if the number of ranks is a power of two and the
// data are no longer than `most_doubled`, else around a ring.
void bcast_chunks(Transfer& transfer, char* data, Count bytes, int root, Count most_doubled) {
  if (bytes <= most_doubled && std::has_single_bit(static_cast<unsigned>(transfer.size()))) {
    bcast_scatter_doubling(transfer, data, bytes, root);
  } else {
    bcast_scatter_ring(transfer, data, bytes, root);
  }
}

void bcast_scatter(Transfer& transfer, const Target& buffer, int root, Count most_doubled) {
  const Count bytes = buffer.bytes();
  if (buffer.type->is_contiguous()) {
    bcast_chunks(transfer, static_cast<char*>(buffer.data), bytes, root, most_doubled);
    return;
  }
  Workspace packed(bytes);
  const bool root_here = transfer.rank() == root;
  if (root_here) pack(buffer.data, buffer.count, *buffer.type, packed.data());
  bcast_chunks(transfer, packed.data(), bytes, root, most_doubled);
  if (!root_here) unpack(packed.data(), buffer.data, buffer.count, *buffer.type);
}

void bcast_two_level(Transfer& transfer, const Target& buffer, int root) {
  Levels levels(transfer);
  const int leader = levels.leader_of(root);
  if (root != leader) {
    if (transfer.rank() == root) transfer.send(buffer.data, buffer.count, *buffer.type, leader);
    if (transfer.rank() == leader) transfer.receive(buffer.data, buffer.count, *buffer.type, root);
  }
  levels.between_nodes([&](Transfer& part) { bcast(part, buffer, levels.node_of(root)); });
  levels.in_node([&](Transfer& part) { bcast(part, buffer, 0); });
}

// Where an algorithm needs more elements than there are, Open MPI uses another.
void bcast_as_open_mpi(Transfer& transfer, const Target& buffer, int root,
                       std::optional<open_mpi::Bcast> given) {
  using enum open_mpi::Bcast;
  constexpr int kRadix = 4;  // of Open MPI's parameter bcast_algorithm_knomial_radix
  const int rank = transfer.rank();
  const int size = transfer.size();
  const Count bytes = buffer.bytes();
  if (!given) {
    given = transfer.is_blocking() ? open_mpi::choose_bcast(size, bytes)
                                   : open_mpi::choose_ibcast(size, bytes);
  }
  switch (*given) {
    case kLinear:
      return bcast_linear(transfer, buffer, root);
    case kChain:
      return bcast_tree(transfer, buffer, chain_place(rank, size, root));
    case kPipeline:
      return bcast_pipeline(transfer, buffer, root, open_mpi::bcast_segment(bytes));
    case kSplitBinary:
      if (buffer.count < 2) return bcast_tree(transfer, buffer, chain_place(rank, size, root));
      return bcast_split_binary(transfer, buffer, root);
    case kBinary:
      return bcast_tree(transfer, buffer, binary_place(rank, size, root));
    case kBinomial:
      return bcast_binomial(transfer, buffer, root);
    case kQuadnomial:
      return bcast_tree(transfer, buffer, nomial_place(rank, size, root, kRadix));
    case kScatterDoubling:
      if (buffer.count < size) return bcast_linear(transfer, buffer, root);
      return bcast_scatter(transfer, buffer, root, buffer.bytes());
    case kTwoLevel:
      return bcast_two_level(transfer, buffer, root);
  }
}

int bcast_intra(Transfer& transfer, const Target& buffer, int root) {
  const Count bytes = buffer.bytes();
  if (bytes == 0) return MPI_SUCCESS;
  const auto given = table_choice<open_mpi::Bcast>(machine::Collective::kBcast, transfer, bytes);
  if (given || open_mpi::is_followed()) {
    bcast_as_open_mpi(transfer, buffer, root, given);
  } else if (bytes <= kThresholds.bcast_short || transfer.size() < kThresholds.bcast_min_ranks) {
    bcast_binomial(transfer, buffer, root);
  } else {
    bcast_scatter(transfer, buffer, root, kThresholds.bcast_long);
  }
  return transfer.error();
}

// The root sends to rank 0 of the other group, which broadcasts there.
int bcast_inter(Transfer& transfer, const Target& buffer, int root) {
  if (root == MPI_PROC_NULL || buffer.bytes() == 0) return MPI_SUCCESS;
  if (root == MPI_ROOT) {
    transfer.send(buffer.data, buffer.count, *buffer.type, 0);
    return transfer.error();
  }
  if (transfer.rank() == 0) transfer.receive(buffer.data, buffer.count, *buffer.type, root);
  Transfer local = transfer.local();
  return first_error(transfer.error(), bcast_intra(local, buffer, 0));
}

int launch_bcast(const Launch& launch, void* data, Count count, Datatype datatype, int root,
                 Comm comm) {
  CommObject* object = nullptr;
  Target buffer;
  MPI_TRY(check_comm(comm, &object));
  MPI_TRY(check_root(*object, root));
  if (!is_idle(*object, root)) {
    MPI_TRY(check_target(data, count, datatype, &buffer));
    record_call(*object, buffer.bytes(), root);
  } else {
    buffer.type = DatatypeRef(&byte_type());
  }
  const CollectiveSignature signature = collective_signature(buffer, root);
  return launch(*object, signature, [buffer = std::move(buffer), root](Transfer& transfer) {
    return bcast(transfer, buffer, root);
  });
}

}  // namespace

int bcast(Transfer& transfer, const Target& buffer, int root) {
  return transfer.comm().is_inter ? bcast_inter(transfer, buffer, root)
                                  : bcast_intra(transfer, buffer, root);
}

}  // namespace collectives

using collectives::Launch;

int Bcast(void* buffer, Count count, Datatype datatype, int root, Comm comm) {
  return collectives::launch_bcast(Launch::now(), buffer, count, datatype, root, comm);
}
int Ibcast(void* buffer, Count count, Datatype datatype, int root, Comm comm, Request* request) {
  return collectives::launch_bcast(Launch::start(request), buffer, count, datatype, root, comm);
}
int Bcast_init(void* buffer, Count count, Datatype datatype, int root, Comm comm, Info,
               Request* request) {
  return collectives::launch_bcast(Launch::prepare(request), buffer, count, datatype, root, comm);
}

}  // namespace sesame::mpi
