// The data of collectives: typed ranges of the program's buffers (Source, Target), the vectors of a
// reduction, and local copies. Counts are elements, offsets bytes. The buffers belong to the
// program. Only copy_own() and Reduction::combine() take simulated time.
#pragma once

#include <cstdint>
#include <cstring>

#include "core/mpi/messages/transfer.h"
#include "core/mpi/objects/constants.h"
#include "core/mpi/objects/datatype.h"
#include "core/mpi/objects/datatype_predefined.h"
#include "core/mpi/objects/memory.h"
#include "core/mpi/objects/op.h"
#include "core/mpi/objects/pack.h"

namespace sesame::mpi::collectives {

// Address arithmetic by integers, since the base may be MPI_BOTTOM (null).
inline char* shift(void* base, Aint bytes) {
  return reinterpret_cast<char*>(reinterpret_cast<uintptr_t>(base) + static_cast<uintptr_t>(bytes));
}
inline const char* shift(const void* base, Aint bytes) {
  return shift(const_cast<void*>(base), bytes);
}

// A buffer to send from and one to receive into. Both hold a reference to their type, so that a
// non-blocking collective may capture them. The type of MPI_IN_PLACE is null.
struct Source {
  const void* data = nullptr;
  Count count = 0;
  DatatypeRef type;

  bool is_in_place() const { return data == MPI_IN_PLACE; }
  Count bytes() const { return count * type->size(); }
  const void* at(Count elements) const { return shift(data, elements * type->extent()); }
};

struct Target {
  void* data = nullptr;
  Count count = 0;
  DatatypeRef type;

  Count bytes() const { return count * type->size(); }
  void* at(Count elements) const { return shift(data, elements * type->extent()); }
};

inline const DatatypeObject& byte_type() {
  static const DatatypeObject* const type = predefined_object(MPI_BYTE);
  return *type;
}

// Copies as many elements as both sides have; converts between layouts.
inline void copy(const void* from, Count from_count, const DatatypeObject& from_type, void* to,
                 Count to_count, const DatatypeObject& to_type) {
  if (from_type.is_contiguous() && to_type.is_contiguous()) {
    const Count from_bytes = from_count * from_type.size();
    const Count to_bytes = to_count * to_type.size();
    const Count bytes = from_bytes < to_bytes ? from_bytes : to_bytes;
    if (bytes > 0 && from != to) copy_bytes(to, from, static_cast<size_t>(bytes));
  } else if (from != to || &from_type != &to_type) {
    copy_typed(from, from_count, from_type, to, to_count, to_type);
  }
}

// Copies a rank's block for itself and charges the time that this takes in the machine's memory.
inline void copy_own(Transfer& transfer, const void* from, Count from_count,
                     const DatatypeObject& from_type, void* to, Count to_count,
                     const DatatypeObject& to_type) {
  copy(from, from_count, from_type, to, to_count, to_type);
  if (from != to) transfer.charge_copy_time(from_count * from_type.size());
}

inline void pack(const void* from, Count count, const DatatypeObject& type, char* to) {
  copy(from, count, type, to, count * type.size(), byte_type());
}
inline void unpack(const char* from, void* to, Count count, const DatatypeObject& type) {
  copy(from, count * type.size(), byte_type(), to, count, type);
}

// The elementwise reduction of vectors of `count` elements by `op`.
struct Reduction {
  Count count = 0;
  DatatypeRef type;
  OpRef op;

  Count bytes() const { return count * type->size(); }
  bool is_commutative() const { return op->is_commutative(); }
  Aint offset(Count elements) const { return elements * type->extent(); }

  // inout[i] = in[i] op inout[i], in no simulated time.
  void apply(const void* in, void* inout, Count elements) const {
    if (elements > 0) reduce_local(in, inout, elements, *type, *op);
  }
  // The same by the running rank, in the time that it takes on the machine.
  void combine(const void* in, void* inout, Count elements) const {
    apply(in, inout, elements);
    charge_reduction_time(elements * type->size());
  }
  void copy_elements(const void* from, void* to, Count elements) const {
    copy(from, elements, *type, to, elements, *type);
  }
};

inline int first_error(int first, int second) { return first != MPI_SUCCESS ? first : second; }

}  // namespace sesame::mpi::collectives
