#include "core/remote/shared_memory.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstring>
#include <unordered_map>

#include "core/base/check.h"
#include "core/mpi/messages/world.h"
#include "core/remote/server.h"

namespace sesame::remote {
namespace {

struct Block {
  off_t offset;
  size_t bytes;
};

struct SharedFile {
  int descriptor = memfd_create("sesame-windows", MFD_CLOEXEC);
  off_t end = 0;  // parts of the file are not used again: an unused one takes no memory
  std::unordered_map<const char*, Block> blocks;
};

SharedFile& shared_file() {
  static auto* const file = new SharedFile;  // windows may outlive static objects
  return *file;
}

const Block& block_of(const char* memory) {
  const auto& blocks = shared_file().blocks;
  const auto found = blocks.find(memory);
  CHECK(found != blocks.end());
  return found->second;
}

char* allocate_shared(size_t bytes) {
  SharedFile& file = shared_file();
  const Block block{file.end, bytes};
  const off_t end = file.end + static_cast<off_t>(bytes);
  if (file.descriptor < 0 || ftruncate(file.descriptor, end) != 0) return nullptr;
  void* const memory =
      mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, file.descriptor, block.offset);
  if (memory == MAP_FAILED) return nullptr;
  file.end = end;
  file.blocks[static_cast<char*>(memory)] = block;
  return static_cast<char*>(memory);
}

void free_shared(char* memory) {
  SharedFile& file = shared_file();
  const Block block = block_of(memory);
  file.blocks.erase(memory);
  munmap(memory, block.bytes);
  fallocate(file.descriptor, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, block.offset,
            static_cast<off_t>(block.bytes));
}

char* map_shared(char* memory) {
  Process& process = this_process();
  if (const auto found = process.mapped.find(memory); found != process.mapped.end())
    return found->second;
  const Block& block = block_of(memory);
  Reader result = ask_program(this_channel(), CallbackKindOnWire::kMap, [&](Writer& writer) {
    writer.put(getpid());
    writer.put(shared_file().descriptor);
    writer.put(block.offset);
    writer.put(block.bytes);
  });
  auto* const address = result.get<char*>();
  if (const auto error = result.get<int>(); address == nullptr) {
    const mpi::Rank& rank = mpi::this_rank();
    rank.world.hooks.abort_job(2, rank.name() + " cannot map the " + std::to_string(block.bytes) +
                                      " bytes of a window: " + std::strerror(error));
  }
  process.memory.share();
  process.mapped[memory] = address;
  return address;
}

void unmap_shared(char* memory) {
  Process& process = this_process();
  const auto found = process.mapped.find(memory);
  if (found == process.mapped.end()) return;
  ask_program(this_channel(), CallbackKindOnWire::kUnmap, [&](Writer& writer) {
    writer.put(found->second);
    writer.put(block_of(memory).bytes);
  });
  process.mapped.erase(found);
}

}  // namespace

void start_sharing() {
  mpi::RemoteMemory memory = mpi::remote_memory();
  memory.allocate = allocate_shared;
  memory.free = free_shared;
  memory.map = map_shared;
  memory.unmap = unmap_shared;
  mpi::set_remote_memory(memory);
}

}  // namespace sesame::remote
