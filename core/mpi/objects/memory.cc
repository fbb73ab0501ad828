#include "core/mpi/objects/memory.h"

#include <memory>

namespace sesame::mpi {
namespace {

RemoteMemory memory;

}  // namespace

void set_remote_memory(const RemoteMemory& given) { memory = given; }
const RemoteMemory& remote_memory() { return memory; }

void copy_remote(void* to, const void* from, size_t bytes) {
  if (bytes == 0) return;
  const RemoteRange source{const_cast<void*>(from), bytes};
  const RemoteRange target{to, bytes};
  if (!is_remote(to)) return memory.read(&source, 1, to);
  if (!is_remote(from)) return memory.write(&target, 1, from);
  const auto staging = std::make_unique_for_overwrite<char[]>(bytes);
  memory.read(&source, 1, staging.get());
  memory.write(&target, 1, staging.get());
}

}  // namespace sesame::mpi
