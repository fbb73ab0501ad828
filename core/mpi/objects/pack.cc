#include "core/mpi/objects/pack.h"

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <memory>
#include <vector>

#include "core/base/check.h"
#include "core/mpi/objects/datatype.h"
#include "core/mpi/objects/datatype_layout.h"
#include "core/mpi/objects/datatype_table.h"
#include "core/mpi/objects/memory.h"

namespace sesame::mpi {
namespace {

using Kind = LayoutNode::Kind;

// Fibers have small stacks: a larger staging buffer comes from the heap.
constexpr Count kStackStaging = 2048;
constexpr Count kHeapStaging = 64 * 1024;

// Copies of `size` bytes where kWord <= size <= 2 * kWord: two words, which may overlap.
template <size_t kWord>
[[gnu::always_inline]] inline void copy_two_words(char* to, const char* from, size_t size) {
  std::memcpy(to, from, kWord);
  std::memcpy(to + size - kWord, from + size - kWord, kWord);
}

[[gnu::always_inline]] inline void copy_small(char* to, const char* from, size_t size) {
  if (size > 32) {
    copy_two_words<32>(to, from, size);
  } else if (size > 16) {
    copy_two_words<16>(to, from, size);
  } else if (size > 8) {
    copy_two_words<8>(to, from, size);
  } else {
    std::memcpy(to, from, size);
  }
}

// Template arguments for block sizes that are known at run time only.
constexpr int kAnySize = 0;
constexpr int kSmallSize = -1;  // at most 64 bytes: without a call

// Calls f with the block size as a constant for common sizes, so that their loops are specialised.
template <typename F>
[[gnu::always_inline]] inline void with_block_size(Count block, F&& f) {
  switch (block) {
    case 1:
      return f.template operator()<1>();
    case 2:
      return f.template operator()<2>();
    case 4:
      return f.template operator()<4>();
    case 8:
      return f.template operator()<8>();
    case 16:
      return f.template operator()<16>();
    case 24:
      return f.template operator()<24>();
    case 32:
      return f.template operator()<32>();
    default:
      if (block > 8 && block <= 64) return f.template operator()<kSmallSize>();
      return f.template operator()<kAnySize>();
  }
}

template <int kSize>
[[gnu::always_inline]] inline void copy_block(char* to, const char* from, size_t size) {
  if constexpr (kSize > 0) {
    std::memcpy(to, from, kSize);
  } else if constexpr (kSize == kSmallSize) {
    copy_small(to, from, size);
  } else {
    std::memcpy(to, from, size);
  }
}

// Copies blocks between the user's buffer and the packed bytes, and advances in the packed bytes.
template <bool kPack>
struct Mover {
  char* packed;

  void block(char* user, Count size) {
    if constexpr (kPack) {
      std::memcpy(packed, user, static_cast<size_t>(size));
    } else {
      std::memcpy(user, packed, static_cast<size_t>(size));
    }
    packed += size;
  }

  template <int kSize, typename Address>
  [[gnu::always_inline]] void blocks(Count count, Count size, Address&& address) {
    const size_t bytes = kSize > 0 ? kSize : static_cast<size_t>(size);
    char* to = packed;
    for (Count i = 0; i < count; ++i, to += bytes) {
      if constexpr (kPack) {
        copy_block<kSize>(to, address(i), bytes);
      } else {
        copy_block<kSize>(address(i), to, bytes);
      }
    }
    packed = to;
  }

  void strided(char* user, Count count, Aint stride, Count size) {
    with_block_size(size, [&]<int kSize>() {
      blocks<kSize>(count, size, [user, stride](Count i) { return user + i * stride; });
    });
  }

