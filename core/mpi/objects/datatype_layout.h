// Makes the layouts of datatypes (layout_node.h). Adjacent blocks are joined and regular sequences
// become strided loops.
//
// Use: layout_of_type_map() makes the layout of a new datatype; DatatypeObject::layout() returns
// it. All numbers are bytes, except counts.
#pragma once

#include "core/mpi/objects/constants.h"
#include "core/mpi/objects/layout_node.h"

namespace sesame::mpi {

class DatatypeObject;
struct TypeMap;

// A node at an offset or, if `node` is null, `size` contiguous bytes.
struct PlacedLayout {
  Aint offset = 0;
  Count size = 0;
  const LayoutNode* node = nullptr;
};

// `count` repetitions of `child`, `stride` bytes apart. Uses `node`, which the caller owns, if a
// new loop is needed: the result refers to `node`, to the child's node, or to none.
PlacedLayout repeat_layout(const PlacedLayout& child, Count count, Aint stride, LayoutNode* node);

// The layout of a type map of `size` bytes; `storage` owns the new nodes.
PlacedLayout layout_of_type_map(const TypeMap& type_map, Count size, LayoutStorage& storage);

// The layout of one copy of a type.
PlacedLayout placed_layout(const DatatypeObject& type);

}  // namespace sesame::mpi
