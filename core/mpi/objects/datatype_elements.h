// Iteration over the basic elements of a type in type-map order, for conversions between
// representations, which cannot work on bytes alone.
#pragma once

#include "core/mpi/objects/datatype.h"
#include "core/mpi/objects/datatype_predefined.h"

namespace sesame::mpi {

// Calls f(basic type object, offset, count) for each run of `count` adjacent basic elements of
// `copies` copies of `type` at `offset` bytes, until f returns false. Returns whether it reached
// the end.
template <typename F>
bool for_each_element(const DatatypeObject& type, Aint offset, Count copies, F&& f) {
  const TypeMap& type_map = type.type_map();
  if (type.bounds().element_count == 0 || copies == 0) return true;
  if (type_map.kind == TypeMap::Kind::kBasic) return f(type, offset, copies);
  for (Count copy = 0; copy < copies; ++copy) {
    const Aint start = offset + copy * type.extent();
    for (Count i = 0; i < type_map.count; ++i) {
      if (!for_each_element(type_map.block_type(i), start + type_map.block_displacement(i),
                            type_map.block_length(i), f)) {
        return false;
      }
    }
  }
  return true;
}

}  // namespace sesame::mpi
