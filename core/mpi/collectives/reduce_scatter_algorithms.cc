#include <algorithm>
#include <bit>
#include <utility>

#include "core/mpi/collectives/halving.h"
#include "core/mpi/collectives/reduce_scatter.h"
#include "core/mpi/collectives/workspace.h"

namespace sesame::mpi::collectives {
namespace {

// The first element that the core rank `core` reduces. The core rank of a pair reduces the blocks
// of both ranks.
Count core_begin(const Partition& parts, const CoreRanks& ranks, int core) {
  return parts.begin(core < ranks.extra ? 2 * core : core + ranks.extra);
}

void halve_parts(Transfer& transfer, const Partition& parts, const Reduction& reduction,
                 const CoreRanks& ranks, int core, char* vector, char* incoming) {
  const DatatypeObject& type = *reduction.type;
  BlockRange range{0, ranks.count};
  for (int mask = ranks.count / 2; mask > 0; mask /= 2) {
    const bool keep_lower = (core & mask) == 0;
    const BlockRange kept = keep_lower ? range.lower_half() : range.upper_half();
    const BlockRange given = keep_lower ? range.upper_half() : range.lower_half();
    const int peer = ranks.rank_of(core ^ mask);
    const auto begin = [&](int i) { return core_begin(parts, ranks, i); };
    const Count send_count = begin(given.end) - begin(given.first);
    const Count receive_count = begin(kept.end) - begin(kept.first);
    const char* const out = vector + reduction.offset(begin(given.first));
    const Aint in = reduction.offset(begin(kept.first));
    if (send_count > 0 && receive_count > 0) {
      transfer.send_receive(out, send_count, type, peer, incoming + in, receive_count, type, peer);
    } else if (send_count > 0) {
      transfer.send(out, send_count, type, peer);
    } else if (receive_count > 0) {
      transfer.receive(incoming + in, receive_count, type, peer);
    }
    reduction.combine(incoming + in, vector + in, receive_count);
    range = kept;
  }
}

}  // namespace

void reduce_scatter_halving(Transfer& transfer, const void* send, void* receive,
                            const Partition& parts, const Reduction& reduction) {
  const int rank = transfer.rank();
  const Count total = parts.total();
  const DatatypeObject& type = *reduction.type;
  const CoreRanks ranks(transfer.size(), CoreRanks::Kept::kOdd);
  TypedWorkspace vector_space(total, type);
  TypedWorkspace incoming_space(total, type);
  char* const vector = static_cast<char*>(vector_space.data());
  char* const incoming = static_cast<char*>(incoming_space.data());
  const Count mine = parts.count(rank);
  reduction.copy_elements(send, vector, total);
  if (!ranks.is_core(rank)) {
    transfer.send(vector, total, type, rank + 1);
    if (mine > 0) transfer.receive(receive, mine, type, rank + 1);
    return;
  }
  if (ranks.is_paired(rank)) {
    transfer.receive(incoming, total, type, rank - 1);
    reduction.combine(incoming, vector, total);
  }
  halve_parts(transfer, parts, reduction, ranks, ranks.core_of(rank), vector, incoming);
  reduction.copy_elements(vector + reduction.offset(parts.begin(rank)), receive, mine);
  if (ranks.is_paired(rank) && parts.count(rank - 1) > 0) {
    transfer.send(vector + reduction.offset(parts.begin(rank - 1)), parts.count(rank - 1), type,
                  rank - 1);
  }
}

void reduce_scatter_pairwise(Transfer& transfer, const void* send, void* receive,
                             const Partition& parts, const Reduction& reduction) {
  const int size = transfer.size();
  const int rank = transfer.rank();
  const DatatypeObject& type = *reduction.type;
  const Count mine = parts.count(rank);
  TypedWorkspace result(mine, type);
  TypedWorkspace incoming(mine, type);
  reduction.copy_elements(shift(send, reduction.offset(parts.begin(rank))), result.data(), mine);
  for (int step = 1; step < size; ++step) {
    const int from = (rank - step + size) % size;
    const int to = (rank + step) % size;
    transfer.send_receive(shift(send, reduction.offset(parts.begin(to))), parts.count(to), type, to,
                          incoming.data(), mine, type, from);
    reduction.combine(incoming.data(), result.data(), mine);
  }
  reduction.copy_elements(result.data(), receive, mine);
}

namespace {

// The bits of `value` in reverse order.
int mirrored(int value, int bits) {
  int result = 0;
  for (int i = 0; i < bits; ++i) result |= ((value >> i) & 1) << (bits - 1 - i);
  return result;
}

}  // namespace

// Exchanges with the nearest ranks come first, so that operands are in rank order. Block i starts
// at the position that is i with its bits reversed, so that every rank ends with its own block.
void reduce_scatter_mirrored(Transfer& transfer, const void* send, void* receive,
                             const Partition& parts, const Reduction& reduction) {
  const int rank = transfer.rank();
  const DatatypeObject& type = *reduction.type;
  const int bits = std::bit_width(static_cast<unsigned>(transfer.size())) - 1;
  const Count part = parts.count(0);
  TypedWorkspace first_space(parts.total(), type);
  TypedWorkspace second_space(parts.total(), type);
  char* vector = static_cast<char*>(first_space.data());
  char* incoming = static_cast<char*>(second_space.data());
  for (int i = 0; i < transfer.size(); ++i) {
    reduction.copy_elements(shift(send, reduction.offset(i * part)),
                            vector + reduction.offset(mirrored(i, bits) * part), part);
  }
  Count begin = 0;
  Count width = parts.total();
  for (int mask = 1; mask < transfer.size(); mask *= 2) {
    const int peer = rank ^ mask;
    width /= 2;
    const Count kept = rank > peer ? begin + width : begin;
    const Count given = rank > peer ? begin : begin + width;
    transfer.send_receive(vector + reduction.offset(given), width, type, peer,
                          incoming + reduction.offset(kept), width, type, peer);
    if (rank > peer) {
      reduction.combine(incoming + reduction.offset(kept), vector + reduction.offset(kept), width);
    } else {
      reduction.combine(vector + reduction.offset(kept), incoming + reduction.offset(kept), width);
      std::swap(vector, incoming);
    }
    begin = kept;
  }
  reduction.copy_elements(vector + reduction.offset(begin), receive, part);
}

namespace {

// All elements but those of the ranks [first, end), packed.
class AllBut {
 public:
  AllBut(const Partition& parts, const Reduction& reduction, int first, int end)
      : reduction_(reduction),
        before_(parts.begin(std::min(first, parts.ranks()))),
        resume_(parts.begin(std::min(end, parts.ranks()))),
        after_(parts.total() - resume_) {}

