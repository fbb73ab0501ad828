// The variables of the C library that each rank has for itself, and the symbols that name them.
// Internal to the loader.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace sesame::loader {

// Their storage is the program's own where the linker gave it one (R_X86_64_COPY), else the rank's
// block.
enum class Variable : uint8_t {
  kStdin,
  kStdout,
  kStderr,
  kEnviron,
  kOptarg,
  kOptind,
  kOpterr,
  kOptopt,
  kProgramName,
  kProgramShortName,
  kSignOfGamma,
  kCount
};
inline constexpr size_t kVariableCount = static_cast<size_t>(Variable::kCount);

// Which variable a symbol names, or kCount.
Variable variable_named(std::string_view symbol);

}  // namespace sesame::loader
