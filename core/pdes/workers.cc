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

std::span<const char> bytes_of(const FramePrefix& prefix) {
  return {reinterpret_cast<const char*>(&prefix), sizeof prefix};
}

// By system call: the C library's names are those of the ranks, for which sleeping takes simulated
// time.
void sleep_for(long duration_ns) {
  const timespec duration{0, duration_ns};
  syscall(SYS_nanosleep, &duration, nullptr);
}

}  // namespace

Result<std::unique_ptr<SharedMemory>> SharedMemory::create(int workers, uint64_t ring_bytes) {
  CHECK(workers >= 2 && workers <= kMostWorkers);
  CHECK(std::has_single_bit(ring_bytes));
  const auto pairs = static_cast<size_t>(workers) * static_cast<size_t>(workers);
  const size_t bytes = sizeof(SharedState) + pairs * (sizeof(Ring) + ring_bytes);
  void* block = mmap(nullptr, bytes, PROT_READ | PROT_WRITE,
                     MAP_SHARED | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (block == MAP_FAILED)
    return error("no shared memory for " + std::to_string(workers) +
                 " workers: " + std::strerror(errno));
  return std::unique_ptr<SharedMemory>(new SharedMemory(workers, ring_bytes, block, bytes));
}

// New pages are zero, which is how all atomic numbers begin.
SharedMemory::SharedMemory(int workers, uint64_t ring_bytes, void* block, size_t bytes)
    : workers_(workers),
      ring_bytes_(ring_bytes),
      block_(block),
      bytes_(bytes),
      state_(static_cast<SharedState*>(block)),
      rings_(reinterpret_cast<Ring*>(state_ + 1)),
      data_(reinterpret_cast<char*>(rings_ + workers * workers)) {
  set_here(0, workers);
  for (int i = 0; i < workers; ++i) bells_.push_back(&state_->bells[i]);
}

void SharedMemory::set_here(int first, int count) {
  state_->first_here = first;
  state_->count_here = count;
  state_->pending = count;
}

SharedMemory::~SharedMemory() { munmap(block_, bytes_); }

void SharedMemory::ring_all() {
  for (int i = 0; i < workers_; ++i)
    if (is_here(i)) ring_if_asleep(bell(i));
}

void SharedMemory::stop() {
  state_->stopped = true;
  ring_all();
}

Worker::Worker(SharedMemory& memory, int number)
    : memory_(memory), number_(number), arrivals_(static_cast<size_t>(memory.workers())) {}

void Worker::send(int to, std::span<const char> head, std::span<const char> tail) {
  state().pending.fetch_add(1, std::memory_order_relaxed);  // this worker is busy: it is not zero
  const FramePrefix prefix{head.size() + tail.size(),
                           memory_.is_here(to) ? 0 : state().outgoing_frames.fetch_add(1)};
  write(to, {bytes_of(prefix), head, tail});
  ++state().workers[number_].frames;
}

void Worker::broadcast(FrameSubject subject, std::span<const char> rest) {
  const char first = static_cast<char>(subject);
  for (int to = 0; to < memory_.workers(); ++to)
    if (to != number_) send(to, {&first, 1}, rest);
}

void Worker::write(int to, std::initializer_list<std::span<const char>> parts) {
  const Ring& ring = memory_.ring(number_, to);
  uint64_t written = ring.written.load(std::memory_order_relaxed);
  for (std::span<const char> bytes : parts) {
    while (!bytes.empty()) {
      const uint64_t taken = ring.taken.load(std::memory_order_acquire);
      const uint64_t space = memory_.ring_bytes() - (written - taken);
      if (space == 0) {
        if (!await_space(to, written)) return;
        continue;
      }
      const std::span<char> data = memory_.data_of(number_, to, written);
      const uint64_t count = std::min({space, uint64_t{bytes.size()}, uint64_t{data.size()}});
      std::memcpy(data.data(), bytes.data(), count);
      written += count;
      bytes = bytes.subspan(count);
    }
  }
  publish(to, written);
}

void Worker::publish(int to, uint64_t written) {
  memory_.ring(number_, to).written.store(written);
  if (memory_.is_here(to)) ring_if_asleep(memory_.bell(to));
}

// False: the run is being stopped.
bool Worker::await_space(int to, uint64_t written) {
  publish(to, written);
  Ring& ring = memory_.ring(number_, to);
  const WaitingTime waiting(*this);
  ring.sender_waits = true;
  wait_until([&] {
    collect();
    return written - ring.taken.load() < memory_.ring_bytes() || state().stopped;
  });
  ring.sender_waits = false;
  return !state().stopped;
}

bool Worker::has_arrivals() {
  for (int from = 0; from < memory_.workers(); ++from) {
    const Ring& ring = memory_.ring(from, number_);
    if (ring.written.load() != ring.taken.load(std::memory_order_relaxed)) return true;
    if (!arrivals_[static_cast<size_t>(from)].frames.empty()) return true;
  }
  return false;
}

// Adds the next bytes of the sender's stream.
void Worker::Arrivals::add(std::span<const char> bytes) {
  while (!bytes.empty()) {
    const bool is_prefix = arrived < sizeof prefix;
    char* const to = is_prefix ? reinterpret_cast<char*>(&prefix) + arrived
                               : next.bytes.get() + arrived - sizeof prefix;
    const uint64_t missing = (is_prefix ? 0 : next.size) + sizeof prefix - arrived;
    const uint64_t count = std::min(missing, uint64_t{bytes.size()});
    std::memcpy(to, bytes.data(), count);
    bytes = bytes.subspan(count);
    arrived += count;
    if (is_prefix && arrived == sizeof prefix)
      next = {std::make_unique_for_overwrite<char[]>(prefix.bytes), prefix.bytes};
    if (arrived < sizeof prefix || arrived < sizeof prefix + next.size) continue;
    frames.push_back(std::exchange(next, {}));
    arrived = 0;
  }
}

// Moves what is in the rings to this process; whether there was anything.
bool Worker::collect() {
  bool any = false;
  for (int from = 0; from < memory_.workers(); ++from) {
    Ring& ring = memory_.ring(from, number_);
    uint64_t taken = ring.taken.load(std::memory_order_relaxed);
    const uint64_t written = ring.written.load();
    if (taken == written) continue;
    while (taken != written) {
      const std::span<char> data = memory_.data_of(from, number_, taken);
      const uint64_t count = std::min(written - taken, uint64_t{data.size()});
      arrivals_[static_cast<size_t>(from)].add(data.first(count));
      taken += count;
    }
    any = true;
    ring.taken.store(taken);
    if (ring.sender_waits.load() && memory_.is_here(from)) ring_if_asleep(memory_.bell(from));
  }
  return any;
}

void Worker::collect_all() {
  while (collect()) {
  }
}

void Worker::delay() {
  constexpr int kOneIn = 16;
  // From 2 us, less than a round takes, to 1 ms, when those that wait sleep; each power of two as
  // often as the others.
  constexpr long kLongestNs = 1'000'000;
  constexpr int kLengths = 10;
  if (delays_ && (*delays_)() % kOneIn == 0) sleep_for(kLongestNs >> (*delays_)() % kLengths);
}

bool Worker::take_frames(const Take& take) {
  delay();
  for (bool any = false;; any = true) {
    collect_all();
    if (!take_collected(take)) return any;
  }
}

bool Worker::take_collected(const Take& take) {
  bool any = false;
  for (Arrivals& arrivals : arrivals_) {
    while (!arrivals.frames.empty()) {
      // Out of the queue first: `take` may send, and so collect, or take further frames.
      const Frame frame = std::move(arrivals.frames.front());
      arrivals.frames.pop_front();
      take({frame.bytes.get(), frame.size});
      state().pending.fetch_sub(1, std::memory_order_relaxed);  // this worker is busy
      any = true;
    }
  }
  return any;
}

}  // namespace sesame::pdes
