// How the ranks' versions of C library functions are written. Each is a function `rank_NAME` that
// serves the active rank, and calls REAL(NAME) when there is none. It is bound directly into the
// ranks' copies (bindings.h); GLOBAL_NAME exports it besides under its C name, for the shared
// libraries that all ranks use (libstdc++ and the like).
#pragma once

#include <dlfcn.h>

#include <cerrno>

// The C library's own function: the next definition after the executable's.
#define REAL(name)                                                                  \
  (*[]() {                                                                          \
    static constinit decltype(&::name) function = nullptr;                          \
    if (function == nullptr) function = (decltype(&::name))dlsym(RTLD_NEXT, #name); \
    return function;                                                                \
  }())

// Use after the definition of extern "C" rank_NAME, in the same file. The assembler name avoids
// conflicts with the declarations (and macros) of the C library's headers.
#define GLOBAL_NAME_AS(symbol, name)                                  \
  extern "C" [[gnu::alias("rank_" #name), gnu::visibility("default"), \
               gnu::used]] decltype(rank_##name) global_##symbol __asm__(#symbol)
#define GLOBAL_NAME(name) GLOBAL_NAME_AS(name, name)

#define BIND(table, name) (table).push_back({#name, reinterpret_cast<void*>(&rank_##name)})
#define BIND_AS(table, symbol, name) \
  (table).push_back({symbol, reinterpret_cast<void*>(&rank_##name)})

namespace sesame::loader {

// Sets errno and returns -1.
inline int fail(int code) {
  errno = code;
  return -1;
}

}  // namespace sesame::loader
