// What the worker processes of one parallel simulation share: a block of memory with a ring of
// bytes for each pair of workers and the few numbers of the protocol. The block has no name, so
// nothing is left when the processes end, however they end.
//
// Use: create() before the processes are forked; each then makes a Worker with its number. send()
// a frame to another worker; take_frames() passes those that have arrived to a function. Frames of
// one worker to another arrive in the order sent. A full ring makes send() wait, while it moves
// what arrives out of this worker's own rings: so two workers that send to each other never wait
// for each other. A worker that waits sleeps at its Doorbell after some hundred microseconds, or
// sooner where others use the processor; no system call is made while both are busy. One thread
// each.
//
// Workers of one run may be on several hosts. Each host then has such a block, with the rings of
// all pairs, and a Bridge (bridge.h) moves what is written to workers of other hosts.
//
// Tests that a result does not depend on the workers' speeds call delay_at_random().
//
// `pending` counts the workers that are busy and the frames that are not yet taken: zero means that
// nothing happens any more until the protocol moves the bounds.
#pragma once

#include <algorithm>
#include <atomic>
#include <bit>
#include <cstdint>
#include <deque>
#include <functional>
#include <initializer_list>
#include <memory>
#include <optional>
#include <random>
#include <span>
#include <vector>

#include "core/base/doorbell.h"
#include "core/base/error.h"
#include "core/base/time_stamp.h"
#include "core/base/yielding.h"

namespace sesame::pdes {

inline constexpr int kMostWorkers = 64;

// What a frame is about, in its first byte. Less: the kind of a message between ranks
// (core/mpi/messages/worker_messages.cc).
enum class FrameSubject : uint8_t { kFileSystems = 0xf0, kOpenFiles };

// Before each frame in a ring.
struct FramePrefix {
  uint64_t bytes;  // of the frame, without this
  // To a worker of another host: how many such frames this host's workers had sent before. The
  // bridge keeps this order, so a frame arrives after all that its cause has caused before.
  uint64_t number;
};

struct Ring {
  alignas(64) std::atomic<uint64_t> written;  // in all; by the sender
  std::atomic<bool> sender_waits;             // for space; it has to be rung for
  alignas(64) std::atomic<uint64_t> taken;    // in all; by the receiver
};

// Of the data of each ring. It should hold what a worker sends while another one computes without a
// look at its rings, several MB in programs with large messages: a full ring makes the sender wait
// for that computation. The rings of a run take at most 64 MiB in all, or 256 KiB each if that is
// more, and only the part that was used.
constexpr uint64_t ring_bytes_for(int workers) {
  const auto pairs = static_cast<uint64_t>(workers) * static_cast<uint64_t>(workers);
  return std::max(std::bit_floor((uint64_t{64} << 20) / pairs), uint64_t{256} << 10);
}

struct SharedState {
  alignas(64) std::atomic<int64_t> pending;
  alignas(64) std::atomic<uint64_t> round;  // of the protocol
  std::atomic<uint64_t> ending;             // rounds that are ending or have ended
  std::atomic<int64_t> bound_ps;            // what the round decided
  std::atomic<int64_t> turn_ps;             // and Executive::allow_turn()
  std::atomic<uint64_t> turn_order;
  std::atomic<int> waiting;               // workers with an event that is not safe
  std::atomic<int> idle;                  // workers of this host that others keep waiting
  std::atomic<bool> finished;             // nothing is left to do
  std::atomic<bool> is_stuck;             // the last round found no event in any worker
  bool has_outside;                       // fibers may wait for something outside the simulation
  std::atomic<bool> stopped;              // the run is being stopped
  std::atomic<uint64_t> outgoing_frames;  // to workers of other hosts, so far
  int first_here, count_here;             // the workers of this host, of which `pending` counts
  struct alignas(64) OfWorker {
    // The worker's first event, while it is idle:
    std::atomic<int64_t> earliest_ps;
    std::atomic<uint64_t> earliest_order;
    std::atomic<int64_t> model_ps;  // and the first of those that all workers have
    uint64_t frames;                // sent
    uint64_t waited_ticks;          // for other workers (WaitingTime)
    // Of the asynchronous protocols (asynchronous.h):
    std::atomic<int64_t> output_ps;       // the earliest effect of what it will send
    std::atomic<int64_t> conditional_ps;  // the same if it receives nothing more, while it is idle
    std::atomic<int64_t> bound_ps;        // of its events: what the last round decided
    uint64_t null_messages;               // how often it made output_ps later
    uint64_t queries;                     // how often its first event was not safe
  };
  OfWorker workers[kMostWorkers];
  Doorbell bells[kMostWorkers];  // of those that have no other one

  // To be called when a round ends. `has_no_event`: of any worker. Then the run is over, or each
  // worker waits for the outside for the last time.
  void end_if(bool has_no_event) {
    finished = has_no_event && (!has_outside || is_stuck);
    is_stuck = has_no_event;
  }
};

class SharedMemory {
 public:
  // `ring_bytes`: a power of 2.
  static Result<std::unique_ptr<SharedMemory>> create(int workers, uint64_t ring_bytes);
  static Result<std::unique_ptr<SharedMemory>> create(int workers) {
    return create(workers, ring_bytes_for(workers));
  }
  ~SharedMemory();
  SharedMemory(const SharedMemory&) = delete;
  SharedMemory& operator=(const SharedMemory&) = delete;

