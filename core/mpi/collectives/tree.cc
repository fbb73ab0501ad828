#include "core/mpi/collectives/tree.h"

#include <algorithm>
#include <bit>

#include "core/mpi/collectives/workspace.h"

namespace sesame::mpi::collectives {
namespace {

// A rank's number when the root is number 0, and the other way round.
int number_of(int rank, int size, int root) { return (rank - root + size) % size; }
int rank_of(int number, int size, int root) { return (number + root) % size; }

}  // namespace

TreePlace chain_place(int rank, int size, int root) {
  const int number = number_of(rank, size, root);
  TreePlace place;
  if (number > 0) place.parent = rank_of(number - 1, size, root);
  if (number + 1 < size) place.children.push_back(rank_of(number + 1, size, root));
  return place;
}

// Level l of the tree has 2^l ranks, of which the i-th has the i-th of each half of level l + 1 for
// its children.
TreePlace binary_place(int rank, int size, int root) {
  const int number = number_of(rank, size, root);
  const int width = static_cast<int>(std::bit_floor(static_cast<unsigned>(number) + 1));
  const int position = number - (width - 1);
  TreePlace place;
  if (number > 0) {
    const int above = width / 2;
    place.parent = rank_of(above - 1 + position % above, size, root);
  }
  for (const int child : {number + width, number + 2 * width}) {
    if (child < size) place.children.push_back(rank_of(child, size, root));
  }
  return place;
}

TreePlace nomial_place(int rank, int size, int root, int radix) {
  const int number = number_of(rank, size, root);
  TreePlace place;
  int64_t weight = 1;  // of the lowest digit that is not 0, or the first power that is not below p
  while (weight < size && number % (weight * radix) == 0) weight *= radix;
  if (number > 0) {
    const auto parent = number / (weight * radix) * (weight * radix);
    place.parent = rank_of(static_cast<int>(parent), size, root);
  }
  for (weight /= radix; weight > 0; weight /= radix) {
    for (int digit = 1; digit < radix; ++digit) {
      const int64_t child = number + weight * digit;
      if (child < size) place.children.push_back(rank_of(static_cast<int>(child), size, root));
    }
  }
  return place;
}

// A subtree is the ranks [begin, end), rooted at the last one.
TreePlace ordered_place(int rank, int size) {
  TreePlace place;
  int begin = 0;
  int end = size;
  while (true) {
    const int subtree_root = end - 1;
    const int ranks = end - begin;
    // Below two children the first subtree has all other ranks.
    const int middle = ranks > 2 ? begin + ranks / 2 : begin;
    if (rank == subtree_root) {
      if (ranks > 1) place.children.push_back(subtree_root - 1);
      if (middle > begin) place.children.push_back(middle - 1);
      return place;
    }
    place.parent = subtree_root;
    if (rank < middle) {
      end = middle;
    } else {
      begin = middle;
      end = subtree_root;
    }
  }
}

Count segment_count(Count count, Count bytes, Count segment_bytes) {
  const Count segments = (bytes + segment_bytes - 1) / segment_bytes;
  return std::clamp<Count>(segments, 1, std::max<Count>(count, 1));
}

void bcast_tree(Transfer& transfer, const Target& buffer, const TreePlace& place) {
  if (place.parent != MPI_PROC_NULL)
    transfer.receive(buffer.data, buffer.count, *buffer.type, place.parent);
  RequestBatch sends(place.children.size());
  for (const int child : place.children)
    transfer.start_send(sends.next(), buffer.data, buffer.count, *buffer.type, child);
  transfer.wait_all(sends.started());
}

void reduce_tree(Transfer& transfer, void* vector, const Reduction& reduction,
                 const TreePlace& place) {
  const DatatypeObject& type = *reduction.type;
  TypedWorkspace incoming(place.children.empty() ? 0 : reduction.count, type);
  for (const int child : place.children) {
    transfer.receive(incoming.data(), reduction.count, type, child);
    reduction.combine(incoming.data(), vector, reduction.count);
  }
  if (place.parent != MPI_PROC_NULL) transfer.send(vector, reduction.count, type, place.parent);
}

}  // namespace sesame::mpi::collectives