  Count bytes() const { return (before_ + after_) * reduction_.type->size(); }
  void pack_from(const char* vector, char* packed) const {
    const DatatypeObject& type = *reduction_.type;
    pack(vector, before_, type, packed);
    pack(vector + reduction_.offset(resume_), after_, type, packed + before_ * type.size());
  }
  void unpack_to(const char* packed, char* vector) const {
    const DatatypeObject& type = *reduction_.type;
    unpack(packed, vector, before_, type);
    unpack(packed + before_ * type.size(), vector + reduction_.offset(resume_), after_, type);
  }
  void combine(const char* in, char* inout) const {
    reduction_.combine(in, inout, before_);
    reduction_.combine(in + reduction_.offset(resume_), inout + reduction_.offset(resume_), after_);
  }
  void copy(const char* from, char* to) const {
    reduction_.copy_elements(from, to, before_);
    reduction_.copy_elements(from + reduction_.offset(resume_), to + reduction_.offset(resume_),
                             after_);
  }

 private:
  const Reduction& reduction_;
  Count before_;
  Count resume_;
  Count after_;
};

// In the rank's tree of `width` ranks only the first `completed` had a partner to receive from.
// They forward what they received, in halving steps. Returns whether this rank has the data in the
// end.
bool spread_in_tree(Transfer& transfer, int width, int completed, bool have, char* packed,
                    Count bytes) {
  const int rank = transfer.rank();
  for (int mask = width / 2; mask > 0; mask /= 2) {
    const int peer = rank ^ mask;
    const int subtree = rank & ~(2 * mask - 1);
    const bool peer_is_late = peer >= subtree + completed;
    const bool late = rank >= subtree + completed;
    if (peer > rank && !late && peer_is_late) {
      transfer.send(packed, bytes, byte_type(), peer);
    } else if (peer < rank && late && !peer_is_late) {
      transfer.receive(packed, bytes, byte_type(), peer);
      have = true;
    }
  }
  return have;
}

}  // namespace

// Recursive doubling on whole vectors. A rank does not send the blocks of its own tree: the
// partner's tree does not need them.
void reduce_scatter_doubling(Transfer& transfer, const void* send, void* receive,
                             const Partition& parts, const Reduction& reduction) {
  const int size = transfer.size();
  const int rank = transfer.rank();
  const Count total = parts.total();
  TypedWorkspace vector_space(total, *reduction.type);
  TypedWorkspace incoming_space(total, *reduction.type);
  Workspace outgoing(total * reduction.type->size());
  Workspace packed(total * reduction.type->size());
  char* const vector = static_cast<char*>(vector_space.data());
  char* const incoming = static_cast<char*>(incoming_space.data());
  reduction.copy_elements(send, vector, total);
  for (int mask = 1; mask < size; mask *= 2) {
    const int peer = rank ^ mask;
    const int my_tree = rank & ~(mask - 1);
    const int peer_tree = peer & ~(mask - 1);
    const AllBut out(parts, reduction, my_tree, my_tree + mask);
    const AllBut in(parts, reduction, peer_tree, peer_tree + mask);
    bool have = false;
    if (peer < size) {
      out.pack_from(vector, outgoing.data());
      transfer.send_receive(outgoing.data(), out.bytes(), byte_type(), peer, packed.data(),
                            in.bytes(), byte_type(), peer);
      have = true;
    }
    if (peer_tree + mask > size) {
      have = spread_in_tree(transfer, mask, size - my_tree - mask, have, packed.data(), in.bytes());
    }
    if (!have) continue;
    in.unpack_to(packed.data(), incoming);
    if (reduction.is_commutative() || peer_tree < my_tree) {
      in.combine(incoming, vector);
    } else {
      in.combine(vector, incoming);
      in.copy(incoming, vector);
    }
  }
  reduction.copy_elements(vector + reduction.offset(parts.begin(rank)), receive, parts.count(rank));
}

}  // namespace sesame::mpi::collectives