  int workers() const { return workers_; }
  // The workers from `first` on run on this host, the others do not. Before any of them begins.
  void set_here(int first, int count);
  bool is_here(int worker) const {
    return worker >= state_->first_here && worker < state_->first_here + state_->count_here;
  }
  bool is_on_several_hosts() const { return state_->count_here < workers_; }
  SharedState& state() { return *state_; }
  // What the worker waits at; it is rung also by others than the workers. Before any of them
  // begins.
  void set_bell(int worker, Doorbell& bell) { bells_[static_cast<size_t>(worker)] = &bell; }
  Doorbell& bell(int worker) { return *bells_[static_cast<size_t>(worker)]; }
  // Wakes the workers of this host that sleep.
  void ring_all();
  // Ends the run: all workers leave it as soon as they can.
  void stop();
  Ring& ring(int from, int to) { return rings_[from * workers_ + to]; }
  // The data of a ring, from the byte with this number to the end of the ring.
  std::span<char> data_of(int from, int to, uint64_t number) {
    const uint64_t at = number % ring_bytes_;
    return {data_ + static_cast<uint64_t>(from * workers_ + to) * ring_bytes_ + at,
            ring_bytes_ - at};
  }
  uint64_t ring_bytes() const { return ring_bytes_; }

 private:
  SharedMemory(int workers, uint64_t ring_bytes, void* block, size_t bytes);

  int workers_;
  uint64_t ring_bytes_;
  void* block_;
  size_t bytes_;
  SharedState* state_;
  Ring* rings_;
  char* data_;
  std::vector<Doorbell*> bells_;
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
  // Sends a frame with this first byte to each other worker.
  void broadcast(FrameSubject subject, std::span<const char> rest);
  // Whether a frame, or a further part of one, has arrived.
  bool has_arrivals();
  // Passes each complete frame to `take`, which may send frames and take further ones; whether
  // there were any. Afterwards all frames are taken that were completely written to this worker
  // before any of them was sent. The worker must be counted as busy.
  bool take_frames(const Take& take);
  // Waits until `is_there()`: what other workers do, or others that ring this worker's bell. Not
  // called again once it is.
  template <typename Condition>
  void wait_until(Condition&& is_there);
  // Its ranks have all ended: when it waits from now on, it has nothing to compute.
  void set_done() { is_done_ = true; }
  bool is_done() const { return is_done_; }
  // Stops this worker for up to a millisecond now and then, when it takes frames.
  void delay_at_random(uint64_t seed) { delays_.emplace(seed); }

 private:
  struct Frame {
    std::unique_ptr<char[]> bytes;
    uint64_t size = 0;
  };
  // What came from one sender and is not taken yet.
  struct Arrivals {
    std::deque<Frame> frames;
    // Of the frame of which only a part has arrived:
    Frame next;
    FramePrefix prefix;
    uint64_t arrived = 0;  // with its prefix

    void add(std::span<const char> bytes);
  };

  void write(int to, std::initializer_list<std::span<const char>> parts);
  void publish(int to, uint64_t written);
  bool await_space(int to, uint64_t written);
  bool collect();
  void collect_all();
  bool take_collected(const Take& take);
  void delay();

  SharedMemory& memory_;
  int number_;
  bool is_done_ = false;
  std::vector<Arrivals> arrivals_;  // by sender
  std::optional<std::mt19937_64> delays_;
  Yielding yielding_;
};

// Adds the time until its end to what the worker has waited. Until then the worker is idle, unless
// it is done.
class WaitingTime {
 public:
  explicit WaitingTime(Worker& worker)
      : idle_(worker.state().idle),
        is_idle_(!worker.is_done()),
        sum_(worker.state().workers[worker.number()].waited_ticks),
        begin_(read_time_stamp()) {
    idle_ += is_idle_;
  }
  ~WaitingTime() {
    idle_ -= is_idle_;
    sum_ += read_time_stamp() - begin_;
  }
  WaitingTime(const WaitingTime&) = delete;
  WaitingTime& operator=(const WaitingTime&) = delete;

 private:
  std::atomic<int>& idle_;
  const int is_idle_;
  uint64_t& sum_;
  const uint64_t begin_;
};

// Looks without a system call first, then gives the processor away each time, unless that takes
// long, then sleeps. REQUIRES: a condition that waits itself, for something else, is true
// afterwards.
template <typename Condition>
void Worker::wait_until(Condition&& is_there) {
  constexpr uint32_t kLooks = 200;  // some microseconds
  constexpr int kYields = 1'800;    // some hundred microseconds, unless others use the processor
  // The bell may be in memory to which ranks' processes write. One that damages it takes away a
  // wake-up, and must not make the run hang.
  constexpr int64_t kLongestSleepNs = 100'000'000;
  bool is = false;
  const auto look = [&] { return is = is || is_there(); };
  if (look_for(kLooks, look)) return;
  bool yields = yielding_.begin_wait();
  for (int i = 0; i < kYields && yields; ++i) {
    yields = yielding_.yield();
    if (look()) return;
  }
  while (!sleep_until(memory_.bell(number_), look, kLongestSleepNs)) {
  }
}

}  // namespace sesame::pdes
