// Translation between the constants of a binary interface other than MPICH's, which the file
// SESAME_ABI_CONSTANTS lists, and those of Sesame (core/mpi). A value without counterpart becomes
// the caller's `otherwise`.
#pragma once

#include <array>
#include <cstddef>

#include "core/mpi/calls/tools.h"
#include "core/mpi/communicators/split_types.h"
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
#include SESAME_ABI_CONSTANTS
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

}  // namespace sesame::abi
