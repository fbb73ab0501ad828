// Makes the functions of a statically linked program jump to ours, by its symbol table: those of
// MPI, and those of its C library that ask for time and files. What its C library does above them,
// for instance streams, stays its own.
//
// Use: construct before the process becomes the rank, then apply() to the image while that is
// writable, and copy_constants() when the program has relocated itself. The program's file must be
// there until apply() has returned.
#pragma once

#include <elf.h>

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "core/base/error.h"
#include "core/loader/elf_file.h"
#include "core/remote/static/image.h"

namespace sesame::remote {

// The symbols of a program by name.
class StaticSymbols {
 public:
  // `file` outlives it.
  explicit StaticSymbols(const loader::ElfFile& file);
  // Null: there is none. Functions of the C library, which have names with an underscore in front,
  // are found also where the linker has made them local (-static-pie).
  const Elf64_Sym* find(std::string_view name) const;
  // Whether a function is the C library's, not one of the program with such a name.
  bool is_of_library(const Elf64_Sym& function) const;

 private:
  bool calls(const Elf64_Sym& function, const char* code, std::string_view to) const;

  const loader::ElfFile& file_;
  std::unordered_set<uint64_t> of_library_;  // addresses
  std::unordered_map<std::string_view, const Elf64_Sym*> by_name_;
};

// A library of ours, and where it is in memory.
struct OwnLibrary {
  const loader::ElfFile& file;
  uint64_t base;
};

// Ours for the function of a program that has this name.
struct OwnFunction {
  std::string_view name;
  const void* function;
};

class StaticPatches {
 public:
  // `functions` come before those of `calls`: libsesame-rank.so.
  StaticPatches(const StaticSymbols& program, std::span<const OwnFunction> functions,
                const OwnLibrary& calls, const loader::ElfFile& mpi);

  uint64_t space() const;  // that apply() needs in the image
  // Addresses by which the program calls functions of ours that it has no name for: `entry` is that
  // of `function`.
  struct Entry {
    const void* function;
    const void* entry;
  };
  // An Error if a function of the program is too short for a jump, or not in it.
  Result<> apply(const loader::ElfFile& program, const StaticImage& image, uint64_t mpi_base,
                 Entry* at_exit) const;
  // MPI's constants whose values are addresses: those of our library are meant.
  void copy_constants(const StaticImage& image, uint64_t mpi_base) const;

 private:
  struct Patch {
    const Elf64_Sym* symbol;
    uint64_t ours;  // address; of the MPI library: from its begin
    bool is_mpi;
  };
  struct Constant {
    uint64_t theirs;  // address in the program's file
    uint64_t ours;    // from the begin of the MPI library
  };

  void add(const Elf64_Sym* symbol, uint64_t ours, bool is_mpi = false);
  void add_call(const StaticSymbols& program, std::string_view name, uint64_t ours);
  void add_calls(const StaticSymbols& program, const OwnLibrary& calls);
  void add_mpi(const StaticSymbols& program, const loader::ElfFile& mpi);

  std::vector<Patch> patches_;
  std::unordered_set<uint64_t> patched_;  // addresses in the program's file
  std::vector<Constant> constants_;
};

}  // namespace sesame::remote
