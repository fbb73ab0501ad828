// What a statically linked program gets in place of some functions of its C library: those that
// manage what the program has once, and our C library as well.
//
// Use: own_functions() for the patches, then use() before the program starts. One program.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>

#include "core/base/error.h"
#include "core/remote/static/image.h"
#include "core/remote/static/patches.h"

namespace sesame::remote {

std::span<const OwnFunction> own_functions();

struct ProgramCalls {
  std::string path;                 // of the program
  std::function<void()> on_memory;  // called when it first asks for memory: it is relocated then
};
// An Error if the program lacks what its C library must have.
Result<> use(ProgramCalls calls, const StaticSymbols& symbols, const StaticImage& image);

// Distance of its errno from its thread pointer. REQUIRES: use() has succeeded.
Result<int64_t> errno_offset(const StaticSymbols& symbols, const loader::ElfFile& file);

// To be called by the program when it ends.
void end_program();

}  // namespace sesame::remote
