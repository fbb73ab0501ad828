// What the worker processes of one parallel simulation share: a block of memory with a ring of
// bytes for each pair of workers and the few numbers of the protocol. The block has no name, so
// nothing is left when the processes end, however they end.
//
// Use: create() before the processes are forked; each then makes a Worker with its number. send()
// a frame to another worker; take_frames() passes those that have arrived to a function. Frames of
// one worker to another arrive in the order sent. A full ring makes send() wait, while it moves
// what arrives out of this worker's own rings: so two workers that send to each other never wait
// for each other. No system call is made unless a worker has waited for some microseconds. Workers
// must run on one machine. One thread each.
//
// Tests that a result does not depend on the workers' speeds call delay_at_random().
//
// `pending` counts the workers that are busy and the frames that are not yet taken: zero means that
// nothing happens any more until the protocol moves the bounds.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <random>
#include <span>
#include <string>
#include <vector>

#include "core/base/error.h"

namespace sesame::pdes {

inline constexpr int kMostWorkers = 64;

struct Ring {
  static constexpr uint64_t kBytes = 1 << 18;

  alignas(64) std::atomic<uint64_t> written;  // in all; by the sender
  alignas(64) std::atomic<uint64_t> taken;    // in all; by the receiver
  alignas(64) char bytes[kBytes];
};

struct SharedState {
  alignas(64) std::atomic<int64_t> pending;
  alignas(64) std::atomic<uint64_t> round;  // of the protocol
  std::atomic<int64_t> bound_ps;            // what the round decided
  std::atomic<int> waiting;                 // workers with an event that is not safe
  std::atomic<bool> finished;               // nothing is left to do
  std::atomic<bool> stopped;                // the run is being stopped
  struct alignas(64) OfWorker {
    std::atomic<int64_t> earliest_ps;  // the worker's first event, while it is idle
    uint64_t frames;                   // sent
    // Of the asynchronous protocols (asynchronous.h):
    std::atomic<int64_t> output_ps;       // the earliest effect of what it will send
    std::atomic<int64_t> conditional_ps;  // the same if it receives nothing more, while it is idle
    std::atomic<int64_t> bound_ps;        // of its events: what the last round decided
    uint64_t null_messages;               // how often it made output_ps later
    uint64_t queries;                     // how often its first event was not safe
  };
  OfWorker workers[kMostWorkers];
};

class SharedMemory {
 public:
  static Result<std::unique_ptr<SharedMemory>> create(int workers);
  ~SharedMemory();
  SharedMemory(const SharedMemory&) = delete;
  SharedMemory& operator=(const SharedMemory&) = delete;

  int workers() const { return workers_; }
  SharedState& state() { return *state_; }
  Ring& ring(int from, int to) { return rings_[from * workers_ + to]; }

 private:
  SharedMemory(int workers, void* block, size_t bytes);

  int workers_;
  void* block_;
  size_t bytes_;
  SharedState* state_;
  Ring* rings_;
};

class Worker {
 public:
  using Take = std::function<void(std::span<const char> frame)>;

  Worker(SharedMemory& memory, int number);

  int number() const { return number_; }
  SharedMemory& memory() { return memory_; }
  SharedState& state() { return memory_.state(); }

  // The parts make one frame. Dropped if the run is being stopped.
  void send(int to, std::span<const char> head, std::span<const char> tail);
  // Whether a frame, or a part of one, has arrived.
  bool has_arrivals();
  // Passes each complete frame to `take`; whether there were any. The worker must be counted as
  // busy.
  bool take_frames(const Take& take);
  // Stops this worker for up to some milliseconds now and then, when it takes frames.
  void delay_at_random(uint64_t seed) { delays_.emplace(seed); }

 private:
  void write(int to, std::span<const char> bytes);
  void collect();
  void delay();

  SharedMemory& memory_;
  int number_;
  std::vector<std::string> arrived_;  // by sender: bytes that are not taken yet
  std::optional<std::mt19937_64> delays_;
};

// Waits a moment, longer if called for the `attempt`th time in a row: first without a system call,
// then the processor is given away.
void wait_a_moment(int attempt);

}  // namespace sesame::pdes
