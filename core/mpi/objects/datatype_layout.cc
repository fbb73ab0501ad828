#include "core/mpi/objects/datatype_layout.h"

#include <utility>

#include "core/mpi/objects/datatype.h"

namespace sesame::mpi {
namespace {

using Kind = LayoutNode::Kind;

// A sequence of at most this many blocks, or of at most two blocks for each part, is stored as a
// flat list of blocks.
constexpr Count kFlatBlocks = 64;

template <typename F>
void for_each_block(const PlacedLayout& part, F&& f) {
  const LayoutNode* node = part.node;
  if (node == nullptr) return f(part.offset, part.size);
  for (Count i = 0; i < node->count; ++i) {
    switch (node->kind) {
      case Kind::kBlock:
        f(part.offset, node->block);
        break;
      case Kind::kStridedBlocks:
        f(part.offset + i * node->stride, node->block);
        break;
      case Kind::kUniformBlocks:
        f(part.offset + node->offsets[i], node->block);
        break;
      case Kind::kBlocks:
        f(part.offset + node->offsets[i], node->starts[i + 1] - node->starts[i]);
        break;
      case Kind::kStrided:
        for_each_block({part.offset + i * node->stride, 0, node->child}, f);
        break;
      case Kind::kSequence:
        for_each_block({part.offset + node->offsets[i], 0, node->children[i]}, f);
        break;
    }
  }
}

Count blocks_of(const PlacedLayout& part) {
  return part.node == nullptr ? 1 : part.node->block_count;
}

void append(std::vector<PlacedLayout>& parts, const PlacedLayout& part) {
  if (part.size == 0) return;
  if (!parts.empty() && part.node == nullptr && parts.back().node == nullptr &&
      parts.back().offset + parts.back().size == part.offset) {
    parts.back().size += part.size;
  } else {
    parts.push_back(part);
  }
}

bool all_blocks(const std::vector<PlacedLayout>& parts) {
  for (const PlacedLayout& part : parts) {
    if (part.node != nullptr) return false;
  }
  return true;
}

bool is_uniform(const std::vector<PlacedLayout>& parts) {
  for (const PlacedLayout& part : parts) {
    if (part.node != parts[0].node || part.size != parts[0].size) return false;
  }
  return true;
}

bool is_regular(const std::vector<PlacedLayout>& parts) {
  const Aint stride = parts[1].offset - parts[0].offset;
  for (size_t i = 2; i < parts.size(); ++i) {
    if (parts[i].offset - parts[i - 1].offset != stride) return false;
  }
  return true;
}

void flatten_small(std::vector<PlacedLayout>& parts) {
  Count block_count = 0;
  for (const PlacedLayout& part : parts) block_count += blocks_of(part);
  if (block_count > kFlatBlocks && block_count > 2 * static_cast<Count>(parts.size())) return;
  std::vector<PlacedLayout> flat;
  for (const PlacedLayout& part : parts) {
    for_each_block(part, [&](Aint offset, Count size) { append(flat, {offset, size, nullptr}); });
  }
  parts = std::move(flat);
}

// One layout for the parts, in their order.
PlacedLayout sequence(std::vector<PlacedLayout> parts, LayoutStorage& storage) {
  if (!all_blocks(parts)) flatten_small(parts);
  if (parts.empty()) return {};
  if (parts.size() == 1) return parts[0];
  const bool uniform = is_uniform(parts);
  if (uniform && is_regular(parts)) {
    return repeat_layout(parts[0], static_cast<Count>(parts.size()),
                         parts[1].offset - parts[0].offset, storage.add_node());
  }
  std::vector<Aint> offsets;
  std::vector<Count> starts{0};
  std::vector<const LayoutNode*> children;
  const bool blocks = all_blocks(parts);
  LayoutNode* node = storage.add_node();
  node->kind = !blocks ? Kind::kSequence : uniform ? Kind::kUniformBlocks : Kind::kBlocks;
  node->count = static_cast<Count>(parts.size());
  node->block = uniform ? parts[0].size : 0;
  node->block_count = 0;
  for (const PlacedLayout& part : parts) {
    offsets.push_back(part.offset);
    node->size += part.size;
    node->block_count += blocks_of(part);
    if (!uniform || !blocks) starts.push_back(node->size);
    if (blocks) continue;
    children.push_back(part.node);
    if (part.node == nullptr) {
      LayoutNode* block = storage.add_node();
      block->size = block->block = part.size;
      children.back() = block;
    }
  }
  node->offsets = storage.add_offsets(std::move(offsets));
  if (starts.size() > 1) node->starts = storage.add_numbers(std::move(starts));
  if (!blocks) node->children = storage.add_children(std::move(children));
  return {0, node->size, node};
}

PlacedLayout repeat_type(const DatatypeObject& type, Count count, LayoutStorage& storage) {
  const PlacedLayout part = placed_layout(type);
  if (count == 1 || part.size == 0 || type.is_contiguous()) {
    return {part.offset, part.size * count, part.node};
  }
  return repeat_layout(part, count, type.extent(), storage.add_node());
}

PlacedLayout layout_of_blocks(const TypeMap& type_map, LayoutStorage& storage) {
  std::vector<PlacedLayout> parts;
  PlacedLayout repeated;
  const DatatypeObject* last_type = nullptr;
  Count last_length = -1;
  for (Count i = 0; i < type_map.count; ++i) {
    const DatatypeObject& type = type_map.block_type(i);
    const Count length = type_map.block_length(i);
    if (length == 0 || type.size() == 0) continue;
    if (&type != last_type || length != last_length) {
      repeated = repeat_type(type, length, storage);
      last_type = &type;
      last_length = length;
    }
    append(parts, {type_map.displacements[i] + repeated.offset, repeated.size, repeated.node});
  }
  return sequence(std::move(parts), storage);
}

}  // namespace

PlacedLayout repeat_layout(const PlacedLayout& child, Count count, Aint stride, LayoutNode* node) {
  if (count == 0 || child.size == 0) return {};
  if (count == 1) return child;
  if (child.node == nullptr && child.size == stride) {
    return {child.offset, child.size * count, nullptr};
  }
  node->size = child.size * count;
  node->block_count = blocks_of(child) * count;
  node->count = count;
  node->stride = stride;
  if (child.node == nullptr) {
    node->kind = Kind::kStridedBlocks;
    node->block = child.size;
  } else if ((child.node->kind == Kind::kStridedBlocks || child.node->kind == Kind::kStrided) &&
             stride == child.node->count * child.node->stride) {
    node->kind = child.node->kind;
    node->count = count * child.node->count;
    node->stride = child.node->stride;
    node->block = child.node->block;
    node->child = child.node->child;
  } else {
    node->kind = Kind::kStrided;
    node->child = child.node;
  }
  return {child.offset, node->size, node};
}

PlacedLayout layout_of_type_map(const TypeMap& type_map, Count size, LayoutStorage& storage) {
  if (size == 0) return {};
  if (type_map.kind == TypeMap::Kind::kBasic) return {0, size, nullptr};
  if (type_map.kind == TypeMap::Kind::kStruct) return layout_of_blocks(type_map, storage);
  PlacedLayout block = repeat_type(*type_map.types[0], type_map.blocklength, storage);
  block.offset += type_map.displacement;
  if (type_map.count == 1) return block;
  return repeat_layout(block, type_map.count, type_map.stride, storage.add_node());
}

PlacedLayout placed_layout(const DatatypeObject& type) {
  const LayoutNode& node = type.layout();
  return {type.layout_offset(), node.size, node.kind == Kind::kBlock ? nullptr : &node};
}

}  // namespace sesame::mpi
