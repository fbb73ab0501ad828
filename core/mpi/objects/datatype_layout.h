// The optimised form of a type map: a loop nest over contiguous blocks, adjacent blocks joined,
// regular sequences turned into strided loops. It keeps the order of the type map and forgets the
// basic types. All numbers are bytes; offsets count from wherever the parent places the node.
// Nodes are owned by the LayoutStorage of the datatype that made them; a derived type keeps the
// types alive whose nodes it uses.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "core/mpi/objects/constants.h"

namespace sesame::mpi {

class DatatypeObject;
struct TypeMap;

struct LayoutNode {
  enum class Kind : uint8_t {
    kBlock,          // `block` bytes
    kStridedBlocks,  // `count` blocks of `block` bytes, `stride` apart
    kUniformBlocks,  // `count` blocks of `block` bytes at offsets[i]
    kBlocks,         // `count` blocks at offsets[i], starts[i + 1] - starts[i] bytes each
    kStrided,        // `count` times *child, `stride` apart
    kSequence,       // *children[i] at offsets[i], packed from starts[i]
  };
  Kind kind = Kind::kBlock;
  Count size = 0;    // packed bytes of the whole
  Count pieces = 1;  // contiguous blocks in the whole
  Count count = 1;
  Count block = 0;
  Aint stride = 0;
  const LayoutNode* child = nullptr;
  const Aint* offsets = nullptr;
  const Count* starts = nullptr;  // count + 1 entries
  const LayoutNode* const* children = nullptr;
};

// A node somewhere, or, when `node` is null, just `size` contiguous bytes.
struct LayoutPart {
  Aint offset = 0;
  Count size = 0;
  const LayoutNode* node = nullptr;
};

class LayoutStorage {
 public:
  LayoutNode* add_node() { return nodes_.emplace_back(std::make_unique<LayoutNode>()).get(); }
  const Count* add_numbers(std::vector<Count> numbers) {
    return numbers_.emplace_back(std::move(numbers)).data();
  }
  const Aint* add_offsets(std::vector<Aint> offsets) {
    return offsets_.emplace_back(std::move(offsets)).data();
  }
  const LayoutNode* const* add_children(std::vector<const LayoutNode*> children) {
    return children_.emplace_back(std::move(children)).data();
  }

 private:
  std::vector<std::unique_ptr<LayoutNode>> nodes_;
  std::vector<std::vector<Count>> numbers_;
  std::vector<std::vector<Aint>> offsets_;
  std::vector<std::vector<const LayoutNode*>> children_;
};

// `child` `count` times, `stride` apart; fills `node` (its caller's) when a new loop is needed.
// The result refers to `node`, to the child's node, or to none.
LayoutPart repeat_layout(const LayoutPart& child, Count count, Aint stride, LayoutNode* node);

// The layout of a type whose type_map is given.
LayoutPart layout_of_shape(const TypeMap& type_map, Count size, LayoutStorage& storage);

LayoutPart layout_part(const DatatypeObject& type);

}  // namespace sesame::mpi
