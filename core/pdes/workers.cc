#include "core/pdes/workers.h"

#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <new>
#include <utility>

#include "core/base/check.h"

namespace sesame::pdes {
namespace {

using Length = uint64_t;  // of a frame, before it in the ring

std::span<const char> bytes_of(const Length& length) {
  return {reinterpret_cast<const char*>(&length), sizeof length};
}

// By system call: the C library's names are those of the ranks, for which sleeping takes simulated
// time.
void sleep_for(long duration_ns) {
  const timespec duration{0, duration_ns};
  syscall(SYS_nanosleep, &duration, nullptr);
}

}  // namespace

void wait_a_moment(int attempt) {
  constexpr int kSpins = 200;     // some microseconds
  constexpr int kYields = 2'000;  // some hundred microseconds
  if (attempt < kSpins) return __builtin_ia32_pause();
  if (attempt < kYields) {
    syscall(SYS_sched_yield);
    return;
  }
  sleep_for(50'000);
}

Result<std::unique_ptr<SharedMemory>> SharedMemory::create(int workers) {
  CHECK(workers >= 2 && workers <= kMostWorkers);
  const auto pairs = static_cast<size_t>(workers) * static_cast<size_t>(workers);
  const size_t bytes = sizeof(SharedState) + pairs * sizeof(Ring);
  void* block = mmap(nullptr, bytes, PROT_READ | PROT_WRITE,
                     MAP_SHARED | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (block == MAP_FAILED)
    return error("no shared memory for " + std::to_string(workers) +
                 " workers: " + std::strerror(errno));
  return std::unique_ptr<SharedMemory>(new SharedMemory(workers, block, bytes));
}

// New pages are zero, which is how all atomic numbers begin.
SharedMemory::SharedMemory(int workers, void* block, size_t bytes)
    : workers_(workers),
      block_(block),
      bytes_(bytes),
      state_(static_cast<SharedState*>(block)),
      rings_(reinterpret_cast<Ring*>(state_ + 1)) {
  state_->pending = workers;
}

SharedMemory::~SharedMemory() { munmap(block_, bytes_); }

Worker::Worker(SharedMemory& memory, int number)
    : memory_(memory), number_(number), arrived_(static_cast<size_t>(memory.workers())) {}

void Worker::send(int to, std::span<const char> head, std::span<const char> tail) {
  state().pending.fetch_add(1, std::memory_order_relaxed);  // this worker is busy: it is not zero
  const Length length = head.size() + tail.size();
  write(to, bytes_of(length));
  write(to, head);
  write(to, tail);
  ++state().workers[number_].frames;
}

void Worker::write(int to, std::span<const char> bytes) {
  Ring& ring = memory_.ring(number_, to);
  for (int attempt = 0; !bytes.empty();) {
    const uint64_t written = ring.written.load(std::memory_order_relaxed);
    const uint64_t space = Ring::kBytes - (written - ring.taken.load(std::memory_order_acquire));
    if (space == 0) {
      if (state().stopped.load(std::memory_order_relaxed)) return;
      collect();
      wait_a_moment(attempt++);
      continue;
    }
    const uint64_t at = written % Ring::kBytes;
    const uint64_t count = std::min({space, uint64_t{bytes.size()}, Ring::kBytes - at});
    std::memcpy(ring.bytes + at, bytes.data(), count);
    ring.written.store(written + count, std::memory_order_release);
    bytes = bytes.subspan(count);
    attempt = 0;
  }
}

bool Worker::has_arrivals() {
  for (int from = 0; from < memory_.workers(); ++from) {
    const Ring& ring = memory_.ring(from, number_);
    if (ring.written.load(std::memory_order_acquire) != ring.taken.load(std::memory_order_relaxed))
      return true;
    if (!arrived_[static_cast<size_t>(from)].empty()) return true;
  }
  return false;
}

// Moves what is in the rings to this process.
void Worker::collect() {
  for (int from = 0; from < memory_.workers(); ++from) {
    Ring& ring = memory_.ring(from, number_);
    uint64_t taken = ring.taken.load(std::memory_order_relaxed);
    const uint64_t written = ring.written.load(std::memory_order_acquire);
    while (taken != written) {
      const uint64_t at = taken % Ring::kBytes;
      const uint64_t count = std::min(written - taken, Ring::kBytes - at);
      arrived_[static_cast<size_t>(from)].append(ring.bytes + at, count);
      taken += count;
    }
    ring.taken.store(taken, std::memory_order_release);
  }
}

void Worker::delay() {
  constexpr int kOneIn = 16;
  constexpr uint64_t kMostNs = 5'000'000;
  if (delays_ && (*delays_)() % kOneIn == 0) sleep_for(static_cast<long>((*delays_)() % kMostNs));
}

bool Worker::take_frames(const Take& take) {
  delay();
  collect();
  bool any = false;
  for (std::string& bytes : arrived_) {
    size_t at = 0;
    Length length = 0;
    while (bytes.size() - at >= sizeof length) {
      std::memcpy(&length, bytes.data() + at, sizeof length);
      if (bytes.size() - at - sizeof length < length) break;
      take({bytes.data() + at + sizeof length, length});
      at += sizeof length + length;
      state().pending.fetch_sub(1, std::memory_order_relaxed);  // this worker is busy
      any = true;
    }
    bytes.erase(0, at);
  }
  return any;
}

}  // namespace sesame::pdes
