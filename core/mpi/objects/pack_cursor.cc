// ByteRangeCursor: an iteration over a layout's blocks that can start at any packed byte. It uses a
// stack of its own instead of recursion: a frame (node, offset, index) for each nesting level.
#include <algorithm>
#include <vector>

#include "core/mpi/objects/datatype.h"
#include "core/mpi/objects/datatype_layout.h"
#include "core/mpi/objects/pack.h"

namespace sesame::mpi {
namespace {

using Kind = LayoutNode::Kind;

Aint position_of(const LayoutNode& node, Count index) {
  switch (node.kind) {
    case Kind::kBlock:
      return 0;
    case Kind::kStridedBlocks:
    case Kind::kStrided:
      return index * node.stride;
    default:
      return node.offsets[index];
  }
}

const LayoutNode* child_of(const LayoutNode& node, Count index) {
  if (node.kind == Kind::kStrided) return node.child;
  return node.kind == Kind::kSequence ? node.children[index] : nullptr;
}

Count block_of(const LayoutNode& node, Count index) {
  return node.kind == Kind::kBlocks ? node.starts[index + 1] - node.starts[index] : node.block;
}

// Returns the entry that holds this packed byte. Sets *byte to the byte's position in the entry.
Count descend(const LayoutNode& node, Count* byte) {
  if (node.starts != nullptr) {
    const Count index =
        std::upper_bound(node.starts, node.starts + node.count + 1, *byte) - node.starts - 1;
    *byte -= node.starts[index];
    return index;
  }
  const Count size = node.size / node.count;
  const Count index = *byte / size;
  *byte -= index * size;
  return index;
}

}  // namespace

struct ByteRangeCursor::State {
  struct Frame {
    const LayoutNode* node;
    Aint offset;
    Count index;
  };

  LayoutNode outer;  // the loop over the copies, if one is needed
  LayoutNode block;  // the whole layout, if it is one block
  PlacedLayout whole;
  std::vector<Frame> frames;
  ByteRange ahead{0, 0};  // found but not returned yet

  // The next block of the layout, not joined; false at the end.
  bool advance(ByteRange* range) {
    while (!frames.empty()) {
      Frame& frame = frames.back();
      const LayoutNode& node = *frame.node;
      if (frame.index == node.count) {
        frames.pop_back();
        continue;
      }
      const Count index = frame.index++;
      const Aint offset = frame.offset + position_of(node, index);
      if (const LayoutNode* child = child_of(node, index)) {
        frames.push_back({child, offset, 0});
        continue;
      }
      *range = {offset, block_of(node, index)};
      return true;
    }
    return false;
  }
};

ByteRangeCursor::ByteRangeCursor(const DatatypeObject& type, Count count)
    : state_(std::make_unique<State>()) {
  State& state = *state_;
  state.whole = repeat_layout(placed_layout(type), count, type.extent(), &state.outer);
  if (state.whole.node == nullptr) {
    state.block.size = state.block.block = state.whole.size;
    state.whole.node = &state.block;
  }
  seek(0);
}

ByteRangeCursor::~ByteRangeCursor() = default;
ByteRangeCursor::ByteRangeCursor(ByteRangeCursor&&) noexcept = default;

void ByteRangeCursor::seek(Count packed_byte) {
  State& state = *state_;
  state.frames.clear();
  state.ahead = {0, 0};
  if (packed_byte < 0 || packed_byte >= state.whole.size) return;
  const LayoutNode* node = state.whole.node;
  Aint offset = state.whole.offset;
  while (true) {
    const Count index = descend(*node, &packed_byte);
    state.frames.push_back({node, offset, index + 1});
    offset += position_of(*node, index);
    const LayoutNode* child = child_of(*node, index);
    if (child == nullptr) {
      state.ahead = {offset + packed_byte, block_of(*node, index) - packed_byte};
      return;
    }
    node = child;
  }
}

bool ByteRangeCursor::next(ByteRange* range, Count limit) {
  State& state = *state_;
  ByteRange found = state.ahead;
  state.ahead = {0, 0};
  if (found.length == 0 && !state.advance(&found)) return false;
  ByteRange following;
  while (found.length < limit && state.advance(&following)) {
    if (found.offset + found.length != following.offset) {
      state.ahead = following;
      break;
    }
    found.length += following.length;
  }
  if (found.length > limit) {
    // Here nothing was read ahead, so that `ahead` is unused.
    state.ahead = {found.offset + limit, found.length - limit};
    found.length = limit;
  }
  *range = found;
  return true;
}

}  // namespace sesame::mpi
