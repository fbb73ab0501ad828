// The inner loops of the predefined operations: one function for each operation and representation.
// Internal to the operation code; each family is in a file of its own to keep builds short.
#pragma once

#include "core/mpi/objects/constants.h"
#include "core/mpi/objects/datatype_predefined.h"

namespace sesame::mpi {

// inout[i] = in[i] op inout[i] for i < count; the arrays do not overlap. All these operations are
// commutative. They compute combine(inout[i], in[i]), as MPICH and Open MPI do, since the order
// shows in NaNs and in the sign of zero.
using ReduceFunction = void (*)(const void* in, void* inout, Count count);

// Null if the family does not have the operation or the representation.
ReduceFunction integer_reduction(Op op, BasicKind kind);
ReduceFunction floating_reduction(Op op, BasicKind kind);
ReduceFunction complex_reduction(Op op, BasicKind kind);
ReduceFunction logical_reduction(Op op, BasicKind kind);
// MINLOC and MAXLOC on {value, index}.
ReduceFunction pair_reduction(Op op, BasicKind value, BasicKind index);

template <typename T, typename F>
void reduce_loop(const void* in, void* inout, Count count) {
  const T* __restrict from = static_cast<const T*>(in);
  T* __restrict to = static_cast<T*>(inout);
  for (Count i = 0; i < count; ++i) to[i] = F::combine(to[i], from[i]);
}

// If the values are equal (such as 0 and -0) or one is a NaN, the result is `b`, that is, in[i].
struct Largest {
  template <typename T>
  static T combine(T a, T b) {
    return a > b ? a : b;
  }
};
struct Smallest {
  template <typename T>
  static T combine(T a, T b) {
    return a < b ? a : b;
  }
};
struct Sum {
  template <typename T>
  static T combine(T a, T b) {
    return static_cast<T>(a + b);
  }
};
struct Product {
  template <typename T>
  static T combine(T a, T b) {
    return static_cast<T>(a * b);
  }
};
struct LogicalAnd {
  template <typename T>
  static T combine(T a, T b) {
    return static_cast<T>(a != 0 && b != 0);
  }
};
struct LogicalOr {
  template <typename T>
  static T combine(T a, T b) {
    return static_cast<T>(a != 0 || b != 0);
  }
};
struct LogicalXor {
  template <typename T>
  static T combine(T a, T b) {
    return static_cast<T>((a != 0) != (b != 0));
  }
};
struct BitAnd {
  template <typename T>
  static T combine(T a, T b) {
    return static_cast<T>(a & b);
  }
};
struct BitOr {
  template <typename T>
  static T combine(T a, T b) {
    return static_cast<T>(a | b);
  }
};
struct BitXor {
  template <typename T>
  static T combine(T a, T b) {
    return static_cast<T>(a ^ b);
  }
};

template <typename T>
ReduceFunction arithmetic_loop(Op op) {
  switch (op) {
    case MPI_MAX:
      return reduce_loop<T, Largest>;
    case MPI_MIN:
      return reduce_loop<T, Smallest>;
    case MPI_SUM:
      return reduce_loop<T, Sum>;
    case MPI_PROD:
      return reduce_loop<T, Product>;
    default:
      return nullptr;
  }
}

template <typename T>
ReduceFunction logical_loop(Op op) {
  switch (op) {
    case MPI_LAND:
      return reduce_loop<T, LogicalAnd>;
    case MPI_LOR:
      return reduce_loop<T, LogicalOr>;
    case MPI_LXOR:
      return reduce_loop<T, LogicalXor>;
    default:
      return nullptr;
  }
}

template <typename T>
ReduceFunction bitwise_loop(Op op) {
  switch (op) {
    case MPI_BAND:
      return reduce_loop<T, BitAnd>;
    case MPI_BOR:
      return reduce_loop<T, BitOr>;
    case MPI_BXOR:
      return reduce_loop<T, BitXor>;
    default:
      return nullptr;
  }
}

}  // namespace sesame::mpi
