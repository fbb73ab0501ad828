// Stands in for core/loader/real.h in the library of a rank that is a process of its own: the
// functions are bound by their names, since the library is preloaded.
#pragma once

#include <dlfcn.h>

#include <cerrno>

// The C library's own function: the next definition after this library's.
#define REAL(name)                                                                  \
  (*[]() {                                                                          \
    static constinit decltype(&::name) function = nullptr;                          \
    if (function == nullptr) function = (decltype(&::name))dlsym(RTLD_NEXT, #name); \
    return function;                                                                \
  }())

#define GLOBAL_NAME_AS(symbol, name)
#define GLOBAL_NAME(name)

// Defines the function `symbol`, which is rank_NAME. The assembler does it, because headers of the
// C library declare some of these names in other ways.
#define BIND_AS(table, symbol, name)         \
  (void)(table);                             \
  __asm__(                                   \
      ".pushsection .text\n"                 \
      ".globl " symbol                       \
      "\n"                                   \
      ".type " symbol ", @function\n" symbol \
      ":\n"                                  \
      "  jmp rank_" #name                    \
      "\n"                                   \
      ".size " symbol ", . - " symbol        \
      "\n"                                   \
      ".popsection")
#define BIND(table, name) BIND_AS(table, #name, name)

namespace sesame::loader {

// Sets errno and returns -1.
inline int fail(int code) {
  errno = code;
  return -1;
}

}  // namespace sesame::loader
