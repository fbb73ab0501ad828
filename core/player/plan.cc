#include "core/player/plan.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

namespace sesame::player {
namespace {

// Fixed addresses: there all ranks of a process find what the first one has mapped. Linux chooses
// addresses near the program and near the stack; these are far from both.
constexpr uintptr_t kPlanAddress = 0x2000'0000'0000;
constexpr uintptr_t kSendAddress = 0x2800'0000'0000;
constexpr uintptr_t kReceiveAddress = 0x3000'0000'0000;

[[noreturn]] void give_up(const char* what, const char* path) {
  fprintf(stderr, "sesame: %s: %s: %s\n", path, what, strerror(errno));
  exit(2);
}

void* map_once(uintptr_t address, uint64_t bytes, int protection, int flags, int file,
               const char* path) {
  void* const place = reinterpret_cast<void*>(address);
  void* const mapped = mmap(place, bytes, protection, flags | MAP_FIXED_NOREPLACE, file, 0);
  if (mapped == MAP_FAILED && errno != EEXIST) give_up("cannot map it", path);
  return place;
}

}  // namespace

Plan open_plan(const char* path) {
  const int file = open(path, O_RDONLY | O_CLOEXEC);
  struct stat status;
  if (file < 0 || fstat(file, &status) != 0) give_up("cannot read the plan", path);
  const auto bytes = static_cast<uint64_t>(status.st_size);
  const char* const begin =
      static_cast<const char*>(map_once(kPlanAddress, bytes, PROT_READ, MAP_SHARED, file, path));
  close(file);
  const auto* const header = reinterpret_cast<const PlanHeader*>(begin);
  if (bytes < sizeof(PlanHeader) || memcmp(header->magic, kPlanMagic, sizeof kPlanMagic) != 0 ||
      header->file_bytes != bytes) {
    errno = EINVAL;
    give_up("this is no plan of this version", path);
  }
  return {header,
          begin + header->name_table,
          reinterpret_cast<const RankEntry*>(begin + header->rank_table),
          reinterpret_cast<const Operation*>(begin + header->operations),
          reinterpret_cast<const int64_t*>(begin + header->lists),
          begin + header->files,
          begin + header->text};
}

Buffers share_buffers(uint64_t bytes) {
  constexpr int kFlags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE;
  const char* const what = "memory for the messages";
  return {static_cast<const char*>(map_once(kSendAddress, bytes, PROT_READ, kFlags, -1, what)),
          static_cast<char*>(
              map_once(kReceiveAddress, bytes, PROT_READ | PROT_WRITE, kFlags, -1, what))};
}

}  // namespace sesame::player
