// The optimised form of a type map, which pack.h executes: a loop nest over contiguous blocks. The
// order of the type map is kept, its basic types are not. datatype_layout.h makes it.
//
// All numbers are bytes, except counts; offsets are relative to that of the node itself.
// Ownership: the LayoutStorage of a datatype owns the nodes that were made for it. A derived type
// uses nodes of other types, too, and holds references to these types.
#pragma once

#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "core/mpi/objects/constants.h"

namespace sesame::mpi {

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
  Count size = 0;         // packed bytes of the whole node
  Count block_count = 1;  // contiguous blocks in the whole node
  Count count = 1;
  Count block = 0;
  Aint stride = 0;
  const LayoutNode* child = nullptr;
  const Aint* offsets = nullptr;
  const Count* starts = nullptr;  // count + 1 entries
  const LayoutNode* const* children = nullptr;
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

}  // namespace sesame::mpi
