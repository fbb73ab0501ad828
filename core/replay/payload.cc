#include "core/replay/payload.h"

#include <sys/mman.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <random>
#include <span>

namespace sesame::replay {
namespace {

// Half of each 4 KiB block is random, the rest zero: some factor of two for any compressor.
constexpr size_t kCompressibleBlock = 4096;

void fill_random(std::span<char> data) {
  std::mt19937_64 random(20121);
  for (size_t at = 0; at + sizeof(uint64_t) <= data.size(); at += sizeof(uint64_t)) {
    const uint64_t value = random();
    std::memcpy(&data[at], &value, sizeof value);
  }
}

void fill(Payload payload, std::span<char> data) {
  if (payload == Payload::kZero) return;
  fill_random(data);
  if (payload == Payload::kRandom) return;
  for (size_t at = 0; at + kCompressibleBlock <= data.size(); at += kCompressibleBlock) {
    std::memset(&data[at], 0, kCompressibleBlock / 2);
  }
}

size_t whole_blocks(size_t size) {
  return (size + kBufferAlignment) / kBufferAlignment * kBufferAlignment;
}

}  // namespace

void Unmap::operator()(char* data) const { munmap(data, size); }

Buffer make_buffer(size_t size) {
  size = whole_blocks(size);
  void* data = mmap(nullptr, size, PROT_READ | PROT_WRITE,
                    MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
  if (data == MAP_FAILED) {
    std::fprintf(
        stderr,
        "error: no memory for a buffer of %zu bytes: the largest operation of the run needs "
        "one in each thread\n",
        size);
    std::exit(2);  // the size is that of the input
  }
  return Buffer(static_cast<char*>(data), Unmap{size});
}

PayloadData::PayloadData(Payload payload, size_t largest)
    : data_(make_buffer(largest + kStarts * kBufferAlignment)), text_(make_buffer(largest)) {
  fill(payload, {data_.get(), whole_blocks(largest + kStarts * kBufferAlignment)});
  for (size_t i = 0; i < whole_blocks(largest); ++i) {
    text_.get()[i] = static_cast<char>(i % 80 == 79 ? '\n' : '0' + i % 73);
  }
}

}  // namespace sesame::replay
