// A statically linked executable in memory, in a process that another program has started
// (main.cc): its segments, and space behind them for jumps out of its functions.
//
// Use: map(), change it, protect(), then start() gives it the processor. A wrong file is an Error.
// Sizes are bytes. Copies are the same memory, which stays. The file may go before start().
#pragma once

#include <elf.h>

#include <cstdint>
#include <string>
#include <vector>

#include "core/base/error.h"
#include "core/loader/elf_file.h"

namespace sesame::remote {

class StaticImage {
 public:
  // `space`: behind the last segment.
  static Result<StaticImage> map(const loader::ElfFile& file, uint64_t space);

  // Where an address of the file is.
  char* at(uint64_t address) const { return reinterpret_cast<char*>(base_ + address); }
  // Whether the file has this in a segment with these flags (PF_W, PF_X).
  bool has(uint64_t address, uint64_t size, uint32_t flags) const;
  char* space() const { return reinterpret_cast<char*>(end_); }
  // Until then all of it is writable.
  Result<> protect() const;

  // What the program finds on its stack: argc, argv, the environment and the auxiliary vector of
  // this process, changed for it. `path`: of the program; outlives the result's use.
  std::vector<uint64_t> initial_stack(char** arguments, char** environment,
                                      const std::vector<Elf64_auxv_t>& auxiliary,
                                      const std::string& path) const;
  // Begins the program. `at_exit`: a function that it calls when it ends by exit().
  [[noreturn]] void start(const std::vector<uint64_t>& stack, const void* at_exit) const;

 private:
  explicit StaticImage(const loader::ElfFile& file) : file_(&file) {}
  Result<> map_segments() const;

  const loader::ElfFile* file_;
  const char* entry_ = nullptr;
  uint64_t base_ = 0;  // added to the file's addresses
  uint64_t end_ = 0;   // of the segments: a whole page
  uint64_t space_ = 0;
};

}  // namespace sesame::remote
