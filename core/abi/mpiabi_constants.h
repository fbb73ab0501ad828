// Translation between the constants of the MPI 5 standard interface and those of Sesame (core/mpi).
// A value without counterpart becomes the caller's `otherwise`.
#pragma once

#include <array>
#include <cstddef>

#include "core/mpi/calls/tools.h"
#include "core/mpi/objects/constants.h"

namespace sesame::abi {

enum class ConstantKind {
  access_mode,
  combiner,
  comm,
  comparison,
  datatype,
  distribution,
  distribution_argument,
  errhandler,
  error,
  group,
  info,
  keyval,
  lock_type,
  message,
  op,
  order,
  rank,
  request,
  session,
  split_type,
  tag,
  thread_level,
  topology,
  typeclass,
  whence,
  win,
  win_assertion,
  win_flavor,
  win_model,
};

struct Constant {
  ConstantKind kind;
  int inside;
  int abi;
};

inline constexpr Constant kConstants[] = {
#define SESAME_ABI_CONSTANT(kind, name, value) {ConstantKind::kind, mpi::name, value},
#include "core/abi/mpiabi_constants.def"
#undef SESAME_ABI_CONSTANT
};

template <ConstantKind kind>
inline constexpr auto kConstantsOf = [] {
  constexpr size_t size = [] {
    size_t count = 0;
    for (const Constant& constant : kConstants) count += constant.kind == kind;
    return count;
  }();
  std::array<Constant, size> constants{};
  size_t next = 0;
  for (const Constant& constant : kConstants) {
    if (constant.kind == kind) constants[next++] = constant;
  }
  return constants;
}();

template <ConstantKind kind>
constexpr int constant_in(int abi, int otherwise) {
  for (const Constant& constant : kConstantsOf<kind>) {
    if (constant.abi == abi) return constant.inside;
  }
  return otherwise;
}

template <ConstantKind kind>
constexpr int constant_out(int inside, int otherwise) {
  for (const Constant& constant : kConstantsOf<kind>) {
    if (constant.inside == inside) return constant.abi;
  }
  return otherwise;
}

// The same by table where a search would be long and the call is a common one. The standard gives
// datatypes the numbers 0x200 to 0x2ff.
inline constexpr int kFirstDatatype = 0x200;
inline constexpr auto kDatatypesIn = [] {
  std::array<int, 0x100> handles{};
  for (const Constant& constant : kConstantsOf<ConstantKind::datatype>) {
    handles[static_cast<size_t>(constant.abi - kFirstDatatype)] = constant.inside;
  }
  return handles;
}();

template <>
constexpr int constant_in<ConstantKind::datatype>(int abi, int otherwise) {
  const unsigned index = static_cast<unsigned>(abi - kFirstDatatype);
  return index < kDatatypesIn.size() && kDatatypesIn[index] != 0 ? kDatatypesIn[index] : otherwise;
}

}  // namespace sesame::abi
