#include "core/base/reserved_block.h"

#include <sys/mman.h>
#include <unistd.h>

#include <cstdint>

#include "core/base/check.h"

namespace sesame {
namespace {

constexpr size_t kHugePage = 2 << 20;

size_t round_up(size_t bytes, size_t unit) { return (bytes + unit - 1) / unit * unit; }

}  // namespace

ReservedBlock::ReservedBlock(size_t most_bytes) : most_bytes_(round_up(most_bytes, kHugePage)) {
  mapped_bytes_ = most_bytes_ + kHugePage;
  mapped_ =
      mmap(nullptr, mapped_bytes_, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  CHECK(mapped_ != MAP_FAILED);
  begin_ = reinterpret_cast<char*>(round_up(reinterpret_cast<uintptr_t>(mapped_), kHugePage));
}

ReservedBlock::~ReservedBlock() { munmap(mapped_, mapped_bytes_); }

bool ReservedBlock::extend_to(size_t bytes) {
  if (bytes > most_bytes_) return false;
  // Small blocks do not take a huge page's memory.
  const bool is_huge = bytes >= kHugePage;
  const auto page = static_cast<size_t>(sysconf(_SC_PAGESIZE));
  const size_t whole = round_up(bytes, is_huge ? kHugePage : page);
  if (whole <= usable_bytes_) return true;
  if (mprotect(begin_, whole, PROT_READ | PROT_WRITE) != 0) return false;
  if (is_huge) madvise(begin_, whole, MADV_HUGEPAGE);
  usable_bytes_ = whole;
  return true;
}

}  // namespace sesame