  void uniform(char* user, const Aint* offsets, Count count, Count size) {
    with_block_size(size, [&]<int kSize>() {
      blocks<kSize>(count, size, [user, offsets](Count i) { return user + offsets[i]; });
    });
  }
};

template <bool kPack>
void move_all(const LayoutNode& node, char* user, Mover<kPack>& mover) {
  switch (node.kind) {
    case Kind::kBlock:
      mover.block(user, node.size);
      break;
    case Kind::kStridedBlocks:
      mover.strided(user, node.count, node.stride, node.block);
      break;
    case Kind::kUniformBlocks:
      mover.uniform(user, node.offsets, node.count, node.block);
      break;
    case Kind::kBlocks:
      for (Count i = 0; i < node.count; ++i) {
        mover.block(user + node.offsets[i], node.starts[i + 1] - node.starts[i]);
      }
      break;
    case Kind::kStrided:
      for (Count i = 0; i < node.count; ++i) move_all(*node.child, user + i * node.stride, mover);
      break;
    case Kind::kSequence:
      for (Count i = 0; i < node.count; ++i) {
        move_all(*node.children[i], user + node.offsets[i], mover);
      }
      break;
  }
}

// The entry of a list with packed starts that holds this packed byte.
Count entry_at(const LayoutNode& node, Count byte) {
  return std::upper_bound(node.starts, node.starts + node.count + 1, byte) - node.starts - 1;
}

template <bool kPack>
void move_range(const LayoutNode& node, char* user, Count first, Count last, Mover<kPack>& mover);

// A list or loop of equal blocks. Moves the rest of the first block, whole blocks, and the start of
// the last one.
template <bool kPack>
void move_equal_blocks(const LayoutNode& node, char* user, Count first, Count last,
                       Mover<kPack>& mover) {
  const bool strided = node.kind == Kind::kStridedBlocks;
  const auto address = [&](Count i) {
    return user + (strided ? i * node.stride : node.offsets[i]);
  };
  Count index = first / node.block;
  const Count cut = first - index * node.block;
  if (cut > 0) {
    const Count size = std::min(node.block - cut, last - first);
    mover.block(address(index) + cut, size);
    first += size;
    ++index;
  }
  const Count whole = (last - first) / node.block;
  if (whole > 0) {
    if (strided) {
      mover.strided(address(index), whole, node.stride, node.block);
    } else {
      mover.uniform(user, node.offsets + index, whole, node.block);
    }
    first += whole * node.block;
    index += whole;
  }
  if (last > first) mover.block(address(index), last - first);
}

template <bool kPack>
void move_repeated(const LayoutNode& node, char* user, Count first, Count last,
                   Mover<kPack>& mover) {
  const Count size = node.child->size;
  for (Count i = first / size, start = i * size; start < last; ++i, start += size) {
    move_range(*node.child, user + i * node.stride, std::max<Count>(first - start, 0),
               std::min(last - start, size), mover);
  }
}

template <bool kPack>
void move_listed(const LayoutNode& node, char* user, Count first, Count last, Mover<kPack>& mover) {
  for (Count i = entry_at(node, first); i < node.count && node.starts[i] < last; ++i) {
    const Count start = node.starts[i];
    const Count from = std::max<Count>(first - start, 0);
    const Count to = std::min(last, node.starts[i + 1]) - start;
    char* entry = user + node.offsets[i];
    if (node.kind == Kind::kBlocks) {
      mover.block(entry + from, to - from);
    } else {
      move_range(*node.children[i], entry, from, to, mover);
    }
  }
}

// Packed bytes [first, last) of the node, not empty.
template <bool kPack>
void move_range(const LayoutNode& node, char* user, Count first, Count last, Mover<kPack>& mover) {
  if (first == 0 && last == node.size) return move_all(node, user, mover);
  switch (node.kind) {
    case Kind::kBlock:
      return mover.block(user + first, last - first);
    case Kind::kStridedBlocks:
    case Kind::kUniformBlocks:
      return move_equal_blocks(node, user, first, last, mover);
    case Kind::kStrided:
      return move_repeated(node, user, first, last, mover);
    case Kind::kBlocks:
    case Kind::kSequence:
      return move_listed(node, user, first, last, mover);
  }
}

template <bool kPack>
[[gnu::cold]] void move_remote(char* user, Count count, const DatatypeObject& type, char* packed,
                               Count start, Count length);

template <bool kPack>
void move(char* user, Count count, const DatatypeObject& type, char* packed, Count start,
          Count length) {
  if (length == 0) return;
  if (is_remote(user, packed)) [[unlikely]]
    return move_remote<kPack>(user, count, type, packed, start, length);
  Mover<kPack> mover{packed};
  if (type.is_contiguous()) return mover.block(user + start, length);
  LayoutNode outer;
  const PlacedLayout layout = repeat_layout(placed_layout(type), count, type.extent(), &outer);
  CHECK(start >= 0 && length > 0 && start + length <= layout.size);
  if (layout.node == nullptr) return mover.block(user + layout.offset + start, length);
  move_range(*layout.node, user + layout.offset, start, start + length, mover);
}

// The same where a buffer is in another process, range by range.
template <bool kPack>
void move_remote(char* user, Count count, const DatatypeObject& type, char* packed, Count start,
                 Count length) {
  if (is_remote(packed)) {
    const auto staging = std::make_unique_for_overwrite<char[]>(static_cast<size_t>(length));
    if (!kPack) copy_bytes(staging.get(), packed, static_cast<size_t>(length));
    move<kPack>(user, count, type, staging.get(), start, length);
    if (kPack) copy_bytes(packed, staging.get(), static_cast<size_t>(length));
    return;
  }
  std::vector<RemoteRange> ranges;
  ByteRangeCursor cursor(type, count);
  cursor.seek(start);
  ByteRange range;
  for (Count left = length; left > 0 && cursor.next(&range, left); left -= range.length)
    ranges.push_back({user + range.offset, static_cast<size_t>(range.length)});
  if constexpr (kPack) {
    remote_memory().read(ranges.data(), ranges.size(), packed);
  } else {
    remote_memory().write(ranges.data(), ranges.size(), packed);
  }
}

}  // namespace

void pack_range(const void* buffer, Count count, const DatatypeObject& type, void* out, Count start,
                Count length) {
  move<true>(const_cast<char*>(static_cast<const char*>(buffer)), count, type,
             static_cast<char*>(out), start, length);
}

void unpack_range(const void* packed, void* buffer, Count count, const DatatypeObject& type,
                  Count start, Count length) {
  move<false>(static_cast<char*>(buffer), count, type,
              const_cast<char*>(static_cast<const char*>(packed)), start, length);
}

void pack_all(const void* buffer, Count count, const DatatypeObject& type, void* out) {
  pack_range(buffer, count, type, out, 0, count * type.size());
}

void unpack_all(const void* packed, void* buffer, Count count, const DatatypeObject& type) {
  unpack_range(packed, buffer, count, type, 0, count * type.size());
}

Count copy_typed(const void* source, Count source_count, const DatatypeObject& source_type,
                 void* target, Count target_count, const DatatypeObject& target_type) {
  const Count total =
      std::min(source_count * source_type.size(), target_count * target_type.size());
  if (total == 0) return 0;
  if (source_type.is_contiguous()) {
    unpack_range(source, target, target_count, target_type, 0, total);
    return total;
  }
  if (target_type.is_contiguous()) {
    pack_range(source, source_count, source_type, target, 0, total);
    return total;
  }
  char on_stack[kStackStaging];
  std::unique_ptr<char[]> on_heap;
  char* staging = on_stack;
  Count staged = kStackStaging;
  if (total > staged) {
    staged = std::min(total, kHeapStaging);
    on_heap = std::make_unique_for_overwrite<char[]>(static_cast<size_t>(staged));
    staging = on_heap.get();
  }
  for (Count start = 0; start < total; start += staged) {
    const Count length = std::min(staged, total - start);
    pack_range(source, source_count, source_type, staging, start, length);
    unpack_range(staging, target, target_count, target_type, start, length);
  }
  return total;
}

int pack(const DatatypeTable& table, const void* in, Count in_count, Datatype datatype, void* out,
         Count out_size, Count* position) {
  const DatatypeObject* type = table.find(datatype);
  if (in_count < 0) return MPI_ERR_COUNT;
  if (type == nullptr || !type->is_committed()) return MPI_ERR_TYPE;
  if (position == nullptr || *position < 0 || out_size < 0) return MPI_ERR_ARG;
  const Count size = in_count * type->size();
  if (size > out_size - *position) return MPI_ERR_ARG;
  pack_all(in, in_count, *type, static_cast<char*>(out) + *position);
  *position += size;
  return MPI_SUCCESS;
}

int unpack(const DatatypeTable& table, const void* in, Count in_size, Count* position, void* out,
           Count out_count, Datatype datatype) {
  const DatatypeObject* type = table.find(datatype);
  if (out_count < 0) return MPI_ERR_COUNT;
  if (type == nullptr || !type->is_committed()) return MPI_ERR_TYPE;
  if (position == nullptr || *position < 0 || in_size < 0) return MPI_ERR_ARG;
  const Count size = out_count * type->size();
  if (size > in_size - *position) return MPI_ERR_ARG;
  unpack_all(static_cast<const char*>(in) + *position, out, out_count, *type);
  *position += size;
  return MPI_SUCCESS;
}

int pack_size(const DatatypeTable& table, Count count, Datatype datatype, Count* size) {
  const DatatypeObject* type = table.find(datatype);
  if (count < 0) return MPI_ERR_COUNT;
  if (type == nullptr) return MPI_ERR_TYPE;
  if (size == nullptr) return MPI_ERR_ARG;
  *size = count * type->size();
  return MPI_SUCCESS;
}

}  // namespace sesame::mpi
